"""explain(): right values, groups, dummies, outputs, stopping, frames."""

import numpy as np
import pytest

import polyshap
from explain_cases import BACKGROUND, ROWS, WIDE, WIDE_BACKGROUND, smooth, wide
from polyshap.errors import ArgumentTypeError
from polyshap.explain import auto_budget
from reference_explain import shapley_values


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


def test_the_call_is_kept():
    """Options that are not at their defaults, and the seed that was drawn: it gives the same values again."""
    groups = {"first": ["x0", "x1"]}
    x = polyshap.explain(smooth, ROWS, BACKGROUND, groups=groups, budget=12, shared=False)
    call = x.diagnostics.details["call"]
    assert call.startswith(
        "polyshap.explain(model, X, background, budget=12, groups={'first': ['x0', 'x1']}, "
    )
    again = eval(call, {"polyshap": polyshap, "model": smooth, "X": ROWS, "background": BACKGROUND})
    assert np.array_equal(again.values, x.values)
    explainer = polyshap.Explainer(smooth, BACKGROUND, random_state=3, weights=np.ones(7))
    called = explainer(ROWS, budget=20).diagnostics.details["call"]
    assert called == "polyshap.Explainer(model, background, random_state=3, weights=...)(X, budget=20)"


def test_progress_counts_to_the_end():
    """The callback sees rising counts and the forecast; nothing is printed by default."""
    seen = []
    polyshap.explain(smooth, ROWS, BACKGROUND, progress=lambda done, total: seen.append((done, total)))
    assert [total for _, total in seen] == [4 * 32] * len(seen)
    assert seen[-1][0] == 4 * 32
    assert seen == sorted(seen)


def test_progress_moves_within_a_row():
    """Batches of one slow row are heard of as they are made; what a stop saves is counted at the end."""
    seen = []

    def model(rows):
        return rows[:, 0] * rows[:, 1] + rows.sum(axis=1)

    x = polyshap.explain(
        model,
        WIDE[:1],
        WIDE_BACKGROUND,
        tolerance=0.01,
        batch_size=180,
        random_state=0,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert x.n_evaluations < auto_budget(12)
    assert len(seen) > 3
    assert seen[-1] == (auto_budget(12), auto_budget(12))
    assert {done for done, _ in seen if done < x.n_evaluations} >= {20, 40}


def test_progress_is_quiet_without_a_terminal(capsys):
    """No bar in a log file; one on request."""
    polyshap.explain(smooth, ROWS, BACKGROUND)
    assert capsys.readouterr() == ("", "")
    polyshap.explain(smooth, ROWS, BACKGROUND, progress=True)
    assert "polyshap" in capsys.readouterr().err


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
