"""explain(): right values, the seed rule, groups, dummies, stopping, and every bad input before any call."""

import pickle

import numpy as np
import pytest

import polyshap
from polyshap.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    GameShapeError,
    ModelValueError,
    PolyshapWarning,
)
from polyshap.explain import auto_budget
from reference_explain import shapley_values

RNG = np.random.default_rng(0)
ROWS, BACKGROUND = RNG.random((4, 5)), RNG.random((7, 5))
WIDE, WIDE_BACKGROUND = RNG.random((6, 12)), RNG.random((9, 12))


def smooth(rows):
    rows = np.asarray(rows, dtype=float)
    return rows[:, 0] * rows[:, 1] + np.sin(3 * rows[:, 2]) * rows[:, 3] - rows[:, 4]


def wide(rows):
    return np.stack([smooth(rows[:, :5]) + rows[:, 5:].prod(axis=1), (rows**2).sum(axis=1)], axis=1)


class Calls:
    """A model that counts rows and can be asked whether it was asked."""

    def __init__(self, function):
        self.function, self.n_rows, self.n_calls = function, 0, 0

    def __call__(self, rows):
        self.n_calls += 1
        self.n_rows += len(rows)
        return self.function(rows)


def test_values_are_shapley_values():
    """Against the sum over all coalitions with the model asked one row at a time."""
    x = polyshap.explain(smooth, ROWS, BACKGROUND, budget=32, random_state=0)
    for row, values in zip(ROWS, x.values, strict=True):
        assert values == pytest.approx(shapley_values(smooth, row, BACKGROUND), abs=1e-12)
    assert x.predictions == pytest.approx(smooth(ROWS))
    assert x.base_values == pytest.approx(np.full(4, smooth(BACKGROUND).mean()))
    assert (x.row_evaluations == 32).all()


def test_weights_and_baselines_are_shapley_values_too():
    """A weighted background, and one row of it."""
    weights = np.arange(1.0, 8.0)
    x = polyshap.explain(smooth, ROWS[:1], BACKGROUND, weights=weights)
    assert x.values[0] == pytest.approx(shapley_values(smooth, ROWS[0], BACKGROUND, weights=weights))
    x = polyshap.explain(smooth, ROWS[:1], BACKGROUND[:1], imputer="baseline")
    assert x.values[0] == pytest.approx(shapley_values(smooth, ROWS[0], BACKGROUND[:1]))


@pytest.mark.parametrize(
    ("estimator", "budget"),
    [("auto", 200), ("kernelshap", 1200), ("polyshap-2", 1200), ("permutation", 1200)],
)
def test_estimated_values_are_near_and_add_up(estimator, budget):
    """Part of all coalitions: additive to 1e-9, and near the values of the full budget."""
    rows = WIDE[:2]
    exact = polyshap.explain(wide, rows, WIDE_BACKGROUND, budget=1 << 12, estimator="exact", random_state=0)
    x = polyshap.explain(wide, rows, WIDE_BACKGROUND, budget=budget, estimator=estimator, random_state=0)
    assert x.values.sum(axis=1) == pytest.approx(x.predictions - x.base_values, abs=1e-9)
    assert (x.row_evaluations <= budget).all()
    # every one of them had a mean squared error below 1e-3 of the variance over ten seeds
    assert np.mean((x.values - exact.values) ** 2) < 1e-2 * np.mean(exact.values**2)


def test_groups_are_players():
    """Three groups of columns against the reference with the same groups."""
    groups = {"first": ["x0", "x1"], "last": ["x3", "x4"]}
    x = polyshap.explain(smooth, ROWS, BACKGROUND, groups=groups, random_state=0)
    assert x.feature_names == ("first", "x2", "last")
    wanted = shapley_values(smooth, ROWS[2], BACKGROUND, groups=[[0, 1], [2], [3, 4]])
    assert x.values[2] == pytest.approx(wanted, abs=1e-12)
    assert x.data[2, 0] == f"x0={ROWS[2, 0]}, x1={ROWS[2, 1]}"
    assert x.data[2, 1] == ROWS[2, 2]


def test_dummies_cost_nothing_and_get_zero():
    """Two of five columns agree with all of the background: 2^3 coalitions, the values of the other three."""
    rows, background = ROWS.copy(), BACKGROUND.copy()
    rows[0, [1, 3]] = background[:, [1, 3]] = 0.25
    x = polyshap.explain(smooth, rows, background, random_state=0)
    assert x.row_evaluations.tolist() == [8, 32, 32, 32]
    assert (x.values[0, [1, 3]] == 0).all()
    assert x.values[0] == pytest.approx(shapley_values(smooth, rows[0], background), abs=1e-12)
    assert all(1 not in term and 3 not in term for term in x.interactions(0))
    same = polyshap.explain(smooth, background[:1], background[:1], random_state=0)
    assert (same.values == 0).all()
    assert same.n_evaluations == 2


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


def test_estimators_that_look_before_they_ask_get_what_they_ask_for():
    """The sequential design spends its budget in looks, each row for itself."""
    from polyshap.estimators.adaptive import Adaptive

    estimator = Adaptive(design="sequential")
    x = polyshap.explain(
        wide, WIDE[:2], WIDE_BACKGROUND, budget=80, estimator=estimator, outputs=0, random_state=0
    )
    assert (x.row_evaluations == 80).all()
    alone = polyshap.explain(
        wide, WIDE[1:2], WIDE_BACKGROUND, budget=80, estimator=estimator, outputs=0, random_state=0
    )
    assert np.array_equal(alone.values[0], x.values[1])


def test_trees_without_a_background():
    """Path-dependent values against shap's TreeExplainer; groups are players there too."""
    shap = pytest.importorskip("shap", reason="shap is not installed")
    ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is not installed")
    model = ensemble.RandomForestRegressor(5, max_depth=4, random_state=0).fit(WIDE, smooth(WIDE))
    x = polyshap.explain(model, WIDE[:3], imputer="path-dependent", budget=1 << 12, random_state=0)
    assert x.values == pytest.approx(shap.TreeExplainer(model).shap_values(WIDE[:3]), abs=1e-10)
    assert x.predictions == pytest.approx(model.predict(WIDE[:3]))
    joined = polyshap.explain(
        model, WIDE[:3], imputer="path-dependent", groups={"both": [0, 1]}, budget=1 << 12, random_state=0
    )
    assert joined.shape == (3, 11)
    with pytest.raises(ArgumentTypeError, match="tree"):
        polyshap.explain(smooth, WIDE, imputer="path-dependent")


def test_independent_designs_differ_between_rows_and_stay_with_them():
    """Equal rows have equal designs, others their own: errors of two rows do not repeat."""
    rows = np.concatenate([WIDE[:2], WIDE[:1]])
    options = {"budget": 100, "estimator": "kernelshap", "random_state": 0}
    shared = polyshap.explain(wide, rows, WIDE_BACKGROUND, **options).values
    own = polyshap.explain(wide, rows, WIDE_BACKGROUND, independent_designs=True, **options).values
    assert np.array_equal(own[0], own[2])
    assert not np.allclose(own, shared)


def test_outputs_are_chosen_by_name_or_number():
    """One output drops the axis; a list keeps it."""
    names = ["low", "high"]
    x = polyshap.explain(wide, WIDE[:2], WIDE_BACKGROUND, budget=100, output_names=names, random_state=0)
    for one in ("high", 1, -1):
        only = polyshap.explain(
            wide, WIDE[:2], WIDE_BACKGROUND, budget=100, output_names=names, outputs=one, random_state=0
        )
        assert only.shape == (2, 12)
        assert only.output_names == "high"
        # parameters are learned for the chosen outputs, so values agree to the error of the estimate
        assert only.predictions == pytest.approx(x.predictions[:, 1])
    both = polyshap.explain(
        wide, WIDE[:2], WIDE_BACKGROUND, budget=100, outputs=[1, 0], estimator="kernelshap", random_state=0
    )
    assert both.output_names == ("output 1", "output 0")
    plain = polyshap.explain(
        wide, WIDE[:2], WIDE_BACKGROUND, budget=100, estimator="kernelshap", random_state=0
    )
    assert both.values[..., ::-1] == pytest.approx(plain.values, abs=1e-12)


def test_automatic_budgets_stop_at_the_tolerance():
    """An easy game stops early and says so; a rough one spends the cap and says that."""
    easy = polyshap.explain(lambda rows: rows.sum(axis=1) + rows[:, 0] * rows[:, 1], WIDE, WIDE_BACKGROUND,
                            random_state=0)  # fmt: skip
    assert easy.diagnostics.converged is True
    assert easy.row_evaluations.max() < auto_budget(12)
    gap = np.abs(easy.predictions - easy.base_values)[:, None]
    assert (easy.standard_errors <= 0.01 * gap).all()

    def rough(rows):
        return np.sin(1e4 * rows.sum(axis=1))

    spent = polyshap.explain(rough, WIDE[:1], WIDE_BACKGROUND[:2], tolerance=1e-6, budget=256, random_state=0)
    assert spent.diagnostics.converged is False
    assert spent.n_evaluations > 200


def test_stages_of_a_tolerance_are_one_design():
    """A tolerance that is never met ends with the very values of the full budget."""
    options = {"budget": 256, "random_state": 0}
    full = polyshap.explain(wide, WIDE[:2], WIDE_BACKGROUND, **options)
    staged = polyshap.explain(wide, WIDE[:2], WIDE_BACKGROUND, tolerance=1e-12, **options)
    assert staged.values == pytest.approx(full.values, abs=1e-12)
    assert staged.n_evaluations == full.n_evaluations


def test_progress_counts_to_the_end():
    """The callback sees rising counts and the forecast; nothing is printed by default."""
    seen = []
    polyshap.explain(smooth, ROWS, BACKGROUND, progress=lambda done, total: seen.append((done, total)))
    assert [total for _, total in seen] == [4 * 32] * len(seen)
    assert seen[-1][0] == 4 * 32
    assert seen == sorted(seen)


def test_progress_is_quiet_without_a_terminal(capsys):
    """No bar in a log file; one on request."""
    polyshap.explain(smooth, ROWS, BACKGROUND)
    assert capsys.readouterr() == ("", "")
    polyshap.explain(smooth, ROWS, BACKGROUND, progress=True)
    assert "polyshap" in capsys.readouterr().err


def test_explainers_have_the_habit_of_shap():
    """Calling, shap_values, expected_value; a vector is one row."""
    explainer = polyshap.Explainer(smooth, BACKGROUND, random_state=0)
    x = explainer(ROWS)
    assert np.array_equal(x.values, polyshap.explain(smooth, ROWS, BACKGROUND, random_state=0).values)
    assert np.array_equal(explainer(ROWS[1]).values, x.values[1])
    assert np.array_equal(explainer.shap_values(ROWS), x.values)
    assert explainer.expected_value == pytest.approx(smooth(BACKGROUND).mean())
    two = polyshap.Explainer(wide, WIDE_BACKGROUND, random_state=0)
    assert two.expected_value == pytest.approx(wide(WIDE_BACKGROUND).mean(axis=0))
    assert two.shap_values(WIDE[0], nsamples=64).shape == (12, 2)


def test_l1_regularisation_is_ignored_with_a_warning():
    """shap's option is accepted, warned about, and changes nothing."""
    explainer = polyshap.Explainer(smooth, BACKGROUND, random_state=0)
    with pytest.warns(PolyshapWarning, match="l1_reg"):
        values = explainer.shap_values(ROWS, l1_reg="num_features(3)")
    assert np.array_equal(values, explainer.shap_values(ROWS))


def test_options_are_read_and_replaced_as_in_scikit_learn():
    """get_params round trip; set_params gives a new explainer."""
    explainer = polyshap.Explainer(smooth, BACKGROUND, budget=16, random_state=0)
    assert explainer.get_params()["budget"] == 16
    assert polyshap.Explainer(**explainer.get_params()).get_params() == explainer.get_params()
    other = explainer.set_params(budget=8)
    assert (other.budget, explainer.budget) == (8, 16)


def test_explainers_travel():
    """An explainer of a picklable model is picklable and gives the same values afterwards."""
    explainer = polyshap.Explainer(smooth, BACKGROUND, random_state=0)
    again = pickle.loads(pickle.dumps(explainer))
    assert np.array_equal(again(ROWS).values, explainer(ROWS).values)


def test_inputs_are_left_alone():
    """Rows and background keep their values, even when the model writes into what it gets."""

    def rude(rows):
        answer = smooth(rows)
        rows[:] = 0
        return answer

    rows, background = ROWS.copy(), BACKGROUND.copy()
    x = polyshap.explain(rude, rows, background, random_state=0)
    assert np.array_equal(rows, ROWS)
    assert np.array_equal(background, BACKGROUND)
    assert x.values == pytest.approx(polyshap.explain(smooth, ROWS, BACKGROUND, random_state=0).values)


BAD = [
    ({"X": RNG.random((2, 4))}, ArgumentError, "5 columns"),
    ({"X": RNG.random(5)}, ArgumentError, "reshape"),
    ({"X": np.empty((0, 5))}, ArgumentError, "at least one row"),
    ({"background": None}, ArgumentError, "background"),
    ({"background": np.empty((0, 5))}, ArgumentError, "at least one row"),
    ({"groups": {"g": ["y0"]}}, ArgumentError, "y0"),
    ({"groups": {"g": ["x0"], "h": ["x0"]}}, ArgumentError, "overlap"),
    ({"weights": -np.ones(7)}, ArgumentError, "not negative"),
    ({"weights": np.ones(3)}, ArgumentError, "each of the 7"),
    ({"budget": 1}, BudgetError, "at least"),
    ({"budget": 2.5}, ArgumentTypeError, "integer"),
    ({"budget": "all"}, ArgumentError, "auto"),
    ({"estimator": "kernelshop"}, ArgumentError, "kernelshap"),
    ({"estimator": 3}, ArgumentTypeError, "draw"),
    ({"imputer": "mean"}, ArgumentError, "marginal"),
    ({"imputer": "baseline"}, ArgumentError, "one row"),
    ({"method": "score"}, ArgumentError, "method"),
    ({"model": "model"}, ArgumentTypeError, "function on rows"),
    ({"random_state": -1}, ArgumentError, "random_state"),
    ({"random_state": "seed"}, ArgumentError, "random_state"),
    ({"batch_size": 0}, ArgumentError, "batch_size"),
    ({"max_memory": 10}, ArgumentError, "max_memory"),
    ({"feature_names": ["a"]}, ArgumentError, "5 columns"),
    ({"tolerance": 2.0}, ArgumentError, "tolerance"),
    ({"tolerance": 0.1, "estimator": "kernelshap", "budget": 20}, ArgumentError, "tolerance"),
]


@pytest.mark.parametrize(("changes", "error", "words"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_is_refused_before_any_call(changes, error, words):
    """The message names the argument; the model was not asked once."""
    calls = Calls(smooth)
    options = {"model": calls, "X": ROWS, "background": BACKGROUND} | changes
    model, X, background = (options.pop(name) for name in ("model", "X", "background"))
    with pytest.raises(error, match=words):
        polyshap.explain(model, X, background, **options)
    assert calls.n_calls == 0


@pytest.mark.parametrize(
    ("function", "options", "error", "words"),
    [
        (lambda rows: np.full(len(rows), "yes"), {}, GameShapeError, "numbers"),
        (lambda rows: np.ones(len(rows) + 1), {}, GameShapeError, "1 rows"),
        (wide, {"outputs": "middle"}, ArgumentError, "output 0, output 1"),
        (wide, {"outputs": 2}, ArgumentError, "0..1"),
        (wide, {"outputs": []}, ArgumentError, "at least one"),
        (wide, {"output_names": ["a", "b", "c"]}, ArgumentError, "each of the 2 outputs"),
    ],
)
def test_bad_models_are_refused_after_one_row(function, options, error, words):
    """What only the model can tell is asked with a single row."""
    calls = Calls(function)
    with pytest.raises(error, match=words):
        polyshap.explain(calls, WIDE, WIDE_BACKGROUND, **options)
    assert calls.n_rows == 1


def test_a_changing_number_of_outputs_is_an_error():
    """One output in one call and two in the next."""
    calls = iter(range(1000))

    def fickle(rows):
        return wide(rows)[:, : 1 + (next(calls) > 1)]

    with pytest.raises(GameShapeError, match="Got 1 first and 2 later"):
        polyshap.explain(fickle, WIDE, WIDE_BACKGROUND, budget=50, random_state=0)


def test_undefined_predictions_are_kept_with_their_rows():
    """The synthetic rows that the model failed on, and the coalitions, are on the exception."""

    def undefined(rows):
        # only where x0 comes from the row and x1 from the background
        return np.where((rows[:, 0] > 2) & (rows[:, 1] < 2), np.nan, rows.sum(axis=1))

    row = np.full((1, 12), 3.0)
    with pytest.raises(ModelValueError, match="finite numbers") as caught:
        polyshap.explain(undefined, row, WIDE_BACKGROUND, budget=60, random_state=0)
    rows = caught.value.rows
    assert len(rows) > 0
    assert (np.isnan(undefined(rows))).all()
    assert caught.value.failed is not None


def test_a_models_own_exception_comes_through_as_the_cause():
    """Whatever the model raises on synthetic rows is chained, with what was observed before."""

    def fragile(rows):
        if len(rows) > 20:
            raise ZeroDivisionError("too many")
        return smooth(rows)

    with pytest.raises(polyshap.errors.GameRaisedError, match="ZeroDivisionError") as caught:
        polyshap.explain(fragile, ROWS, BACKGROUND, random_state=0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_give_the_values_of_arrays(library):
    """The same numbers in a frame, asked for by name, give the same values."""
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    names = [f"x{j}" for j in range(5)]
    rows, background = (
        frames.DataFrame({name: data[:, j] for j, name in enumerate(names)}) for data in (ROWS, BACKGROUND)
    )
    seen = []

    def named(frame):
        seen.append(type(frame))
        return smooth(np.stack([np.asarray(frame[name]) for name in names], axis=1))

    x = polyshap.explain(named, rows, background, random_state=0)
    assert set(seen) == {frames.DataFrame}
    wanted = polyshap.explain(smooth, ROWS, BACKGROUND, random_state=0)
    assert x.values == pytest.approx(wanted.values, abs=1e-12)
    assert x.feature_names == tuple(names)


def test_seeds_are_kept_for_a_second_time():
    """Without a seed one is drawn and said, and gives the same values again."""
    options = {"budget": 100, "estimator": "kernelshap"}
    x = polyshap.explain(wide, WIDE, WIDE_BACKGROUND, **options)
    seed = int(x.diagnostics.details["random_state"])
    again = polyshap.explain(wide, WIDE, WIDE_BACKGROUND, random_state=seed, **options)
    assert np.array_equal(x.values, again.values)
    drawn = polyshap.explain(wide, WIDE, WIDE_BACKGROUND, random_state=np.random.default_rng(0), **options)
    assert drawn.shape == x.shape
