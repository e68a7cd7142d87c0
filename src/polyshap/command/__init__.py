"""What stands behind `polyshap explain` and `polyshap demo`: files in, tables and pages out."""

__all__: list[str] = []
