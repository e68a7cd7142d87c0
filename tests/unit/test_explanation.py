"""Explanations: slices, tables and files keep what they should, and nothing can be written over."""

import contextlib
import datetime
import json
import zipfile

import numpy as np
import pytest

import polyshap
from polyshap.errors import ArgumentError, FileFormatError, NotAvailableError

RNG = np.random.default_rng(0)
ROWS, BACKGROUND = RNG.random((5, 4)), RNG.random((6, 4))


def two_outputs(rows):
    return np.stack([rows[:, 0] * rows[:, 1] + rows[:, 2], rows.sum(axis=1)], axis=1)


@pytest.fixture(scope="module")
def one():
    """One output, four players."""
    return polyshap.explain(lambda rows: two_outputs(rows)[:, 0], ROWS, BACKGROUND, random_state=0)


@pytest.fixture(scope="module")
def two():
    """Two named outputs."""
    names = ["class a", "class b"]
    return polyshap.explain(two_outputs, ROWS, BACKGROUND, random_state=0, output_names=names)


def test_shapes_of_one_and_several_outputs(one, two):
    """One output has no axis; several come last."""
    assert one.shape == one.standard_errors.shape == (5, 4)
    assert one.base_values.shape == (5,)
    assert two.shape == (5, 4, 2)
    assert two.base_values.shape == (5, 2)
    assert len(one) == len(two) == 5
    assert two.n_evaluations == 5 * 16


def test_values_add_up(two):
    """Values sum to prediction minus base value."""
    assert two.values.sum(axis=1) == pytest.approx(two.predictions - two.base_values, abs=1e-9)


@pytest.mark.parametrize(
    "key", [slice(1, 3), [0, 2], np.array([True, False, True, False, False]), slice(None)]
)
def test_slices_of_rows_are_explanations(two, key):
    """Every array that has rows is sliced with them."""
    part = two[key]
    for name in ("values", "base_values", "predictions", "data", "standard_errors", "row_evaluations"):
        assert np.array_equal(getattr(part, name), getattr(two, name)[key])
    assert part.output_names == two.output_names
    assert part[0, 0].interactions() == two[..., 0][key][0].interactions()


def test_slices_of_outputs_drop_the_axis(two):
    """By name or number, before or after the rows."""
    part = two[..., "class b"]
    assert part.shape == (5, 4)
    assert part.output_names == "class b"
    for same in (two[:, 1], two[..., -1], two["class b"]):
        assert np.array_equal(same.values, part.values)
    assert np.array_equal(two[3, "class b"].values, two.values[3, :, 1])
    assert two[3]["class a"].base_values == two.base_values[3, 0]


def test_a_single_row_has_no_axis_of_rows(one):
    """x[0] has the values of one row; iteration gives rows."""
    assert one[0].shape == (4,)
    assert one[0].is_row
    assert one[0].n_evaluations == 16
    assert [row.values.tolist() for row in one] == one.values.tolist()
    with pytest.raises(TypeError):
        len(one[0])


@pytest.mark.parametrize(
    "wrong", [lambda x: x["class c"], lambda x: x[0, 1, 2], lambda x: x[..., 0.5], lambda x: x[0][0][0],
              lambda x: x[..., "class a"][..., "class a"], lambda x: x.row(None), lambda x: x.row(9)],
)  # fmt: skip
def test_wrong_indices_are_named(two, wrong):
    """Outputs that are not there, too many axes, rows of a row."""
    with pytest.raises(ArgumentError):
        wrong(two)


def test_nothing_can_be_written_over(one):
    """Arrays are read-only and so are fields; the caller's rows are copied."""
    for name in ("values", "base_values", "predictions", "data", "standard_errors", "row_evaluations"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(one, name)[...] = 0
    with pytest.raises(AttributeError):
        one.values = None
    ROWS[0, 0] += 0.0  # the caller's array is still the caller's
    assert not np.shares_memory(one.data, ROWS)


def test_interactions_come_from_the_calls_already_made(two):
    """x0 * x1 has one interaction: the product of both deviations from the background, averaged."""
    found = two[..., "class a"].interactions(1, order=2)
    gap = ROWS[1, :2] - BACKGROUND[:, :2]
    assert found[0, 1] == pytest.approx(np.mean(gap[:, 0] * gap[:, 1]))
    assert found[2, 3] == pytest.approx(0.0, abs=1e-12)
    assert two.interactions(1)[0, 1].shape == (2,)


def test_frames_have_one_line_for_each_value(two):
    """Long form: row, feature, output, data, value, standard error, base value."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = two.to_frame()
    assert len(frame) == 5 * 4 * 2
    line = frame[(frame["row"] == 3) & (frame["feature"] == "x2") & (frame["output"] == "class b")].iloc[0]
    assert line["value"] == two.values[3, 2, 1]
    assert line["data"] == ROWS[3, 2]
    assert line["base_value"] == two.base_values[3, 1]
    assert list(two[0, 0].to_frame()["feature"]) == ["x0", "x1", "x2", "x3"]


@pytest.mark.parametrize(
    "which", [lambda x: x, lambda x: x[1:3], lambda x: x[0], lambda x: x[..., 1], lambda x: x[0, 0]]
)
def test_files_keep_everything_but_interactions(two, which, tmp_path):
    """Saved and loaded: equal to the bit; the file has exactly the given name."""
    given = which(two)
    given.save(tmp_path / "values.bin")
    found = polyshap.load(tmp_path / "values.bin")
    for name in ("values", "base_values", "predictions", "data", "standard_errors", "row_evaluations"):
        assert np.array_equal(getattr(found, name), getattr(given, name))
    assert found.output_names == given.output_names
    assert found.feature_names == given.feature_names
    assert found.n_evaluations == given.n_evaluations
    assert dict(found.diagnostics.details) == dict(given.diagnostics.details)
    with pytest.raises(NotAvailableError, match="memory only"):
        found.interactions(0)


def test_files_keep_text_dates_and_missing_values(tmp_path):
    """Data that is no number goes through JSON."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame(
        {"s": ["a", None, "c"], "d": pd.date_range("2024-01-01", periods=3), "f": [1.5, np.nan, 2.0],
         "b": [True, False, True]}
    )  # fmt: skip
    x = polyshap.explain(lambda rows: rows["b"].astype(float), frame, frame, random_state=0)
    x.save(tmp_path / "x.npz")
    found = polyshap.load(tmp_path / "x.npz").data
    assert found[0].tolist() == ["a", datetime.datetime(2024, 1, 1), 1.5, True]
    assert found[1, 0] is None
    assert np.isnan(found[1, 2])


def test_nothing_in_a_file_is_pickled(two, tmp_path):
    """Every member loads without pickle."""
    two.save(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz", allow_pickle=False) as file:
        assert {name: file[name].dtype.kind for name in file.files}


def test_damaged_and_foreign_files_are_refused(two, tmp_path):
    """A cut file, text, an npz of somebody else, a newer version, a missing part: one clear word each."""
    two.save(tmp_path / "good.npz")
    whole = (tmp_path / "good.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.npz").write_text("values")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.savez(tmp_path / "other.npz", values=np.ones(3))
    np.save(tmp_path / "plain.npy", np.ones(3))
    with np.load(tmp_path / "good.npz") as file:
        parts = {name: file[name] for name in file.files}
    meta = json.loads(parts["meta"].tobytes())

    def with_meta(name, **changes):
        text = json.dumps(meta | changes).encode()
        np.savez(tmp_path / name, **(parts | {"meta": np.frombuffer(text, dtype=np.uint8)}))

    with_meta("newer.npz", version=99)
    with_meta("foreign.npz", format="else")
    np.savez(tmp_path / "partial.npz", **{k: v for k, v in parts.items() if k != "values"})
    for name in ("cut.npz", "text.npz", "empty.npz", "other.npz", "plain.npy", "newer.npz", "foreign.npz",
                 "partial.npz"):  # fmt: skip
        with pytest.raises(FileFormatError):
            polyshap.load(tmp_path / name)
    with pytest.raises(FileFormatError, match="version 99"):
        polyshap.load(tmp_path / "newer.npz")
    with pytest.raises(FileNotFoundError):
        polyshap.load(tmp_path / "nowhere.npz")


@pytest.mark.parametrize(
    "change",
    [
        {"values": np.ones((2, 3, 4))},
        {"values": np.full((4, 4, 2), "text")},
        {"base_values": np.ones(5)},
        {"predictions": np.ones((3, 2))},
        {"standard_errors": np.ones((4, 2))},
        {"row_evaluations": np.ones(9)},
        {"data": np.ones((4, 9))},
        {"feature_names": ["a"]},
        {"output_names": 5},
        {"output_names": ["a", "b", "c"]},
        {"version": "new"},
        {"diagnostics": 3},
    ],
    ids=str,
)
def test_parts_that_do_not_fit_are_refused(two, change, tmp_path):
    """Whoever wrote the file: no explanation comes back whose parts disagree."""
    two.save(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as file:
        parts = {name: file[name] for name in file.files}
    meta = json.loads(parts["meta"].tobytes())
    ((name, value),) = change.items()
    (parts if name in parts else meta)[name] = value
    parts["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(tmp_path / "changed.npz", **parts)
    with pytest.raises(FileFormatError, match=r"changed\.npz"):
        polyshap.load(tmp_path / "changed.npz")


def test_a_flipped_byte_is_noticed(two, tmp_path):
    """The archive's checksums catch damage inside the arrays."""
    two.save(tmp_path / "x.npz")
    data = bytearray((tmp_path / "x.npz").read_bytes())
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        place = archive.getinfo("values.npy")
    data[place.header_offset + 60 + place.compress_size // 2] ^= 0xFF
    (tmp_path / "x.npz").write_bytes(bytes(data))
    with pytest.raises(FileFormatError):
        polyshap.load(tmp_path / "x.npz")


@pytest.mark.parametrize("mask", [0x01, 0x55, 0xFF])
def test_no_flipped_byte_of_the_directory_gives_another_error(two, tmp_path, mask):
    """Some ask for a password or a later version of zip: still a damaged file."""
    path = tmp_path / "x.npz"
    two.save(path)
    whole = path.read_bytes()
    for place in range(whole.index(b"PK\x01\x02"), len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :])
        with contextlib.suppress(FileFormatError):  # there are bytes that nobody reads
            assert np.array_equal(polyshap.load(path).values, two.values)


def test_other_files_are_not_taken_for_pickles(tmp_path):
    """numpy's own message would show the way to unpickle."""
    (tmp_path / "x.npz").write_bytes(b"\x80\x04N.")
    with pytest.raises(FileFormatError, match="no npz file"):
        polyshap.load(tmp_path / "x.npz")


def test_the_plots_are_those_of_the_plot_package(one):
    """An unknown plot names the ones that are there."""
    plots = pytest.importorskip("polyshap.plots", reason="no plots in this installation")
    if not getattr(plots, "__all__", None):
        pytest.skip("no plots in this installation")
    assert set(dir(one.plot)) == set(plots.__all__)
    with pytest.raises(AttributeError, match="there are"):
        one.plot.nonsense()


def test_the_text_form_says_what_it_is(two):
    """Rows, features, outputs, calls."""
    assert "5 rows, 4 features, 2 outputs" in repr(two)
    assert "one row" in repr(two[0])
