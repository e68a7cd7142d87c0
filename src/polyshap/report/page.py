"""`write_report`: the parts put into the template, under a content security policy."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

import numpy as np

from polyshap.errors import ArgumentError
from polyshap.explanation import Explanation
from polyshap.report.content import Content, embedded, gather
from polyshap.report.sections import facts, importance, interactions, remark_list
from polyshap.report.words import figure, remarks

__all__ = ["write_report"]


def write_report(
    explanation: Explanation,
    path: str | Path,
    *,
    title: str | None = None,
    max_rows: int | None = None,
    call: str | None = None,
    row_labels: Sequence[str] | None = None,
    interaction_rows: int | None = None,
) -> Path:
    """Write one HTML file that needs no network: summary, importance, rows, interactions, diagnostics.

    All text is escaped, and the page may load nothing and run nothing but its own script.

    Parameters
    ----------
    explanation : Explanation
    path : str or Path
    title : str, optional
    max_rows : int, optional
        Rows to embed, evenly spaced; by default at most 1,000, and as few as keep the file below 1.5 MB. The
        page says how many were left out; its summary is over all of them.
    call : str, optional
        What made the explanation, to be shown; by default the call of `explain` with its options.
    row_labels : sequence of str, optional
        What the rows are called; their numbers by default.
    interaction_rows : int, optional
        Rows whose interactions are summed up; by default at most 20, and as few as take some seconds.

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np, polyshap, tempfile
    >>> x = polyshap.explain(lambda rows: rows.sum(axis=1), np.ones((2, 3)), np.zeros((1, 3)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     x.report(Path(folder, "report.html")).name
    'report.html'
    """
    if max_rows is not None and max_rows < 1:
        raise ArgumentError(f"`max_rows` must be at least 1. Got {max_rows}.")
    if interaction_rows is not None and interaction_rows < 0:
        raise ArgumentError(f"`interaction_rows` must be 0 or more. Got {interaction_rows}.")
    x, path = explanation, Path(path)
    content = gather(x, row_labels)
    rows, n_embedded = embedded(content, max_rows)
    style, script = (_own(name) for name in ("style.css", "script.js"))
    name = title or f"Explanation of {x.diagnostics.details.get('model', 'a model')}"
    page = Template(_own("template.html")).substitute(
        style_hash=_digest(style),
        script_hash=_digest(script),
        style=style,
        script=script,
        title=escape(name),
        lead=escape(_lead(content)),
        outputs=_output_choice(content),
        facts=facts(_summary(x, content)),
        remarks=remark_list(remarks(x, content)),
        whiskers=""
        if content.errors is None or not content.errors.any()
        else " Whiskers are 95 % intervals.",
        importance=importance(content),
        interactions=interactions(x, content, interaction_rows),
        capped=escape(_capped(len(content.values), n_embedded)),
        call=escape(call or _recorded(x)),
        made=facts(_made(x)),
        rows=rows,
    )
    with path.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        file.write(page)
    return path


def _own(name: str) -> str:
    text = resources.files("polyshap.report").joinpath(name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n").strip()


def _digest(text: str) -> str:
    """What the policy names: only a script or style with this hash is run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _lead(content: Content) -> str:
    n_rows, n_features, n_outputs = content.values.shape
    rows = "one row" if n_rows == 1 else f"{n_rows:,} rows"
    features = "one feature" if n_features == 1 else f"{n_features:,} features"
    outputs = f" and {n_outputs} outputs" if n_outputs > 1 else ""
    return f"How much each of {features} moved the prediction, for {rows}{outputs}."


def _output_choice(content: Content) -> str:
    if len(content.outputs) == 1:
        return ""
    options = "".join(
        f'<option value="{k}">{escape(name)}</option>' for k, name in enumerate(content.outputs)
    )
    return f'<label>Output <select id="output">{options}</select></label>'


def _summary(x: Explanation, content: Content) -> list[tuple[str, str]]:
    details = x.diagnostics.details
    found = [
        ("Model", str(details.get("model", "not recorded"))),
        ("Rows explained", f"{len(content.values):,}"),
        ("Features", f"{len(content.features):,}"),
        ("Calls spent", f"{x.n_evaluations:,} coalitions"),
    ]
    if x.pilot_evaluations:
        found.append(("Of these for learning", f"{x.pilot_evaluations:,} coalitions"))
    fills = details.get("n_background")
    if isinstance(fills, float):
        found.append(("Background", f"{fills:,.0f} rows a coalition"))
    if content.errors is not None:
        typical = f"±{figure(float(np.median(content.errors)))} (95 %)"
        found.append(("Typical error bar", typical if content.errors.any() else "none: exact"))
    low, high = float(content.predictions.min()), float(content.predictions.max())
    found.append(("Predictions", figure(low) if low == high else f"{figure(low)} to {figure(high)}"))
    base = content.base[0]
    shown = ", ".join(figure(float(value)) for value in base[:4]) + (", …" if len(base) > 4 else "")
    if bool((content.base == base).all()):
        found.append(("Base value", shown))
    return found


def _made(x: Explanation) -> list[tuple[str, str]]:
    """What was fitted, and with what."""
    import polyshap

    d = x.diagnostics
    found = [("Estimator", d.estimator)]
    if d.n_terms is not None:
        found.append(("Unknowns fitted", f"{d.n_terms:,}"))
    if d.rank is not None:
        found.append(("Independent equations", f"{d.rank:,}"))
    if d.condition is not None:
        found.append(("Condition number", f"{d.condition:.3g}"))
    if d.residual is not None:
        found.append(("Residual", f"{d.residual:.3g}"))
    calls = x.row_evaluations
    few, many = int(np.min(calls)), int(np.max(calls))
    found.append(("Coalitions a row", f"{many:,}" if few == many else f"{few:,} to {many:,}"))
    if d.details.get("parameters") == "shared":
        found.append(("Parameters", "shared, learned from background rows"))
    seed = d.details.get("random_state")
    if isinstance(seed, float):
        found.append(("Seed", f"{seed:.0f}"))
    found += [(f"Seconds ({stage})", f"{seconds:.3g}") for stage, seconds in d.seconds.items()]
    return [*found, ("polyshap", polyshap.__version__)]


def _capped(n_rows: int, n_embedded: int) -> str:
    if n_rows == n_embedded:
        return ""
    return (
        f"This page holds {n_embedded:,} of the {n_rows:,} rows, evenly spaced, to stay small. "
        "Everything above is over all of them."
    )


def _recorded(x: Explanation) -> str:
    """The call that made it, or as much as the diagnostics know."""
    details = x.diagnostics.details
    if "call" in details:
        return str(details["call"])
    options = [
        f"{name}={details[name]:.0f}"
        for name in ("budget", "random_state")
        if isinstance(details.get(name), float)
    ]
    return f"polyshap.explain({', '.join(['model', 'X', 'background', *options])})"
