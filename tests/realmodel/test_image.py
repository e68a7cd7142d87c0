"""EfficientNet-lite0, trained on ImageNet, on a photograph of a cat and one of a cup of coffee."""

import numpy as np
import pytest

import polyshap
from polyshap.coalitions import enumerate_all
from polyshap.games import image_game, superpixels
from realmodel.weights import weights_file

pytestmark = pytest.mark.realmodel

EGYPTIAN_CAT, ESPRESSO = 285, 967


@pytest.fixture(scope="module")
def classifier():
    file = weights_file("EfficientNet-lite0")
    torch = pytest.importorskip("torch")
    from efficientnet_lite_pytorch import EfficientNet

    module = EfficientNet.from_name("efficientnet-lite0")
    module.load_state_dict(torch.load(file, weights_only=True))
    return module.eval()


def photograph(name):
    """The middle square of a picture of scikit-image, 224 x 224, with colours in 0..1."""
    data = pytest.importorskip("skimage.data")
    from skimage.transform import resize

    picture = getattr(data, name)()
    side = min(picture.shape[:2])
    top, left = ((size - side) // 2 for size in picture.shape[:2])
    return resize(picture[top : top + side, left : left + side], (224, 224), anti_aliasing=True)


def as_tensor(picture):
    """As the weights were trained: channels first, colours about -1..1."""
    import torch

    return torch.tensor((picture * 255 - 127) / 128, dtype=torch.float32).permute(2, 0, 1)


@pytest.mark.parametrize(("name", "label"), [("chelsea", EGYPTIAN_CAT), ("coffee", ESPRESSO)])
def test_a_photograph_is_explained(classifier, name, label):
    """What the model sees is known from all coalitions; an estimate from few of them tells as much."""
    picture = photograph(name)
    players = superpixels(picture, 12)  # seven regions come out of it
    game = image_game(classifier, as_tensor(picture), players, absent="blur")
    assert game.output == label
    table = enumerate_all(game.n_players)
    values = game(table)

    def known(coalitions):
        return values[coalitions @ (1 << np.arange(game.n_players))]

    assert np.array_equal(known(table), values)
    exact = polyshap.estimate(known, game.n_players, len(table), "exact")
    np.testing.assert_allclose(exact.values.sum(), exact.total - exact.baseline, rtol=1e-9)
    estimate = polyshap.estimate(known, game.n_players, 60, random_state=0)
    assert estimate.n_evaluations <= 60
    assert (abs(estimate.values - exact.values) <= 4 * estimate.standard_errors).all()
    assert np.corrcoef(estimate.values, exact.values)[0, 1] > 0.95
    # the half of the regions that counts most shows more of the label than the other half
    rank = np.argsort(np.argsort(estimate.values))
    half = game.n_players // 2
    most, least = known(np.array([rank >= game.n_players - half, rank < half]))
    assert most > least


def test_the_module_is_asked_in_batches_of_its_own(classifier):
    """Estimating straight on the module gives what its table of values gives."""
    picture = photograph("chelsea")
    game = image_game(classifier, as_tensor(picture), superpixels(picture, 5), absent="mean", batch_size=7)
    straight = polyshap.estimate(game, game.n_players, 1 << game.n_players, "exact")
    whole = game(enumerate_all(game.n_players))
    np.testing.assert_allclose([straight.baseline, straight.total], whole[[0, -1]], atol=1e-4)
