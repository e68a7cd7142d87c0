"""The estimators, one idea a file, and the registry of their names."""

from polyshap.estimators.registry import ESTIMATORS, PATTERNS, get, names

__all__ = ["ESTIMATORS", "PATTERNS", "get", "names"]
