"""Memory that is free, inside containers too, and refusals before it runs out."""

import numpy as np
import pytest

import polyshap
from polyshap import _memory
from polyshap.errors import MemoryNeededError


def test_a_containers_limit_counts_without_its_cache(tmp_path, monkeypatch):
    """limit - (use - cache), where that is less than the machine has; no limit is no limit."""
    machine = _memory.available_memory()
    for name, text in (("memory.max", "max\n"), ("memory.current", "700\n"), ("memory.stat", "anon 1\n\n")):
        (tmp_path / name).write_text(text)
    here = ((str(tmp_path / "memory.max"), "memory.current", "inactive_file"),)
    monkeypatch.setattr(_memory, "_CGROUPS", here)
    assert _memory.available_memory() > 0.5 * machine
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 200\n")
    assert _memory.available_memory() == 500


def test_other_platforms_get_a_guess(monkeypatch):
    """Where the system does not say, four GiB."""
    monkeypatch.setattr(_memory, "_CGROUPS", ())
    monkeypatch.setattr(_memory, "_field", lambda path, name: int("nothing"))
    assert _memory.available_memory() == 4 << 30


@pytest.mark.parametrize(("name", "n_players"), [("polyshap-2", 500), ("mobius-lasso", 500)])
def test_a_regression_that_cannot_fit_says_so(monkeypatch, name, n_players):
    """The message has the size and a remedy, and comes before the game is asked."""

    def game(coalitions):
        raise AssertionError("asked")

    monkeypatch.setattr(_memory, "available_memory", lambda: 1 << 29)
    estimator = polyshap.estimators.get(name)
    if name == "polyshap-2":
        estimator = polyshap.estimators.PolySHAP(estimator.frontier, polyshap.Design(paired=False))
    with pytest.raises(MemoryNeededError, match=r"125250 terms .* GiB; 0\.5 GiB are free"):
        polyshap.estimate(game, n_players, 1000, estimator, random_state=0)
    assert np.isfinite(polyshap.estimate(lambda z: z.sum(axis=1), 500, 1200, "polyshap-1").values).all()
