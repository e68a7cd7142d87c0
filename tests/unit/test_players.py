"""Players: groups of columns, one-hot groups, and columns that cannot matter."""

import numpy as np
import pytest

from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.tables.frames import read
from polyshap.tables.players import as_players, one_hot_groups

TABLE = read(np.zeros((1, 4)), "background", ["street", "zip", "age", "income"])


def test_groups_become_players_at_the_place_of_their_first_column():
    """Columns in no group stay players of their own."""
    players = as_players({"address": ["zip", "street"], "money": [3]}, TABLE)
    assert players.names == ("address", "age", "money")
    assert players.owner.tolist() == [0, 0, 1, 2]


def test_coalitions_of_active_players_spread_over_their_columns():
    """A member of a present group is present; a player who is not active counts as absent."""
    players = as_players({"address": ["street", "zip"]}, TABLE)
    present = players.spread(np.array([[True, False]]), np.array([0, 2]))
    assert present.tolist() == [[True, True, False, False]]


def test_a_group_is_active_when_any_of_its_columns_differs():
    """Only a group that agrees in all columns cannot matter."""
    players = as_players({"address": ["street", "zip"]}, TABLE)
    differs = np.array([[False, True, False, True], [False, False, True, False]])
    assert players.active(differs).tolist() == [[True, False, True], [False, True, False]]
    alone = as_players(None, TABLE)
    assert alone.active(differs) is differs


def test_one_hot_columns_are_found_by_prefix_and_exclusion():
    """Two columns with one prefix that are never on together; a dropped first level does not matter."""
    names = ["colour_red", "colour_blue", "size=s", "size=m", "flag_a", "flag_b", "age_years", "n_1"]
    rows = np.array([[1, 0, 0, 1, 1, 1, 30, 0], [0, 1, 0, 0, 0, 1, 31, 1], [0, 0, 1, 0, 0, 0, 32, 0]], float)
    table = read(rows, "background", names)
    assert one_hot_groups(table) == {"colour": ["colour_red", "colour_blue"], "size": ["size=s", "size=m"]}
    assert as_players("one-hot", table).names == ("colour", "size", "flag_a", "flag_b", "age_years", "n_1")


def test_one_hot_levels_may_hold_separators():
    """Levels like 2.5 and New_York; the steps in scikit-learn's `step__column_level` are no prefix."""
    rooms = [f"rooms_{level}" for level in (2.5, 3.0, 4.0)]
    cities = [f"city_{level}" for level in ("New_York", "Los_Angeles", "St. Louis")]
    sexes = ["encode__sex_female", "encode__sex_male"]
    both = [f"home_{name}" for name in ("type_flat", "type_house", "loan_yes")]
    names = rooms + cities + sexes + both
    rows = np.zeros((3, len(names)))
    rows[:, :3] = rows[:, 3:6] = np.eye(3)
    rows[:, 6:8] = rows[:, 8:10] = [[1, 0], [0, 1], [1, 0]]
    rows[0, 10] = 1
    wanted = {"rooms": rooms, "city": cities, "encode__sex": sexes, "home_type": both[:2]}
    assert one_hot_groups(read(rows, "background", names)) == wanted


@pytest.mark.parametrize(
    ("groups", "error", "words"),
    [
        ({"a": ["street", "zap"]}, ArgumentError, "'zap'. Did you mean 'zip'"),
        ({"a": ["street"], "b": ["street"]}, ArgumentError, "overlap"),
        ({"a": []}, ArgumentError, "list of columns"),
        ({"a": "street"}, ArgumentError, "list of columns"),
        ({"age": ["street"]}, ArgumentError, "named like a column"),
        ({"a": [7]}, ArgumentError, "0..3"),
        ("hot", ArgumentError, "one-hot"),
        ([["street"]], ArgumentTypeError, "mapping"),
    ],
)
def test_groups_that_make_no_sense_are_refused(groups, error, words):
    """Unknown, overlapping and empty groups each have their words."""
    with pytest.raises(error, match=words):
        as_players(groups, TABLE)
