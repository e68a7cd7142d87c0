"""The adaptive prior: kernel, marginal likelihood, posterior, interactions."""

from polyshap.gaussian.kernel import Parameters, even_kernel, odd_kernel
from polyshap.gaussian.likelihood import Hyperprior, Learned, learn
from polyshap.gaussian.posterior import Posterior, posterior

__all__ = [
    "Hyperprior",
    "Learned",
    "Parameters",
    "Posterior",
    "even_kernel",
    "learn",
    "odd_kernel",
    "posterior",
]
