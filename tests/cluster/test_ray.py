"""Ray: the shipped adapter under the own loop, and `map_batches` with `Explainer.partition`."""

import os
from functools import partial

import numpy as np
import pytest

import polyshap
from cluster.partitions import ROWS, assert_same, explainer
from execution.watchdog import watchdog
from polyshap.errors import GameRaisedError
from polyshap.execution import RayExecutor

ray = pytest.importorskip("ray", reason="needs `pip install ray`")

# Ray leaves its sockets, files and processes to the garbage collector
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        logging_level="ERROR",
        log_to_driver=False,
    )
    yield
    ray.shutdown()


def make_game(folder=None, kill_at=None):
    """A game of 12 players, pickled by value; it ends its worker at the call `kill_at`."""
    weights = np.arange(1.0, 13.0)

    def game(z):
        import os

        if folder is not None:
            with open(os.path.join(folder, "calls"), "ab", buffering=0) as log:
                log.write(b"x")
            mark = os.path.join(folder, "died")
            if os.path.getsize(os.path.join(folder, "calls")) == kill_at and not os.path.exists(mark):
                open(mark, "w").close()
                os.kill(os.getpid(), 9)
        return np.cos(z @ weights) + z[:, 0]

    return game


def run(game, **options):
    return polyshap.estimate(game, 12, 400, "polyshap-2", random_state=0, batch_size=10, **options).values


def test_the_same_bits_as_here():
    """Coalitions of one game, rows that share a design, rows that stand for themselves."""
    with watchdog(300):
        assert np.array_equal(run(make_game(), executor=RayExecutor()), run(make_game()))
    rng = np.random.default_rng(0)
    rows, background, weights = rng.standard_normal((9, 6)), rng.standard_normal((10, 6)), np.arange(6.0)

    def model(rows):
        return rows @ weights + rows[:, 0] * rows[:, 1]

    for options in ({"estimator": "polyshap-2"}, {"estimator": "adaptive", "shared": False}):
        options |= {"budget": 40, "random_state": 0}
        plain = polyshap.explain(model, rows, background, **options)
        with watchdog(300):
            x = polyshap.explain(model, rows, background, executor=RayExecutor(), **options)
        assert np.array_equal(x.values, plain.values)


def test_a_worker_dies(tmp_path):
    """Ray gives the task to another one; the bits stay, and a few chunks are made twice."""
    with watchdog(300):
        values = run(make_game(str(tmp_path), kill_at=20), executor=RayExecutor())
    assert (tmp_path / "died").exists()
    assert np.array_equal(values, run(make_game()))
    assert os.path.getsize(tmp_path / "calls") <= 41 + 8


def test_the_models_own_exception_comes_through():
    def broken(z):
        raise ConnectionError("the line is dead")

    with watchdog(300), pytest.raises(GameRaisedError, match=r"ConnectionError.*the line is dead") as caught:
        run(broken, executor=RayExecutor())
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_any_partitioning_gives_the_same_numbers():
    """Blocks and batches of any size."""
    made = explainer()
    wanted = made.partition(ROWS, keep=["id"])
    data = ray.data.from_pandas(ROWS)
    for n_blocks, batch in ((1, None), (2, 7), (5, 100)):
        with watchdog(300):
            found = data.repartition(n_blocks).map_batches(
                partial(made.partition, keep=["id"]), batch_format="pandas", batch_size=batch
            )
            assert_same(found.to_pandas(), wanted)
