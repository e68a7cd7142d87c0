"""Raw tables: where they are looked for, how they are checked, and that they make the stored games."""

import hashlib
import urllib.request

import numpy as np
import pytest

from polyshap.benchmark.data import load_instances
from polyshap.benchmark.locate import DOWNLOADS, Download, find_file
from polyshap.benchmark.raw import LOADERS, fit_forest, load_table_data, split
from polyshap.errors import ArgumentError, MissingDataError
from polyshap.games import tree_shapley_values
from tables import data_folder

NAME = "tabular/bike.csv"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty data folder and an empty cache."""
    monkeypatch.setenv("POLYSHAP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def served(monkeypatch, content):
    """Let every address answer with `content`."""

    class Answer:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def read(self):
            return content

    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: Answer())


def test_a_download_is_checked_and_kept(elsewhere, monkeypatch):
    """The right bytes go into the cache and are found there; others are refused."""
    sums = (hashlib.sha256(b"right").hexdigest(),)
    monkeypatch.setattr(
        "polyshap.benchmark.locate.DOWNLOADS", {NAME: Download("https://example.org/b", sums)}
    )
    served(monkeypatch, b"wrong")
    with pytest.raises(MissingDataError, match=r"https://example.org/b has changed.*by hand"):
        find_file(NAME)
    served(monkeypatch, b"right")
    path = find_file(NAME)
    assert path.read_bytes() == b"right"
    assert [item.name for item in path.parent.iterdir()] == ["bike.csv"]
    monkeypatch.setattr(urllib.request, "urlopen", None)
    assert find_file(NAME) == path


def test_without_a_network_the_message_says_what_to_do(elsewhere, monkeypatch):
    """Which file, from where, to where."""

    def refuse(url, timeout):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    with pytest.raises(MissingDataError, match=r"bike.csv is not here.*did not answer.*POLYSHAP_DATA"):
        find_file(NAME)
    with pytest.raises(MissingDataError, match=r"Download it from https://.*bike.csv and put it at"):
        find_file(NAME, download=False)


def test_unknown_tables_are_refused():
    """The names are those of the tabular games."""
    with pytest.raises(ArgumentError, match="`name` must be one of Housing"):
        load_table_data("ViT9")


def test_the_split_is_the_protocols():
    """A shuffle of the rows with seed 40; the last int(0.2 n) are for testing."""
    order = np.arange(11)
    np.random.default_rng(40).shuffle(order)
    X_train, X_test, y_train, y_test = split(np.arange(11.0)[:, None], np.arange(11.0))
    assert [*y_train, *y_test] == order.tolist()
    assert len(X_test) == len(y_test) == 2
    assert X_train[:, 0].tolist() == y_train.tolist()


@pytest.mark.data
def test_files_of_the_data_folder_have_known_sums():
    """What the loaders are tested on is what they may download."""
    folder = data_folder()
    for name, source in DOWNLOADS.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() in source.sha256


@pytest.mark.data
@pytest.mark.parametrize("name", LOADERS)
def test_rows_are_those_of_the_stored_forests(name):
    """Encoding, shuffle and split give the very rows that were explained."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    stored = np.load(data_folder() / "forests" / f"{name}.npz")["x"]
    _, X_test, _, _ = split(*load_table_data(name))
    assert X_test[: len(stored)] == pytest.approx(stored, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.data
@pytest.mark.parametrize("name", ["Adult", "Cancer", "Bike", "Crime"])
def test_fitted_forests_are_near_the_stored_ones(name):
    """The same games to 3 % of their values: ties between splits depend on scikit-learn's version."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    data_folder()
    ensemble, rows = fit_forest(name)
    exact = load_instances(name, source="stored").exact
    found = tree_shapley_values(ensemble, rows[:30])[:, :, 0]
    assert np.sqrt(np.mean((found - exact) ** 2) / np.mean(exact**2)) < 0.03
