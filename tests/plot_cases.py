"""Results with fixed numbers, and each plot on one of them: the cases of the plot tests.

`python tests/plot_cases.py` writes the baseline pictures anew; look at them before committing.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

import polyshap
from polyshap import plots
from polyshap.results import Diagnostics, Estimate

BASELINE = Path(__file__).parent / "unit" / "baseline"
SHAPES = BASELINE / "shapes"  # the same without words
NAMES = ("age", "a_rather_long_name_of_a_measured_quantity", "cost in $", "city", "noise")


def explanation(n_rows: int = 30, n_features: int = 5, errors: bool = True, outputs: int = 0):
    """Linear contributions of random data, the second feature strongest; the last column is text."""
    generator = np.random.default_rng(11)
    numbers = generator.normal(size=(n_rows, n_features))
    weights = np.array([1.0, -3.0, 2.0, 0.5, 0.02, *([0.1] * n_features)])[:n_features]
    values = numbers * weights
    data = numbers.round(3).astype(object)
    data[:, 3] = generator.choice(["Ulm", "Bonn", "Kiel"], n_rows)
    standard_errors = 0.1 + 0.1 * generator.random(values.shape)
    if outputs:
        scale = np.linspace(1.0, -1.0, outputs)
        values, standard_errors = values[..., None] * scale, standard_errors[..., None] + 0 * scale
    base = np.full((n_rows, outputs) if outputs else n_rows, 4.0)
    names = (*NAMES, *(f"feature_{i}" for i in range(n_features)))[:n_features]
    return polyshap.Explanation(
        values=values,
        base_values=base,
        predictions=base + values.sum(axis=1),
        data=data,
        feature_names=names,
        output_names=tuple(f"class {i}" for i in range(outputs)) if outputs else None,
        standard_errors=standard_errors if errors else None,
        row_evaluations=np.full(n_rows, 64),
        diagnostics=Diagnostics("adaptive"),
    )


def estimate(budget: int = 64, errors: bool = True) -> Estimate:
    """Six players; values approach their limit, and the errors fall, as the budget grows."""
    limit = np.array([2.0, -1.2, 0.6, 0.3, -0.1, 0.0])
    off = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) * 2.0 / np.sqrt(budget)
    return Estimate(
        values=limit + off,
        baseline=np.array(1.0),
        total=np.array(2.6),
        standard_errors=np.full(6, 2.0 / np.sqrt(budget)) if errors else None,
        n_evaluations=budget,
        diagnostics=Diagnostics("adaptive"),
    )


def interacting() -> Estimate:
    """Exact values of a game with one strong pair up, one down, and a triple."""

    def game(coalitions):
        z = coalitions.astype(float)
        return (
            z @ [1.0, -0.5, 0.8, 0.0, 0.3]
            + 2 * z[:, 0] * z[:, 1]
            - z[:, 2] * z[:, 3]
            + z[:, 0] * z[:, 2] * z[:, 4]
        )

    return polyshap.estimate(game, 5, 32, "exact")


def picture() -> np.ndarray:
    """A bright disk on a dark slope, (24, 32, 3)."""
    y, x = np.mgrid[:24, :32]
    grey = x / 100 + 0.6 * (((x - 20) ** 2 + (y - 10) ** 2) < 40)
    return np.stack([grey] * 3, axis=2)


def large_explanation(n_features: int) -> polyshap.Explanation:
    x = explanation(n_features=n_features)
    names = tuple(f"measurement number {j} of the left side" for j in range(n_features))
    return dataclasses.replace(x, feature_names=names)


def with_data(x: polyshap.Explanation, data: np.ndarray) -> polyshap.Explanation:
    return dataclasses.replace(x, data=data)


def texts(ax) -> list[str]:
    return [one.get_text() for one in ax.texts]


def labels(axis) -> list[str]:
    return [one.get_text() for one in axis.get_ticklabels()]


SENTENCE = ["never", "have", "I", "seen", "anything", "so", "good"]


def sentence() -> Estimate:
    values = np.array([-1.0, 0.1, 0.05, 0.1, 0.2, 0.3, 1.4])
    return Estimate(values, np.array(0.0), np.array(1.15), np.full(7, 0.08), 50, Diagnostics("adaptive"))


# name: draws on the given axes; size in inches
CASES = {
    "bar": (lambda ax: plots.bar(explanation()[2], ax=ax), (5, 2.6)),
    "bar_of_estimate": (lambda ax: plots.bar(estimate(errors=False), ax=ax, max_features=4), (4, 2.4)),
    "waterfall": (lambda ax: plots.waterfall(explanation(), row=1, ax=ax, max_features=3), (5, 2.6)),
    "beeswarm": (lambda ax: plots.beeswarm(explanation(60), ax=ax), (5, 3)),
    "heatmap": (lambda ax: plots.heatmap(explanation(), ax=ax), (5, 2.6)),
    "scatter": (lambda ax: plots.scatter(explanation(), "age", ax=ax), (4, 3)),
    "scatter_of_text": (lambda ax: plots.scatter(explanation(), "city", ax=ax), (4, 3)),
    "global_importance": (lambda ax: plots.global_importance(explanation(), ax=ax), (5, 2.6)),
    "global_importance_of_outputs": (
        lambda ax: plots.global_importance(explanation(outputs=3), ax=ax, max_features=3),
        (5, 2.6),
    ),
    "interaction_heatmap": (
        lambda ax: plots.interaction_heatmap(interacting(), ax=ax, names=NAMES),
        (5, 3.2),
    ),
    "interaction_network": (
        lambda ax: plots.interaction_network(interacting(), ax=ax, names="abcde"),
        (4, 3.4),
    ),
    "convergence": (
        lambda ax: plots.convergence(
            [estimate(b) for b in (32, 128, 512)],
            ax=ax,
            exact=[2.0, -1.2, 0.6, 0.3, -0.1, 0.0],
            max_features=4,
        ),
        (5, 3),
    ),
    "image": (lambda ax: plots.image(estimate(), picture(), (2, 3), ax=ax), (4, 3)),
    "text": (lambda ax: plots.text(sentence(), SENTENCE, ax=ax), (6, 0.8)),
}


BARE = ("image", "interaction_network", "text")  # without labels beside the axes


def draw(name: str, words: bool = True):
    """The picture of a case, (height, width, 3) of 0..255, in matplotlib's own style and font.

    Without words it does not depend on the font engine, which differs between versions of matplotlib.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    make, size = CASES[name]
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        figure = Figure(figsize=size, dpi=60)
        canvas = FigureCanvasAgg(figure)
        # a fixed place: a layout that follows the width of words would differ between font engines
        make(figure.add_axes((0.03, 0.05, 0.88, 0.85) if name in BARE else (0.42, 0.28, 0.48, 0.62)))
        canvas.draw()
        if not words:
            for text in figure.findobj(Text):
                text.set_visible(False)
            canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()


if __name__ == "__main__":
    from matplotlib.image import imsave

    for folder, words in ((BASELINE, True), (SHAPES, False)):
        folder.mkdir(exist_ok=True)
        for case in CASES:
            imsave(folder / f"{case}.png", draw(case, words))
