"""Tables of all values: evaluate, save, load, and shapiq's files."""

import json

import numpy as np
import pytest

from polyshap.errors import ArgumentError, FileFormatError
from polyshap.games import TableGame, load_table, save_table, tabulate
from tables import synthetic_games


def random_table(n_players, *outputs):
    return TableGame(np.random.default_rng(0).normal(size=(2**n_players, *outputs)))


def test_a_table_answers_as_the_game_it_was_made_from():
    """Player i is bit i of the row, in any order of the rows asked for."""
    game = synthetic_games(6, seed=2)["k-additive"]
    table = tabulate(game, 6, batch_size=7)
    coalitions = np.random.default_rng(1).random((50, 6)) < 0.5
    assert table(coalitions) == pytest.approx(game(coalitions), abs=1e-14)
    assert table.shapley_values() == pytest.approx(game.shapley_values(), abs=1e-12)


@pytest.mark.parametrize("outputs", [(), (3,)])
def test_saved_tables_come_back(tmp_path, outputs):
    """What is saved is what is loaded, and no part of a file is left behind."""
    table = random_table(4, *outputs)
    save_table(table, tmp_path / "game.npz")
    assert np.array_equal(load_table(tmp_path / "game.npz").table, table.table)
    assert [path.name for path in tmp_path.iterdir()] == ["game.npz"]


def test_coalitions_of_a_file_may_stand_in_any_order(tmp_path):
    """A file's own coalitions say what its values belong to."""
    table = random_table(3)
    coalitions = (np.arange(8)[:, None] >> np.arange(3)) & 1
    shuffled = np.random.default_rng(0).permutation(8)
    np.savez(tmp_path / "a.npz", coalitions=coalitions[shuffled], values=np.asarray(table.table)[shuffled])
    assert np.array_equal(load_table(tmp_path / "a.npz").table, table.table)


def test_json_as_shapiq_writes_it(tmp_path):
    """Coalitions are texts of player numbers, the empty one is "Empty"."""
    data = {"Empty": 0.0, "0": 1.0, "1": 2.0, "0,1": 5.0}
    (tmp_path / "a.json").write_text(json.dumps({"metadata": {"n_players": 2}, "data": data}))
    assert load_table(tmp_path / "a.json").table.tolist() == [0.0, 1.0, 2.0, 5.0]


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_files_go_to_and_from_shapiq(tmp_path, suffix):
    """Files of an installed shapiq are read, and it reads ours."""
    shapiq = pytest.importorskip("shapiq", reason="shapiq is not installed")
    table = random_table(4)
    theirs = shapiq.Game(n_players=4, normalize=False)
    theirs.value_function = lambda coalitions: table(np.asarray(coalitions, dtype=bool))
    theirs.precompute()
    theirs.save_values(tmp_path / f"theirs{suffix}")
    assert np.array_equal(load_table(tmp_path / f"theirs{suffix}").table, table.table)
    save_table(table, tmp_path / "ours.npz")
    read = shapiq.Game(n_players=4, normalize=False)
    read.load_values(tmp_path / "ours.npz", precomputed=True)
    coalitions = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(bool)
    assert np.asarray(read(coalitions)) == pytest.approx(np.asarray(table.table))


def test_damaged_files_are_named(tmp_path):
    """A file that is cut, foreign or lacks coalitions is refused with its name."""
    path = tmp_path / "game.npz"
    save_table(random_table(4), path)
    whole = path.read_bytes()
    altered = whole[:60] + bytes(40) + whole[100:]
    for content in (whole[:100], altered):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=r"game.npz is damaged"):
            load_table(path)
    np.savez(tmp_path / "foreign.npz", x=1)
    with pytest.raises(FileFormatError, match=r"foreign.npz"):
        load_table(tmp_path / "foreign.npz")
    np.savez(tmp_path / "flat.npz", coalitions=np.zeros(4, dtype=bool), values=np.zeros(4))
    with pytest.raises(FileFormatError, match=r"flat.npz is damaged or not a table"):
        load_table(tmp_path / "flat.npz")
    for name, content in {
        "player.json": {"metadata": {"n_players": 2}, "data": {"0,7": 1.0}},
        "list.json": [1.0, 2.0],
    }.items():
        (tmp_path / name).write_text(json.dumps(content))
        with pytest.raises(FileFormatError, match=f"{name} is damaged or not a table"):
            load_table(tmp_path / name)
    np.savez(tmp_path / "part.npz", coalitions=np.eye(2, dtype=bool), values=[1.0, 2.0])
    with pytest.raises(FileFormatError, match=r"each of the 2\^2 coalitions once"):
        load_table(tmp_path / "part.npz")
    with pytest.raises(ArgumentError, match=r"must end in .npz or .json"):
        load_table(tmp_path / "game.csv")


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_tables_have_a_row_for_each_coalition(rows):
    """2^n rows, no other number."""
    with pytest.raises(ArgumentError, match=r"`table` must hold 2\^n rows"):
        TableGame(np.zeros(rows))
