"""Adapters: real models of every library, asked for what they were trained on."""

from types import SimpleNamespace

import numpy as np
import pytest

import polyshap
from polyshap.errors import ArgumentError, ArgumentTypeError, GameShapeError
from polyshap.models.functions import as_model, numbers

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

RNG = np.random.default_rng(0)
N = 120
FRAME = pd.DataFrame(
    {
        "number": RNG.random(N),
        "category": pd.Categorical(RNG.choice(list("abc"), N)),
        "flag": RNG.random(N) < 0.5,
        "whole": RNG.integers(0, 5, N),
    }
)
FRAME.loc[::7, "number"] = np.nan
Y = (FRAME["number"].fillna(0) + (FRAME["category"] == "a") + FRAME["flag"] * FRAME["whole"] > 1.2).to_numpy(
    int
)
MATRIX = np.stack(
    [FRAME["number"], FRAME["category"].cat.codes, FRAME["flag"], FRAME["whole"]], axis=1
).astype(float)
FULL = np.nan_to_num(MATRIX)


def library(name):
    return pytest.importorskip(name, reason=f"{name} is not installed")


def sklearn_classifier():
    library("sklearn")
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(5, random_state=0).fit(FULL, Y), FULL, "predict_proba"


def sklearn_pipeline():
    library("sklearn")
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    encode = make_column_transformer(
        (OneHotEncoder(), ["category"]), (SimpleImputer(), ["number", "whole"]), remainder="passthrough"
    )
    return make_pipeline(encode, LogisticRegression()).fit(FRAME, Y), FRAME, "predict_proba"


def sklearn_regressor():
    library("sklearn")
    from sklearn.linear_model import Ridge

    return Ridge().fit(FULL, FULL[:, 0]), FULL, "predict"


def sklearn_without_probabilities():
    library("sklearn")
    from sklearn.svm import LinearSVC

    return LinearSVC().fit(FULL, Y), FULL, "decision_function"


def xgboost_classifier():
    model = library("xgboost").XGBClassifier(n_estimators=5, enable_categorical=True)
    return model.fit(FRAME, Y), FRAME, "predict_proba"


def xgboost_booster():
    xgboost = library("xgboost")
    data = xgboost.DMatrix(FRAME, Y, enable_categorical=True)
    booster = xgboost.train({"objective": "binary:logistic"}, data, 5)
    return booster, FRAME, lambda rows: booster.predict(xgboost.DMatrix(rows, enable_categorical=True))


def xgboost_booster_on_arrays():
    xgboost = library("xgboost")
    booster = xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(MATRIX, Y), 5)
    return booster, MATRIX, lambda rows: booster.predict(xgboost.DMatrix(rows))


def lightgbm_classifier():
    return (
        library("lightgbm").LGBMClassifier(n_estimators=5, verbose=-1).fit(FRAME, Y),
        FRAME,
        "predict_proba",
    )


def lightgbm_booster():
    return lightgbm_classifier()[0].booster_, FRAME, "predict"


def lightgbm_booster_on_polars():
    lightgbm = library("lightgbm")
    library("pyarrow")
    booster = lightgbm.train({"verbose": -1}, lightgbm.Dataset(MATRIX, Y), 5)
    frame = pl.DataFrame(MATRIX, schema=["a", "b", "c", "d"])
    return booster, frame, lambda rows: booster.predict(rows.to_numpy())


def catboost_classifier():
    catboost = library("catboost")
    model = catboost.CatBoostClassifier(
        iterations=5, verbose=0, cat_features=["category"], allow_writing_files=False
    )
    return model.fit(FRAME, Y), FRAME, "predict_proba"


def catboost_on_polars():
    model = catboost_classifier()[0]
    return model, pl.from_pandas(FRAME), lambda rows: model.predict_proba(rows.to_pandas())


def catboost_regressor():
    catboost = library("catboost")
    model = catboost.CatBoostRegressor(iterations=5, verbose=0, allow_writing_files=False)
    return model.fit(MATRIX, Y), MATRIX, "predict"


def torch_module():
    torch = library("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.Dropout(), torch.nn.ReLU(), torch.nn.Linear(8, 3), torch.nn.Softmax(1)
    )

    def predict(rows):
        net.eval()
        answer = net(torch.as_tensor(rows)).detach().numpy()
        net.train()
        return answer

    return net, FULL.astype(np.float32), predict


def onnx_session():
    onnxruntime, skl2onnx = library("onnxruntime"), library("skl2onnx")
    from sklearn.linear_model import LogisticRegression

    data = FULL.astype(np.float32)
    model = LogisticRegression().fit(data, Y)
    written = skl2onnx.to_onnx(model, data[:1], options={"zipmap": False}).SerializeToString()
    return onnxruntime.InferenceSession(written), data, model.predict_proba


MODELS = [
    sklearn_classifier,
    sklearn_pipeline,
    sklearn_regressor,
    sklearn_without_probabilities,
    xgboost_classifier,
    xgboost_booster,
    xgboost_booster_on_arrays,
    lightgbm_classifier,
    lightgbm_booster,
    lightgbm_booster_on_polars,
    catboost_classifier,
    catboost_on_polars,
    catboost_regressor,
    torch_module,
    onnx_session,
]


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_real_models_are_explained(make):
    """Values sum to the model's own prediction minus its mean over the background, to its own precision."""
    model, data, direct = make()
    predict = getattr(model, direct) if isinstance(direct, str) else direct
    rows, background = data[:2], data[-15:]
    x = polyshap.explain(model, rows, background, budget=16, random_state=0)
    wanted = np.asarray(predict(rows), dtype=float).reshape(2, -1)
    mean = np.asarray(predict(background), dtype=float).reshape(15, -1).mean(axis=0)
    total = x.values.sum(axis=1).reshape(2, -1)
    # ONNX and torch answer in single precision, which batches of other sizes round differently
    assert total == pytest.approx(wanted - mean, abs=2e-6)
    assert x.values.sum(axis=1) == pytest.approx(x.predictions - x.base_values, abs=1e-9)
    assert np.abs(x.values).max() > 1e-3


def test_classifiers_name_their_outputs():
    """Classes, in the order of their probabilities; a decision function has one column and no names."""
    library("sklearn")
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(FULL, np.where(Y, "yes", "no"))
    assert as_model(model).output_names == ("no", "yes")
    x = polyshap.explain(model, FULL[:1], FULL[-5:], random_state=0, method="decision_function")
    assert x.shape == (1, 4)
    assert x.predictions == pytest.approx(model.decision_function(FULL[:1]))


def test_multi_output_classifiers_get_one_wide_matrix():
    """A list of matrices, one a target, becomes columns named target=class."""
    library("sklearn")
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(random_state=0).fit(FULL, np.stack([Y, 1 - Y], axis=1))
    wrapped = as_model(model)
    assert wrapped.output_names == ("0=0", "0=1", "1=0", "1=1")
    assert wrapped.predict(FULL[:3]).shape == (3, 4)


def test_single_precision_reaches_the_model():
    """float32 stays float32."""
    seen = set()

    def model(rows):
        seen.add(rows.dtype)
        return rows.sum(axis=1)

    polyshap.explain(model, FULL[:2].astype(np.float32), FULL[-5:].astype(np.float32), random_state=0)
    assert seen == {np.dtype(np.float32)}


def test_torch_modules_keep_their_mode_and_their_gradients_off():
    """Dropout is off while asked and on again afterwards; no graph is built."""
    torch = library("torch")
    net, data, _ = torch_module()
    net.train()
    net[1].eval()
    first, second = as_model(net).predict(data[:5]), as_model(net).predict(data[:5])
    assert np.array_equal(first, second)
    assert [module.training for module in net.modules()] == [True, True, False, True, True, True]
    assert all(parameter.grad is None for parameter in net.parameters())
    assert as_model(torch.nn.Linear(4, 1).double()).predict(data[:2]).shape == (2, 1)


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_torch_modules_take_frames_of_mixed_numbers(make):
    """Floats, whole numbers and flags beside each other become one tensor of the module's type."""
    torch = library("torch")
    frame = FRAME[["number", "flag", "whole"]].fillna(0.0).astype({"number": "float32"})
    net = torch.nn.Linear(3, 1)
    wanted = net(torch.as_tensor(frame.to_numpy(np.float32))).detach().numpy()
    assert as_model(net).predict(make(frame)) == pytest.approx(wanted, abs=1e-6)


def test_torch_modules_may_answer_with_logits():
    """As in transformers; of any other answer than a tensor the message says what to do."""
    torch = library("torch")

    class Wrapped(torch.nn.Module):
        def __init__(self, wrap):
            super().__init__()
            self.linear, self.wrap = torch.nn.Linear(4, 2), wrap

        def forward(self, rows):
            return self.wrap(self.linear(rows))

    assert as_model(Wrapped(lambda answer: SimpleNamespace(logits=answer))).predict(FULL).shape == (N, 2)
    with pytest.raises(GameShapeError, match="Got tuple"):
        as_model(Wrapped(lambda answer: (answer, answer))).predict(FULL)


def test_torch_embeddings_get_whole_numbers():
    """A module that begins with an embedding is asked with the codes as they are."""
    torch = library("torch")
    net = torch.nn.Sequential(torch.nn.Embedding(5, 2), torch.nn.Flatten(), torch.nn.Linear(6, 1))
    codes = RNG.integers(0, 5, (4, 3))
    assert as_model(net).predict(codes) == pytest.approx(net(torch.as_tensor(codes)).detach().numpy())


@pytest.mark.parametrize(
    "answer", [np.ones(3), [1, 2, 3], np.ones((3, 1)), pd.Series([1, 2, 3]), pl.Series([1.0, 2, 3]),
               pd.DataFrame({"a": [1, 2, 3]}), np.array([True, False, True])],
)  # fmt: skip
def test_answers_of_all_kinds_become_columns(answer):
    """Lists, series, frames and booleans are numbers too."""
    assert numbers(answer, 3).shape == (3, 1)
    assert numbers(answer, 3).dtype == np.float64


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.array(["a", "b", "c"]), "numbers"),
        (np.array(["a", None, "c"], dtype=object), "numbers"),
        (np.ones(3) * 1j, "numbers"),
        (None, "Got None"),
        (np.ones(2), "3 rows"),
        (np.ones((3, 2, 2)), "3 rows"),
        (np.ones((3, 0)), "3 rows"),
        (1.0, "3 rows"),
    ],
)
def test_answers_that_are_no_numbers_are_refused(answer, words):
    """Text, wrong lengths and cubes."""
    with pytest.raises(GameShapeError, match=words):
        numbers(answer, 3)


def test_masked_answers_are_missing_and_not_what_lies_under_the_mask():
    """A masked prediction is no number."""
    assert np.isnan(numbers(np.ma.masked_array([1.0, 2.0], [True, False]), 2)[0, 0])


def test_lightgbm_columns_may_have_spaces_and_are_checked_in_order():
    """LightGBM writes underscores for spaces, and goes by position: another order gives wrong numbers."""
    lightgbm = library("lightgbm")
    frame = pd.DataFrame(FULL[:, [0, 3]], columns=["the number", "whole"])
    model = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(frame, FULL[:, 3])
    for one in (model, model.booster_):
        x = polyshap.explain(one, frame[:1], frame[-5:], random_state=0)
        assert x.predictions == pytest.approx(model.predict(frame[:1]))
        turned = frame[["whole", "the number"]]
        with pytest.raises(ArgumentError, match="order"):
            polyshap.explain(one, turned[:1], turned[-5:])


def test_a_bound_method_keeps_the_names_of_its_model():
    """As shap's users give it: model.predict_proba."""
    model = sklearn_classifier()[0]
    assert as_model(model.predict_proba).output_names == ("0", "1")
    assert as_model(model.predict_proba).name == "RandomForestClassifier.predict_proba"


def onnx_graph(inputs, nodes, initial=()):
    """A session of a small graph with the output "o"."""
    onnxruntime, onnx = library("onnxruntime"), library("onnx")
    made = onnx.helper.make_graph(
        [onnx.helper.make_node(*node) for node in nodes],
        "graph",
        [onnx.helper.make_tensor_value_info(*one) for one in inputs],
        [onnx.helper.make_tensor_value_info("o", onnx.TensorProto.FLOAT, None)],
    )
    model = onnx.helper.make_model(made, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    return onnxruntime.InferenceSession(model.SerializeToString())


def test_onnx_inputs_of_several_shapes_are_fed():
    """Columns without an axis, wide inputs cut from an array, and what does not fit is named."""
    flat = onnx_graph([("a", 1, [None]), ("b", 1, [None])], [("Mul", ["a", "b"], ["o"])])
    frame = pd.DataFrame({"b": [2.0, 3.0], "a": [1.0, 5.0]})
    assert as_model(flat).predict(frame)[:, 0].tolist() == [2.0, 15.0]
    assert as_model(flat).predict(pa.Table.from_pandas(frame))[:, 0].tolist() == [2.0, 15.0]
    with pytest.raises(ArgumentError, match="Missing: a"):
        as_model(flat).predict(frame[["b"]])
    wide = onnx_graph([("two", 1, [None, 2]), ("b", 1, [None, 1])], [("Mul", ["two", "b"], ["o"])])
    assert as_model(wide).predict(np.array([[1.0, 2.0, 3.0]])).tolist() == [[3.0, 6.0]]
    with pytest.raises(ArgumentError, match=r"3 columns .* two \(2\), b \(1\)"):
        as_model(wide).predict(np.ones((1, 2)))


def test_onnx_sessions_of_a_fixed_batch_are_asked_in_pieces():
    """Exporters write the number of rows of their example into the graph."""
    session = onnx_graph([("x", 1, [2, 3])], [("Abs", ["x"], ["o"])])
    rows = np.arange(15.0).reshape(5, 3) - 7
    assert np.array_equal(as_model(session).predict(rows), np.abs(rows))


def test_a_classifier_that_returns_text_is_pointed_to_its_probabilities():
    """The message says which method to use."""
    library("sklearn")
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(FULL, np.where(Y, "yes", "no"))
    with pytest.raises(GameShapeError, match="predict_proba"):
        polyshap.explain(model, FULL[:1], FULL[-5:], method="predict")


def test_methods_that_are_not_there_are_refused():
    """A method the model lacks, a method nobody has, and no model at all."""
    model = sklearn_regressor()[0]
    with pytest.raises(ArgumentError, match="Ridge has predict"):
        as_model(model, "predict_proba")
    with pytest.raises(ArgumentError, match="one of"):
        as_model(model, "score")
    with pytest.raises(ArgumentError, match="left out"):
        as_model(len, "predict_proba")
    with pytest.raises(ArgumentTypeError, match="function on rows"):
        as_model("model.pkl")
    with pytest.raises(ArgumentTypeError, match="class Ridge: make and fit one"):
        as_model(type(model))


def test_columns_are_checked_against_the_model():
    """Frames with other columns, or another order, than the model was fitted on."""
    model = sklearn_pipeline()[0]
    with pytest.raises(ArgumentError, match="Missing: \\['flag'\\]"):
        polyshap.explain(model, FRAME[:1].drop(columns="flag"), FRAME.drop(columns="flag"))
    turned = FRAME[["flag", "number", "category", "whole"]]
    with pytest.raises(ArgumentError, match="order"):
        polyshap.explain(model, turned[:1], turned)
