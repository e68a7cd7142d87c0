"""polyshap: Shapley values of any model from as few model calls as possible, with error bars.

The tour, in the way of the data:

* a *game* is any callable on a boolean matrix of coalitions (`polyshap.games` builds them from models);
* `draw` takes a *sample* of coalitions as a `Design` says (`polyshap.sampling`);
* `polyshap.execution` *observes* the sample;
* an *estimator* (`polyshap.estimators`) turns the observations into an `Estimate`;
* `estimate` does all four in one call;
* `explain` does it for rows of a model's data and returns an `Explanation`, to plot, tabulate and save.
"""

from polyshap import estimators, frontiers
from polyshap.estimation import estimate
from polyshap.explain import explain
from polyshap.explainer import Explainer
from polyshap.explanation import Explanation
from polyshap.results import Diagnostics, Estimate, Observations
from polyshap.sampling import Design, Sample, draw
from polyshap.storage import load

__version__ = "0.1.0"

__all__ = [
    "Design",
    "Diagnostics",
    "Estimate",
    "Explainer",
    "Explanation",
    "Observations",
    "Sample",
    "draw",
    "estimate",
    "estimators",
    "explain",
    "frontiers",
    "load",
]
