"""An image
==========

The players are patches of a picture. Absent patches are painted over, and the model is asked what it still
sees.
"""

# %%
# A small classifier of handwritten digits
# ----------------------------------------
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import polyshap
from polyshap import plots
from polyshap.games.image import grid, image_game

digits = load_digits()
classifier = SVC(gamma=0.001).fit(digits.data[:1000], digits.target[:1000])


def model(images):
    """Scores of the ten digits for images (m, 8, 8)."""
    return classifier.decision_function(images.reshape(len(images), -1))


# %%
# A game of one picture
# ---------------------
# Sixteen patches of 2 x 2 pixels; absent ones are black, as the digits' ground. The score of the predicted
# digit is explained.
picture = digits.images[1003]
print("label", digits.target[1003], "predicted", int(np.argmax(model(picture[None]))))
game = image_game(model, picture, grid(8, 8, 4, 4), absent=0.0)
estimate = polyshap.estimate(game, game.n_players, 500, random_state=0)
print(estimate.values.reshape(4, 4).round(2))
print("largest standard error", estimate.standard_errors.max().round(4))

# %%
# On the picture
# --------------
# Outlined patches are told from zero by their error bars.
plots.image(estimate, picture, grid(8, 8, 4, 4))

# %%
# Superpixels of a photograph and a PyTorch module work the same way: `superpixels(image, 14)` gives the
# players, and a module is run on its own device with the masking done there.
