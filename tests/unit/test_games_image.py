"""Images as games: what is shown for a coalition, for functions and for PyTorch modules."""

import numpy as np
import pytest

import polyshap
from polyshap.coalitions import enumerate_all
from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.games import grid, image_game, superpixels
from polyshap.games.image import absent_image


def picture(height=6, width=4, channels=3, seed=0):
    return np.random.default_rng(seed).random((height, width, channels))


def test_patches_are_rows_first_and_as_equal_as_pixels_allow():
    """Player r * columns + c owns the patch in row r and column c."""
    owner = grid(5, 7, 2, 3)
    assert owner[0, 0] == 0
    assert owner[0, 6] == 2
    assert owner[4, 6] == 5
    counts = np.bincount(owner.ravel())
    assert counts.sum() == 35
    assert set(np.diff(np.flatnonzero(np.diff(owner[0], prepend=-1, append=9)))) <= {2, 3}
    with pytest.raises(ArgumentError, match=r"`rows` and `columns` must lie in 1..5 and 1..7"):
        grid(5, 7, 6, 1)


@pytest.mark.parametrize("batch_size", [1, 3, 100])
@pytest.mark.parametrize("absent", ["mean", "blur", 0.25, [0.1, 0.2, 0.3]])
def test_a_function_sees_absent_pixels_replaced(batch_size, absent):
    """Pixel by pixel: its own where its player is present, the absent one elsewhere."""
    image, owner = picture(), grid(6, 4, 2, 2)
    weights = picture(seed=1)
    game = image_game(
        lambda batch: (batch * weights).sum(axis=(1, 2, 3)),
        image,
        owner,
        absent=absent,
        batch_size=batch_size,
    )
    filled = absent_image(image, absent)
    for row, value in zip(enumerate_all(4), game(enumerate_all(4)), strict=True):
        shown = image.copy()
        for pixel in np.ndindex(6, 4):
            if not row[owner[pixel]]:
                shown[pixel] = filled[pixel]
        assert value == pytest.approx((shown * weights).sum())


def test_what_absent_means():
    """The mean of each channel, a blur that keeps it, a colour; whole numbers stay whole."""
    image = (picture() * 255).astype(np.uint8)
    assert absent_image(image, "mean")[0, 0].tolist() == np.rint(image.mean(axis=(0, 1))).tolist()
    assert absent_image(image, 128).dtype == np.uint8
    flat = np.full((8, 8), 3.0)
    assert absent_image(flat, "blur") == pytest.approx(flat)
    with pytest.raises(ArgumentError, match="`absent` must be 'mean', 'blur' or a colour"):
        absent_image(image, "grey")
    with pytest.raises(ArgumentError, match=r"one a channel, shape \(3,\)"):
        absent_image(image, [1.0, 2.0])


def test_outputs_are_chosen():
    """The class predicted for the whole image, a column, or all of them."""

    def model(batch):
        total = batch.sum(axis=(1, 2, 3))
        return np.column_stack([-total, total, 0 * total])

    image, owner = picture(), grid(6, 4, 1, 2)
    rows = enumerate_all(2)
    everything = image_game(model, image, owner, output=None)(rows)
    assert everything.shape == (4, 3)
    assert np.array_equal(image_game(model, image, owner)(rows), everything[:, 1])
    assert np.array_equal(image_game(model, image, owner, output=0)(rows), everything[:, 0])
    with pytest.raises(ArgumentError, match=r"`output` must lie in 0..2"):
        image_game(model, image, owner, output=3)
    with pytest.raises(ArgumentError, match=r"`output` must be a column, 'predicted' or None. Got 'best'"):
        image_game(model, image, owner, output="best")


def test_superpixels_are_a_player_map():
    """Numbers 0..n-1, each used, of connected similar pixels: two halves of two colours never mix."""
    pytest.importorskip("skimage", reason="scikit-image is not installed")
    image = np.zeros((20, 20, 3))
    image[:, 10:] = 1.0
    owner = superpixels(image, 4)
    assert sorted(np.unique(owner)) == list(range(owner.max() + 1))
    assert not set(owner[:, :10].ravel()) & set(owner[:, 10:].ravel())
    with pytest.raises(ArgumentError, match="`n_players` must be at least 1"):
        superpixels(image, 0)
    with pytest.raises(ArgumentError, match=r"`image` must have shape \(height, width, channels\)"):
        superpixels(image[0, 0], 2)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"players": np.zeros((2, 2), dtype=int)}, ArgumentError, "`players` must cover the image"),
        ({"players": np.full((6, 4), 2)}, ArgumentError, "`players` must be a matrix"),
        ({"batch_size": 0}, ArgumentError, "`batch_size` must be at least 1"),
        ({"model": 3}, ArgumentTypeError, "`model` must be a callable on images"),
    ],
)
def test_bad_arguments_are_named(changes, error, message):
    """What breaks a rule is named with the rule."""
    arguments = {
        "model": lambda batch: batch[:, 0, 0, 0],
        "image": picture(),
        "players": grid(6, 4, 2, 2),
        **changes,
    }
    with pytest.raises(error, match=message):
        image_game(arguments.pop("model"), arguments.pop("image"), arguments.pop("players"), **arguments)


class TestModules:
    """PyTorch modules: the same game, masked on the device."""

    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch", reason="torch is not installed")

    @pytest.fixture
    def module(self, torch):
        torch.manual_seed(0)
        return torch.nn.Sequential(
            torch.nn.Conv2d(3, 2, 3), torch.nn.Dropout(0.9), torch.nn.Flatten(), torch.nn.Linear(16, 5)
        )

    def test_the_game_is_that_of_the_function(self, torch, module):
        """A module and the function it computes make the same game, whatever the batches."""
        image = picture().astype(np.float32)

        def function(batch):
            with torch.inference_mode():
                channels_first = np.moveaxis(batch, -1, 1).copy()
                return module.eval()(torch.from_numpy(channels_first)).numpy()

        owner, rows = grid(6, 4, 2, 2), enumerate_all(4)
        expected = image_game(function, image, owner)(rows)
        tensor = torch.from_numpy(np.moveaxis(image, -1, 0).copy())
        for batch_size in (3, 64):
            found = image_game(module, tensor, owner, batch_size=batch_size)(rows)
            assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)

    def test_the_module_is_left_as_it_was(self, torch, module):
        """Dropout is off while the game is played and back on afterwards; no gradient is kept."""
        module.train()
        game = image_game(module, torch.rand(3, 6, 4), grid(6, 4, 1, 2))
        assert np.array_equal(game(enumerate_all(2)), game(enumerate_all(2)))
        assert module.training
        assert all(parameter.grad is None for parameter in module.parameters())

    def test_values_leave_the_device_once(self, torch, module, monkeypatch):
        """However many batches, one copy to the host."""
        game = image_game(module, torch.rand(3, 6, 4), grid(6, 4, 2, 2), batch_size=2)
        copies = []
        original = torch.Tensor.cpu
        monkeypatch.setattr(torch.Tensor, "cpu", lambda self: copies.append(1) or original(self))
        game(enumerate_all(4))
        assert len(copies) == 1

    def test_answers_may_have_logits(self, torch):
        """As Hugging Face models answer."""

        class Model(torch.nn.Module):
            def forward(self, images):
                return type("Answer", (), {"logits": images.sum(dim=(1, 2, 3))[:, None]})()

        values = image_game(Model(), torch.ones(3, 2, 2), grid(2, 2, 1, 2), absent=0.0)(enumerate_all(2))
        assert values.tolist() == [0.0, 6.0, 6.0, 12.0]

    def test_half_precision_on_request(self, torch, module):
        """Products of 16 bits: near the module's own, and never the same; the module stays as it was."""
        image, owner, rows = torch.rand(3, 6, 4), grid(6, 4, 2, 2), enumerate_all(4)
        expected = image_game(module, image, owner)(rows)
        for precision, bits in (("half", 11), ("bfloat16", 8)):
            found = image_game(module, image, owner, precision=precision)(rows)
            assert found.dtype == np.float64
            assert found == pytest.approx(expected, rel=2.0 ** (4 - bits), abs=2.0 ** (3 - bits))
            assert not np.array_equal(found, expected)
        assert {parameter.dtype for parameter in module.parameters()} == {torch.float32}
        with pytest.raises(ArgumentError, match="`precision` must be 'model', 'half' or 'bfloat16'"):
            image_game(module, image, owner, precision="double")
        with pytest.raises(ArgumentError, match="`precision` must go with a PyTorch module"):
            image_game(lambda batch: batch[:, 0, 0, 0], picture(), owner, precision="half")

    @pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
    def test_pixels_take_the_modules_precision(self, torch, module, kind):
        """An array of doubles, a tensor that wants a gradient, a module of 16 bits: the same picture."""
        image, owner = torch.rand(3, 6, 4), grid(6, 4, 2, 2)
        expected = image_game(module, image, owner)(enumerate_all(4))
        converted = module.to(getattr(torch, kind))
        for same in (image.double().numpy(), image.clone().requires_grad_(), image.bfloat16().float()):
            found = image_game(converted, same, owner)(enumerate_all(4))
            assert found == pytest.approx(expected, rel=0.05, abs=0.02)

    def test_an_estimate_asks_in_the_games_batches(self, torch, module):
        """A device is asked for as many images at a time as the game was told, not a 64th of the budget."""
        game = image_game(module, torch.rand(3, 6, 4), grid(6, 4, 3, 4), batch_size=40)
        sizes = []
        handle = module.register_forward_hook(lambda module, given, answer: sizes.append(len(answer)))
        polyshap.estimate(game, 12, 400, "leverageshap", random_state=0)
        handle.remove()
        assert sizes == [40] * 10
