"""Games: from models, from data, from images and texts, synthetic ones and tables.

Any callable on a boolean matrix is a game; these build the common ones. Each is a frozen record that can be
handed to `polyshap.estimate`; those with a method `shapley_values` know their exact values.
"""

from polyshap.games.data_valuation import NeighbourGame, data_valuation_game, neighbour_shapley_values
from polyshap.games.global_importance import GlobalImportance, global_importance_game
from polyshap.games.image import grid, image_game, superpixels
from polyshap.games.synthetic import AirportGame, LinearPairwiseGame, UnanimityGame, random_k_additive
from polyshap.games.synthetic_multilinear import ProductGame, WeightedVotingGame
from polyshap.games.tables import TableGame, load_table, save_table, tabulate
from polyshap.games.text import load_text_model, split_text, text_classifier, text_game, token_game
from polyshap.games.tree_models import load_forest, read_trees
from polyshap.games.trees import TreeEnsemble, TreeGame, tree_shapley_values
from polyshap.games.wrappers import remembered, selected_output

__all__ = [
    "AirportGame",
    "GlobalImportance",
    "LinearPairwiseGame",
    "NeighbourGame",
    "ProductGame",
    "TableGame",
    "TreeEnsemble",
    "TreeGame",
    "UnanimityGame",
    "WeightedVotingGame",
    "data_valuation_game",
    "global_importance_game",
    "grid",
    "image_game",
    "load_forest",
    "load_table",
    "load_text_model",
    "neighbour_shapley_values",
    "random_k_additive",
    "read_trees",
    "remembered",
    "save_table",
    "selected_output",
    "split_text",
    "superpixels",
    "tabulate",
    "text_classifier",
    "text_game",
    "token_game",
    "tree_shapley_values",
]
