"""Imputers: their laws against independent formulas, their names, and what they refuse."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

import polyshap
from polyshap.errors import ArgumentError, ArgumentTypeError
from polyshap.execution.batching import Batching, coalition_values
from polyshap.games import fillings, imputers
from polyshap.games.conditional import CopulaScores
from polyshap.games.imputers import as_imputer
from polyshap.tables.frames import read

RNG = np.random.default_rng(5)
COVARIANCE = np.array([[1.0, 0.8, 0.3], [0.8, 2.0, -0.4], [0.3, -0.4, 1.5]])
NORMAL = RNG.multivariate_normal([1.0, -1.0, 0.0], COVARIANCE, 4000)


def fills(imputer, background, row, present):
    """The synthetic rows of one coalition."""
    filling = as_imputer(imputer).prepare(read(background, "background"), np.random.default_rng(0))
    synthetic = filling.bind(read(row[None], "X")).synthetic(0)
    return synthetic.block(np.array([present]), slice(0, synthetic.n_fills))


def test_conditional_draws_have_the_conditional_mean_and_covariance():
    """Textbook formulas: mu_1 + S_12 S_22^-1 (x_2 - mu_2) and S_11 - S_12 S_22^-1 S_21."""
    row = np.array([2.0, 1.0, -1.0])
    rows = fills(imputers.Gaussian(20_000), NORMAL, row, [False, True, False])
    mean, cov = NORMAL.mean(axis=0), np.cov(NORMAL.T)
    absent = [0, 2]
    wanted_mean = mean[absent] + cov[absent, 1] / cov[1, 1] * (row[1] - mean[1])
    wanted_cov = cov[np.ix_(absent, absent)] - np.outer(cov[absent, 1], cov[1, absent]) / cov[1, 1]
    assert (rows[:, 1] == row[1]).all()
    # standard error of a mean of 20,000 draws is about 0.01; of a covariance about 0.02
    assert rows[:, absent].mean(axis=0) == pytest.approx(wanted_mean, abs=0.05)
    assert np.cov(rows[:, absent].T) == pytest.approx(wanted_cov, abs=0.1)


def test_conditional_games_of_linear_models_match_the_closed_form():
    """For a linear model the value of a coalition is the model at the conditional mean."""
    row, weights = np.array([2.0, 1.0, -1.0]), np.array([1.0, -2.0, 0.5])
    mean, cov = NORMAL.mean(axis=0), np.cov(NORMAL.T)
    present = np.array([True, False, True])
    given = mean[1] + cov[1, present] @ np.linalg.solve(cov[np.ix_(present, present)], (row - mean)[present])
    filling = imputers.Gaussian(20_000).prepare(read(NORMAL, "background"), np.random.default_rng(0))
    rows = filling.bind(read(row[None], "X")).synthetic(0)
    value = coalition_values(lambda r: (r @ weights)[:, None], rows, present[None], Batching())
    assert value[0, 0] == pytest.approx(weights[[0, 2]] @ row[[0, 2]] + weights[1] * given, abs=0.06)


def test_copula_draws_keep_the_margins_and_the_dependence():
    """Skewed margins come back as they were; a present feature moves its partner and not the others."""
    skewed = np.exp(NORMAL)
    rows = fills(imputers.Copula(2000), skewed, skewed[0], [False, False, False])
    for j in range(3):
        assert kstest(rows[:, j], skewed[:, j]).pvalue > 1e-4
    high = np.array([np.exp(3.0), 1.0, 1.0])  # two standard deviations up
    rows = fills(imputers.Copula(2000), skewed, high, [True, False, False])
    # on the normal scale the partner's mean moves by cov/var * 2 = 1.6 from -1
    assert np.log(rows[:, 1]).mean() == pytest.approx(-1.0 + 0.8 * 2.0, abs=0.15)
    assert (rows[:, 0] == high[0]).all()


def test_copula_scores_are_normal_quantiles_of_middle_ranks():
    """Ties share the middle of their ranks; values beyond the ends stay finite."""
    scores = CopulaScores.of(np.array([[1.0], [2.0], [2.0], [4.0]]))
    assert scores.forward(np.array([2.0])) == pytest.approx(norm.ppf(0.5))
    assert scores.forward(np.array([9.0])) == pytest.approx(norm.ppf(3.5 / 4))
    assert scores.forward(np.array([-9.0])) == pytest.approx(norm.ppf(0.5 / 4))


def test_singular_covariances_are_solved():
    """A copied column and a constant one: the copy follows exactly, the constant stays."""
    base = RNG.standard_normal((200, 1))
    data = np.concatenate([base, base, np.ones((200, 1))], axis=1)
    rows = fills("gaussian", data, np.array([2.0, 2.0, 1.0]), [True, False, False])
    assert rows[:, 1] == pytest.approx(np.full(100, 2.0), abs=1e-2)
    assert rows[:, 2] == pytest.approx(np.ones(100), abs=1e-2)


def test_kmeans_keeps_background_rows_weighted_by_their_clusters():
    """Two clouds of 30 and 10 rows: two real rows with weights 3/4 and 1/4."""
    data = np.concatenate([RNG.normal(0, 0.1, (30, 2)), RNG.normal(9, 0.1, (10, 2))])
    filling = imputers.KMeans(2).prepare(read(data, "background"), np.random.default_rng(0))
    assert all((row == data).all(axis=1).any() for row in filling.table.native)
    assert sorted(filling.weights.tolist()) == [0.25, 0.75]


def test_subsamples_are_rows_of_the_background_by_the_seed():
    """Distinct rows; the same seed gives the same ones; a small background is taken whole."""
    table = read(np.arange(200.0).reshape(100, 2), "background")
    first, again, other = (
        imputers.Subsample(10).prepare(table, np.random.default_rng(seed)).table.native for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(np.unique(first, axis=0)) == 10
    assert len(imputers.Subsample(1000).prepare(table, np.random.default_rng(0)).table) == 100


def test_own_functions_get_the_row_and_the_present_columns():
    """Two fills a coalition, zeros and tens, coalition by coalition."""

    def mine(row, present):
        fills = np.array([0.0, 10.0])
        return np.where(present[:, None, :], row[0], fills[:, None]).reshape(-1, row.shape[1])

    rows = fills(mine, np.zeros((1, 2)), np.array([1.0, 2.0]), [True, False])
    assert rows.tolist() == [[1.0, 0.0], [1.0, 10.0]]


def test_own_functions_must_keep_their_number_of_rows():
    """Two rows at first and one later is an error that says so."""
    answers = iter([2, 1])

    def mine(row, present):
        return np.zeros((next(answers), 2))

    with pytest.raises(ArgumentError, match="2 rows for each coalition"):
        fills(mine, np.zeros((1, 2)), np.zeros(2), [True, False])


@pytest.mark.parametrize("answer", [None, np.empty((0, 2)), 3.0])
def test_own_functions_must_return_rows(answer):
    """Nothing, no rows, or a number."""
    with pytest.raises(ArgumentError, match="one row or more"):
        fills(lambda row, present: answer, np.zeros((1, 2)), np.zeros(2), [True, False])


@pytest.mark.parametrize("name", ["marginal", "baseline", "kmeans", "kmeans-3", "subsample-7", "gaussian-9"])
def test_names_stand_for_imputers(name):
    """A number after the dash is the number of rows."""
    assert isinstance(as_imputer(name), imputers.Imputer)


@pytest.mark.parametrize(
    ("imputer", "weights", "error", "words"),
    [
        ("means", None, ArgumentError, "marginal"),
        ("baseline-3", None, ArgumentError, "marginal"),
        ("kmeans", [1.0], ArgumentError, "weights"),
        (imputers.Baseline(), [1.0], ArgumentError, "weights"),
        (7, None, ArgumentTypeError, "function"),
    ],
)
def test_unknown_imputers_are_refused(imputer, weights, error, words):
    """Wrong names, and weights where they have no place."""
    with pytest.raises(error, match=words):
        as_imputer(imputer, weights)


@pytest.mark.parametrize(
    ("imputer", "data", "error", "words"),
    [
        (imputers.Baseline(), np.zeros((2, 2)), ArgumentError, "one row"),
        (imputers.Marginal([1.0, -1.0]), np.zeros((2, 2)), ArgumentError, "not negative"),
        (imputers.Marginal([0.0, 0.0]), np.zeros((2, 2)), ArgumentError, "all zero"),
        (imputers.Marginal([1.0]), np.zeros((2, 2)), ArgumentError, "each of the 2"),
        (imputers.Gaussian(), np.array([["a", "b"]], dtype=object), ArgumentTypeError, "numeric"),
        (imputers.Copula(), np.array([[1.0, np.nan]]), ArgumentError, "missing"),
        (imputers.KMeans(0), np.zeros((2, 2)), ArgumentError, "n_clusters"),
        (imputers.Gaussian(0), np.ones((2, 2)), ArgumentError, "n_samples"),
    ],
)
def test_backgrounds_that_do_not_suit_are_refused(imputer, data, error, words):
    """Each imputer says what it needs."""
    with pytest.raises(error, match=words):
        imputer.prepare(read(data, "background"), np.random.default_rng(0))


def test_a_background_too_large_to_compare_gives_the_same(monkeypatch):
    """Without words for it the same features count as constant and the values are the same."""
    rng = np.random.default_rng(0)
    background, rows = rng.standard_normal((50, 4)), rng.standard_normal((2, 4))
    background[:, 2] = rows[0, 2] = 1.0

    def values():
        x = polyshap.explain(lambda z: z.prod(axis=1), rows, background, budget=16, random_state=0)
        return x.values

    plain = values()
    monkeypatch.setattr(fillings, "_MOST_WORDS", 60)
    np.testing.assert_allclose(values(), plain, atol=1e-12)
    assert values()[0, 2] == 0


@pytest.mark.parametrize("imputer", ["gaussian-4000", "copula-4000"])
def test_conditional_draws_of_counts_and_flags_have_their_means(imputer):
    """Rounding to the nearest number that a column can hold leaves its mean where it was."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, (400, 2))
    drawn = fills(imputer, counts, counts[0], [False, False])
    assert drawn.dtype == counts.dtype
    # standard error of a mean of 4,000 draws with deviation 2.6 is 0.04
    assert drawn.mean(axis=0) == pytest.approx(counts.mean(axis=0), abs=0.2)
    rows = fills(imputer, counts, np.array([2.5, 1.0]), [True, False])
    assert (rows[:, 0] == 2.5).all()


def test_weights_that_are_no_numbers_are_refused():
    """Text is named as what was given."""
    with pytest.raises(ArgumentTypeError, match="numbers"):
        polyshap.explain(lambda rows: rows[:, 0], np.ones((1, 2)), np.zeros((3, 2)), weights="abc")
