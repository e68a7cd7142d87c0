"""Explanations with fixed numbers for the tests of the report, a hostile one among them."""

from __future__ import annotations

import dataclasses

import numpy as np

import polyshap
from plot_cases import explanation
from polyshap.results import Diagnostics

# each would do something if it reached the page as anything but text
HOSTILE = (
    "</script><script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 1'>",
    "<!--<script>",
    '"><b onmouseover="window.owned = 1">&amp;&lt;',
    "${rows} $title {{7*7}} \u2028 \u202e \ud800 \x00",
)


def hostile() -> polyshap.Explanation:
    """Hostile names, outputs, values, warnings and model."""
    x = explanation(12, outputs=2)
    data = np.array(x.data)
    data[:, 3] = [HOSTILE[i % len(HOSTILE)] for i in range(12)]
    diagnostics = Diagnostics(
        "adaptive" + HOSTILE[0], warnings=HOSTILE, converged=False, details={"model": HOSTILE[1]}
    )
    return dataclasses.replace(
        x, data=data, feature_names=HOSTILE, output_names=HOSTILE[:2], diagnostics=diagnostics
    )


def large(n_rows: int = 1000, n_features: int = 50, n_outputs: int = 0) -> polyshap.Explanation:
    """Random contributions of the given size, full digits everywhere."""
    generator = np.random.default_rng(3)
    shape = (n_rows, n_features, n_outputs) if n_outputs else (n_rows, n_features)
    values = generator.normal(size=shape)
    base = np.full(shape[:1] + shape[2:], 10 / 3)
    return polyshap.Explanation(
        values=values,
        base_values=base,
        predictions=base + values.sum(axis=1),
        data=generator.normal(size=shape[:2]),
        feature_names=tuple(f"a measured quantity number {j}" for j in range(n_features)),
        output_names=tuple(f"class {k}" for k in range(n_outputs)) if n_outputs else None,
        standard_errors=0.1 * generator.random(shape),
        row_evaluations=np.full(n_rows, 64),
        diagnostics=Diagnostics("adaptive"),
    )
