"""The real path of the CIFAR-10 game from end to end, on a vision transformer trained here on digits."""

import pickle

import numpy as np
import pytest

import polyshap
from polyshap.benchmark.cifar10 import chosen_images, read_batch
from polyshap.benchmark.command import run as command
from polyshap.benchmark.data import load_instances
from polyshap.errors import FileFormatError, MissingDataError
from polyshap.games import load_table


def write_batch(path, images):
    """A batch file as torchvision keeps it."""
    rows = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    path.write_bytes(pickle.dumps({b"data": rows, b"labels": [0] * len(images)}))


def test_batches_are_read_and_nothing_else(tmp_path):
    """Images come back; a pickle that would run code is refused unopened; a missing file says what to do."""
    images = np.random.default_rng(0).integers(256, size=(4, 32, 32, 3), dtype=np.uint8)
    write_batch(tmp_path / "test_batch", images)
    assert np.array_equal(read_batch(tmp_path / "test_batch"), images)

    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("code was run",))

    (tmp_path / "evil").write_bytes(pickle.dumps({b"data": Evil()}))
    with pytest.raises(FileFormatError, match="no batch file of CIFAR-10"):
        read_batch(tmp_path / "evil")
    with pytest.raises(MissingDataError, match=r"Download https://.*cifar-10-python.tar.gz"):
        read_batch(tmp_path / "absent")


def test_images_are_those_of_the_authors_shuffle():
    """The first of `random.Random(42).shuffle`, whatever their number."""
    assert chosen_images(10_000, 3) == [3771, 6672, 7261]
    assert sorted(chosen_images(50, 50)) == list(range(50))


def test_from_model_and_images_to_estimates(tmp_path, monkeypatch, capsys, request):
    """Train, save, compute the tables by command, load them as the task, estimate: the values are right."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    from polyshap.benchmark.vision import digit_images, load_image_model, save_small_model

    threads = torch.get_num_threads()
    request.addfinalizer(lambda: torch.set_num_threads(threads))
    torch.set_num_threads(1)  # so small a model is slower on several
    assert save_small_model(tmp_path / "model", epochs=2) > 0.25  # by chance: 0.1
    images, _ = digit_images()
    write_batch(tmp_path / "test_batch", images[1500:1560])
    folder = tmp_path / "games" / "cifar10"
    arguments = [str(tmp_path / "model"), str(tmp_path), "--instances", "1", "--out", str(folder)]
    assert command(["bench", "cifar10", *arguments]) == 0
    assert "image 1 of 1" in capsys.readouterr().out

    table = load_table(folder / "01.npz")
    assert table.n_players == 16
    # one coalition by hand: grey patches, normalised, the logit of the class predicted for the whole image
    image = images[1500:1560][chosen_images(60, 1)[0]]
    model = load_image_model(tmp_path / "model").model
    shown = image.astype(float)
    shown[:8, 8:16] = 128.0  # player 1 is absent
    both = torch.from_numpy(np.stack([image, shown]).transpose(0, 3, 1, 2) / 127.5 - 1).float()
    with torch.inference_mode():
        logits = model(pixel_values=both).logits
    coalition = np.ones((1, 16), dtype=bool)
    coalition[0, 1] = False
    assert table(coalition) == pytest.approx(logits[1, logits[0].argmax()].item(), abs=1e-4)

    before = (folder / "01.npz").stat().st_mtime_ns
    assert command(["bench", "cifar10", *arguments]) == 0
    assert (folder / "01.npz").stat().st_mtime_ns == before  # computed once

    for number in range(2, 31):  # the task has thirty instances
        (folder / f"{number:02d}.npz").write_bytes((folder / "01.npz").read_bytes())
    monkeypatch.setenv("POLYSHAP_DATA", str(tmp_path))
    load_instances.cache_clear()
    instances = load_instances("CIFAR10")
    load_instances.cache_clear()
    estimate = polyshap.estimate(instances.game([0]), 16, 4156, "polyshap-3", random_state=0)
    exact = instances.exact[0]
    assert exact.sum() == pytest.approx(float(table.table[-1] - table.table[0]))
    assert np.mean((estimate.values[:, 0] - exact) ** 2) < 0.01 * np.mean(exact**2)
