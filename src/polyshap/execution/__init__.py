"""How a game is evaluated. Nothing else in the package calls a user's model.

`Cache`, `Retries` and `RayExecutor` are options of `polyshap.explain` and `polyshap.estimate`.
"""

from polyshap.execution.adapters import RayExecutor
from polyshap.execution.cache import Cache
from polyshap.execution.evaluate import evaluate, observe
from polyshap.execution.retries import Retries

__all__ = ["Cache", "RayExecutor", "Retries", "evaluate", "observe"]
