"""Models are recognised by content, read without running anything, and give their own predictions."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from polyshap.cli import ERROR, OK, main
from polyshap.command.model_files import Permissions, load_model
from polyshap.command.pickles import pickle_globals
from polyshap.errors import FileFormatError
from polyshap.models.functions import as_model

ALLOWED = Permissions(allow_pickle=True)


class Hostile:
    """Reading its pickle writes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"echo owned > {self.path}",)


def dumps_joblib(payload, path, **options):
    pytest.importorskip("joblib").dump(payload, path, **options)


HOSTILE = {
    "pickle": lambda payload, path: path.write_bytes(pickle.dumps(payload)),
    "protocol 0": lambda payload, path: path.write_bytes(pickle.dumps(payload, protocol=0)),
    "protocol 2": lambda payload, path: path.write_bytes(pickle.dumps(payload, protocol=2)),
    "joblib": dumps_joblib,
    "after an array": lambda payload, path: dumps_joblib([np.arange(500.0), payload], path),
    "joblib zlib": lambda payload, path: dumps_joblib(payload, path, compress=3),
    "gzip": lambda payload, path: path.write_bytes(gzip.compress(pickle.dumps(payload))),
    "bz2": lambda payload, path: path.write_bytes(bz2.compress(pickle.dumps(payload))),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("suffix", [".joblib", ".json", ".onnx", ""])
def test_a_hostile_pickle_is_not_run(name, suffix, tmp_path, workshop, capsys):
    """Whatever the suffix, the command is not run, and the message names what it would import."""
    path, owned = tmp_path / f"model{suffix}", tmp_path / "owned"
    HOSTILE[name](Hostile(owned), path)
    assert main(["explain", str(path), workshop.path("rows.csv")]) == ERROR
    message = capsys.readouterr().err
    assert not owned.exists()
    assert "--allow-pickle" in message
    assert "posix.system" in message or "nt.system" in message


def test_the_hostile_file_is_dangerous(tmp_path):
    """The file of the test above does run its command where it is read: the refusal is what protects."""
    path, owned = tmp_path / "model", tmp_path / "owned"
    path.write_bytes(pickle.dumps(Hostile(owned)))
    subprocess.run(
        [sys.executable, "-c", f"import pickle; pickle.load(open({str(path)!r}, 'rb'))"], check=True
    )
    assert owned.exists()


def test_globals_of_an_honest_pipeline(tmp_path, fitted):
    """The listing holds the classes of the model, arrays in between included."""
    path = tmp_path / "model.joblib"
    dumps_joblib([np.arange(1000.0), fitted], path)
    assert "sklearn.linear_model._base.LinearRegression" in pickle_globals(path)
    # an array of objects is a pickle of its own inside, with a memo of its own
    dumps_joblib([fitted, np.array(["a", None], dtype=object), fitted.coef_.dtype], path)
    names = pickle_globals(path)
    assert {"numpy.dtype", "numpy.ndarray", "joblib.numpy_pickle.NumpyArrayWrapper"} <= set(names)
    assert all(importlib.import_module(name.rpartition(".")[0]) for name in names)


def test_pickles_open_with_leave(tmp_path, fitted, workshop, capsys):
    """With --allow-pickle, joblib, pickle and compressed files give the model with its columns."""
    for write in (dumps_joblib, HOSTILE["pickle"], HOSTILE["joblib zlib"]):
        path = tmp_path / "model"
        write(fitted, path)
        loaded = load_model(str(path), ALLOWED)
        assert loaded.columns == ("age", "income", "hours", "noise")
    arguments = ["explain", str(path), workshop.path("rows.csv"), "--allow-pickle", "--rows", "0"]
    assert main(arguments) == ERROR  # the target is still there
    assert "--target-drop y" in capsys.readouterr().err
    assert main([*arguments, "--target-drop", "y", "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert found["model"] == "LinearRegression.predict"


def test_a_model_fitted_on_arrays_gets_arrays(tmp_path, workshop, capsys):
    """No warning about names that the model never knew."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    path = tmp_path / "model.joblib"
    model = linear_model.LinearRegression().fit(np.eye(4), workshop.weights)
    dumps_joblib(model, path)
    code = main(["explain", str(path), workshop.path("rows.csv"), "--allow-pickle", "--target-drop", "y"])
    assert code == OK
    assert capsys.readouterr().err == ""


def test_skops_needs_trust_for_its_types(tmp_path):
    """The message holds the flags to add; with them the model predicts as before."""
    skops = pytest.importorskip("skops.io")
    tree = pytest.importorskip("sklearn.tree")
    X = np.arange(20.0).reshape(10, 2)
    model = tree.DecisionTreeRegressor().fit(X, X[:, 0])
    path = tmp_path / "model.bin"
    skops.dump(model, path)
    with pytest.raises(FileFormatError, match=r"--trust sklearn\.tree\._tree\.Tree"):
        load_model(str(path))
    trusted = Permissions(trust=tuple(skops.get_untrusted_types(file=path)))
    np.testing.assert_array_equal(load_model(str(path), trusted).model.predict(X), X[:, 0])


def table_with_categories():
    pandas = pytest.importorskip("pandas")
    generator = np.random.default_rng(1)
    table = pandas.DataFrame({
        "size": generator.normal(size=200),
        "colour": pandas.Categorical(generator.choice(["red", "green", "blue"], 200)),
    })  # fmt: skip
    return table, table["size"] + 3.0 * (table["colour"] == "red")


def save_xgboost(path, X, y):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=10, n_jobs=1, enable_categorical=True).fit(X, y)
    native = path.with_suffix(".json" if path.suffix == ".json" else ".ubj")
    model.save_model(native)
    native.rename(path)
    return model


def save_lightgbm(path, X, y):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=10, n_jobs=1, verbose=-1).fit(X, y)
    model.booster_.save_model(path)
    return model


def save_catboost(path, X, y):
    catboost = pytest.importorskip("catboost")
    options = {"iterations": 10, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    model = catboost.CatBoostRegressor(**options, cat_features=["colour"]).fit(X.astype({"colour": str}), y)
    model.save_model(str(path))
    return model


NATIVE = {"json": save_xgboost, "ubj": save_xgboost, "txt": save_lightgbm, "cbm": save_catboost}


@pytest.mark.parametrize("kind", NATIVE)
def test_native_files_read_from_csv(kind, tmp_path, capsys):
    """Text columns of a csv file become the categories that the model was fitted on, whatever the suffix."""
    X, y = table_with_categories()
    renamed = tmp_path / ("model.json" if kind == "json" else "model.bin")
    model = NATIVE[kind](renamed, X, y)
    X.iloc[::-1].to_csv(tmp_path / "rows.csv", index=False)
    arguments = ["explain", str(renamed), str(tmp_path / "rows.csv"), "--rows", "-2:", "--budget", "4"]
    assert main([*arguments, "--background", "40", "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    same = X.astype({"colour": str}) if kind == "cbm" else X
    np.testing.assert_allclose(found["predictions"], model.predict(same.iloc[[1, 0]]), rtol=1e-5)
    assert found["feature_names"] == ["size", "colour"]


@pytest.mark.parametrize("kind", ["json", "txt"])
def test_an_unknown_category_is_named(kind, tmp_path, capsys):
    """A level that the model never saw is an error, not a silent missing value."""
    X, y = table_with_categories()
    NATIVE[kind](tmp_path / f"model.{kind}", X, y)
    X.astype({"colour": str}).replace("red", "violet").to_csv(tmp_path / "rows.csv", index=False)
    assert main(["explain", str(tmp_path / f"model.{kind}"), str(tmp_path / "rows.csv")]) == ERROR
    assert "violet" in capsys.readouterr().err


def test_onnx(tmp_path, workshop, capsys):
    """A network file needs no trust; its matrix input gets an array."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper = onnx.helper
    rows = [helper.make_tensor_value_info("rows", onnx.TensorProto.FLOAT, [None, 4])]
    out = [helper.make_tensor_value_info("score", onnx.TensorProto.FLOAT, [None, 1])]
    weights = onnx.numpy_helper.from_array(workshop.weights.astype(np.float32)[:, None], "weights")
    node = helper.make_node("MatMul", ["rows", "weights"], ["score"])
    graph = helper.make_graph([node], "linear", rows, out, initializer=[weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = tmp_path / "model.pb"
    path.write_bytes(model.SerializeToString())
    arguments = ["explain", str(path), workshop.path("rows.csv"), "--target-drop", "y", "--rows", "0"]
    assert main([*arguments, "--json"]) == OK, capsys.readouterr().err
    assert np.shape(json.loads(capsys.readouterr().out)["values"]) == (1, 4)


FOREIGN = {
    "empty": b"",
    "text": b"hello",
    "damaged xgboost": b'{"learner": 3',
    "damaged lightgbm": b"tree\nversion=v4\n",
    "damaged catboost": b"CBM1" + b"\x00" * 20,
    "damaged onnx": b"\x08\x08\x12\x07garbage" * 5,
    "damaged zip": b"PK\x03\x04" + b"\x00" * 30,
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_and_damaged_files(name, tmp_path):
    """Each is refused with a FileFormatError that names the file."""
    module = {"damaged xgboost": "xgboost", "damaged lightgbm": "lightgbm",
              "damaged catboost": "catboost", "damaged onnx": "onnxruntime"}.get(name)  # fmt: skip
    if module:
        pytest.importorskip(module)
    path = tmp_path / "model"
    path.write_bytes(FOREIGN[name])
    with pytest.raises(FileFormatError, match="model"):
        load_model(str(path))


def test_a_torch_file_gets_a_hint(tmp_path):
    """A zip with a pickle in it is not opened; a function is the way."""
    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"x")
    with pytest.raises(FileFormatError, match="module:function"):
        load_model(str(tmp_path / "model.pt"))


def test_damaged_pickle(tmp_path):
    """Truncated in the middle."""
    path = tmp_path / "model"
    path.write_bytes(pickle.dumps(list(range(1000)))[:200])
    with pytest.raises(FileFormatError, match="damaged"):
        load_model(str(path), ALLOWED)


def test_the_function_is_taken_as_it_is():
    """`module:function` may reach into attributes."""
    assert as_model(load_model("numpy:linalg.norm").model).name == "norm"


def test_a_lightgbm_file_that_was_cut_off_is_refused(tmp_path):
    """LightGBM itself would end the process."""
    lightgbm = pytest.importorskip("lightgbm")
    X = np.random.default_rng(0).random((100, 2))
    path = tmp_path / "model.txt"
    lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, X[:, 0]).booster_.save_model(path)
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(FileFormatError, match="damaged LightGBM file"):
        load_model(str(path))


def test_names_and_levels_of_lightgbm_are_found_again(tmp_path, capsys):
    """Spaces, which it writes as underscores, and categories of a pickled wrapper, lost in csv."""
    lightgbm, pandas = pytest.importorskip("lightgbm"), pytest.importorskip("pandas")
    table, y = table_with_categories()
    table = table.rename(columns={"size": "the size", "colour": "its colour"})
    model = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(table, y)
    model.booster_.save_model(tmp_path / "model.txt")
    dumps_joblib(model, tmp_path / "model.joblib")
    pandas.DataFrame(table).to_csv(tmp_path / "rows.csv", index=False)
    found = []
    for name in ("model.txt", "model.joblib"):
        arguments = ["explain", str(tmp_path / name), str(tmp_path / "rows.csv"), "--rows", "0:3", "--json"]
        assert main([*arguments, "--allow-pickle"]) == OK
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["values"] == found[1]["values"]
    assert found[0]["predictions"] == pytest.approx(model.predict(table[:3]))


def test_catboost_in_json(tmp_path):
    """Its other format, told from XGBoost's by its keys."""
    catboost = pytest.importorskip("catboost")
    X = np.random.default_rng(0).random((100, 2))
    model = catboost.CatBoostRegressor(iterations=5, verbose=0, allow_writing_files=False).fit(X, X[:, 0])
    model.save_model(tmp_path / "model.json", format="json")
    loaded = load_model(str(tmp_path / "model.json"))
    assert loaded.kind == "CatBoost file"
    assert loaded.model.predict(X) == pytest.approx(model.predict(X))
