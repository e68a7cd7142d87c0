"""TabPFN v1, a transformer that reads the training table with every call: an expensive tabular model."""

import tarfile
import typing

import numpy as np
import pytest

import polyshap
from polyshap.execution import Cache
from realmodel.weights import weights_file

pytestmark = [
    pytest.mark.realmodel,
    pytest.mark.filterwarnings("ignore:torch.utils.checkpoint"),
]

CHECKPOINT = "models_diff/prior_diff_real_checkpoint_n_0_epoch_42.cpkt"
N_FEATURES = 8


@pytest.fixture(scope="module")
def table():
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :N_FEATURES], y


@pytest.fixture(scope="module")
def classifier(table, tmp_path_factory):
    """Fitted on 100 tumours. Its code is of 2022: two names and one option have moved since."""
    archive = weights_file("TabPFN")
    torch = pytest.importorskip("torch")
    from sklearn.utils.validation import check_array, check_X_y

    folder = tmp_path_factory.mktemp("tabpfn")
    file = folder / CHECKPOINT
    file.parent.mkdir()
    with tarfile.open(archive) as content:
        file.write_bytes(content.extractfile(f"tabpfn-0.1/tabpfn/{CHECKPOINT}").read())
    with pytest.MonkeyPatch.context() as patch:
        for name in ("Any", "Callable", "Optional", "Union"):
            patch.setattr(torch.nn.modules.transformer, name, getattr(typing, name), raising=False)
        from tabpfn.scripts import model_builder, transformer_prediction_interface

    class Careful:
        """torch with a `load` that reads tensors and plain values alone."""

        def __getattr__(self, name):
            return getattr(torch, name)

        def load(self, *arguments, **options):
            return torch.load(*arguments, **(options | {"weights_only": True}))

    model_builder.torch = Careful()
    interface = transformer_prediction_interface
    interface.check_array = lambda X, force_all_finite: check_array(X, ensure_all_finite=force_all_finite)
    interface.check_X_y = lambda X, y, force_all_finite: check_X_y(X, y, ensure_all_finite=force_all_finite)
    found = interface.TabPFNClassifier(base_path=folder, N_ensemble_configurations=1)
    return found.fit(table[0][:100], table[1][:100])


def explain(model, table, **options):
    options = {"budget": 100, "estimator": "adaptive", "random_state": 0, "batch_size": 200} | options
    return polyshap.explain(model, table[0][200:202], table[0][:5], outputs=1, **options)


def test_few_calls_tell_what_all_of_them_tell(classifier, table):
    """40 % of the calls; all 256 coalitions are the truth."""
    right = classifier.predict(table[0][100:300]) == table[1][100:300]
    assert right.mean() > 0.85
    exact = explain(classifier, table, budget=256, estimator="exact")
    np.testing.assert_allclose(
        exact.values.sum(axis=1), exact.predictions - exact.base_values, rtol=0, atol=1e-9
    )
    x = explain(classifier, table)
    assert (x.row_evaluations <= 100).all()
    assert (abs(x.values - exact.values) <= 4 * x.standard_errors).all()


def test_a_run_that_breaks_off_goes_on(classifier, table, tmp_path):
    """Nothing is asked twice but the batch that failed and the ends that are looked at first."""
    calls, rows, limit = 0, 0, 4

    def model(batch):
        nonlocal calls, rows
        calls += 1
        if calls > limit:
            raise TimeoutError("out of time")
        rows += len(batch)
        return classifier.predict_proba(batch)

    plain = explain(classifier.predict_proba, table)
    options = {"cache": Cache(tmp_path, "TabPFN v1 on 100 tumours"), "shared": False}
    with pytest.raises(polyshap.errors.GameRaisedError) as caught:
        explain(model, table, **options)
    assert caught.value.observed
    limit = 1_000
    x = explain(model, table, **options)
    np.testing.assert_allclose(x.values, plain.values, atol=1e-3)
    assert rows <= 2 * 100 * 5 + 2 * (2 + 5)
