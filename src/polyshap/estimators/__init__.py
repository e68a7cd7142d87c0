"""The estimators, one idea a file, and the registry of their names."""

from polyshap.estimators.adaptive import Adaptive
from polyshap.estimators.exact import Exact
from polyshap.estimators.kaddshap import KAddSHAP
from polyshap.estimators.mobius_lasso import MobiusLasso
from polyshap.estimators.msr import MSR, UnbiasedKernelSHAP
from polyshap.estimators.oddshap import OddSHAP
from polyshap.estimators.permutation import Permutation
from polyshap.estimators.polyshap import OddRegression, PolySHAP
from polyshap.estimators.proxyspex import ProxySPEX
from polyshap.estimators.registry import ESTIMATORS, PATTERNS, get, names
from polyshap.estimators.regression_msr import RegressionMSR
from polyshap.estimators.svarm import SVARM

__all__ = [
    "ESTIMATORS",
    "MSR",
    "PATTERNS",
    "SVARM",
    "Adaptive",
    "Exact",
    "KAddSHAP",
    "MobiusLasso",
    "OddRegression",
    "OddSHAP",
    "Permutation",
    "PolySHAP",
    "ProxySPEX",
    "RegressionMSR",
    "UnbiasedKernelSHAP",
    "get",
    "names",
]
