"""polyshap: Shapley values of any model from as few model calls as possible, with error bars.

The tour, in the way of the data:

* a *game* is any callable on a boolean matrix of coalitions (`polyshap.games` builds them from models);
* `draw` takes a *sample* of coalitions as a `Design` says (`polyshap.sampling`);
* `polyshap.execution` *observes* the sample;
* an *estimator* (`polyshap.estimators`) turns the observations into an `Estimate`;
* `estimate` does all four in one call.
"""

from polyshap import estimators, frontiers
from polyshap.estimation import estimate
from polyshap.results import Diagnostics, Estimate, Observations
from polyshap.sampling import Design, Sample, draw

__version__ = "0.1.0"

__all__ = [
    "Design",
    "Diagnostics",
    "Estimate",
    "Observations",
    "Sample",
    "draw",
    "estimate",
    "estimators",
    "frontiers",
]
