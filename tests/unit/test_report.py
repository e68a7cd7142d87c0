"""The report as a file: what is in it, how large it is, and that it is inert."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from datetime import date, datetime
from html.parser import HTMLParser

import numpy as np
import pytest

import polyshap
from plot_cases import explanation
from polyshap.errors import ArgumentError
from polyshap.report import write_report
from polyshap.report.content import gather
from polyshap.report.words import remarks
from polyshap.results import Diagnostics
from report_cases import HOSTILE, hostile, large


class Reader(HTMLParser):
    """Elements with their attributes, and the text inside of each kind."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id") or tag
        self.text.setdefault(self.inside, "")

    def handle_data(self, data):
        self.text[self.inside] = self.text.get(self.inside, "") + data


@pytest.fixture
def page(tmp_path):
    def write(x, **options):
        path = write_report(x, tmp_path / "report.html", **options)
        return path.read_text(encoding="utf-8")

    return write


def content(text: str) -> dict:
    return json.loads(re.search(r'id="content">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_asks_for_nothing(page):
    """No address anywhere, and a policy that allows only the page's own script and style."""
    text = page(explanation())
    reader = Reader(text)
    for tag, attributes in reader.elements:
        assert tag not in ("img", "iframe", "object", "embed", "base", "audio", "video"), tag
        for name in ("src", "action", "data", "poster", "formaction", "style"):
            assert name not in attributes, (tag, name)
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("href", "#")[:1] == "#" or attributes["href"] == "data:,"
    policy = next(a["content"] for t, a in reader.elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for kind in ("style", "script"):
        own = re.search(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    script = reader.text["script"]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(|import\(", script
    )


def test_hostile_text_stays_text(page):
    """The elements of a page do not depend on what the names hold."""
    tame = hostile()
    tame = dataclasses.replace(
        tame,
        feature_names=tuple("abcde"),
        output_names=("y", "z"),
        data=np.full(tame.data.shape, "text", dtype=object),
        diagnostics=dataclasses.replace(tame.diagnostics, warnings=("w",) * 5, details={"model": "m"}),
    )
    labels = [HOSTILE[0]] * 12
    wild = page(hostile(), title=HOSTILE[1], call=HOSTILE[0], row_labels=labels)
    calm = page(tame, title="t", call="c", row_labels=["l"] * 12)
    assert [tag for tag, _ in Reader(wild).elements] == [tag for tag, _ in Reader(calm).elements]
    assert wild.count("<script") == calm.count("<script") == 2
    found = content(wild)
    assert found["features"][:4] == list(HOSTILE[:4])
    assert found["rows"] == labels


@pytest.mark.parametrize(
    ("shape", "n_rows"), [((1000, 50), 1000), ((3000, 50), 1000), ((1000, 50, 10), None)]
)
def test_size(shape, n_rows, page):
    """Below 1.5 MB, with 1,000 rows of 50 features in full; what is left out is said."""
    text = page(large(*shape))
    assert len(text.encode()) < 1_500_000
    held = len(content(text)["rows"])
    assert held == n_rows or n_rows is None
    said = re.search(r"This page holds ([\d,]+) of the ([\d,]+) rows", text)
    assert (said is None) == (held == shape[0])
    if said:
        assert said.groups() == (f"{held:,}", f"{shape[0]:,}")


def test_embedded_numbers_are_those_of_the_explanation(page):
    """Steps are fine enough for four digits of the largest value, and errors are never understated."""
    x = explanation(outputs=2)
    found = content(page(x))
    for k, output in enumerate(found["outputs"]):
        values = np.reshape(output["values"], (30, 5)) * output["step"]
        errors = np.reshape(output["errors"], (30, 5)) * output["errorStep"]
        np.testing.assert_allclose(values, x.values[..., k], atol=1e-4 * np.abs(x.values).max())
        exact = 1.959963984540054 * x.standard_errors[..., k]
        assert (errors >= exact).all()
        assert (errors <= exact + 2e-3 * exact.max()).all()
        np.testing.assert_allclose(output["prediction"], x.predictions[:, k], rtol=1e-5)
    assert found["data"][3] == x.data[0, 3]


def test_max_rows(page):
    """A chosen number is kept, evenly spaced with both ends."""
    held = content(page(large(101, 3), max_rows=5))["rows"]
    assert held == ["0", "25", "50", "75", "100"]
    with pytest.raises(ArgumentError, match="max_rows"):
        page(large(5, 3), max_rows=0)
    with pytest.raises(ArgumentError, match="row_labels"):
        page(large(5, 3), row_labels=["a"])


def test_one_row_and_odd_data(page):
    """A single row, missing values, infinities, big integers and dates all have a form."""
    x = explanation(1)
    odd = np.array([np.nan, np.inf, 10**30, np.datetime64("2024-05-01"), None], dtype=object)
    found = content(page(dataclasses.replace(x, data=odd[None])[0]))
    assert found["data"][0] is None
    assert found["data"][1:] == ["inf", str(10**30), "2024-05-01", None]


def test_dates_have_their_day(page):
    """Of every kind of date: no midnight, no nanoseconds; what is not known is missing."""
    day = "2024-05-01"
    odd = [datetime(2024, 5, 1), np.datetime64(day, "ns"), date(2024, 5, 1), np.datetime64("NaT"),
           datetime(2024, 5, 1, 9, 30)]  # fmt: skip
    x = dataclasses.replace(explanation(1), data=np.array([odd], dtype=object))
    assert content(page(x))["data"] == [day, day, day, None, f"{day} 09:30"]


def test_small_error_bars_are_not_called_nought(page):
    """What the digits do not show is said to be less, in numbers and in words."""
    x = explanation()
    text = page(dataclasses.replace(x, standard_errors=1e-7 * x.standard_errors))
    assert "±&lt;0.001" in text
    assert "is less than 0.01 % of the range" in text
    assert "±0.000" not in text


def test_interactions_are_listed(page):
    """From an estimator that fits them; another says that it has none."""
    rows = np.eye(4)
    x = polyshap.explain(lambda z: z[:, 0] * z[:, 1] + z[:, 2], rows + 1, np.zeros((1, 4)), estimator="exact")
    assert "x0 × x1" in page(x)
    assert "loaded from a file, or its estimator gives none" in page(explanation())


def test_interactions_that_take_long_are_left_out(page):
    """A hundred features from many calls: said, with what to write instead; a number asks for them anyway."""
    x = dataclasses.replace(large(3, 100), row_evaluations=np.full(3, 2000))
    assert "interaction_rows=1" in page(x)
    assert "There are none here" in page(x, interaction_rows=1)
    assert "interaction_rows=1" in page(explanation(), interaction_rows=0)
    with pytest.raises(ArgumentError, match="interaction_rows"):
        page(explanation(), interaction_rows=-1)


def test_same_explanation_same_bytes(page):
    """Nothing of the moment is in the page."""
    assert page(explanation()) == page(explanation())


def said(x) -> list[tuple[str, str]]:
    return [(one.level, one.text) for one in remarks(x, gather(x, None))]


def test_warnings_come_first():
    """What the run warned about, then what is derived, good news after it."""
    x = dataclasses.replace(explanation(), diagnostics=Diagnostics("e", warnings=("alas",), converged=False))
    levels = [level for level, _ in said(x)]
    assert levels == sorted(levels, key=["warning", "good", "note"].index)
    assert said(x)[0] == ("warning", "alas")
    assert any("tolerance" in text for level, text in said(x) if level == "warning")


def test_wide_bars_are_a_warning():
    """Error bars beyond 5 % of the range are bad news, narrow ones good."""
    x = explanation()
    narrow = dataclasses.replace(x, standard_errors=x.standard_errors / 100)
    wide = dataclasses.replace(x, standard_errors=x.standard_errors * 10)
    assert "warning" not in [level for level, _ in said(narrow)]
    assert any(level == "warning" and "95 %" in text for level, text in said(wide))


def test_sums_that_do_not_add_up_are_a_warning():
    """An estimator that is not efficient is named."""
    x = explanation()
    off = dataclasses.replace(x, predictions=x.predictions + 0.1)
    assert any(level == "warning" and "add up" in text for level, text in said(off))


def test_exact_values_have_no_error_bars_to_speak_of(page):
    """Where every coalition was asked, the page says so once and leaves the noughts out."""
    x = polyshap.explain(lambda rows: rows.prod(axis=1), np.full((3, 4), 2.0), np.zeros((1, 4)))
    text = page(x)
    assert "none: exact" in text
    assert "Whiskers are" not in text
    assert content(text)["outputs"][0]["errors"] is None
    assert not any("unexplained" in remark.text for remark in remarks(x, gather(x, None)))


def test_features_without_influence_are_named():
    """Dummies are listed."""
    x = explanation()
    values = np.array(x.values)
    values[:, 4] = 0.0
    found = said(dataclasses.replace(x, values=values))
    assert any("1 feature changes no prediction here: noise" in text for _, text in found)


def test_no_error_bars_is_said():
    """Without standard errors the accuracy is unknown."""
    assert any("no error bars" in text for _, text in said(explanation(errors=False)))


@pytest.mark.parametrize("estimator", ["kernelshap", "leverageshap", "polyshap-2", "permutation", "adaptive"])
def test_every_estimator_has_a_report(estimator, page):
    """With interactions where the fit has them, otherwise with the reason why there are none."""
    rows = np.random.default_rng(0).normal(size=(3, 6))
    x = polyshap.explain(
        lambda z: z[:, 0] * z[:, 1], rows, rows, estimator=estimator, budget=44, random_state=0
    )
    assert ("x0 × x1" in page(x)) == (estimator in ("polyshap-2", "adaptive"))
    if estimator not in ("polyshap-2", "adaptive"):
        assert "There are none here." in page(x)
