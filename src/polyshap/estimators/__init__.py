"""The estimators, one idea a file, and the registry of their names."""

from polyshap.estimators.exact import Exact
from polyshap.estimators.kaddshap import KAddSHAP
from polyshap.estimators.polyshap import OddRegression, PolySHAP
from polyshap.estimators.registry import ESTIMATORS, PATTERNS, get, names

__all__ = [
    "ESTIMATORS",
    "PATTERNS",
    "Exact",
    "KAddSHAP",
    "OddRegression",
    "PolySHAP",
    "get",
    "names",
]
