"""The parts of the page that need no script, as HTML with everything escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from polyshap._types import FloatArray, IntArray
from polyshap.errors import NotAvailableError
from polyshap.explanation import Explanation
from polyshap.report.content import Content
from polyshap.report.words import Remark
from polyshap.text_tables import number

__all__ = ["facts", "importance", "interactions", "remark_list"]

_MOST_BARS = 20
_MOST_PAIRS = 15
# Rows whose interactions are computed for the summary, and the work that they may take together: some three
# seconds. A pair takes a product with each call, in the adaptive estimator with each pair of calls.
_INTERACTION_ROWS, _INTERACTION_WORK = 20, 5e9
_LEVELS = {"warning": "Warning", "good": "Good", "note": "Note"}


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Names with their values."""
    return "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs)


def remark_list(found: Sequence[Remark]) -> str:
    """One line each, the kind of news in words and not by colour alone."""
    lines = (
        f'<li class="{remark.level}"><strong>{_LEVELS[remark.level]}</strong> '
        f"<span>{escape(remark.text)}</span></li>"
        for remark in found
    )
    return "".join(lines)


def importance(content: Content) -> str:
    """A table of bars for each output: mean absolute contribution over all rows."""
    return "".join(_importance(content, k) for k in range(len(content.outputs)))


def _importance(content: Content, k: int) -> str:
    means = np.abs(content.values[:, :, k]).mean(axis=0)
    errors = None if content.errors is None else content.errors[:, :, k].mean(axis=0)
    order = np.argsort(-means, kind="stable")[:_MOST_BARS]
    widest = float(max(means[j] + (0 if errors is None else errors[j]) for j in order)) or 1.0
    lines = [
        _Bar(
            name=content.short[j],
            full=content.features[j],
            value=float(means[j]),
            text=number(means[j], widest),
            error=0.0 if errors is None else float(errors[j]),
        ).line(widest)
        for j in order
    ]
    rest = len(means) - len(order)
    more = (
        f"<caption>{rest} more features share {_share(means, order)} of the total.</caption>" if rest else ""
    )
    return _table(k, lines, more)


def _table(k: int, lines: Sequence[str], caption: str = "") -> str:
    """Shown for the first output; the script shows it for another."""
    hidden = " hidden" if k else ""
    body = "".join(lines)
    return f'<table class="bars" data-output="{k}"{hidden}>{caption}<tbody>{body}</tbody></table>'


def _share(means: FloatArray, order: IntArray) -> str:
    total = float(means.sum()) or 1.0
    return f"{100 - 100 * float(means[order].sum()) / total:.1f} %"


@dataclass(frozen=True)
class _Bar:
    """A row of a table: name, with the full one on hovering, bar with its whisker, number."""

    name: str
    full: str
    value: float
    text: str
    error: float = 0.0
    kind: str = "size"

    def line(self, widest: float) -> str:
        """The row, with the bar on a scale of 0 to 100 up to `widest`."""
        title = "" if self.full == self.name else f' title="{escape(self.full)}"'
        error = f' <span class="error">±{_half_width(self.error, widest)}</span>' if self.error else ""
        return (
            f'<tr><th scope="row"{title}>{escape(self.name)}</th>'
            f'<td class="plot">{self._drawing(widest)}</td>'
            f"<td>{escape(self.text)}{error}</td></tr>"
        )

    def _drawing(self, widest: float) -> str:
        end, half = 100 * self.value / widest, 100 * self.error / widest
        whisker = ""
        if self.error:
            low, high = max(0.0, end - half), end + half
            whisker = f'<path class="whisker" d="M{low:.2f} 10H{high:.2f}M{low:.2f} 6V14M{high:.2f} 6V14"/>'
        return (
            '<svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">'
            f'<rect class="{self.kind}" x="0" y="3" width="{end:.2f}" height="14"/>{whisker}</svg>'
        )


def _half_width(error: float, widest: float) -> str:
    """As `number`, but never nought: `<0.001` is not exact."""
    text = number(error, widest)
    return text if float(text) else escape(f"<{text[:-1]}1")


def affordable_rows(x: Explanation) -> int:
    """How many rows may have their interactions computed, at most twenty."""
    n_features, calls = len(x.feature_names), float(np.mean(x.row_evaluations))
    pairs = n_features * (n_features - 1) / 2
    work = pairs * calls ** (2 if x.diagnostics.estimator == "adaptive" else 1)
    return int(min(_INTERACTION_ROWS, _INTERACTION_WORK / max(work, 1.0)))


def interactions(x: Explanation, content: Content, n_rows: int | None = None) -> str:
    """The strongest pairs of each output, from some rows; without a number, from as many as are quick."""
    wanted = affordable_rows(x) if n_rows is None else n_rows
    if wanted == 0:
        return (
            "<p>Left out, because so many features and calls would take long. For one row they are "
            "<code>explanation.interactions(row)</code>; here, write the report with "
            "<code>interaction_rows=1</code> or more.</p>"
        )
    rows = np.unique(np.linspace(0, len(content.values) - 1, wanted).round().astype(int))
    chosen = [x] if x.is_row else [x[int(row)] for row in rows]
    try:
        found = [one.interactions(order=2) for one in chosen]
    except NotAvailableError as error:
        return f"<p>There are none here. {escape(str(error))}</p>"
    n_outputs = len(content.outputs)
    totals: dict[tuple[int, ...], FloatArray] = {}
    for terms in found:
        for term, value in terms.items():
            flat = np.reshape(value, n_outputs).astype(float)
            sums = totals.setdefault(term, np.zeros((2, n_outputs)))
            sums += np.stack([np.abs(flat), flat])
    said = (
        "What two features do together, beyond what each does alone (Faith-Shapley interactions). "
        f"Mean size over {len(chosen)} row{'s'[: len(chosen) > 1]}; in brackets, and in the colour, "
        "the mean with its sign."
    )
    return f"<p>{said}</p>" + "".join(_pair_tables(totals, content, len(chosen)))


def _pair_tables(totals: dict[tuple[int, ...], FloatArray], content: Content, n_rows: int) -> Iterator[str]:
    for k in range(len(content.outputs)):
        strongest = sorted(totals, key=lambda term: -totals[term][0, k])[:_MOST_PAIRS]
        widest = max((float(totals[term][0, k]) / n_rows for term in strongest), default=1.0) or 1.0
        lines = []
        for term in strongest:
            size, mean = totals[term][:, k] / n_rows
            name, full = (" × ".join(names[j] for j in term) for names in (content.short, content.features))
            sign = "up" if mean >= 0 else "down"
            text = f"{number(size, widest)} ({number(mean, widest, signed=True)})".replace("-", "−")
            lines.append(_Bar(name, full, float(size), text, kind=sign).line(widest))
        yield _table(k, lines)
