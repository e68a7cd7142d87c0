"""Plots of one row and of many: what stands on the axes."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta

import numpy as np
import pytest

import polyshap
from plot_cases import estimate, explanation, labels, large_explanation, texts, with_data
from polyshap import plots
from polyshap.errors import ArgumentError

pytest.importorskip("matplotlib")


def test_bar_is_sorted_and_has_whiskers(ax):
    """Strongest on top, one whisker a bar, numbers with their sign."""
    x = explanation()[2]
    plots.bar(x, ax=ax)
    widths = [patch.get_width() for patch in ax.patches]
    np.testing.assert_allclose(np.abs(widths), np.sort(np.abs(x.values))[::-1])
    (container,) = ax.containers[1:]
    segments = container.lines[2][0].get_segments()
    half = [(b - a)[0] / 2 for a, b in segments]
    order = np.argsort(-np.abs(x.values))
    np.testing.assert_allclose(half, 1.959963984540054 * x.standard_errors[order])
    assert labels(ax.yaxis)[0] == "age = 1.567"


def test_numbers_beside_bars_stay_clear_of_the_names():
    """Long names leave the bars little room: the numbers still end inside of the axes."""
    x = polyshap.Explanation(
        values=np.array([0.00979, -0.00952, 0.00517, -0.00364]),
        base_values=np.array(0.0),
        predictions=np.array(0.0018),
        data=np.array([np.nan, None, 181.0, 18.7], dtype=object),
        feature_names=("island", "bill_length_in_millimetres", "flipper_length_mm", "bill_depth_mm"),
        output_names=None,
        standard_errors=np.full(4, 0.0001),
        row_evaluations=np.array(60),
        diagnostics=polyshap.results.Diagnostics("adaptive"),
    )
    axes = plots.bar(x)
    axes.figure.canvas.draw()
    frame = axes.get_window_extent()
    for number in axes.texts:
        extent = number.get_window_extent()
        assert frame.x0 <= extent.x0
        assert extent.x1 <= frame.x1
    assert sorted(label for label in labels(axes.yaxis) if "missing" in label) == [
        "bill_length_in_millimetres = missing",
        "island = missing",
    ]


@pytest.mark.parametrize("standard_errors", [None, np.zeros(6)])
def test_bar_without_errors_has_none(standard_errors, ax):
    """No standard errors, or exact values: no whiskers, and no word about them."""
    plots.bar(dataclasses.replace(estimate(), standard_errors=standard_errors), ax=ax)
    assert len(ax.containers) == 1
    assert ax.get_xlabel() == "contribution"


def test_hostile_output_names_stay_text():
    """The name of an output is cut, and is no mathematics."""
    x = dataclasses.replace(explanation(outputs=2), output_names=("cost in $ of $x^{ and of much else", "b"))
    ax = plots.waterfall(x[..., 0], row=1)
    ax.figure.canvas.draw()
    assert ax.get_xlabel().splitlines()[0] == r"prediction of cost in \$ of \$x… much else"


def test_many_outputs_share_a_legend():
    """Of more than five, four and the sum of the others, beside the bars and not upon them."""
    x = explanation(outputs=12)
    ax = plots.global_importance(x)
    ax.figure.canvas.draw()
    legend = ax.get_legend()
    shown = [one.get_text() for one in legend.get_texts()]
    assert shown == ["class 0", "class 1", "class 10", "class 11", "8 others"]
    ends = np.max([patch.get_x() + patch.get_width() for patch in ax.patches])
    np.testing.assert_allclose(ends, np.abs(x.values).mean(axis=0).sum(axis=1).max())
    assert legend.get_window_extent().y0 >= ax.get_window_extent().y1
    assert legend.get_window_extent().x0 >= 0


def test_bar_of_many_rows_is_global(ax):
    """Several rows without a row are summed up."""
    plots.bar(explanation(), ax=ax)
    assert ax.get_xlabel() == "mean |contribution|\nwhiskers: 95 % intervals"


@pytest.mark.parametrize("n_features", [4, 300])
def test_few_and_many_features(n_features, ax):
    """What does not fit is summed up, and the sum over all bars is kept."""
    x = explanation(n_features=n_features)[0]
    plots.bar(x, ax=ax)
    assert len(ax.patches) == min(13, n_features)
    np.testing.assert_allclose(sum(patch.get_width() for patch in ax.patches), x.values.sum())


def test_waterfall_leads_from_base_to_prediction(ax):
    """Each bar begins where the one below ends."""
    x = explanation()[4]
    plots.waterfall(x, ax=ax)
    starts = [patch.get_x() for patch in ax.patches]
    ends = [patch.get_x() + patch.get_width() for patch in ax.patches]
    np.testing.assert_allclose(starts[0], x.base_values)
    np.testing.assert_allclose(starts[1:], ends[:-1])
    np.testing.assert_allclose(ends[-1], x.predictions)


def test_waterfall_writes_signs_as_they_are(ax):
    """A prediction of nearly nothing is no negative zero, and below zero it has a true minus sign."""
    x = explanation()[4]
    for prediction, text in ((-1e-17, "prediction 0.00"), (-12.0, "prediction −12.0")):
        shift = prediction - x.predictions
        moved = dataclasses.replace(x, base_values=x.base_values + shift, predictions=x.predictions + shift)
        plots.waterfall(moved, ax=ax)
        assert texts(ax)[-1] == text


def test_waterfall_needs_a_row(ax):
    """Of many rows one must be chosen."""
    with pytest.raises(ArgumentError, match="row=0"):
        plots.waterfall(explanation(), ax=ax)


def test_outputs_must_be_chosen(ax):
    """The message holds the index to write."""
    with pytest.raises(ArgumentError, match=r"x\[\.\.\., 'class 2'\]"):
        plots.beeswarm(explanation(outputs=3), ax=ax)
    two = dataclasses.replace(estimate(), values=np.zeros((6, 2)), standard_errors=None)
    with pytest.raises(ArgumentError, match="selected_output"):
        plots.bar(two, ax=ax)
    plots.beeswarm(explanation(outputs=3)[..., "class 2"], ax=ax)
    assert ax.get_xlabel().splitlines()[0] == "contribution to class 2"


def test_long_names_are_cut_in_the_middle(ax):
    """Both ends stay, and a dollar sign is no mathematics."""
    plots.global_importance(explanation(), ax=ax)
    assert labels(ax.yaxis)[:2] == ["a_rather_long_n…d_quantity", r"cost in \$"]


def test_names_that_differ_in_their_middle_stay_different(ax):
    """Cut names keep the part in which they differ."""
    x = large_explanation(300)
    plots.beeswarm(x, ax=ax)
    shown = labels(ax.yaxis)
    assert len(set(shown)) == len(shown)
    assert all(len(label) <= 26 for label in shown)
    assert plots.bar(x, row=0).figure.axes[0].get_yticklabels()[0].get_text().split(" = ")[0] in shown


def test_a_long_sum_of_the_others_is_cut(ax):
    """Three hundred features: the named bars stay readable, the number of the rest is written."""
    x = large_explanation(300)
    plots.global_importance(x, ax=ax, max_features=5)
    longest = np.sort(np.abs(x.values).mean(axis=0))[-1]
    assert ax.get_xlim()[1] == pytest.approx(1.5 * longest)
    assert any("→" in text for text in texts(ax))


def test_beeswarm_keeps_all_points(ax):
    """Every row has its point, in its own line, and the noise band is there."""
    x = explanation(60)
    plots.beeswarm(x, ax=ax)
    points = np.concatenate([one.get_offsets() for one in ax.collections])
    assert len(points) == x.values.size
    np.testing.assert_allclose(np.sort(points[:, 0]), np.sort(x.values.ravel()))
    assert len(ax.patches) == 5
    assert np.abs(points[:, 1] - points[:, 1].round()).max() < 0.45


def test_heatmap_marks_what_is_not_clear(ax):
    """As many dots as intervals that hold zero; rows by prediction."""
    x = explanation()
    plots.heatmap(x, ax=ax)
    unsure = np.abs(x.values) <= 1.959963984540054 * x.standard_errors
    assert len(ax.collections[0].get_offsets()) == unsure.sum()
    cells = ax.images[0].get_array()
    assert cells.shape == (5, 30)
    np.testing.assert_allclose(cells.sum(axis=0), np.sort(x.predictions) - 4.0)


def test_heatmap_of_few_rows_names_them(ax):
    """Rows have whole numbers, and a single one is no plural."""
    plots.heatmap(explanation(1), ax=ax)
    assert labels(ax.xaxis) == ["0"]
    assert ax.get_xlabel().splitlines()[0] == "1 row"
    x = explanation(8)
    order = np.argsort(x.predictions, kind="stable")
    assert labels(plots.heatmap(x).xaxis) == [str(row) for row in order]


def test_beeswarm_of_text_has_no_scale(ax):
    """Where no feature has an order there is no key to its colours; dates have one."""
    x = explanation()
    data = np.full(x.data.shape, "text", dtype=object)
    plots.beeswarm(with_data(x, data), ax=ax)
    assert len(ax.figure.axes) == 1
    data[:, 0] = [datetime(2024, 5, 1) + timedelta(days=i) for i in range(30)]
    assert len(plots.beeswarm(with_data(x, data)).figure.axes) == 2


def test_scatter_of_text_has_its_levels(ax):
    """Text stands at the places of its levels."""
    plots.scatter(explanation(), "city", ax=ax)
    assert labels(ax.xaxis) == ["Bonn", "Kiel", "Ulm"]


def test_scatter_of_very_many_levels(ax):
    """Rare levels share a place."""
    x = explanation(300)
    data = np.array(x.data)
    data[:, 3] = [f"town {i}" for i in range(300)]
    data[:30, 3] = None
    plots.scatter(with_data(x, data), "city", ax=ax)
    assert len(labels(ax.xaxis)) == 20
    assert labels(ax.xaxis)[-2:] == ["other", "missing"]
    assert (ax.lines[0].get_xdata() > 18.5).sum() == 30


@pytest.mark.parametrize("kind", ["numbers", "dates"])
def test_scatter_sets_missing_values_apart(kind, ax):
    """No row is left out: those without a value stand left of all others, under their name."""
    from matplotlib.dates import ConciseDateFormatter

    x = explanation(12)
    data = np.array(x.data)
    if kind == "dates":
        data[:, 0] = [datetime(2024, 5, 1) + timedelta(days=7 * i) for i in range(12)]
    data[:4, 0] = [None, np.nan, np.datetime64("NaT"), None]
    plots.scatter(with_data(x, data), "age", ax=ax)
    points = max(ax.lines, key=lambda line: len(line.get_xdata()))
    places = np.asarray(points.get_xdata(), dtype=float)
    assert np.isfinite(places).all()
    assert places[:4].max() < places[4:].min()
    np.testing.assert_array_equal(points.get_ydata(), x.values[:, 0])
    assert texts(ax) == ["missing"]
    assert isinstance(ax.xaxis.get_major_formatter(), ConciseDateFormatter) == (kind == "dates")


def test_scatter_of_flags_and_of_nothing(ax):
    """Yes and no are levels, not noughts and ones; a column without any value still has its rows."""
    x = explanation(6)
    data = np.array(x.data)
    data[:, 0], data[:, 1] = [True, False] * 3, None
    plots.scatter(with_data(x, data), "age", ax=ax)
    assert labels(ax.xaxis) == ["False", "True"]
    assert labels(plots.scatter(with_data(x, data), 1).xaxis) == ["missing"]


@pytest.mark.parametrize("feature", ["town", 7])
def test_scatter_of_an_unknown_feature(feature, ax):
    """Names are in the message."""
    with pytest.raises(ArgumentError, match="city"):
        plots.scatter(explanation(), feature, ax=ax)
