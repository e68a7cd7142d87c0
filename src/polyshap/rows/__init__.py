"""The inside of `explain`: many rows of one model, planned, observed, fitted and put together.

Read in the order of the data: `prepared` (the model and its background, checked once), `effort` (how many
calls a row may take), `plans` and `planning` (what each row is fitted with), `sharing` (parameters learned
once for all), `stages`, `rowwise` and `jobs` (observations and fits, here or on workers), `assembly` (one
explanation), `parts` (files in, files out) and `refining` (more calls for what was explained).
"""

__all__: list[str] = []
