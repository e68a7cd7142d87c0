"""Models at the boundary: whatever predicts, as one function from rows to outputs."""

__all__: list[str] = []
