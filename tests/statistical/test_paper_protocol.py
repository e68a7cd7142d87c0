"""The paper's experiments come out: cells within their spread over seeds, and the published claims.

Everything is computed here from the stored forests and tables; `polyshap bench check` prints the same cells.
"""

from functools import cache

import numpy as np
import pytest

from polyshap.benchmark import Plan, load_instances, select_tasks
from polyshap.benchmark.cells import N_SD, collect, judge
from polyshap.benchmark.published import published, tolerance
from polyshap.benchmark.run import execute
from polyshap.benchmark.runtime import fit_lines, measure
from polyshap.benchmark.tasks import TASKS
from polyshap.estimators.polyshap import PolySHAP
from polyshap.estimators.regression_msr import RegressionMSR
from polyshap.frontiers import KAdditive
from reference_paper import replay
from tables import data_folder

pytestmark = [pytest.mark.data]

TASK_NAMES = tuple(task.name for task in select_tasks(None))
# CG60 and IL60 hang on the last bits of the authors' matrix products: their forests are others
REBUILT = ("CG60", "IL60")
SEEDS = tuple(range(10))


@pytest.fixture(autouse=True)
def data():
    """Skip where the public data is not."""
    return data_folder()


@cache
def cells_of(name, methods, seeds=SEEDS, seeding="shared"):
    """Cells of the game's table column."""
    plan = Plan(select_tasks([name]), methods, seeds=seeds, seeding=seeding, budgets="table")
    return collect(record for job in plan.jobs() for record in execute(job))


@pytest.mark.parametrize("name", TASK_NAMES)
def test_games_are_those_of_the_paper(name):
    """The mean square of the exact values is the published error of an estimate that is all zeros."""
    task = TASKS[name]
    # at n + 1 no antithetic pair of permutations fits: the published values are zero there
    zeros = published()["csv", True, name, task.n_players + 1, "permutation"]
    found = np.mean(load_instances(name).exact ** 2)
    assert found == pytest.approx(zeros.mean, rel=0.15 if name in REBUILT else 1e-6)


@pytest.mark.parametrize("name", TASK_NAMES)
def test_exact_values_are_the_stored_ones(name, data):
    """Closed form and enumeration here agree with the ground truth kept with the data."""
    stored = np.load(data / "exact" / f"{name}.npz")
    exact = load_instances(name).exact
    assert np.abs(exact - stored["exact"]).max() < 1e-12 * np.abs(exact).max()
    game = load_instances(name).game(range(30))
    ends = game(np.array([[False] * exact.shape[1], [True] * exact.shape[1]]))
    scale = np.abs(stored["full"]).max()
    assert np.abs(ends - [stored["empty"], stored["full"]]).max() < 1e-12 * scale


@pytest.mark.filterwarnings("ignore::polyshap.errors.RankWarning")  # nine calls, of which seven are rows
@pytest.mark.parametrize(
    ("name", "paired", "budget"),
    [("Housing", True, 9), ("Housing", True, 176), ("ViT9", False, 10), ("ViT9", False, 331)],
)
def test_published_coalitions_give_the_published_digits(name, paired, budget):
    """On the coalitions and weights of the authors' sampler 1-PolySHAP has their error, to 1e-6."""
    task, instances = TASKS[name], load_instances(name)
    budgets = [other for other in task.budgets if other <= budget]
    seen = replay(instances.game(range(30)), task.n_players, paired, budgets)
    values = PolySHAP(KAdditive(1)).fit(seen).values
    errors = np.mean((values.T - instances.exact) ** 2, axis=1)
    assert np.mean(errors) == pytest.approx(published()["csv", paired, name, budget, "polyshap-1"].mean, 1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "paired", "mended"),
    [
        ("Forest", True, 9.67e-6),
        ("Adult", True, 4.68e-8),
        ("DistilBERT", True, 3.68e-5),
        ("ViT16", True, 2.67e-6),
        ("ViT16", False, 6.77e-6),
    ],
)
def test_regression_msr_on_published_coalitions_is_the_mended_one(name, paired, mended):
    """With the authors' coalitions it has at most the error of their code with mended residuals.

    Measured for the budgets and the ten instances of the tables. It is the same to three digits where the
    labels have the game's own scale; here they are enlarged, which helps where values are small (Adult).
    """
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    task, instances = TASKS[name], load_instances(name)
    ends = np.log10(task.n_players + 1), np.log10(min(2**task.n_players, 20_000))
    budgets = np.logspace(*ends, 10).astype(int)
    last = next(m for m in budgets if m >= task.table_budget - 1)  # they were truncated, not rounded
    seen = replay(instances.game(range(10)), task.n_players, paired, budgets[budgets <= last].tolist())
    values = RegressionMSR(engines=("xgboost",)).fit(seen).values
    assert np.mean((values.T - instances.exact[:10]) ** 2) < 1.03 * mended


@pytest.mark.statistical
@pytest.mark.parametrize("name", TASK_NAMES)
def test_the_polyshap_family_is_within_the_measured_spread(name):
    """Every cell whose spread over seeds was measured for the authors' code is met: at most 3 sd above.

    Below, one sd more is granted: sizes are drawn by quota here, at random there, which lowers the error of
    standard 2-PolySHAP on Estate to 3.1 sd below.
    """
    cells = cells_of(name, ("polyshap-1", "polyshap-2", "polyshap-3", "polyshap-4"))
    positions = {
        key[1:3]: judge(key, cell)[1]
        for key, cell in cells.items()
        if not cell.skipped and tolerance(key[2], key[0], key[3], key[1]) is not None
    }
    assert positions, "no cell to hold against the protocol"
    assert {key: z for key, z in positions.items() if not -N_SD - 1 < z <= N_SD} == {}


@pytest.mark.statistical
@pytest.mark.parametrize("name", TASK_NAMES)
def test_the_sampling_baselines_are_no_worse_than_published(name):
    """Permutation, MSR and SVARM: at most 3 sd above the published mean, the sd being that over our seeds.

    Only one side is tested: ours spend the whole budget, draw sizes by quota and use exact inclusion
    probabilities, so that they may be better.
    """
    cells = cells_of(name, ("permutation", "msr", "svarm"))
    outside = {
        key[1:3]: judge(key, cell)[1] for key, cell in cells.items() if judge(key, cell)[0] == "outside"
    }
    assert outside == {}


@pytest.mark.statistical
def test_regression_msr_is_at_or_below_the_published_mean():
    """On at least 11 of 14 games, for the published residuals sit on wrong coalitions.

    On the published coalitions: other seeds move a mean by more than the residuals do, and by 1.7 on paired
    Bike, with the authors' sampler as with ours.
    """
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    below = {True: [], False: []}
    for name in TASK_NAMES:
        task, instances = TASKS[name], load_instances(name)
        budgets = [budget for budget in task.budgets if budget <= task.table_budget]
        for paired, found in below.items():
            seen = replay(instances.game(range(30)), task.n_players, paired, budgets)
            values = RegressionMSR(engines=("xgboost",)).fit(seen).values
            figure = published()["csv", paired, name, task.table_budget, "regression-msr"]
            found.append(np.mean((values.T - instances.exact) ** 2) <= figure.mean)
    assert sum(below[True]) >= 11
    assert sum(below[False]) >= 11


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["Housing", "Bike", "Forest", "Adult", "ResNet18", "Estate", "ViT16"])
def test_more_interactions_help_under_standard_sampling(name):
    """The error falls from order 1 to 2 to 3 at the budget of the table."""
    cells = cells_of(name, ("polyshap-1", "polyshap-2", "polyshap-3", "polyshap-4"))
    budget = TASKS[name].table_budget
    errors = [cells[name, f"polyshap-{order}", False, budget].geometric_mean for order in (1, 2, 3)]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.statistical
@pytest.mark.parametrize("name", TASK_NAMES)
@pytest.mark.parametrize("odd", [1, 3])
def test_paired_even_orders_add_nothing(name, odd):
    """Paired KernelSHAP is paired 2-PolySHAP, and paired 3 is 4: the same values, up to rounding."""
    methods = (f"polyshap-{odd}", f"polyshap-{odd + 1}")
    plan = Plan(select_tasks([name]), methods, (True,), 3, seeds=(0,), seeding="shared", budgets="table")
    first, second = (execute(job) for job in plan.jobs())
    exact = load_instances(name).exact
    for one, two in zip(first, second, strict=True):
        if one.skipped or two.skipped:
            pytest.skip(one.skipped or two.skipped)
        difference = np.abs(np.subtract(one.values, two.values)).max()
        assert difference < 1e-7 * np.abs(exact[one.instance]).max()


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["Housing", "Adult", "Estate", "Forest", "Bike"])
def test_three_is_the_best_of_the_family_on_tables(name):
    """Paired 3-PolySHAP has the least error of all, and of orders 1 to 3 by far; paired 4 is equal to it.

    Unpaired 4-PolySHAP comes near it on Forest and Estate, and in the published numbers too.
    """
    cells = cells_of(name, ("polyshap-1", "polyshap-2", "polyshap-3", "polyshap-4"))
    best = cells[name, "polyshap-3", True, TASKS[name].table_budget].geometric_mean
    others = {
        (method, paired): cell.geometric_mean
        for (_, method, paired, _), cell in cells.items()
        if not cell.skipped and not (paired and method in ("polyshap-3", "polyshap-4"))
    }
    assert best < min(others.values())
    assert best < 0.5 * min(error for (method, _), error in others.items() if method != "polyshap-4")


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["Estate", "Cancer", "IL60"])
def test_runtime_is_linear_in_the_budget(name):
    """A straight line explains at least 95 % of the variance of the seconds."""
    timings = list(measure((name,), ("polyshap-1", "polyshap-2"), n_instances=3, live=False))
    for line in fit_lines(timings):
        assert line.r_squared >= 0.95, line
