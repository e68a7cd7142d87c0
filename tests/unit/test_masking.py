"""The masking game: right means whatever the batches, equal rows predicted once, memory bounded."""

import numpy as np
import pytest

from polyshap.coalitions import enumerate_all
from polyshap.errors import ArgumentError, GameShapeError, ModelValueError
from polyshap.execution.batching import Batching, ask, coalition_values
from polyshap.games.imputers import Marginal
from polyshap.games.masking import hashed
from polyshap.tables.frames import read
from reference_explain import coalition_value

RNG = np.random.default_rng(0)
COALITIONS = enumerate_all(5)


def model(rows):
    """Two outputs with interactions."""
    rows = np.asarray(rows, dtype=float)
    return np.stack([rows[:, 0] * rows[:, 1] + rows[:, 2], np.sin(rows.sum(axis=1))], axis=1)


class Counting:
    """A model that remembers how many rows each call had."""

    def __init__(self, function=model):
        self.function, self.sizes = function, []

    def __call__(self, rows):
        self.sizes.append(len(rows))
        return self.function(rows)


def synthetic(row, background, weights=None):
    filling = Marginal(weights).prepare(read(background, "background"), np.random.default_rng(0))
    return filling.bind(read(row[None], "X")).synthetic(0)


ROUNDED = RNG.integers(0, 3, (12, 5)).astype(float)
SMOOTH = RNG.random((12, 5))


@pytest.mark.parametrize("data", [ROUNDED, SMOOTH, ROUNDED.astype(np.float32), ROUNDED.astype(int)])
@pytest.mark.parametrize("batch_size", [None, 1, 7, 11, 64])
@pytest.mark.parametrize("deduplicate", [None, True, False])
def test_values_are_means_over_the_background_whatever_the_batches(data, batch_size, deduplicate):
    """The slow mean, row by row, for every batch size, with and without dropping equal rows."""
    values = coalition_values(
        model, synthetic(data[11], data[:11]), COALITIONS, Batching(batch_size, deduplicate=deduplicate)
    )
    wanted = [coalition_value(model, data[11], data[:11], present) for present in COALITIONS]
    # single precision models are asked in single precision: the reference too
    assert values == pytest.approx(np.array(wanted), abs=1e-6 if data.dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("deduplicate", [True, False])
def test_weights_of_the_background_are_heeded(batch_size, deduplicate):
    """Weights are scaled to one and reach every route."""
    weights = np.arange(1.0, 12.0)
    rows = synthetic(ROUNDED[11], ROUNDED[:11], weights)
    values = coalition_values(model, rows, COALITIONS, Batching(batch_size, deduplicate=deduplicate))
    wanted = [coalition_value(model, ROUNDED[11], ROUNDED[:11], present, weights) for present in COALITIONS]
    assert values == pytest.approx(np.array(wanted), abs=1e-13)


def test_equal_rows_are_predicted_once():
    """The model sees exactly the different synthetic rows, and each of them once."""
    counting = Counting()
    rows = synthetic(ROUNDED[11], ROUNDED[:11])
    coalition_values(counting, rows, COALITIONS, Batching(deduplicate=True))
    all_rows = rows.block(COALITIONS, slice(0, 11))
    assert sum(counting.sizes) == len(np.unique(all_rows, axis=0)) < len(all_rows)


def test_the_probe_decides_by_the_share_of_equal_rows():
    """Rounded data pays, smooth data does not: there no row is dropped, and none could be."""
    for data, dropped in ((ROUNDED, True), (SMOOTH, False)):
        counting = Counting()
        coalition_values(counting, synthetic(data[11], data[:11]), COALITIONS, Batching())
        assert (sum(counting.sizes) < 32 * 11) == dropped


def test_batches_never_exceed_their_size():
    """Neither for many coalitions nor for a background larger than a batch."""
    for deduplicate in (True, False):
        counting = Counting()
        coalition_values(
            counting, synthetic(SMOOTH[11], SMOOTH[:11]), COALITIONS, Batching(7, deduplicate=deduplicate)
        )
        assert max(counting.sizes) <= 7


def test_the_bound_on_memory_is_a_bound_on_rows():
    """Rows a call times bytes a row, with three copies, stay below `max_memory`."""
    for row_bytes in (8, 800, 80_000, 8_000_000):
        rows = Batching(max_memory=64 << 20).rows_per_call(row_bytes)
        assert rows == 1 or 4 * rows * row_bytes <= 64 << 20
    assert Batching().rows_per_call(8 * 12) == 43690
    assert Batching().rows_per_call(8) == 65536
    assert Batching().rows_per_call(8 * 1000) == 16384
    assert Batching().rows_per_call(8, cap=100) == 100


def test_keys_are_equal_exactly_where_rows_are():
    """The key of (coalition, fill) stands for the synthetic row, which need not be built."""
    rows = synthetic(ROUNDED[11], ROUNDED[:11])
    keys = rows.keys(COALITIONS).ravel()
    built = rows.block(COALITIONS, slice(0, 11))
    _, by_key = np.unique(keys, return_inverse=True)
    _, by_row = np.unique(built, axis=0, return_inverse=True)
    assert len(set(zip(by_key.tolist(), by_row.ravel().tolist(), strict=True))) == by_key.max() + 1
    assert by_key.max() == by_row.max()


def test_hashes_of_small_codes_spread_over_all_bits():
    """Neighbouring codes and columns share no pattern: every bit is set about half of the time."""
    words = hashed(np.arange(2000, dtype=np.uint64)[:, None] + np.zeros((1, 4), dtype=np.uint64))
    assert len(np.unique(words)) == 8000
    shares = [((words >> np.uint64(bit)) & np.uint64(1)).mean() for bit in range(64)]
    # 8,000 fair bits: standard deviation 0.0056, six of them
    assert np.abs(np.array(shares) - 0.5).max() < 0.034


def test_bad_predictions_are_named_and_kept():
    """NaN predictions: the message shows a row, the exception holds them all."""

    def sometimes(rows):
        return np.where(rows[:, 0] > 0.5, np.nan, 1.0)[:, None]

    with pytest.raises(ModelValueError, match="NaN or infinity for 1 of 3") as caught:
        ask(sometimes, np.array([[0.0, 1.0], [0.75, 2.0], [0.25, 3.0]]))
    assert np.array_equal(caught.value.rows, [[0.75, 2.0]])
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame({"a": [0.0, 0.75], "b": ["u", "v"]})
    with pytest.raises(ModelValueError, match="'b': 'v'") as caught:
        ask(lambda rows: np.where(rows["a"] > 0.5, np.inf, 1.0)[:, None], frame)
    assert caught.value.rows["b"].tolist() == ["v"]


def test_another_number_of_outputs_is_an_error():
    """One output in one call and two in the next."""
    with pytest.raises(GameShapeError, match="Got 1 first and 2 later"):
        ask(model, SMOOTH, 1)


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"max_memory": 1000}])
def test_impossible_batches_are_refused(options):
    """The message says the smallest that is possible."""
    with pytest.raises(ArgumentError, match="at least"):
        Batching(**options)
