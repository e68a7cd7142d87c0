"""Plots against the pictures of them, with words and without."""

from __future__ import annotations

import numpy as np
import pytest

from plot_cases import BASELINE, CASES, SHAPES, draw

pytest.importorskip("matplotlib")

# Root mean squares of 255 grey levels, each with room above what matplotlib 3.8 to 3.10 (FreeType 2.6) gave
# against pictures drawn by 3.11 (FreeType 2.14). Words moved and widened: up to 9.7. Shapes were equal to the
# last pixel, but for cells, whose borders are resampled otherwise (up to 3.9), and hatches (1.1). Missing
# whiskers give 3.1 or more.
TOLERANCE, TOLERANCE_OF_SHAPES, TOLERANCE_OF_CELLS = 12.0, 1.0, 5.0
CELLS = {"heatmap", "image", "interaction_heatmap", "global_importance_of_outputs"}


def distance(name: str, words: bool) -> float:
    """Between the baseline and the picture drawn now."""
    from matplotlib.image import imread

    expected = 255.0 * imread((BASELINE if words else SHAPES) / f"{name}.png")[..., :3]
    other = draw(name, words)
    assert expected.shape == other.shape
    # blocks of 4 x 4 pixels: glyphs that moved by a fraction of a pixel stay in their block
    apart = expected - other
    height, width = (extent // 4 * 4 for extent in apart.shape[:2])
    blocks = apart[:height, :width].reshape(height // 4, 4, width // 4, 4, 3).mean(axis=(1, 3))
    return float(np.sqrt((blocks**2).mean()))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("words", [True, False])
def test_pictures_look_as_before(name, words):
    """Each plot against its baseline picture, and its shapes alone more closely."""
    shapes = TOLERANCE_OF_CELLS if name in CELLS else TOLERANCE_OF_SHAPES
    assert distance(name, words) < (TOLERANCE if words else shapes)


@pytest.mark.parametrize("name", ["bar", "waterfall", "scatter", "global_importance", "convergence"])
def test_the_comparison_sees_missing_whiskers(name, monkeypatch):
    """The tolerance is small enough to notice that the error bars are gone."""
    from matplotlib.axes import Axes

    errorbar = Axes.errorbar

    def unseen(self, *arguments, **options):
        drawn = errorbar(self, *arguments, **options)
        for part in drawn.get_children():
            part.set_visible(False)
        return drawn

    monkeypatch.setattr(Axes, "errorbar", unseen)
    assert distance(name, words=False) > TOLERANCE_OF_SHAPES
