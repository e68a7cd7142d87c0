"""Plots: (result, *, ax=None) -> Axes, by matplotlib.

Each takes an `Explanation` or an `Estimate`, draws on `ax` or on a new figure, and returns the axes; it shows
nothing and sets nothing: `polyshap.plots.bar(x).figure.savefig("bar.png")`. Whiskers and bands are 95 %
intervals where the estimator has standard errors. `x.plot.bar()` is the same as `polyshap.plots.bar(x)`.
"""

from polyshap.plots.bar import bar
from polyshap.plots.beeswarm import beeswarm
from polyshap.plots.convergence import convergence
from polyshap.plots.global_importance import global_importance
from polyshap.plots.heatmap import heatmap
from polyshap.plots.image import image
from polyshap.plots.interaction_heatmap import interaction_heatmap
from polyshap.plots.interaction_network import interaction_network
from polyshap.plots.scatter import scatter
from polyshap.plots.text import text
from polyshap.plots.waterfall import waterfall

__all__ = [
    "bar",
    "beeswarm",
    "convergence",
    "global_importance",
    "heatmap",
    "image",
    "interaction_heatmap",
    "interaction_network",
    "scatter",
    "text",
    "waterfall",
]
