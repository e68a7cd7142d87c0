"""The prior, its likelihood and its posterior against sums over all sets of players."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import lapack
from scipy.stats import multivariate_normal
from tests.reference_gaussian import (
    coefficient_variances,
    covariance_by_terms,
    dense_posterior,
    shapley_of_table,
    shapley_of_terms,
)

from polyshap.coalitions import enumerate_all, signs
from polyshap.gaussian.averaging import laplace_draws
from polyshap.gaussian.fitting import calibration, error_factor, fit_process, forecast_pairs, learning_columns
from polyshap.gaussian.interactions import ProcessSource
from polyshap.gaussian.kernel import Parameters, even_kernel, hyperbolic, odd_kernel
from polyshap.gaussian.likelihood import Hyperprior, improve, learn, objective, unpack
from polyshap.gaussian.linear import factorise
from polyshap.gaussian.posterior import covariance, posterior
from polyshap.gaussian.sections import delta_sections, delta_variance, prior_variance, smooth_sections
from polyshap.gaussian.terms import single_out
from polyshap.interactions import Table, moebius_transform
from polyshap.results import INDICES


def some_parameters(n_players: int, *, terms: bool = False) -> Parameters:
    """Two smooth components; with `terms` also variances of single terms, and relevances that differ."""
    rng = np.random.default_rng(3)
    own = ((0,), (0, 1, 2)) if terms else ()
    return Parameters(
        0.7,
        np.array([0.4, 0.2]),
        0.03,
        rng.uniform(0.05, 0.9, n_players),
        np.array([0.5, 2.0]),
        own,
        np.array([0.3, 0.6]) if terms else None,
        rng.uniform(0.5, 2.0, (3, n_players)) if terms else None,
    )


def some_rows(n_players: int, n_half: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(2 ** (n_players - 1) - 1)[:n_half] + 1
    return np.concatenate([signs(enumerate_all(n_players)[numbers]), np.ones((1, n_players))])


@pytest.mark.parametrize("terms", [False, True])
def test_kernels_are_sums_over_sets(terms: bool) -> None:
    """Equations (2) and (3): each kernel is the sum over all sets of the variance of its coefficient."""
    p, rows = some_parameters(5, terms=terms), some_rows(5, 9)
    np.testing.assert_allclose(
        odd_kernel(rows[:4], rows, p), covariance_by_terms(rows[:4], rows, p, odd=True), atol=1e-12
    )
    np.testing.assert_allclose(
        even_kernel(rows[:4], rows, p), covariance_by_terms(rows[:4], rows, p, odd=False), rtol=1e-12
    )


def test_hyperbolic_of_a_large_argument_is_finite() -> None:
    sinh, cosh = hyperbolic(np.array([-2000.0, 0.0, 2000.0]), 2000.0)
    np.testing.assert_allclose(sinh, [-1.0, 0.0, 1.0])
    np.testing.assert_allclose(cosh, [1.0, 0.0, 1.0])


@pytest.mark.parametrize("terms", [False, True])
def test_sections_and_prior_variance(terms: bool) -> None:
    """Equation (4): the quadrature is the sum over odd sets of 2 c_T / |T|, and so is its variance."""
    p, rows = some_parameters(6, terms=terms), some_rows(6, 12)
    variances = coefficient_variances(p, odd=True)
    sets = list(variances)
    shares, amounts = shapley_of_terms(sets, 6), np.array(list(variances.values()))
    from tests.reference_gaussian import characters

    expected = (characters(rows, sets) * amounts) @ shares
    np.testing.assert_allclose(smooth_sections(rows, p), expected, atol=1e-12)
    np.testing.assert_allclose(prior_variance(p), amounts @ shares**2, rtol=1e-12)


def test_delta_part_is_exact_enumeration() -> None:
    """With every pair observed, the delta weights give the exact Shapley values."""
    coalitions = enumerate_all(5)
    values = np.random.default_rng(0).normal(size=32)
    odd = (values - values[::-1]) / 2
    half = slice(1, 16)
    result = delta_sections(signs(coalitions[half])).T @ odd[half] + 2 / 5 * odd[-1]
    np.testing.assert_allclose(result, shapley_of_table(values, coalitions), atol=1e-13)
    np.testing.assert_allclose(
        (delta_sections(signs(coalitions[half])) ** 2).sum(axis=0), delta_variance(5), rtol=1e-12
    )


@pytest.mark.parametrize("n_terms", [0, 2])
def test_objective_is_the_density_of_two_gaussians(n_terms: int) -> None:
    """Minus its value is the log density of odd and even values under the kernels and of theta a priori."""
    rng, rows = np.random.default_rng(3), some_rows(5, 9)
    odd, even, columns = rng.normal(size=(10, 1)), rng.normal(size=(10, 1)), rng.normal(size=(10, n_terms))
    hyperprior = Hyperprior(ratio_deviation=0.5)
    mean, deviation = hyperprior.moments(5)
    theta = mean + 0.3 * rng.normal(size=len(mean))
    p = unpack(theta, 5, hyperprior.scales)
    delta = np.diag([p.nugget] * 9 + [0.0])
    loss = 0.5 * (((theta - mean) / deviation) ** 2).sum()
    for values, kernel in (
        (odd, odd_kernel(rows, rows, p) + delta + columns @ columns.T),
        (even, even_kernel(rows, rows, p) + delta),
    ):
        density = multivariate_normal(np.zeros(10), kernel).logpdf(values[:, 0])
        loss -= density + 5 * np.log(2 * np.pi)
    found = objective(theta, rows=rows, odd=odd, even=even, hyperprior=hyperprior, terms=columns)[0]
    assert found == pytest.approx(loss, rel=1e-8)  # a jitter of 1e-12 on a kernel of condition 1e3 or so


@pytest.mark.parametrize("ratio_deviation", [None, 0.5])
def test_gradient_is_the_slope_of_the_objective(ratio_deviation: float | None) -> None:
    """Central differences of step h err by h^2 and eps / h: about 1e-6 of the largest entry here."""
    rng, n_players = np.random.default_rng(1), 5
    rows = some_rows(n_players, 10)
    odd, even = rng.normal(size=(11, 2)), rng.normal(size=(11, 2))
    hyperprior = Hyperprior(ratio_deviation=ratio_deviation)
    theta = hyperprior.moments(n_players)[0]
    theta = theta + 0.3 * rng.normal(size=len(theta))

    def loss(point: np.ndarray) -> float:
        return objective(point, rows=rows, odd=odd, even=even, hyperprior=hyperprior)[0]

    steps = 1e-5 * np.eye(len(theta))
    slope = np.array([(loss(theta + step) - loss(theta - step)) / 2e-5 for step in steps])
    gradient = objective(theta, rows=rows, odd=odd, even=even, hyperprior=hyperprior)[1]
    np.testing.assert_allclose(gradient, slope, atol=1e-5 * np.abs(gradient).max())


def test_columns_share_parameters_as_a_product_of_likelihoods() -> None:
    """Two equal columns count twice: the loss without the log-prior doubles."""
    rng, rows = np.random.default_rng(2), some_rows(4, 6)
    odd, even = rng.normal(size=(7, 1)), rng.normal(size=(7, 1))
    hyperprior = Hyperprior()
    theta = hyperprior.moments(4)[0]  # at the prior's mean its penalty is zero
    one = objective(theta, rows=rows, odd=odd, even=even, hyperprior=hyperprior)[0]
    two = objective(theta, rows=rows, odd=np.tile(odd, 2), even=np.tile(even, 2), hyperprior=hyperprior)[0]
    assert two == pytest.approx(2 * one, rel=1e-12)


@pytest.mark.parametrize("terms", [False, True])
def test_posterior_is_the_conditional_gaussian(terms: bool) -> None:
    p, rows = some_parameters(6, terms=terms), some_rows(6, 14)
    odd = np.random.default_rng(5).normal(size=(15, 2))
    process = posterior(rows, p)
    mean, variance = dense_posterior(rows, odd, p)
    np.testing.assert_allclose(process.values(process.solve(odd)), mean, atol=1e-9)
    np.testing.assert_allclose(process.variance, variance, atol=1e-10)


def test_efficiency_follows_from_the_last_row() -> None:
    p, rows = some_parameters(6), some_rows(6, 10)
    odd = np.random.default_rng(5).normal(size=(11, 3))
    process = posterior(rows, p)
    np.testing.assert_allclose(process.values(process.solve(odd)).sum(axis=0), 2 * odd[-1], atol=1e-10)


def test_learning_finds_the_players_that_matter() -> None:
    n_players, rng = 8, np.random.default_rng(0)
    rows = some_rows(n_players, 60)
    value = 2 * rows[:, 0] + rows[:, 1] * rows[:, 2] * rows[:, 0] + 0.01 * rng.normal(size=61)
    found = learn(rows, value[:, None], (rows[:, 0] * rows[:, 1])[:, None] - 1.0, Hyperprior())
    relevances = found.parameters.relevances
    assert relevances[:3].min() > 5 * relevances[3:].max()


def test_learning_on_many_rows_starts_on_few() -> None:
    """The coarse search ends near the optimum: a few more steps on all rows reach the same likelihood."""
    rows = some_rows(10, 300)
    value = (rows @ np.linspace(0, 1, 10) + rows[:, 7] * rows[:, 8] * rows[:, 9])[:, None]
    value += 0.1 * np.random.default_rng(1).normal(size=value.shape)  # or the likelihood has no end
    even = (rows[:, 8] * rows[:, 9])[:, None] - 1.0
    fine = learn(rows, value, even, replace(Hyperprior(), n_few=10_000, n_iterations=80))
    hyperprior = replace(Hyperprior(), n_few=100)
    first = learn(rows, value, even, hyperprior)
    better = improve(first, rows, value, even, hyperprior)
    assert better.log_likelihood > fine.log_likelihood - 0.01 * abs(fine.log_likelihood)
    assert first.n_iterations < better.n_iterations <= first.n_iterations + hyperprior.n_more_iterations


def test_terms_of_their_own_leave_less_to_the_rest() -> None:
    """Beside a column that explains all but noise, the smooth part shrinks."""
    rows = some_rows(8, 60)
    triple = (rows[:, 1] * rows[:, 3] * rows[:, 6])[:, None]
    value = triple + 0.01 * np.random.default_rng(0).normal(size=triple.shape)
    even = np.zeros_like(value)
    alone = learn(rows, value, even, Hyperprior())
    beside = improve(alone, rows, value, even, Hyperprior(), triple)
    assert beside.log_likelihood > alone.log_likelihood + 10
    assert beside.parameters.smooth.sum() < 0.1 * alone.parameters.smooth.sum()


def test_calibration_leaves_each_pair_out() -> None:
    """Its figure is that of predicting each pair from the others, conditioned one by one."""
    rows, p = some_rows(6, 12), some_parameters(6)
    odd = np.random.default_rng(1).normal(size=(13, 2))
    K = covariance(rows, p)
    squares = np.zeros(2)
    for left_out in range(12):
        rest = np.arange(13) != left_out
        weights = np.linalg.solve(K[rest][:, rest], K[rest, left_out])
        variance = K[left_out, left_out] - K[left_out, rest] @ weights
        squares += (odd[left_out] - weights @ odd[rest]) ** 2 / variance
    process, amplitude = posterior(rows, p), np.array([1.0, 2.5])
    found = calibration(process, process.solve(odd), amplitude)
    np.testing.assert_allclose(found, np.sqrt((30 * amplitude + squares) / 42), rtol=1e-9)


def test_terms_that_data_demand_are_singled_out() -> None:
    """A triple that a nearly linear prior cannot explain gets a variance of its own; noise gets none."""
    rows = some_rows(7, 50)
    p = replace(some_parameters(7), smooth=np.array([1e-3, 1e-3]))
    factor = factorise(covariance(rows, p))
    triple = rows[:, 2] * rows[:, 4] * rows[:, 5]
    found = single_out(p, rows, factor, triple[:, None])
    assert (2, 4, 5) in found.terms
    assert found.term_variances is not None
    assert found.term_variances[found.terms.index((2, 4, 5))] > 0.3
    noise = np.sqrt(p.nugget) * np.random.default_rng(0).normal(size=(51, 1))
    assert not any(len(term) == 3 for term in single_out(p, rows, factor, noise).terms)


def test_draws_come_from_the_prior_where_there_is_no_data() -> None:
    """Without pairs the Hessian is the prior's: standardised draws have unit spread and mirror each other."""
    rows, hyperprior = np.ones((1, 6)), Hyperprior()
    ends = np.array([[1.0]]), np.array([[0.0]])
    learned = learn(rows, *ends, hyperprior)
    draws = laplace_draws(learned, rows, *ends, hyperprior, 64)
    assert draws.shape == (64, len(learned.theta))
    spread = (draws[:, -6:] - learned.theta[-6:]).std()
    assert 0.8 < spread < 1.2  # 384 normal numbers: 4 standard errors are 0.15
    inside = np.abs(draws[:32] - learned.theta) < 2  # away from the box that draws are clipped to
    mirrored = 2 * learned.theta - draws[32:]
    np.testing.assert_allclose(draws[:32][inside], mirrored[inside], atol=1e-9)


@pytest.mark.parametrize("terms", [False, True])
def test_effective_order_is_the_mean_order_of_the_odd_coefficients(terms: bool) -> None:
    p = some_parameters(5, terms=terms)
    variances = coefficient_variances(p, odd=True)
    orders = [len(term) for term in variances]
    assert p.effective_order == pytest.approx(np.average(orders, weights=list(variances.values())))


def test_errors_grow_with_the_effective_order_of_what_is_unseen() -> None:
    """The factor is the effective order with few pairs, falls with each one, and is 1 for linear games."""
    p = some_parameters(5)
    few, more, all_pairs = (error_factor(p, n_half) for n_half in (0, 10, 15))
    assert few == pytest.approx(p.effective_order, rel=0.1)
    assert few > more > all_pairs >= 1
    assert error_factor(replace(p, smooth=np.zeros(2)), 0) == 1


def test_failed_factorisation_is_repaired_by_jitter() -> None:
    """A singular covariance is factorised with a little more on the diagonal, from its untouched triangle."""
    rows = np.concatenate([some_rows(4, 5), np.ones((1, 4))])
    K = odd_kernel(rows, rows, replace(some_parameters(4), nugget=0.0))
    K[0, 0] -= 1e-11  # indefinite beyond the first jitter
    factor = factorise(K.copy())
    lower = np.tril(factor.lower)
    np.testing.assert_allclose(lower @ lower.T, K, atol=1e-7)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        factorise(-np.eye(3))


@pytest.mark.parametrize("index", INDICES)
def test_interactions_are_those_of_the_posterior_mean(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quadrature in closed form against all 2^n values of the posterior mean and their Möbius transform."""
    monkeypatch.setattr("polyshap.gaussian.fitting._AVERAGE_PAIRS", 0)
    rng, n_players = np.random.default_rng(0), 6
    everything = signs(enumerate_all(n_players))
    values = np.tanh(everything @ rng.normal(size=n_players)) + 2 * everything[:, :3].prod(axis=1)
    odd, even = (values - values[::-1]) / 2, (values + values[::-1]) / 2
    seen = np.append(rng.permutation(31)[:20] + 1, 63)
    fitted = fit_process(everything[seen], odd[seen, None], even[seen, None] - even[-1], None)
    source = ProcessSource(fitted)
    alpha, beta = fitted.process.solve(fitted.odd), source._even_weights()
    p = fitted.parameters
    table = (
        odd_kernel(everything, everything[seen], p) @ alpha
        + even_kernel(everything, everything[seen], p) @ beta
    )
    table = (table - table[0]) * fitted.scale
    expected = Table(moebius_transform(table))
    for order in (1, 2, 4):
        found, wanted = source.interactions(order, index, 1), expected.interactions(order, index, 1)
        assert set(found) == set(wanted)
        for term, value in wanted.items():
            np.testing.assert_allclose(found[term], value, atol=1e-9)


def test_shared_parameters_scale_each_column() -> None:
    """With given parameters, a column times 1,000 has values and errors times 1,000."""
    rows, p = some_rows(6, 12), some_parameters(6)
    odd = np.random.default_rng(0).normal(size=(13, 1))
    both = fit_process(rows, np.concatenate([odd, 1000 * odd], axis=1), np.zeros((13, 2)), p)
    np.testing.assert_allclose(both.values[:, 1], 1000 * both.values[:, 0], rtol=1e-9)
    np.testing.assert_allclose(both.standard_errors[:, 1], 1000 * both.standard_errors[:, 0], rtol=1e-9)


def test_learning_columns_are_few_and_not_zero() -> None:
    scale = np.ones(100)
    scale[:3] = 0.0
    columns = learning_columns(scale)
    assert len(columns) == 8
    assert columns.min() == 3
    assert columns.max() == 99
    assert learning_columns(np.zeros(4)) == slice(0, 1)


def test_forecast_grows_with_what_is_wanted() -> None:
    rows = some_rows(7, 40)
    odd = (rows @ np.arange(7.0) + np.random.default_rng(0).normal(size=41))[:, None]
    fitted = fit_process(rows, odd, np.zeros((41, 1)), None)
    largest = fitted.standard_errors.max()
    assert forecast_pairs(fitted, np.array([2 * largest])) == 40
    assert (
        40 < forecast_pairs(fitted, np.array([largest / 2])) < forecast_pairs(fitted, np.array([largest / 8]))
    )


def test_unpack_holds_positive_numbers() -> None:
    theta = np.zeros(5 + 3)
    p = unpack(theta, 3, (0.5, 2.0))
    assert p.linear == p.nugget == 1.0
    np.testing.assert_allclose(p.relevances, 1.0)


def test_a_factor_is_lapack_lower() -> None:
    K = np.array([[4.0, 2.0], [2.0, 3.0]])
    factor = factorise(K.copy())
    np.testing.assert_allclose(np.tril(factor.lower), lapack.dpotrf(K, lower=1)[0], rtol=1e-10)
    np.testing.assert_allclose(factor.solve(np.eye(2)), np.linalg.inv(K), rtol=1e-10)


def test_few_pairs_widen_the_errors_and_many_do_not() -> None:
    """The factor falls to 1 with the number of pairs, and no pair at all needs none."""
    rng, p = np.random.default_rng(0), some_parameters(7)
    widths = []
    for n_half in (4, 60):
        rows = some_rows(7, n_half)
        odd = np.linalg.cholesky(covariance(rows, p)) @ rng.normal(size=(n_half + 1, 1))
        fitted = fit_process(rows, odd, np.zeros_like(odd), p)
        process = fitted.process
        alpha = process.solve(fitted.odd)
        amplitude = (alpha * fitted.odd).sum(axis=0) / len(odd)
        promised = np.sqrt(process.variance) * calibration(process, alpha, amplitude) * fitted.scale
        widths.append((fitted.standard_errors[:, 0] / promised / error_factor(p, n_half)).mean())
    # t(2) and t(30) at 0.975, from a table: 4.303 and 2.042, over 1.960
    np.testing.assert_allclose(widths, [4.3027 / 1.95996, 2.0423 / 1.95996], rtol=1e-4)
