"""The seed rule: what a row depends on, with own parameters, shared ones, and designs of its own."""

import numpy as np
import pytest

import polyshap
from explain_cases import RNG, WIDE, WIDE_BACKGROUND, Calls, wide


@pytest.mark.parametrize("estimator", ["auto", "kernelshap", "polyshap-2"])
@pytest.mark.parametrize("independent", [False, True])
def test_a_row_depends_on_the_seed_and_itself(estimator, independent):
    """Other rows, their order and the batch size change nothing; another seed does."""

    def values(rows, **options):
        return polyshap.explain(
            wide, rows, WIDE_BACKGROUND, budget=100, estimator=estimator, random_state=options.pop("seed", 3),
            independent_designs=independent, **options,
        ).values  # fmt: skip

    rows = WIDE[:3]
    whole = values(rows)
    assert np.array_equal(values(rows), whole)
    assert values(rows[2:3])[0] == pytest.approx(whole[2], abs=1e-12)
    assert values(rows[::-1])[::-1] == pytest.approx(whole, abs=1e-12)
    # the last bits of the model's means move what is learned by a little more than themselves
    assert values(rows, batch_size=100) == pytest.approx(whole, abs=1e-8)
    assert not np.allclose(values(rows, seed=4), whole, atol=1e-8)


def test_own_parameters_give_the_same_bits_in_any_company():
    """With parameters of its own, a row's values are equal to the bit whatever else is explained."""
    options = {"budget": 100, "shared": False, "random_state": 0}
    whole = polyshap.explain(wide, WIDE[:4], WIDE_BACKGROUND, **options).values
    for index in (0, 3):
        alone = polyshap.explain(wide, WIDE[index : index + 1], WIDE_BACKGROUND, **options)
        assert np.array_equal(alone.values[0], whole[index])


def test_shared_parameters_depend_on_seed_background_and_row():
    """Any two batches agree row by row; pilot calls are counted; the result says what was shared."""
    options = {"budget": 200, "shared": True, "random_state": 0}
    calls = Calls(wide)
    whole = polyshap.explain(calls, WIDE, WIDE_BACKGROUND, **options)
    assert whole.diagnostics.details["parameters"] == "shared"
    assert whole.pilot_evaluations == 4 * 200
    assert whole.fitted[0].estimate is whole.fitted[5].estimate  # one factorisation for all
    assert whole.n_evaluations == 10 * 200
    # every evaluation but the ends asks for nine rows, and nothing else was asked
    assert calls.n_rows <= 9 * (10 * 200 + 2) + 2
    for part in (WIDE[3:4], WIDE[::-1], np.concatenate([10 * WIDE[:1], WIDE])):
        x = polyshap.explain(wide, part, WIDE_BACKGROUND, **options)
        for row, values in zip(part, x.values, strict=True):
            same = np.flatnonzero((row == WIDE).all(axis=1))
            assert not len(same) or values == pytest.approx(whole.values[same[0]], abs=1e-10)
    other = polyshap.explain(wide, WIDE[:1], WIDE_BACKGROUND[:5], **options)
    assert not np.allclose(other.values[0], whole.values[0])


def test_shared_parameters_are_about_as_good_as_own():
    """Learned from the background instead of the row: the error stays within a factor of ten."""
    exact = polyshap.explain(wide, WIDE, WIDE_BACKGROUND, budget=1 << 12, estimator="exact").values
    errors = {
        shared: np.mean(
            (polyshap.explain(wide, WIDE, WIDE_BACKGROUND, budget=150, shared=shared, random_state=0).values
             - exact) ** 2
        )
        for shared in (True, False)
    }  # fmt: skip
    assert errors[True] < 10 * errors[False]
    # and below a regression on the same number of calls
    kernel = polyshap.explain(wide, WIDE, WIDE_BACKGROUND, budget=150, estimator="kernelshap", random_state=0)
    assert errors[True] < np.mean((kernel.values - exact) ** 2)


def test_shared_parameters_give_dummies_zero():
    """A feature that agrees with the background gets exactly 0 under a shared design too."""
    rows, background = WIDE.copy(), WIDE_BACKGROUND.copy()
    rows[:3, 4] = background[:, 4] = 0.5
    x = polyshap.explain(wide, rows, background, budget=200, shared=True, random_state=0)
    assert (x.values[:3, 4] == 0).all()
    assert (x.values[3:, 4] != 0).all()
    assert x.values.sum(axis=1) == pytest.approx(x.predictions - x.base_values, abs=1e-9)


def test_a_single_background_row_teaches_nothing_and_still_serves():
    """Shared parameters from one row: a game of pairs comes out nearly exactly."""
    weights = RNG.standard_normal(12)

    def pairs(rows):
        return rows @ weights + rows[:, 0] * rows[:, 1]

    x = polyshap.explain(pairs, WIDE, np.zeros((1, 12)), budget=200, shared=True, random_state=0)
    wanted = WIDE * weights
    wanted[:, :2] += (WIDE[:, 0] * WIDE[:, 1])[:, None] / 2
    assert x.values == pytest.approx(wanted, abs=1e-12)  # its odd part is linear: least squares is exact
    assert x.pilot_evaluations == 0
    assert x.fitted[0].estimate is x.fitted[5].estimate
    found = x[0].interactions(order=2)  # shrunk, as no relevance was learned, but in the right place
    assert max(found, key=found.get) == (0, 1)

    def deeper(rows):
        return np.stack([pairs(rows), pairs(rows) + rows[:, :3].prod(axis=1)], axis=1)

    y = polyshap.explain(deeper, WIDE, np.zeros((1, 12)), budget=200, shared=True, random_state=0)
    assert y.values[..., 0] == pytest.approx(wanted, abs=1e-12)
    wanted[:, :3] += WIDE[:, :3].prod(axis=1, keepdims=True) / 3
    assert y.values[..., 1] == pytest.approx(wanted, abs=1e-2)
    assert (y.standard_errors[..., 1].max(axis=1) > 1e-6).all()


def test_sharing_by_default_follows_the_numbers_of_rows_and_calls():
    """Few rows learn for themselves, many share; the result says which."""
    few = polyshap.explain(wide, WIDE[:1], WIDE_BACKGROUND, budget=60, random_state=0)
    assert few.diagnostics.details["parameters"] == "own"
    rows = RNG.random((400, 12))
    many = polyshap.explain(wide, rows, WIDE_BACKGROUND, budget=60, random_state=0)
    assert many.diagnostics.details["parameters"] == "shared"


def test_independent_designs_differ_between_rows_and_stay_with_them():
    """Equal rows have equal designs, others their own: errors of two rows do not repeat."""
    rows = np.concatenate([WIDE[:2], WIDE[:1]])
    options = {"budget": 100, "estimator": "kernelshap", "random_state": 0}
    shared = polyshap.explain(wide, rows, WIDE_BACKGROUND, **options).values
    own = polyshap.explain(wide, rows, WIDE_BACKGROUND, independent_designs=True, **options).values
    assert np.array_equal(own[0], own[2])
    assert not np.allclose(own, shared)


def test_seeds_are_kept_for_a_second_time():
    """Without a seed one is drawn and said, and gives the same values again."""
    options = {"budget": 100, "estimator": "kernelshap"}
    x = polyshap.explain(wide, WIDE, WIDE_BACKGROUND, **options)
    seed = int(x.diagnostics.details["random_state"])
    again = polyshap.explain(wide, WIDE, WIDE_BACKGROUND, random_state=seed, **options)
    assert np.array_equal(x.values, again.values)
    drawn = polyshap.explain(wide, WIDE, WIDE_BACKGROUND, random_state=np.random.default_rng(0), **options)
    assert drawn.shape == x.shape


def test_a_missing_value_elsewhere_leaves_a_row_alone():
    """A row of whole numbers has the same values whether another row of the table has a gap or not."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    background = pd.DataFrame({"a": pd.array([1, 1], dtype="Int64"), "b": [0.0, 1.0]})
    rows = pd.DataFrame({"a": pd.array([7, None], dtype="Int64"), "b": [2.0, 2.0]})

    def model(table):
        return table["a"].fillna(0).to_numpy(dtype=float) + table["b"].to_numpy()

    both = polyshap.explain(model, rows, background, random_state=0)
    alone = polyshap.explain(model, rows.iloc[:1], background, random_state=0)
    assert np.allclose(both.values, [[6.0, 1.5], [-1.0, 1.5]])
    assert np.array_equal(both.values[:1], alone.values)
