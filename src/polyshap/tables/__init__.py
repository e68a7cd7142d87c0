"""Tables at the boundary: frames and arrays, their columns, and the players that columns make up."""

__all__: list[str] = []
