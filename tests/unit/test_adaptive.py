"""The adaptive estimator: promises at every budget, and what it does with bad input."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pytest
from tests.reference_gaussian import shapley_of_table

from polyshap.coalitions import enumerate_all
from polyshap.errors import ArgumentError, MissingDependencyError
from polyshap.estimators.adaptive import Adaptive
from polyshap.execution.evaluate import observe
from polyshap.execution.staged import merged, observe_staged
from polyshap.results import Estimate, Observations
from polyshap.sampling import Design, Sample, draw

Game = Callable[[np.ndarray], np.ndarray]


def run(game: Game, n_players: int, budget: int, seed: int = 0, **options: object) -> Estimate:
    estimator = Adaptive(**options)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    return estimator.fit(observe_staged(estimator, game, n_players, budget, rng))


def wavy(coalitions: np.ndarray) -> np.ndarray:
    """Interactions of all orders, no symmetry."""
    weights = np.linspace(-1, 2, coalitions.shape[1])
    return np.tanh(coalitions @ weights) + coalitions[:, 0] * coalitions[:, -1] * 0.5 + 1.0


def sparse(coalitions: np.ndarray) -> np.ndarray:
    return 3.0 * coalitions[:, 0] + 2.0 * coalitions[:, 1] * coalitions[:, 2] - coalitions[:, 3]


@pytest.mark.parametrize("design", ["chosen", "leverage", "sequential"])
def test_exact_once_every_coalition_is_seen(design: str) -> None:
    exact = shapley_of_table(wavy(enumerate_all(6)), enumerate_all(6))
    estimate = run(wavy, 6, 64, design=design)
    np.testing.assert_allclose(estimate.values, exact, atol=1e-13)
    assert estimate.standard_errors is not None
    assert estimate.standard_errors.max() == 0.0
    assert estimate.n_evaluations == 64


@pytest.mark.parametrize("design", ["chosen", "leverage", "sequential"])
@pytest.mark.parametrize("budget", [2, 3, 4, 5, 9, 21, 60])
def test_efficiency_budget_and_seed(design: str, budget: int) -> None:
    """Shares add up, the budget holds, and the same seed gives the same bits."""
    first, second = (run(wavy, 7, budget, design=design) for _ in range(2))
    range_ = float(first.total - first.baseline)
    assert first.values.sum() == pytest.approx(range_, abs=1e-12)
    assert first.n_evaluations <= budget
    np.testing.assert_array_equal(first.values, second.values)
    assert first.standard_errors is not None
    assert (first.standard_errors >= 0).all()


@pytest.mark.parametrize("n_players", [1, 2, 3, 4])
@pytest.mark.parametrize("budget", [2, 4, 7, 20])
@pytest.mark.parametrize(
    "game",
    [
        pytest.param(lambda z: np.zeros(len(z)), id="zero"),
        pytest.param(lambda z: np.full(len(z), 3.0), id="constant"),
        pytest.param(lambda z: z[:, 0] * 1e-300, id="tiny"),
        pytest.param(lambda z: z[:, 0] * 1e300 - z[:, -1] * 4e299, id="huge"),
        pytest.param(lambda z: z.all(axis=1) * 1.0, id="unanimity"),
        pytest.param(lambda z: np.stack([z[:, 0], z.sum(axis=1) ** 2, 0.0 * z[:, 0]], axis=1), id="outputs"),
    ],
)
def test_odd_input_gives_finite_values_without_a_warning(game: Game, n_players: int, budget: int) -> None:
    estimate = run(game, n_players, budget)
    assert np.isfinite(estimate.values).all()
    assert estimate.standard_errors is not None
    assert np.isfinite(estimate.standard_errors).all()
    if budget >= 2**n_players:
        coalitions = enumerate_all(n_players)
        table = np.asarray(game(coalitions), dtype=float).reshape(len(coalitions), -1)
        exact = np.stack([shapley_of_table(column, coalitions) for column in table.T], axis=1)
        largest = np.abs(table).max() or 1.0
        np.testing.assert_allclose(
            estimate.values.reshape(exact.shape) / largest, exact / largest, atol=1e-12
        )


def test_zero_games_have_zero_values_and_errors() -> None:
    estimate = run(lambda z: np.zeros(len(z)), 8, 30)
    assert not estimate.values.any()
    assert estimate.standard_errors is not None
    assert not estimate.standard_errors.any()


def test_one_player_that_matters_and_duplicated_players() -> None:
    alone = run(lambda z: 2.0 * z[:, 3], 9, 40)
    np.testing.assert_allclose(alone.values, 2.0 * (np.arange(9) == 3), atol=1e-4)
    twins = run(lambda z: 1.0 * (z[:, 0] | z[:, 1]), 6, 40)
    np.testing.assert_allclose(twins.values[:2], 0.5, atol=0.05)


def test_a_sparse_game_is_found_with_few_calls() -> None:
    estimate = run(sparse, 12, 80)
    expected = np.zeros(12)
    expected[:4] = [3, 1, 1, -1]
    np.testing.assert_allclose(estimate.values, expected, atol=0.02)


def test_scale_and_shift_of_the_game_do_not_matter() -> None:
    plain = run(wavy, 8, 60)
    moved = run(lambda z: 1e6 * wavy(z) - 5e5, 8, 60)
    np.testing.assert_allclose(moved.values, 1e6 * plain.values, rtol=1e-5)


def test_outputs_are_columns() -> None:
    estimate = run(lambda z: np.stack([wavy(z), -2 * wavy(z)], axis=1), 8, 60)
    assert estimate.values.shape == (8, 2)
    np.testing.assert_allclose(estimate.values[:, 1], -2 * estimate.values[:, 0], rtol=1e-9)


def test_given_parameters_serve_other_rows() -> None:
    """Nothing is learned; the values stay close to those of the row's own parameters."""
    own = run(wavy, 8, 80)
    estimator = Adaptive(design="chosen")
    observations = observe(wavy, estimator.draw(8, 80, np.random.default_rng(0)))
    learned = estimator._fitted(observations).parameters
    shared = Adaptive(prior=learned).fit(observations)
    np.testing.assert_allclose(shared.values, own.values, atol=0.02)
    assert shared.diagnostics.details["iterations"] == 0


def test_many_columns_share_one_factorisation() -> None:
    weights = np.random.default_rng(0).normal(size=(10, 30))
    sample = Adaptive().draw(10, 120, np.random.default_rng(0))
    values = sample.coalitions @ weights
    observations = Observations(sample, values, np.zeros(30), weights.sum(axis=0))
    np.testing.assert_allclose(Adaptive().fit(observations).values, weights, atol=1e-3)


def test_diagnostics_name_what_was_learned() -> None:
    details = run(sparse, 10, 90).diagnostics.details
    relevances = np.asarray(details["relevances"])
    assert relevances[:3].min() > relevances[4:].max()
    assert 1 <= float(details["effective_order"]) <= 10  # type: ignore[arg-type]
    assert np.isfinite(float(details["log_likelihood"]))  # type: ignore[arg-type]


def test_interactions_of_a_sparse_game() -> None:
    found = run(sparse, 10, 200).interactions(2, "moebius")
    assert found[1, 2] == pytest.approx(2.0, abs=0.05)
    assert max(abs(value) for term, value in found.items() if term != (1, 2)) < 0.05


def test_interactions_are_the_games_own_once_all_is_seen() -> None:
    found = run(sparse, 5, 32).interactions(2, "shapley-taylor", min_order=1)
    assert found[1, 2] == pytest.approx(2.0, abs=1e-12)
    assert found[0,] == pytest.approx(3.0, abs=1e-12)


def test_an_unpaired_sample_is_refused() -> None:
    sample = draw(Design(paired=False), 6, 20, np.random.default_rng(0))
    with pytest.raises(ArgumentError, match="paired"):
        Adaptive().fit(observe(wavy, sample))


def test_repeats_are_refused() -> None:
    half = np.eye(4, dtype=bool)[[0, 0]]
    sample = Sample(np.concatenate([half, ~half]), np.zeros(4), True)
    with pytest.raises(ArgumentError, match="once"):
        Adaptive().fit(observe(wavy, sample))


@pytest.mark.parametrize("options", [{"design": "best"}, {"tolerance": 0.0}, {"tolerance": -1.0}])
def test_options_are_checked(options: dict[str, object]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(options))):
        Adaptive(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("design", ["chosen", "leverage", "sequential"])
def test_tolerance_stops_early_and_says_so(design: str) -> None:
    seen: list[tuple[int, int]] = []
    estimate = run(
        sparse, 10, 1000, design=design, tolerance=0.02, progress=lambda done, all_: seen.append((done, all_))
    )
    assert estimate.diagnostics.converged is True
    assert estimate.n_evaluations < 500
    assert estimate.standard_errors is not None
    assert estimate.standard_errors.max() <= 0.02 * abs(float(estimate.total - estimate.baseline))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert all(needed >= done for done, needed in seen)
    strict = run(wavy, 10, 60, design=design, tolerance=1e-9)
    assert strict.diagnostics.converged is False


def test_absolute_tolerance_is_in_units_of_the_game() -> None:
    loose = run(lambda z: 100 * sparse(z), 10, 1000, tolerance=10.0, absolute=True)
    assert loose.diagnostics.converged is True
    assert loose.n_evaluations < 200


@pytest.mark.parametrize("design", ["chosen", "leverage"])
def test_batches_of_a_fixed_design_are_the_design(design: str) -> None:
    """With a tolerance never met, the batches together are the sample of one draw, in the same order."""
    estimator = Adaptive(design=design, tolerance=1e-12)  # type: ignore[arg-type]
    staged = observe_staged(estimator, wavy, 9, 120, np.random.default_rng(4)).sample
    whole = estimator._ordered(9, 59, np.random.default_rng(4))
    np.testing.assert_array_equal(staged.half, whole)


@pytest.mark.parametrize("options", [{"design": "sequential"}, {"tolerance": 1e-9, "design": "sequential"}])
def test_batches_repeat_nothing_and_fill_the_budget(options: dict[str, object]) -> None:
    estimator = Adaptive(**options)  # type: ignore[arg-type]
    sample = observe_staged(estimator, wavy, 8, 151, np.random.default_rng(4)).sample
    assert len(sample) == 148
    assert len(np.unique(sample.coalitions, axis=0)) == 148
    np.testing.assert_array_equal(sample.coalitions[74:], ~sample.half)


def test_merging_keeps_pairs_and_values_together() -> None:
    estimator = Adaptive()
    first = observe(wavy, estimator.draw(6, 20, np.random.default_rng(0)))
    half = np.zeros((2, 6), dtype=bool)
    half[0, [0, 2, 3]] = half[1, [1, 2, 4]] = True
    added = Sample(np.concatenate([half, ~half]), np.zeros(4), True)
    both = merged(first, added, wavy(added.coalitions))
    np.testing.assert_array_equal(both.sample.coalitions[both.sample.half.shape[0] :], ~both.sample.half)
    np.testing.assert_allclose(both.values, wavy(both.sample.coalitions))


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_a_device_needs_torch() -> None:
    with pytest.raises(MissingDependencyError, match="torch"):
        run(wavy, 6, 20, device="cuda")


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_a_device_gives_the_same_numbers() -> None:
    own, other = run(wavy, 10, 200), run(wavy, 10, 200, device="cpu")
    np.testing.assert_allclose(other.values, own.values, atol=1e-8)
    assert own.standard_errors is not None
    np.testing.assert_allclose(other.standard_errors, own.standard_errors, rtol=1e-6)
