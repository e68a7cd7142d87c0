"""Every Python block of the README and the documentation runs, and every link leads somewhere.

A page is run from its first block to its last in one fresh namespace and a temporary folder. A block that
cannot run is announced by a comment on the line before it that says why: `<!-- not run: why -->`.
"""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import pytest

from polyshap.cli import main

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
# The lines of these pages that begin with `polyshap ` are run too, in the folder of the page's Python blocks.
COMMANDS = {"README.md", "docs/quickstart.md", "docs/guide-pipelines.md"}

BLOCK = re.compile(
    r"(?:^ *<!-- not run: (?P<reason>[^>]+?) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w+)(?P<options>[^\n]*)\n(?P<code>.*?)^(?P=indent)```[ ]*$",
    re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
INCLUDED = re.compile(r'--8<-- "([^"]+)"')
# `::: path` with its indented options
REFERENCE = re.compile(r"^::: ([\w.]+)\n((?:[ ]+[^\n]*\n)*)", re.MULTILINE)
MARKED = re.compile(r"<!-- not run:(.*)")

by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int
    reason: str | None


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        indent = len(match["indent"])
        code = "".join(line[indent:] or "\n" for line in match["code"].splitlines(keepends=True))
        line = text.count("\n", 0, match.start("code"))
        found.append(Block(match["language"], code, line, match["reason"]))
    return found


def slug(heading: str) -> str:
    """The anchor of a heading, as Python-Markdown makes it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = re.sub(r"[^\w\s-]", "", plain.encode("ascii", "ignore").decode()).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", BLOCK.sub("", text))


def anchors_of(page: Path) -> set[str]:
    """Headings, explicit ids, and the objects that a page of the reference documents."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    found = {slug(heading) for heading in re.findall(r"^#+ (.+?)\s*$", text, re.MULTILINE)}
    found |= set(re.findall(r"\{ ?#([\w.-]+) ?\}", text))
    return found | set(re.findall(r"^::: ([\w.]+)", text, re.MULTILINE))


def forget_modules_below(folder: Path) -> None:
    """Modules that other tests and pages wrote into their temporary folders, names as short as these."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(folder)):
            del sys.modules[name]


@by_page
def test_every_block_runs(page, tmp_path, monkeypatch):
    """What a page shows works as it stands, without a warning."""
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    forget_modules_below(tmp_path.parent)
    namespace: dict[str, object] = {"__name__": "__main__"}
    run_commands = str(page.relative_to(ROOT)) in COMMANDS
    try:
        for block in blocks_of(page):
            if block.reason is not None:
                continue
            if block.language == "python":
                # blank lines in front make a traceback name the line of the page
                exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)
            elif block.language == "sh" and run_commands:
                for line in block.code.replace("\\\n", " ").splitlines():
                    if line.startswith("polyshap "):
                        assert main(shlex.split(line, comments=True)[1:]) == 0, line
    finally:
        import matplotlib.pyplot as plt

        plt.close("all")


@by_page
def test_skipped_blocks_give_a_reason(page):
    """A block that is not run says why, and the mark stands where it is seen."""
    text = page.read_text(encoding="utf-8")
    reasons = [block.reason for block in blocks_of(page) if block.reason is not None]
    assert all(len(reason.split()) >= 3 for reason in reasons), reasons
    assert len(MARKED.findall(text)) == len(reasons), "a mark without a block right after it"


@by_page
def test_links_lead_somewhere(page):
    """Links inside the project name files and headings that exist; included files are there."""
    text = page.read_text(encoding="utf-8")
    wrong = [name for name in INCLUDED.findall(text) if not (ROOT / name).exists()]
    for target in LINK.findall(without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors_of(file)):
            wrong.append(target)
    assert not wrong


def test_the_navigation_is_complete():
    """Every page is in the navigation, and everything in the navigation is there."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ +- (?:[^\n:]+: )?([\w/-]+\.md)$", text, re.MULTILINE)
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}
    assert len(listed) == len(set(listed))
    assert set(listed) == pages


def test_the_readme_has_the_two_commands():
    """They are what an automatic set-up looks for, to the letter."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    demo = 'python3 -m venv .venv && .venv/bin/pip install --quiet ".[demo]" && .venv/bin/polyshap demo'
    tests = (
        'python3 -m venv .venv && .venv/bin/pip install --quiet -e ".[test]" && .venv/bin/python -m pytest'
    )
    assert demo in text
    assert tests in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```python\nx = 1\n```\n", [("python", "x = 1\n", 1, None)]),
        (
            "<!-- not run: needs a GPU -->\n    ```python\n    x\n\n    y\n    ```\n",
            [("python", "x\n\ny\n", 2, "needs a GPU")],
        ),
        ("a\n```sh\nls\n```\n\n```text\n```\n", [("sh", "ls\n", 2, None), ("text", "", 6, None)]),
    ],
)
def test_blocks_are_found(text, expected, tmp_path):
    """The reader of this file, on its own."""
    page = tmp_path / "page.md"
    page.write_text(text)
    assert [(b.language, b.code, b.line, b.reason) for b in blocks_of(page)] == expected


def documented_names(page: Path) -> set[str]:
    """What a page of the reference documents: whole objects, and chosen or all members of modules."""
    found = set()
    for path, options in REFERENCE.findall(page.read_text(encoding="utf-8")):
        if not inspect.ismodule(pydoc.locate(path)):
            found.add(path.rpartition(".")[2])
            continue
        chosen = re.search(r"members: \[([^\]]*)\]", options)
        names = re.split(r",\s*", chosen[1]) if chosen else importlib.import_module(path).__all__
        assert all(hasattr(importlib.import_module(path), one) for one in names), (path, names)
        found |= set(names)
    return found


@pytest.mark.parametrize(
    ("package", "page"),
    [
        ("polyshap", None),
        ("polyshap.estimators", "estimators"),
        ("polyshap.frontiers", "frontiers"),
        ("polyshap.games", "games"),
        ("polyshap.execution", "execution"),
        ("polyshap.plots", "plots"),
        ("polyshap.report", "plots"),
        ("polyshap.errors", "errors"),
        ("polyshap.regression", "internals"),
        ("polyshap.shapley", "internals"),
        ("polyshap.coalitions", "internals"),
        ("polyshap.gaussian", "internals"),
    ],
)
def test_the_reference_is_complete(package, page):
    """Every public function and class of a package is on its page; tables of constants are named there."""
    module = importlib.import_module(package)
    folder = ROOT / "docs" / "reference"
    pages = sorted(folder.glob("*.md")) if page is None else [folder / f"{page}.md"]
    documented = set().union(*map(documented_names, pages))
    text = "".join(one.read_text(encoding="utf-8") for one in pages)
    missing = [
        name
        for name in module.__all__
        if name not in documented and not inspect.ismodule(getattr(module, name))
        if callable(getattr(module, name)) or not re.search(rf"`[\w.]*{name}`", text)
    ]
    assert not missing
