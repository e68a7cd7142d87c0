"""`explain` on workers, with a cache, retries and requests: the same bits, and nothing paid for is lost."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import polyshap
from polyshap.errors import ArgumentError, GameRaisedError, InterruptedRun, ModelRaisedError, ModelValueError
from polyshap.execution import Cache, Retries

RNG = np.random.default_rng(0)
ROWS, BACKGROUND = RNG.standard_normal((12, 8)), RNG.standard_normal((20, 8))
WEIGHTS = RNG.standard_normal(8)
QUICK = Retries(attempts=3, wait=0.0)


def model(rows):
    return rows @ WEIGHTS + np.tanh(rows[:, 0] * rows[:, 1])


def two(rows):
    return np.stack([model(rows), -model(rows) * rows[:, 2]], axis=1)


def explain(function=model, rows=ROWS, **options):
    settings = {"budget": 80, "estimator": "polyshap-2", "random_state": 0} | options
    return polyshap.explain(function, rows, BACKGROUND, **settings)


def same(x, y):
    assert np.array_equal(x.values, y.values)
    assert np.array_equal(x.base_values, y.base_values)
    assert np.array_equal(x.row_evaluations, y.row_evaluations)


@pytest.mark.parametrize("options", [
    {"estimator": "polyshap-2"},
    {"estimator": "adaptive", "shared": False},
    {"estimator": "adaptive", "shared": True},
    {"budget": "auto", "estimator": "auto"},
    {"estimator": "leverageshap", "independent_designs": True},
    {"estimator": "polyshap-2", "rows": ROWS[:1], "batch_size": 100},
], ids=["joint", "own", "shared", "auto", "independent", "coalitions of one row"])  # fmt: skip
def test_the_same_bits_on_any_workers(options):
    """Whole rows, rows fitted together, coalitions of one row; threads and one to four processes."""
    plain = explain(two, **options)
    with ThreadPoolExecutor(3) as executor:
        same(explain(two, executor=executor, **options), plain)
    for n_workers in (1, 2, 3, 4):
        with ProcessPoolExecutor(n_workers) as executor:
            same(explain(two, executor=executor, **options), plain)


def test_own_processes():
    """`n_jobs` starts and ends its own pool, which gets functions of a notebook by value."""
    weights = WEIGHTS

    def local(rows):
        return rows @ weights

    same(explain(local, n_jobs=2), explain(local))


class Counted:
    def __init__(self, function=model):
        self.function, self.rows = function, 0

    def __call__(self, rows):
        self.rows += len(rows)
        return self.function(rows)


@pytest.mark.parametrize("estimator", ["polyshap-2", "adaptive"])
def test_a_second_run_asks_for_nothing_but_the_ends(tmp_path, estimator):
    """The pilot rows of shared parameters are kept too; what is left are the first row and the background."""
    cache = Cache(tmp_path, fingerprint="v1")
    options = {"estimator": estimator, "cache": cache, "shared": True}
    plain = explain(estimator=estimator, shared=True)
    first, second = Counted(), Counted()
    same(explain(first, **options), plain)
    same(explain(second, **options), plain)
    assert second.rows <= 2 * (1 + len(BACKGROUND)) < first.rows / 100


def test_a_cache_knows_row_background_imputer_and_outputs(tmp_path):
    """Nothing is taken from another game."""
    cache = Cache(tmp_path, fingerprint="v1")
    explain(two, cache=cache)
    for changes in ({"imputer": "kmeans-5"}, {"outputs": [1, 0]}, {"groups": {"pair": [0, 1]}}):
        same(explain(two, cache=cache, **changes), explain(two, **changes))
    asked = Counted(two)
    explain(asked, ROWS[::-1], cache=cache)
    assert asked.rows <= 1 + len(BACKGROUND)


def test_workers_write_the_cache(tmp_path):
    cache = Cache(tmp_path, fingerprint="v1")
    with ProcessPoolExecutor(2) as executor:
        same(explain(executor=executor, cache=cache), explain())
    again = Counted()
    same(explain(again, cache=cache), explain())
    assert again.rows <= 1 + len(BACKGROUND)


def broken_at(calls, action):
    """A model that misbehaves from its n-th call on."""
    count = iter(range(100_000))

    def function(rows):
        return model(rows) if next(count) < calls else action(rows)

    return function


def raises(error):
    def action(rows):
        raise error

    return action


@pytest.mark.parametrize("estimator", ["polyshap-2", "adaptive"])
@pytest.mark.parametrize(("action", "kind"), [
    (raises(ConnectionError("dead")), GameRaisedError),
    (lambda rows: np.full(len(rows), np.nan), ModelValueError),
    (raises(KeyboardInterrupt()), InterruptedRun),
], ids=["raises", "garbage", "Ctrl-C"])  # fmt: skip
def test_what_was_done_is_on_the_exception(estimator, action, kind):
    """Rows finished before are explained, those of others are there as values; nothing is lost."""
    options = {"estimator": estimator, "shared": False, "batch_size": 200, "rows": ROWS}
    plain = explain(**options)
    with pytest.raises(kind) as caught:
        explain(broken_at(45, action), **options)
    error = caught.value
    assert len(error.finished_rows) > 1
    rows = list(error.finished_rows)
    np.testing.assert_allclose(error.explanation.values, plain.values[rows], rtol=1e-9, atol=1e-12)
    assert np.array_equal(error.explanation.data, ROWS[rows])
    (row,) = error.observed
    assert row not in rows
    coalitions, values = error.observed[row]
    assert len(coalitions) == len(values) > 0


def test_a_failure_on_a_worker_is_the_models_own():
    with (
        ProcessPoolExecutor(2) as executor,
        pytest.raises(GameRaisedError, match="ConnectionError") as caught,
    ):
        explain(broken_at(3, raises(ConnectionError("dead"))), executor=executor)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert caught.value.row is not None


def test_retries_heal_and_name():
    """A flaky model gives the same values; a row that never works is named."""
    calls = iter(range(10_000))

    def flaky(rows):
        if next(calls) % 3 == 0:
            raise TimeoutError("later")
        return model(rows)

    same(explain(flaky, retries=QUICK), explain())

    def refuses(rows):
        if (rows[:, 3] == ROWS[5, 3]).any():
            raise ValueError("refused")
        return model(rows)

    with pytest.raises(ModelRaisedError, match="refused") as caught:
        explain(refuses, retries=QUICK)
    assert caught.value.rows.shape == (1, 8)
    assert caught.value.rows[0, 3] == ROWS[5, 3]
    assert caught.value.row == 5
    assert caught.value.finished_rows == (0, 1, 2, 3, 4)


def test_asynchronous_models():
    """Requests of `batch_size` rows, up to `max_concurrency` in flight."""
    import asyncio

    flying, most, sizes = 0, 0, set()

    async def remote(rows):
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        sizes.add(len(rows))
        await asyncio.sleep(0.001)
        flying -= 1
        return model(rows)

    x = explain(remote, rows=ROWS[:2], batch_size=50, max_concurrency=6)
    np.testing.assert_allclose(x.values, explain(rows=ROWS[:2]).values, atol=1e-12)
    assert most == 6
    assert max(sizes) <= 50
    with pytest.raises(ArgumentError, match="`max_concurrency` must go with an asynchronous"):
        explain(max_concurrency=3)


def test_progress_counts_what_is_done():
    """One count over all workers, up to the forecast."""
    seen = []
    with ThreadPoolExecutor(2) as executor:
        x = explain(executor=executor, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (x.n_evaluations, x.n_evaluations)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_options_that_do_not_go_together():
    """Refused before the model is asked."""
    asked = Counted()
    for options, message in (
        ({"timeout": 1.0}, "`timeout` must go with worker processes"),
        ({"timeout": -1.0, "n_jobs": 2}, "`timeout` must be a positive"),
        ({"n_jobs": 2, "executor": ThreadPoolExecutor(1)}, "`n_jobs` must be left out"),
    ):
        with pytest.raises(ArgumentError, match=message):
            explain(asked, **options)
    assert asked.rows == 0
