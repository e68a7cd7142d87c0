"""A model is known by what it does: an edit is seen wherever it is made, another session is none."""

import os
import runpy
import subprocess
import sys
import threading

import numpy as np
import pytest

from polyshap.errors import ArgumentError
from polyshap.execution.fingerprints import content_digest, fingerprint

SCRIPT = """
import functools, numpy as np, enum, dataclasses
import own_model
from polyshap.execution.fingerprints import fingerprint

WORDS = {"a", "b", "c", "d"}

class Kind(enum.Enum):
    SUM = "sum"

class Base:
    weights = np.arange(3.0)

class Model(Base):
    def __init__(self):
        self.kind = Kind.SUM
    def predict(self, rows):
        return self.again(rows) if rows is None else rows @ self.weights
    def again(self, rows):
        return Model().predict(rows)
    @property
    def width(self): return 3
    @functools.cached_property
    def slow(self): return 4
    @staticmethod
    def plain(rows): return rows

@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    rate: float = 1.0
    def __call__(self, rows): return rows * self.rate

def of_words(rows):
    return rows[:, 0] if "x" in {"p", "q", "r"} else own_model.predict(rows) * len(WORDS)

def recursive(rows):
    return rows if len(rows) else recursive(rows)

things = {
    "instance": Model(), "method": Model().predict, "record": Record(), "words": of_words,
    "recursive": recursive, "lambda": lambda rows: own_model.predict(rows),
    "imported": own_model.predict, "partial": functools.partial(own_model.predict, scale=2.0),
    "class": own_model.Scaler(2.0), "cached": own_model.remembered,
}
found = {name: fingerprint(thing) for name, thing in things.items()}
"""
OWN = """
import functools
WEIGHT = 1.0

def helper(rows):
    return rows[:, 0] * WEIGHT

def predict(rows, scale=1.0):
    return helper(rows) * scale

class Scaler:
    def __init__(self, by):
        self.by = by
    def __call__(self, rows):
        return predict(rows) * self.by

@functools.lru_cache
def remembered(n):
    return n * WEIGHT
"""


def fingerprints(folder, own=OWN, script=SCRIPT):
    """What is said of each model of a script."""
    (folder / "own_model.py").write_text(own)
    (folder / "script.py").write_text(script)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.delitem(sys.modules, "own_model", raising=False)
        patch.setattr(sys, "dont_write_bytecode", True)  # a file of another version may have the same time
        return runpy.run_path(str(folder / "script.py"))["found"]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    return fingerprints(tmp_path_factory.mktemp("first"))


def test_another_session_and_place_are_no_change(first, tmp_path):
    """Classes of a script, sets of text and code that moved down in its file stay what they are."""
    moved = SCRIPT.replace("WORDS =", "# a comment\nUNUSED = 3\nWORDS =")
    (tmp_path / "own_model.py").write_text(OWN)
    (tmp_path / "script.py").write_text(moved + "\nprint(*found.values())")
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, str(tmp_path / "script.py")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == list(first.values())
    assert len(set(first.values())) == len(first)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("rows[:, 0] * WEIGHT", "rows[:, 1] * WEIGHT", "words lambda imported partial class"),
        ("WEIGHT = 1.0", "WEIGHT = 2.0", "words lambda imported partial class cached"),
        ("scale=1.0", "scale=3.0", "words lambda imported partial class"),
        ("* self.by", "+ self.by", "class"),
    ],
)
def test_an_edit_of_an_imported_module_is_seen(first, tmp_path, old, new, changed):
    """In the function itself, in what it calls, in a global it uses, in a method."""
    now = fingerprints(tmp_path, own=OWN.replace(old, new))
    assert {name for name in first if now[name] != first[name]} == set(changed.split())


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("rows @ self.weights", "rows @ self.weights + 1", "instance method"),
        ("np.arange(3.0)", "np.arange(1.0, 4.0)", "instance method"),
        ('SUM = "sum"', 'SUM = "total"', "instance method"),
        ("rate: float = 1.0", "rate: float = 1.5", "record"),
        ('"p", "q"', '"p", "x"', "words"),
        ('"c", "d"}', '"c", "e"}', "words"),
    ],
)
def test_an_edit_of_the_script_is_seen(first, tmp_path, old, new, changed):
    """In a method, a class attribute, an enumeration, a default, a constant, a global."""
    now = fingerprints(tmp_path, script=SCRIPT.replace(old, new))
    assert {name for name in first if now[name] != first[name]} == set(changed.split())


def test_packages_are_known_by_name():
    """Their functions and classes are not looked into; what an object of theirs holds is."""
    from sklearn.linear_model import LinearRegression

    rows = np.arange(6.0).reshape(3, 2)
    one, two = (LinearRegression().fit(rows, y) for y in (rows[:, 0], rows[:, 1]))
    assert fingerprint(one) == fingerprint(LinearRegression().fit(rows, rows[:, 0]))
    assert fingerprint(one) != fingerprint(two)
    assert fingerprint(np.linalg.norm) == fingerprint(np.linalg.norm)


def test_a_model_without_a_fingerprint():
    """What cannot be pickled needs a name, also where a function only uses it."""
    lock = threading.Lock()
    for thing in ((n for n in range(3)), lambda rows: rows if lock else None):
        with pytest.raises(ArgumentError, match=r"Give cache=polyshap\.execution\.Cache"):
            fingerprint(thing)


def test_content_decides():
    numbers, text = np.arange(3.0), np.array(["a", "b"], dtype=object)
    assert content_digest([numbers, text]) == content_digest([numbers.copy(), text.copy()])
    assert content_digest([numbers]) != content_digest([numbers.astype(int)])
    assert content_digest([numbers, text]) != content_digest([text, numbers])
    assert content_digest([np.array([None, 1], dtype=object)]) != content_digest(
        [np.array(["None", 1], dtype=object)]
    )
