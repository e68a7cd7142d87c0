"""shap and shapiq: their own plots draw our results, their explainers take our estimators."""

import numpy as np
import pytest

import polyshap
from polyshap.errors import ArgumentError

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

# what shap, shapiq and matplotlib warn about in their own code is theirs
pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
ROWS, BACKGROUND = RNG.random((12, 6)), RNG.random((10, 6))


def smooth(rows):
    rows = np.asarray(rows, dtype=float)  # shapiq hands over objects
    return rows[:, 0] * rows[:, 1] + np.sin(3 * rows[:, 2]) * rows[:, 3] - rows[:, 4]


def two(rows):
    return np.stack([smooth(rows), rows.sum(axis=1)], axis=1)


@pytest.fixture(scope="module")
def one():
    names = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    return polyshap.explain(smooth, ROWS, BACKGROUND, budget=40, feature_names=names, random_state=0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def shap():
    return pytest.importorskip("shap", reason="shap is not installed")


@pytest.fixture
def shapiq():
    return pytest.importorskip("shapiq", reason="shapiq is not installed")


def test_shap_gets_everything(shap, one):
    """Values, base values, data, names, and 95 % bounds from the standard errors."""
    found = one.to_shap()
    assert isinstance(found, shap.Explanation)
    assert np.array_equal(found.values, one.values)
    assert np.array_equal(found.base_values, one.base_values)
    assert np.array_equal(found.data, ROWS)
    assert list(found.feature_names) == list(one.feature_names)
    assert found.upper_bounds - found.lower_bounds == pytest.approx(2 * 1.959964 * one.standard_errors)
    assert one[0].to_shap().base_values == one.base_values[0]
    found.values[:] = 0  # a copy: ours stays
    assert np.abs(one.values).max() > 0


def test_shap_gets_several_outputs_and_text(shap):
    """An axis of outputs with names; text as numbers, with the text for display."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    x = polyshap.explain(two, ROWS, BACKGROUND, budget=40, output_names=["a", "b"], random_state=0).to_shap()
    assert x.shape == (12, 6, 2)
    assert list(x.output_names) == ["a", "b"]
    assert x[..., 0].base_values.shape == (12,)
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0], "s": ["v", None, "u"]})
    y = polyshap.explain(lambda rows: rows["n"] * (rows["s"] == "u"), frame, frame, random_state=0).to_shap()
    assert y.data[[0, 2], 1].tolist() == [1 + y.data[2, 1], y.data[2, 1]]
    assert np.isnan(y.data[1, 1])
    assert y.display_data[0, 1] == "v"


SHAP_PLOTS = {
    "beeswarm": lambda shap, x: shap.plots.beeswarm(x, show=False),
    "bar": lambda shap, x: shap.plots.bar(x, show=False),
    "bar of one": lambda shap, x: shap.plots.bar(x[0], show=False),
    "waterfall": lambda shap, x: shap.plots.waterfall(x[0], show=False),
    "scatter": lambda shap, x: shap.plots.scatter(x[:, "alpha"], color=x, show=False),
    "heatmap": lambda shap, x: shap.plots.heatmap(x, show=False),
    "violin": lambda shap, x: shap.plots.violin(x, show=False),
    "decision": lambda shap, x: shap.plots.decision(
        float(x.base_values[0]), x.values, feature_names=list(x.feature_names), show=False
    ),
    "force": lambda shap, x: shap.plots.force(x[0], matplotlib=True, show=False),
}


@pytest.mark.parametrize("name", SHAP_PLOTS)
def test_the_plots_of_shap_draw_our_explanations(shap, one, name):
    """Each of them leaves a figure with something on it."""
    SHAP_PLOTS[name](shap, one.to_shap())
    assert plt.gcf().axes
    assert any(ax.has_data() for ax in plt.gcf().axes)


@pytest.mark.parametrize("name", SHAP_PLOTS)
def test_the_plots_of_shap_draw_tables_of_all_kinds(shap, name):
    """Text, dates, flags and missing values beside numbers."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame(
        {
            "alpha": np.arange(12.0),
            "text": ["v", None, "u"] * 4,
            "date": pd.date_range("2020-01-10", periods=12),
            "flag": [True, False] * 6,
        }
    )

    def model(rows):
        return (
            rows["alpha"] * (rows["text"] == "u")
            + rows["date"].dt.day
            - 3 * rows["flag"].astype(float)
            + rows["text"].isna()
        )

    x = polyshap.explain(model, frame, frame, random_state=0).to_shap()
    SHAP_PLOTS[name](shap, x)
    assert plt.gcf().axes
    assert x.display_data[1].tolist()[1:] == ["missing", "2020-01-11", "False"]
    plt.close("all")  # shap cuts trailing zeros off everything that it shows
    shap.plots.bar(x[0], show=False)
    assert any("2020-01-10" in label.get_text() for label in plt.gca().get_yticklabels())


def test_shap_gets_one_row_of_a_named_output(shap):
    """A single row of a single output keeps its name and is drawn."""
    x = polyshap.explain(two, ROWS, BACKGROUND, budget=40, output_names=["a", "b"], random_state=0)
    for one in (x[0, "b"], x[..., "b"]):
        found = one.to_shap()
        assert found.output_names == "b"
        shap.plots.waterfall(found if one.is_row else found[0], show=False)
    assert list(x[0].to_shap().output_names) == ["a", "b"]


def test_shap_maskers_are_imputers(shap):
    """shap's Independent masker on the whole background is the marginal imputer."""
    from polyshap.interop.shap import from_masker

    masker = shap.maskers.Independent(BACKGROUND, max_samples=10)
    found = polyshap.explain(smooth, ROWS[:2], BACKGROUND, imputer=from_masker(masker), random_state=0)
    wanted = polyshap.explain(smooth, ROWS[:2], BACKGROUND, random_state=0)
    assert found.values == pytest.approx(wanted.values, abs=1e-12)
    with pytest.raises(TypeError, match="masker"):
        from_masker(3)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_shap_maskers_fill_frames(shap, library):
    """The synthetic rows are frames of the library, with the dtypes of the row."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    package = pytest.importorskip(library, reason=f"{library} is not installed")
    from polyshap.interop.shap import from_masker

    table = pandas.DataFrame({"a": [0.0, 1.0, 2.0], "t": ["u", "v", "u"]})
    native = {"pandas": lambda t: t, "polars": lambda t: package.from_pandas(t),
              "pyarrow": lambda t: package.Table.from_pandas(t)}[library](table)  # fmt: skip

    def model(rows):
        seen = rows.to_pandas() if library != "pandas" else rows
        assert type(rows) is type(native)
        return seen["a"].to_numpy() * (seen["t"] == "v").to_numpy()

    imputer = from_masker(shap.maskers.Independent(table, max_samples=10))
    found = polyshap.explain(model, native[:2], native, imputer=imputer, random_state=0)
    wanted = polyshap.explain(model, native[:2], native, random_state=0)
    assert found.values == pytest.approx(wanted.values, abs=1e-12)


def test_maskers_of_other_data_are_refused(shap):
    """A masker that answers with anything but rows."""
    from polyshap.interop.shap import from_masker

    with pytest.raises(TypeError, match="tabular"):
        from_masker(lambda mask, row: "text")(np.zeros((1, 2)), np.ones((1, 2), dtype=bool))


@pytest.mark.parametrize(
    ("order", "index", "theirs"),
    [
        (1, "faith-shapley", "SV"),
        (2, "faith-shapley", "FSII"),
        (2, "k-sii", "k-SII"),
        (2, "shapley-taylor", "STII"),
    ],
)
def test_shapiq_gets_values_and_interactions(shapiq, one, order, index, theirs):
    """Interaction values that add up to the prediction; order 1 are the Shapley values."""
    found = one.to_shapiq(3, order=order, index=index)
    assert isinstance(found, shapiq.InteractionValues)
    assert (found.index, found.max_order, found.n_players) == (theirs, order, 6)
    assert found.baseline_value == one.base_values[3]
    assert found.values.sum() == pytest.approx(one.predictions[3], abs=1e-6)
    if order == 1:
        assert found.get_n_order_values(1) == pytest.approx(one.values[3])
    else:
        assert found[(0, 1)] == pytest.approx(one.interactions(3, 2, index)[0, 1])


def test_shapiq_wants_one_row_and_one_output(one):
    """The message shows how to index."""
    pytest.importorskip("shapiq", reason="shapiq is not installed")
    with pytest.raises(ArgumentError, match="row"):
        one.to_shapiq()
    x = polyshap.explain(two, ROWS[:1], BACKGROUND, budget=40, random_state=0)
    with pytest.raises(ArgumentError, match="one output"):
        x.to_shapiq(0)


@pytest.mark.parametrize(
    "plot", ["plot_network", "plot_force", "plot_waterfall", "plot_upset", "plot_si_graph"]
)
def test_the_plots_of_shapiq_draw_our_interactions(shapiq, one, plot):
    """Network, force, waterfall, upset and graph plots."""
    values = one.to_shapiq(0, order=2, index="k-sii")
    getattr(values, plot)(show=False)
    assert plt.gcf().axes


@pytest.mark.parametrize(
    ("index", "order", "estimator"),
    [("SV", 1, "auto"), ("SV", 1, "kernelshap"), ("k-SII", 2, "polyshap-3"), ("FSII", 2, "polyshap-3"),
     ("STII", 2, "adaptive")],
)  # fmt: skip
def test_shapiqs_explainer_takes_our_approximator(shapiq, index, order, estimator):
    """All coalitions: shapiq's exact computer and its explainer with our estimator agree."""
    from polyshap.interop.shapiq import PolyshapApproximator

    approximator = PolyshapApproximator(6, order, index, estimator=estimator, random_state=0)
    explainer = shapiq.TabularExplainer(
        smooth, BACKGROUND, approximator=approximator, index=index, max_order=order, imputer="baseline"
    )
    found = explainer.explain(ROWS[0], budget=64)
    game = (
        shapiq.BaselineImputer(smooth, BACKGROUND)
        if hasattr(shapiq, "BaselineImputer")
        else explainer.imputer
    )
    game.fit(ROWS[:1])
    wanted = shapiq.ExactComputer(game, 6)(index, order)
    for player in range(6):
        assert found[(player,)] == pytest.approx(wanted[(player,)], abs=1e-6)
    if order == 2:
        assert found[(0, 1)] == pytest.approx(wanted[(0, 1)], abs=1e-6)


def test_the_approximator_refuses_what_it_cannot_do():
    """Shapley values have order 1; unknown indices are shapiq's own error."""
    pytest.importorskip("shapiq", reason="shapiq is not installed")
    from polyshap.interop.shapiq import PolyshapApproximator

    with pytest.raises(ArgumentError, match="max_order"):
        PolyshapApproximator(6, 2, "SV")
    with pytest.raises(ValueError, match="Invalid index"):
        PolyshapApproximator(6, 2, "CHII")
