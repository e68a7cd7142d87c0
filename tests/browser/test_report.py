"""The report in a real headless Chromium: no console message, no request, and everything works.

Chromium is installed where it is missing and may be (see `chromium.py`); all but the last test need the extra
`browser`, too. Screenshots are left in results/screenshots, which git ignores.
"""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import numpy as np
import pytest

from browser.chromium import chromium
from plot_cases import explanation
from polyshap.report import write_report
from report_cases import HOSTILE, hostile, large

SCREENSHOTS = Path(__file__).parents[2] / "results" / "screenshots"


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason='no playwright: pip install ".[browser]"')
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Open the report of an explanation, offline; afterwards nothing may have been said or asked for."""
    heard: list[str] = []
    contexts = []

    def open_page(x, width: int = 1280, scheme: str = "light", **options):
        path = write_report(x, tmp_path / "report.html", **options)
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("dialog", lambda dialog: heard.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: heard.append(f"request: {request.url}"))
        page.goto(path.as_uri())
        own = f"request: {path.as_uri()}"
        assert heard[:1] == [own]
        heard.remove(own)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert heard == []


def column(page, number: int) -> list[str]:
    return page.locator(f"#table tbody tr > :nth-child({number})").all_text_contents()


def as_numbers(texts: list[str]) -> list[float]:
    return [float(text.replace("−", "-")) for text in texts]


def test_rows_are_listed_and_paged(visit):
    """Thirty rows in pages of ten; another size changes that."""
    page = visit(explanation())
    assert column(page, 1) == [str(i) for i in range(10)]
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Next").click()
    assert column(page, 1) == [str(i) for i in range(20, 30)]
    assert page.get_by_role("button", name="Next").is_disabled()
    assert page.locator("#page").text_content() == "Page 3 of 3"
    page.locator("#size").select_option("25")
    assert len(column(page, 1)) == 25


def test_sorting(visit):
    """A click sorts downwards, another upwards; the state is told to screen readers."""
    x = explanation()
    page = visit(x)
    header = page.get_by_role("columnheader", name="Prediction")
    for sign, state in ((-1, "descending"), (1, "ascending")):
        header.get_by_role("button").click()
        assert header.get_attribute("aria-sort") == state
        expected = np.argsort(sign * x.predictions, kind="stable")[:10]
        assert column(page, 1) == [str(i) for i in expected]
    page.locator("#feature").select_option("city")
    page.locator('[data-key="datum"]').click()
    towns = column(page, 3)
    assert towns == sorted(towns, reverse=True)
    assert towns[0] == "Ulm"
    assert page.locator("[aria-sort]").count() == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age > 0", lambda x: x.data[:, 0].astype(float) > 0),
        ("AGE > 0; prediction <= 4", lambda x: (x.data[:, 0].astype(float) > 0) & (x.predictions <= 4)),
        ("city = bonn", lambda x: x.data[:, 3] == "Bonn"),
        ("city != bonn ;", lambda x: x.data[:, 3] != "Bonn"),
        ("kiel", lambda x: x.data[:, 3] == "Kiel"),
        ("row = 7", lambda x: np.arange(30) == 7),
        ("nowhere to be found", lambda x: np.zeros(30, dtype=bool)),
        ("", lambda x: np.ones(30, dtype=bool)),
    ],
)
def test_filtering(text, expected, visit):
    """Conditions and plain text; the number of matches is said."""
    x = explanation()
    page = visit(x)
    page.locator("#filter").fill(text)
    wanted = np.flatnonzero(expected(x))
    assert column(page, 1) == [str(i) for i in wanted[:10]]
    assert page.locator("#status").text_content() == f"{len(wanted)} of 30 rows match."


@pytest.mark.parametrize("given", [[None, 3.5] * 15, [None, "Ulm"] * 15, [None] * 30])
def test_the_example_of_a_filter_works(given, visit):
    """It names a value that is there, and can be typed as it stands."""
    x = explanation()
    data = np.array(x.data)
    data[:, 1] = given
    page = visit(dataclasses.replace(x, data=data, predictions=-x.predictions))
    shown = page.locator("#example").text_content()
    assert shown.startswith(f"{x.feature_names[1]} ")
    page.locator("#filter").fill(shown.partition(";")[0])
    assert len(column(page, 1)) == 10
    page.locator("#filter").fill(shown.partition("; ")[2])
    assert len(column(page, 1)) > 0


def test_choosing_a_row_shows_its_waterfall(visit):
    """The values of the row, strongest first, each with its interval and a bar with a whisker."""
    x = explanation()
    page = visit(x)
    page.locator("#table tbody tr").nth(4).click()
    assert page.locator("#detail-title").text_content() == "Row 4"
    lines = page.locator("#waterfall tr")
    assert lines.count() == 5 + 2
    order = np.argsort(-np.abs(x.values[4]), kind="stable")
    for place, j in enumerate(order, start=1):
        cells = lines.nth(place).locator("td").last.text_content().split()
        assert abs(as_numbers(cells[:1])[0] - x.values[4, j]) < 2e-3
        assert abs(float(cells[1].strip("±")) - 1.96 * x.standard_errors[4, j]) < 2e-3
        assert lines.nth(place).locator("rect").get_attribute("class") == (
            "up" if x.values[4, j] >= 0 else "down"
        )
        assert lines.nth(place).locator(".whisker").count() == 1
    assert page.locator("#table tr[aria-current]").count() == 1


def test_the_keyboard_is_enough(visit):
    """From the skip link to a row, along the rows with the arrows, and to the sorting buttons."""
    page = visit(explanation())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.locator("#table tbody button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "2"
    assert page.locator("#detail-title").text_content() == "Row 2"
    page.locator("#table tbody button").nth(5).focus()
    page.keyboard.press("Enter")
    assert page.locator("#detail-title").text_content() == "Row 5"
    page.locator('[data-key="prediction"]').focus()
    page.keyboard.press("Space")
    assert page.locator("[aria-sort=descending]").count() == 1


def test_many_features_fold_up(visit):
    """Twelve and the sum of the others; all of them on request; the bars lead to the prediction."""
    x = large(20, 300)
    page = visit(x)
    assert page.locator("#waterfall tr").count() == 12 + 1 + 2
    assert "288 others" in page.locator("#waterfall").text_content()
    page.locator("#all").click()
    assert page.locator("#waterfall tr").count() == 300 + 2


def test_long_names_stay_different(visit):
    """Where they are cut, the part in which they differ stays; the full name is there on hovering."""
    x = dataclasses.replace(
        explanation(), feature_names=tuple(f"the mean of the measurement at {j} o'clock" for j in range(5))
    )
    page = visit(x)
    for names in (page.locator("table[data-output] th"), page.locator("#waterfall .label span:first-child")):
        shown = names.all_text_contents()
        assert len(set(shown)) == len(shown) == 5
        assert max(map(len, shown)) <= 30
    full = page.locator("table[data-output] th").first.get_attribute("title")
    assert full in x.feature_names


def test_outputs_can_be_chosen(visit):
    """Another output changes tables, bars and rows together."""
    x = explanation(outputs=3)
    page = visit(x)
    page.locator("#output").select_option("class 2")
    assert page.locator("table[data-output]:visible").get_attribute("data-output") == "2"
    shown = as_numbers(column(page, 2))
    np.testing.assert_allclose(shown, x.predictions[:10, 2], atol=2e-3)
    assert page.locator("#detail-title").text_content() == "Row 0, class 2"


def test_error_bars_too_small_for_their_digits(visit):
    """They are less than the last digit, not nought."""
    x = explanation()
    page = visit(dataclasses.replace(x, standard_errors=1e-7 * x.standard_errors))
    assert set(column(page, 5)) == {"<0.001"}
    assert page.locator("#waterfall .error").first.text_content() == "±<0.001"


def test_hostile_text_stays_text(visit):
    """Names, values, outputs, warnings, labels and titles appear as they are and do nothing."""
    page = visit(hostile(), title=HOSTILE[1], call=HOSTILE[0], row_labels=[HOSTILE[0]] * 12)
    for row in range(10):
        page.locator("#table tbody tr").nth(row).click()
    page.locator("#output").select_option(index=1)
    page.locator("#filter").fill(HOSTILE[1])
    assert page.evaluate("window.owned") is None
    assert page.locator("img, b, main script").count() == 0
    assert page.title() == HOSTILE[1]
    assert page.locator("pre").text_content() == HOSTILE[0]
    assert HOSTILE[0] in page.locator("#feature option").all_text_contents()
    assert HOSTILE[1] in page.locator(".remarks").text_content()


def test_scripts_that_slip_in_are_refused(browser, tmp_path):
    """The policy stops an inline handler even where one reaches the page."""
    path = write_report(explanation(), tmp_path / "report.html")
    page = browser.new_page()
    page.goto(path.as_uri())
    with page.expect_console_message() as refused:
        page.evaluate("document.body.setAttribute('onclick', 'window.owned = 1')")
    assert "Content Security Policy" in refused.value.text
    page.locator("h1").click()
    assert page.evaluate("window.owned") is None
    page.close()


def test_missing_values_come_last(visit):
    """However the rows are sorted."""
    x = explanation()
    data = np.array(x.data)
    data[3, 0] = np.nan
    page = visit(dataclasses.replace(x, data=data))
    page.locator("#feature").select_option("age")
    page.locator("#size").select_option("100")
    for _ in range(2):
        page.locator('[data-key="datum"]').click()
        assert column(page, 1)[-1] == "3"
        assert column(page, 3)[-1] == "missing"


@pytest.mark.parametrize("width", [360, 820, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows(width, scheme, visit):
    """No sideways scrolling of the page on a phone, a tablet and a desk; a screenshot of each is kept."""
    page = visit(explanation(40, 12), width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"report-{width}-{scheme}.png", full_page=True)
    hidden = page.evaluate(
        "(region => region.scrollWidth - region.clientWidth)(document.querySelector('.scroll'))"
    )
    assert hidden <= 0, "the table must be scrolled to see the contributions"
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in ground.strip("rgb()").split(", "))
    assert (brightness > 384) == (scheme == "light")


def test_print(visit):
    """On paper the controls are gone, and the chosen row stays."""
    page = visit(explanation())
    page.emulate_media(media="print")
    assert not page.locator("#controls").is_visible()
    assert page.locator("#waterfall").is_visible()


def test_without_a_driver(tmp_path):
    """Chromium alone: the script ran, and hostile text is text."""
    path = write_report(hostile(), tmp_path / "report.html")
    command = [
        chromium(),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}/profile",
    ]
    done = subprocess.run(
        [*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=60, check=True
    )
    assert "12 of 12 rows match." in done.stdout
    assert "<img" not in done.stdout
    assert done.stdout.count("<script") == 2
