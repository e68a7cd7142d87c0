"""MiniLM, a sentence encoder, as a judge of reviews: nearer to praise than to blame."""

from types import SimpleNamespace

import numpy as np
import pytest

import polyshap
from polyshap.execution import Cache
from polyshap.games import text_game, token_game
from realmodel.weights import weights_file

pytestmark = pytest.mark.realmodel

REVIEW = "A dull plot, bad acting, but wonderful music"
POLES = ("This is a terrible film.", "This is a wonderful film.")


@pytest.fixture(scope="module")
def encoder():
    folder = weights_file("MiniLM-L6").parent
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    module = transformers.BertModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    return module.eval(), tokenizer


@pytest.fixture(scope="module")
def judge(encoder):
    """Texts -> likeness to praise less likeness to blame."""
    import torch

    module, tokenizer = encoder

    def embedded(texts):
        inputs = tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            return _mean_token(module(**inputs).last_hidden_state, inputs["attention_mask"])

    blame, praise = embedded(POLES)

    def model(texts):
        return (embedded(texts) @ (praise - blame)).numpy()

    return model


def _mean_token(states, attention):
    import torch

    weights = attention[..., None]
    return torch.nn.functional.normalize((states * weights).sum(dim=1) / weights.sum(dim=1), dim=1)


def test_words_of_a_review_are_told_apart(judge):
    """From all 256 coalitions: the word of praise and the word of blame are the ends."""
    assert judge(["A warm, superbly acted film."])[0] > 0 > judge(["Dull and far too long."])[0]
    game = text_game(judge, REVIEW, absent=None)
    exact = polyshap.estimate(game, game.n_players, 1 << game.n_players, "exact")
    values = dict(zip((piece.strip() for piece in game.pieces), exact.values, strict=True))
    assert max(values, key=values.get) == "wonderful"
    assert min(values, key=values.get) == "bad"


@pytest.mark.xfail(
    reason="Texts of one or two words leave far more unexplained than others, and few of them are asked for: "
    "the errors are twice what the standard errors promise."
)
def test_errors_are_honest_on_a_review(judge):
    """From 100 of 256 coalitions, within four standard errors."""
    game = text_game(judge, REVIEW, absent=None)
    exact = polyshap.estimate(game, game.n_players, 1 << game.n_players, "exact")
    estimate = polyshap.estimate(game, game.n_players, 100, random_state=0)
    assert (abs(estimate.values - exact.values) <= 4 * estimate.standard_errors).all()


def test_what_was_paid_for_is_kept(judge, tmp_path):
    """A run that ends in the middle is finished by the next one, which asks for the rest alone."""
    asked, limit = 0, 60

    def model(texts):
        nonlocal asked
        if asked >= limit:
            raise ConnectionError("the service is down")
        asked += len(texts)
        return judge(texts)

    game = text_game(model, REVIEW, absent=None)
    options = {"random_state": 0, "batch_size": 10, "cache": Cache(tmp_path, "MiniLM, praise and blame")}
    with pytest.raises(polyshap.errors.GameRaisedError) as caught:
        polyshap.estimate(game, game.n_players, 120, **options)
    assert len(caught.value.values) == 60
    limit = 10_000
    estimate = polyshap.estimate(game, game.n_players, 120, **options)
    assert asked == estimate.n_evaluations
    plain = polyshap.estimate(text_game(judge, REVIEW, absent=None), game.n_players, 120, random_state=0)
    np.testing.assert_allclose(estimate.values, plain.values, atol=1e-4)  # other batches, single precision


def test_tokens_are_masked_without_a_way_through_strings(encoder):
    """A classifier of two classes around the encoder, as `token_game` asks it."""
    import torch

    module, tokenizer = encoder

    class Classifier(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = module

        def states(self, ids, attention):
            return _mean_token(self.encoder(ids, attention).last_hidden_state, attention)

        def forward(self, input_ids, attention_mask):
            inputs = tokenizer(list(POLES), padding=True, return_tensors="pt")
            poles = self.states(inputs["input_ids"], inputs["attention_mask"])
            return SimpleNamespace(logits=10 * self.states(input_ids, attention_mask) @ poles.T)

    game = token_game(Classifier(), tokenizer, "A superb and funny film", absent="remove")
    assert game.output == 1
    exact = polyshap.estimate(game, game.n_players, 1 << game.n_players, "exact")
    np.testing.assert_allclose(exact.values.sum(), exact.total - exact.baseline, atol=1e-9)
    assert game.names[int(exact.values.argmax())] in ("superb", "funny")
