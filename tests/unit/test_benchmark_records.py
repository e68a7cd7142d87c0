"""Records survive: lines come back, a cut line is dropped, damage is named, a full disk is clear."""

import errno
import math

import pytest

from polyshap.benchmark.records import Record, RecordFile, read_records
from polyshap.errors import ArgumentError, FileFormatError, StorageError


def record(instance, **changes):
    fields = {
        "seconds": {"fit": 0.5},
        "values": (1.0, -2.5e-17),
        "metrics": {"mse": 1.0, "spearman": math.nan},
        **changes,
    }
    return Record("Housing", instance, "polyshap-1", True, 9, 40, "own", "0.1.0", **fields)


def write(path, *instances):
    with RecordFile.open(path) as file:
        file.append([record(instance) for instance in instances])
        return file.keys


def test_what_is_written_comes_back(tmp_path):
    """Every field, NaN included, and the order."""
    path = tmp_path / "folder" / "records.jsonl"
    write(path, 0, 1)
    first, second = read_records(path)
    assert first.values == (1.0, -2.5e-17)
    assert math.isnan(first.metrics["spearman"])
    assert second.key == record(1).key
    assert second.to_line() == record(1).to_line()


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_cut_line_is_dropped_and_written_again(tmp_path, cut):
    """A run that was killed while it wrote leaves a file that goes on where it stopped."""
    path = tmp_path / "records.jsonl"
    write(path, 0, 1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    assert len(list(read_records(path))) == 1
    assert write(path, 1) == {record(0).key}
    assert path.read_bytes() == whole


@pytest.mark.parametrize("line", ["nonsense", "[1]", '{"task": "Housing"}', '{"unknown": 1}', "\udcff"])
def test_damage_before_the_end_is_named_with_its_line(tmp_path, line):
    """A damaged line is an error that says which, not a silent loss."""
    path = tmp_path / "records.jsonl"
    write(path, 0)
    path.write_bytes(line.encode(errors="surrogateescape") + b"\n" + path.read_bytes())
    with pytest.raises(FileFormatError, match=r"records.jsonl is damaged at line 1"):
        list(read_records(path))


def test_a_full_disk_is_clear_and_keeps_what_was_written(tmp_path):
    """The message says what to do; the file ends with the last whole line."""
    path = tmp_path / "records.jsonl"
    write(path, 0)

    class Full:
        """A stream that writes half of what it is given, as a disk that fills up does."""

        def __init__(self, stream):
            self.stream = stream

        def __getattr__(self, name):
            return getattr(self.stream, name)

        def write(self, text):
            self.stream.write(text[: len(text) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

    with RecordFile.open(path) as file:
        full = RecordFile(file.path, file.keys, Full(file.stream))
        with pytest.raises(StorageError, match=r"No space left on device.*run the same command again"):
            full.append([record(1)])
    assert [item.key for item in read_records(path)] == [record(0).key]
    assert path.read_bytes().endswith(b"\n")


def test_a_disk_that_takes_a_part_is_asked_for_the_rest(tmp_path):
    """A short write is not a written line: the rest follows, or the line is withdrawn."""
    path = tmp_path / "records.jsonl"

    class Short:
        """A stream that takes 50 bytes a call, and so many calls."""

        def __init__(self, stream, calls):
            self.stream, self.calls = stream, calls

        def __getattr__(self, name):
            return getattr(self.stream, name)

        def write(self, text):
            self.calls -= 1
            if self.calls < 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return self.stream.write(text[:50])

    with RecordFile.open(path) as file:
        RecordFile(file.path, file.keys, Short(file.stream, 1000)).append([record(0)])
        with pytest.raises(StorageError, match="No space left on device"):
            RecordFile(file.path, file.keys, Short(file.stream, 2)).append([record(1)])
        file.append([record(2)])
    assert [item.key for item in read_records(path)] == [record(0).key, record(2).key]


def test_records_are_a_file(tmp_path):
    """A folder or a device is refused; reading a device could never end."""
    with pytest.raises(
        ArgumentError, match=r"`records` must be a file. Got .*, which is a folder or a device"
    ):
        write(tmp_path, 0)


def test_two_runs_cannot_write_to_one_file(tmp_path):
    """The second one is refused instead of mixing its lines in."""
    pytest.importorskip("fcntl", reason="files are locked on this platform in no way")
    path = tmp_path / "records.jsonl"
    with RecordFile.open(path), pytest.raises(StorageError, match="in use by another run"):
        write(path, 0)
