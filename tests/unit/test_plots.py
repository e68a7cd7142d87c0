"""What holds for every plot, and those of interactions, convergence, images and texts."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import polyshap
from plot_cases import (
    CASES,
    NAMES,
    SENTENCE,
    estimate,
    explanation,
    interacting,
    picture,
    sentence,
    texts,
)
from polyshap import plots
from polyshap.errors import ArgumentError, NotAvailableError

matplotlib = pytest.importorskip("matplotlib")


@pytest.mark.parametrize("name", CASES)
def test_axes_come_back(name, ax):
    """A plot returns the very axes that it was given."""
    assert CASES[name][0](ax) is ax


def test_every_plot_has_a_case():
    """A new plot needs a picture."""
    drawn = {name.partition("_of_")[0] for name in CASES}
    assert drawn == set(plots.__all__)


def test_without_axes_nothing_global_is_touched():
    """Where pyplot is not in use it is not imported, and no setting changes."""
    script = (
        "import sys, numpy as np, matplotlib, polyshap\n"
        "before = dict(matplotlib.rcParams)\n"
        "e = polyshap.estimate(lambda z: z @ np.arange(4.0), 4, 10)\n"
        "ax = polyshap.plots.bar(e)\n"
        "ax.figure.savefig(sys.argv[1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert dict(matplotlib.rcParams) == before\n"
    )
    script = script.replace("polyshap\nbefore", "polyshap, polyshap.plots\nbefore")
    subprocess.run([sys.executable, "-c", script, "/dev/null"], check=True, env={"MPLBACKEND": "Agg"})


@pytest.mark.parametrize("name", ["bar", "waterfall", "interaction_network", "text"])
def test_words_are_seen_on_a_dark_ground(name):
    """Text and whiskers follow the style in use."""
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"text.color": "white", "axes.facecolor": "black"}):
        ax = Figure().add_subplot()
        CASES[name][0](ax)
    colours = {one.get_color() for one in ax.texts if one.get_text()}
    assert "white" in colours
    assert colours <= {"white", "#9a9a9a"}
    for container in (one for one in ax.containers if isinstance(one, ErrorbarContainer)):
        np.testing.assert_array_equal(container.lines[2][0].get_color(), [[1, 1, 1, 1]])


def test_interaction_heatmap_shows_the_pairs(ax):
    """The cells below the diagonal hold the interactions of the estimate."""
    found = interacting()
    plots.interaction_heatmap(found, ax=ax, names=NAMES)
    shown = {value for value in texts(ax) if value.strip("0.")}
    assert "+2.00" in shown
    assert "−1.00" in shown
    assert len(texts(ax)) == 10


def test_interaction_network_draws_signs(ax):
    """Solid lines above zero, dashed ones below."""
    plots.interaction_network(interacting(), ax=ax)
    styles = {line.get_linestyle() for line in ax.lines}
    assert styles == {"-", "--"}


def test_interactions_that_are_not_there(ax):
    """An estimator without interactions says which has them."""
    with pytest.raises(NotAvailableError, match="polyshap"):
        plots.interaction_heatmap(estimate(), ax=ax)


def test_convergence_is_sorted_by_calls(ax):
    """Lines run from few calls to many, with bands that shrink."""
    plots.convergence([estimate(512), estimate(32)], ax=ax, max_features=2)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [32, 512])
    band = ax.collections[0].get_paths()[0].get_extents()
    assert band.height > 1.0


def test_convergence_of_different_games_is_refused(ax):
    """All estimates must be of one game."""
    with pytest.raises(ArgumentError, match="one game"):
        plots.convergence([estimate(), interacting()], ax=ax)
    with pytest.raises(ArgumentError, match="at least one"):
        plots.convergence([], ax=ax)


def test_image_with_segments(ax):
    """Each pixel shows the value of its segment; patches and labels agree."""
    values = estimate().values
    numbers = np.repeat(np.repeat(np.arange(6).reshape(2, 3), 12, axis=0), [11, 11, 10], axis=1)
    plots.image(estimate(), picture(), numbers, ax=ax)
    np.testing.assert_array_equal(ax.images[1].get_array(), values[numbers])


@pytest.mark.parametrize("segments", [None, (2, 2), np.zeros((3, 3), dtype=int), np.full((24, 32), 9)])
def test_image_with_wrong_segments(segments, ax):
    """Segments must fit picture and players."""
    with pytest.raises(ArgumentError, match="segments"):
        plots.image(estimate(), picture(), segments, ax=ax)


def test_text_wraps_and_escapes(ax):
    """All words are there, on several lines, mathematics and long words included."""
    many = SENTENCE * 20
    values = np.tile(sentence().values, 20)
    long = dataclasses.replace(sentence(), values=values, standard_errors=None)
    plots.text(long, [*many[:-1], "$x$" + "y" * 100], ax=ax, numbers=False)
    shown = texts(ax)
    assert shown[:-1] == many[:-1]
    assert shown[-1].startswith(r"\$x\$y")
    assert len({one.get_position()[1] for one in ax.texts}) > 5


def test_the_accessor_reaches_all_plots():
    """`x.plot.name(...)` is `polyshap.plots.name(x, ...)`."""
    x = explanation()
    assert dir(x.plot) == sorted(plots.__all__)
    assert x.plot.waterfall(row=2).get_xlabel().splitlines()[0] == "prediction"


def test_without_matplotlib(monkeypatch):
    """The message holds the pip line."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(polyshap.errors.MissingDependencyError, match=r"polyshap\[plot\]"):
        plots.bar(estimate())
