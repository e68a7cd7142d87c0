"""Tables by content, rows by number, columns in the model's order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyshap.command.data_files import choose_rows, read_table, select_columns, write_table
from polyshap.errors import ArgumentError, FileFormatError

pandas = pytest.importorskip("pandas")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_and_marks(separator, tmp_path):
    """The header line shows the separator; a byte order mark and quoted commas do not disturb."""
    text = separator.join(['"a, b"', "c", "d"]) + "\n" + separator.join(["1", "x", "2.5"]) + "\n"
    path = tmp_path / "rows.txt"
    path.write_text(text, encoding="utf-8-sig")
    table = read_table(path, "DATA")
    assert list(table.columns) == ["a, b", "c", "d"]
    assert table.iloc[0].tolist() == [1, "x", 2.5]


def test_one_column(tmp_path):
    """A file without any separator is one column."""
    path = tmp_path / "rows.csv"
    path.write_text("a\n1\n2\n")
    assert read_table(path, "DATA")["a"].tolist() == [1, 2]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04x", b"\x1f\x8bx", b"a\x00b", b"PAR1 damaged", b"a,b\n"])
def test_other_files_are_refused(content, tmp_path):
    """What is no table, or an empty one, is said to be so."""
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    with pytest.raises((FileFormatError, ArgumentError), match="DATA"):
        read_table(path, "DATA")


@given(st.integers(1, 40), st.integers(-60, 60), st.integers(-60, 60))
def test_slices_are_python_slices(n_rows, start, stop):
    """start:stop means what it means in Python."""
    expected = list(range(n_rows))[start:stop]
    if expected:
        assert choose_rows(f"{start}:{stop}", n_rows).tolist() == expected
    else:
        with pytest.raises(ArgumentError, match="at least one"):
            choose_rows(f"{start}:{stop}", n_rows)


@pytest.mark.parametrize("text", ["", "a", "1-3", "1:2:0", "9", "-6", "1,,2"])
def test_rows_that_mean_nothing(text):
    """Other texts are refused."""
    with pytest.raises(ArgumentError, match="--rows"):
        choose_rows(text, 5)


def test_columns_follow_the_model():
    """Order is repaired; missing and unknown columns are named."""
    table = pandas.DataFrame([[1, 2, 3]], columns=["b", "a", "y"])
    assert list(select_columns(table, ("a", "b"), ["y"], "DATA").columns) == ["a", "b"]
    with pytest.raises(ArgumentError, match="Missing: c"):
        select_columns(table, ("a", "c"), ["y"], "DATA")
    with pytest.raises(ArgumentError, match="--target-drop y"):
        select_columns(table, ("a", "b"), [], "DATA")


def test_mixed_columns_survive_parquet(tmp_path):
    """A column of text and numbers becomes text rather than an error."""
    pytest.importorskip("pyarrow")
    mixed = np.array([1.5, "x"], dtype=object)
    write_table(pandas.DataFrame({"data": mixed, "value": [0.1, 0.2]}), tmp_path / "a.parquet")
    back = pandas.read_parquet(tmp_path / "a.parquet")
    assert back["data"].tolist() == ["1.5", "x"]
    assert back["value"].tolist() == [0.1, 0.2]
