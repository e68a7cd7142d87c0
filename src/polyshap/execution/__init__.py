"""How a game is evaluated. Nothing else in the package calls a user's model."""

from polyshap.execution.evaluate import evaluate, observe

__all__ = ["evaluate", "observe"]
