"""Tables: what goes in comes out with its dtypes, and what does not fit is named."""

import numpy as np
import pytest
import scipy.sparse

from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.tables.arrays import filled
from polyshap.tables.frames import read

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")


def pandas_frame(n=8):
    """One column of every kind that users have."""
    return pd.DataFrame(
        {
            "float": np.where(np.arange(n) % 3 == 0, np.nan, np.arange(n) / 2),
            "single": np.arange(n, dtype=np.float32),
            "int": np.arange(n),
            "small": np.arange(n, dtype=np.int8),
            "bool": np.arange(n) % 2 == 0,
            "category": pd.Categorical(list("abca" * (n // 4)), categories=list("abcd")),
            "ordered": pd.Categorical(list("lmhl" * (n // 4)), categories=list("lmh"), ordered=True),
            "text": (["x", None, "y", "z"] * n)[:n],
            "date": pd.date_range("2024-01-01", periods=n),
            "zoned": pd.date_range("2024-01-01", periods=n, tz="Europe/Berlin"),
            "nullable": pd.array([1, None] * (n // 2), dtype="Int64"),
            "gap": pd.to_timedelta(np.arange(n), unit="h"),
        }
    )


def polars_frame(n=8):
    return pl.from_pandas(pandas_frame(n).drop(columns="zoned"))


def arrow_table(n=8):
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed").Table.from_pandas(
        pandas_frame(n).drop(columns="nullable"), preserve_index=False
    )


def cells(frame):
    """The frame as lists of Python values, NaN as None."""
    columns = {name: list(read(frame, "X").columns()[j]) for j, name in enumerate(read(frame, "X").names)}
    return {name: [None if v is None or v != v else v for v in values] for name, values in columns.items()}


MASKS = np.random.default_rng(0).random((40, 12)) < 0.5
FILLS = np.random.default_rng(1).integers(0, 5, 40)


@pytest.mark.parametrize("make", [pandas_frame, polars_frame, arrow_table])
def test_mixed_frames_keep_library_dtypes_and_values(make):
    """Row u has the explained row's value where present and the background row's elsewhere, of one dtype."""
    whole = read(make(), "X")
    row, background = whole.take([7]), whole.take([0, 1, 2, 3, 4])
    width = len(whole.names)
    mixed = background.mix(row, MASKS[:, :width], FILLS)
    assert type(mixed) is type(whole.native)
    assert read(mixed, "X").frame.schema == whole.frame.schema
    if make is pandas_frame:
        assert (mixed.dtypes == whole.native.dtypes).all()
        assert list(mixed["category"].cat.categories) == list("abcd")
    given, got = cells(whole.native), cells(mixed)
    for j, name in enumerate(whole.names):
        wanted = [given[name][7] if MASKS[u, j] else given[name][FILLS[u]] for u in range(len(FILLS))]
        assert got[name] == wanted, name


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool, object, "U3"])
def test_mixed_arrays_keep_their_dtype(dtype):
    """An array comes back as an array of the same dtype; a block lists every coalition with every fill."""
    data = np.arange(24).reshape(6, 4).astype(dtype)
    row, background = read(data[5:], "X"), read(data[:5], "X")
    mixed = background.mix(row, MASKS[:, :4], FILLS)
    assert mixed.dtype == data.dtype
    assert np.array_equal(mixed, np.where(MASKS[:, :4], data[5], data[FILLS]))
    block = background.block(row, MASKS[:3, :4])
    assert block.dtype == data.dtype
    assert np.array_equal(block.reshape(3, 5, 4)[2, 4], np.where(MASKS[2, :4], data[5], data[4]))


@pytest.mark.parametrize(
    "kind", ["f8", "f4", "f2", "i8", "i2", "u1", "?", "M8[D]", "m8[s]", ">f8", "g", "U3", "O"]
)
def test_filling_is_exact_to_the_bit(kind):
    """Missing numbers, infinities and signed zeros included; strided arrays too."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 2 if kind == "?" else 100, (14, 6)).astype(kind)[::2]
    if np.dtype(kind).kind == "f":
        numbers[:3, 0] = [np.nan, -np.inf, -0.0]
    row, background = numbers[:1], numbers[1:]
    present = rng.random((5, 6)) < 0.5
    for rows, below, which in (
        (row, background[None], present[:, None, :]),
        (row, background.take([0, 1, 2, 1, 0], axis=0), present),
        (np.asfortranarray(row), np.asfortranarray(background)[None], present[:, None, :]),
    ):
        found, wanted = filled(rows, below, which), np.where(which, rows, below)
        assert found.dtype == numbers.dtype
        assert found.shape == wanted.shape
        assert (
            (found.tolist() == wanted.tolist())
            if kind == "O"
            else _bytes(found) == _bytes(wanted.astype(kind))
        )
    assert np.array_equal(background, numbers[1:], equal_nan=np.dtype(kind).kind == "f")


def _bytes(array):
    return np.ascontiguousarray(array).tobytes()


def test_plain_pandas_frames_take_the_fast_path_with_the_same_result():
    """A frame of one numpy dtype needs no gather per column; column labels may be numbers."""
    frame = pd.DataFrame(np.random.default_rng(0).random((6, 12)))
    row, background = read(frame.iloc[5:], "X"), read(frame.iloc[:5], "X")
    mixed = background.mix(row, MASKS, FILLS)
    assert list(mixed.columns) == list(frame.columns)
    values = frame.to_numpy()
    assert np.array_equal(mixed.to_numpy(), np.where(MASKS, values[5], values[FILLS]))


def test_the_index_of_a_frame_does_not_matter():
    """Repeated or odd labels of rows are dropped, not joined on."""
    frame = pandas_frame()
    odd = frame.set_index(np.repeat([3, 1], 4))
    a = read(frame, "X").take([0, 1]).mix(read(frame, "X").take([2]), MASKS[:5], FILLS[:5] % 2)
    b = read(odd, "X").take([0, 1]).mix(read(odd, "X").take([2]), MASKS[:5], FILLS[:5] % 2)
    pd.testing.assert_frame_equal(a, b)


@pytest.mark.parametrize(
    "make", [pandas_frame, polars_frame, lambda: np.array([[0.0, np.nan], [-0.0, np.nan]])]
)
def test_codes_are_equal_exactly_where_values_are(make):
    """Missing equals missing, 0.0 equals -0.0, and different values differ."""
    table = read(make(), "X")
    codes = table.codes(table)
    assert np.array_equal(
        codes[[5, 1]] if len(codes) > 5 else codes[[1]],
        table.codes(table.take([5, 1] if len(codes) > 5 else [1])),
    )
    for j, column in enumerate(table.columns()):
        values = [None if v is None or v != v else v for v in column]
        for a in range(len(values)):
            for b in range(len(values)):
                assert (codes[a, j] == codes[b, j]) == (values[a] == values[b])


def test_column_labels_may_be_numbers():
    """pandas numbers the columns of a table without names; they stay numbers for the model."""
    background = read(pd.DataFrame({0: [1.0, 2.0], 1: ["a", "b"], 2: [True, False]}), "background")
    rows = background.aligned(read(pd.DataFrame({2: [True], 0: [5], 1: ["b"]}), "X"), "X")
    mixed = background.mix(rows, np.array([[True, False, True]]), np.array([0]))
    assert mixed.columns.tolist() == [0, 1, 2]
    assert mixed.iloc[0].tolist() == [5.0, "a", True]
    numbers = read(pd.DataFrame({0: [1.0, 2.0], 1: [3.0, 4.0]}), "background")
    assert numbers.with_columns([np.zeros(1), np.ones(1)]).columns.tolist() == [0, 1]


def test_rows_take_columns_order_and_dtypes_of_the_background():
    """Integers become floats, plain text becomes the background's category, columns are reordered."""
    background = read(pd.DataFrame({"a": [0.5, 1.5], "c": pd.Categorical(["u", "v"])}), "background")
    rows = background.aligned(read(pd.DataFrame({"c": ["v"], "a": [2]}), "X"), "X")
    assert list(rows.native.columns) == ["a", "c"]
    assert (rows.native.dtypes == background.native.dtypes).all()
    assert rows.native["c"].tolist() == ["v"]


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (pd.DataFrame({"a": [1.0]}), ArgumentError, "Missing: \\['c'\\]"),
        (pd.DataFrame({"a": [1.0], "c": ["u"], "z": [1]}), ArgumentError, "Not in the background: \\['z'\\]"),
        (pd.DataFrame({"a": [1.0], "c": ["w"]}), ArgumentError, "categories. Got w"),
        (pd.DataFrame({"a": ["many"], "c": ["u"]}), ArgumentTypeError, "'a'.*dtype"),
        (pl.DataFrame({"a": [1.0], "c": ["u"]}), ArgumentTypeError, "one kind"),
        (np.ones((1, 2)), ArgumentTypeError, "one kind"),
    ],
)
def test_rows_that_do_not_fit_are_named(rows, error, words):
    """The message names the column and what is wrong with it."""
    background = read(pd.DataFrame({"a": [0.5, 1.5], "c": pd.Categorical(["u", "v"])}), "background")
    with pytest.raises(error, match=words):
        background.aligned(read(rows, "X"), "X")


def test_polars_rows_are_cast_and_unknown_levels_refused():
    """An Enum of the background refuses what is not one of its levels."""
    background = read(
        pl.DataFrame({"e": ["u", "v"], "i": [1, 2]}, schema={"e": pl.Enum(["u", "v"]), "i": pl.Int64}), "b"
    )
    good = background.aligned(read(pl.DataFrame({"i": [3], "e": ["v"]}), "X"), "X")
    assert good.frame.schema == background.frame.schema
    with pytest.raises((ArgumentError, ArgumentTypeError), match="'e'"):
        background.aligned(read(pl.DataFrame({"i": [3], "e": ["w"]}), "X"), "X")
    with pytest.raises((ArgumentError, ArgumentTypeError), match="'i'"):
        background.aligned(read(pl.DataFrame({"i": [3.5], "e": ["v"]}), "X"), "X")


@pytest.mark.parametrize(
    ("rows", "background", "kind"),
    [
        (np.full((1, 2), 0.5), np.zeros((2, 2), dtype=np.float32), "float32"),
        (np.full((1, 2), 0.5), np.zeros((2, 2), dtype=int), "float64"),
        (np.array([[300, 1]]), np.zeros((2, 2), dtype=np.int8), "int64"),
        (np.array([[-3, 1]], dtype=np.int8), np.zeros((2, 2), dtype=np.uint8), "int16"),
        (np.array([[7, 0]]), np.zeros((2, 2), dtype=bool), "int64"),
        (np.array([["longer", "b"]]), np.array([["a", "b"], ["c", "d"]]), "str192"),
        (np.array([["2020-01-01T05", "2020-01-02T00"]], "M8[h]"), np.zeros((2, 2), "M8[D]"), "datetime64[h]"),
    ],
)
def test_arrays_keep_every_value_of_the_rows(rows, background, kind):
    """Rows take the floats of the background; where it cannot hold their values it is widened."""
    background = read(background, "background")
    aligned = background.aligned(read(rows, "X"), "X")
    holding = background.holding(aligned)
    assert aligned.native.dtype.name == holding.native.dtype.name == kind
    mixed = holding.mix(aligned, np.array([[True, True], [True, False]]), np.array([0, 0]))
    assert (mixed[0] == rows[0]).all()
    assert mixed[1, 1] == background.native[0, 1]


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize(
    ("values", "kind", "shown"),
    [([300], "int8", "300"), ([0.5], "bool", "0.5"), ([7], "bool", "7"), ([0.5], "int64", "0.5")],
)
def test_frames_refuse_values_that_a_cast_would_change(library, values, kind, shown):
    """Nothing is wrapped around, rounded or made true."""
    narrow = pd.DataFrame({"a": np.array([0, 1], dtype=kind)})
    rows = pd.DataFrame({"a": values})
    if library is pl:
        narrow, rows = pl.from_pandas(narrow), pl.from_pandas(rows)
    with pytest.raises(ArgumentTypeError, match=f"'a'.*{shown}"):
        read(narrow, "background").aligned(read(rows, "X"), "X")


def test_codes_follow_the_dtype_and_not_who_is_missing():
    """A missing value in one row changes the number of no other value; large whole numbers stay apart."""
    background = read(pd.DataFrame({"a": pd.array([1, 1, 2**53], dtype="Int64")}), "background")
    rows = read(pd.DataFrame({"a": pd.array([7, None, 1, 2**53 + 1], dtype="Int64")}), "X")
    own, asked = background.codes(background)[:, 0], background.codes(rows)[:, 0]
    assert (asked[:, None] == own).tolist() == [[False] * 3, [False] * 3, [True, True, False], [False] * 3]
    assert np.array_equal(background.codes(rows.take([0])), background.codes(rows)[:1])


def test_null_is_not_nan():
    """polars knows both, and a model may treat them differently."""
    table = read(pl.DataFrame({"a": [None, float("nan"), 0.0]}), "X")
    assert len(np.unique(table.codes(table))) == 3


@pytest.mark.parametrize("library", [pd, pl, np])
def test_numbers_that_a_column_cannot_hold_become_the_nearest(library):
    """Draws of an imputer are rounded, not cut, and bounded; flags are drawn at one half."""
    table = pd.DataFrame({"i": np.array([1, 2], dtype=np.uint8), "b": [True, False], "f": [0.5, 1.5]})
    native = {pd: table, pl: pl.from_pandas(table), np: table["i"].to_numpy()[:, None]}[library]
    drawn = [np.array([-3.0, 1.7]), np.array([0.2, 0.8]), np.array([0.2, 0.8])]
    made = read(native, "background").with_columns(drawn[: 1 if library is np else 3])
    columns = read(made, "X").columns()
    assert columns[0].tolist() == [0, 2]
    if library is not np:
        assert columns[1].tolist() == [False, True]
        assert columns[2].tolist() == [0.2, 0.8]


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (np.ones(3), ArgumentError, "reshape"),
        (np.ones((2, 2, 2)), ArgumentError, "table"),
        (np.empty((0, 3)), ArgumentError, "at least one row"),
        (pd.DataFrame({"a": []}), ArgumentError, "at least one row"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ArgumentError, "different column names"),
        (
            pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
            ArgumentError,
            "MultiIndex",
        ),
        (pd.Series([1.0, 2.0]), ArgumentTypeError, r"iloc\[\[0\]\]"),
        (np.ma.masked_array([[1.0, 2.0]], [[True, False]]), ArgumentTypeError, "filled"),
        (pl.Series([1.0, 2.0]), ArgumentTypeError, r"frame\[:1\]"),
        (scipy.sparse.eye_array(2).tocsr(), ArgumentTypeError, "toarray"),
        (pl.DataFrame({"a": [1]}).lazy(), ArgumentTypeError, "collect"),
        (np.array([[1j]]), ArgumentTypeError, "complex"),
        ([[1, 2], [3]], ArgumentTypeError, "array"),
        ("rows", ArgumentError, "table"),
    ],
)
def test_what_is_no_table_is_refused_with_a_hint(data, error, words):
    """Each kind of mistake has its own words."""
    with pytest.raises(error, match=words):
        read(data, "X")
