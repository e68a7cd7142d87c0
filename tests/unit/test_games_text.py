"""Texts as games: the pieces, what stands in for absent ones, and Hugging Face classifiers from a folder."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyshap.coalitions import enumerate_all
from polyshap.errors import ArgumentError, ArgumentTypeError, PolyshapWarning
from polyshap.games import load_text_model, split_text, text_classifier, text_game, token_game


@pytest.mark.parametrize("unit", ["word", "sentence"])
@given(text=st.text(alphabet="ab .!?\n\"'", min_size=1).filter(str.strip))
def test_pieces_join_to_the_text(unit, text):
    """Nothing is lost or invented, up to white space before the first word."""
    pieces = split_text(text, unit)
    assert "".join(pieces) == text.lstrip()
    assert all(piece.strip() for piece in pieces)


def test_sentences_end_at_marks_that_space_follows():
    """A number's point ends no sentence; a quotation mark belongs to the sentence it closes."""
    text = 'It cost 3.50. "Too much!" he said. Why?\nNo end'
    assert split_text(text, "sentence") == ("It cost 3.50. ", '"Too much!" ', "he said. ", "Why?\n", "No end")
    assert split_text("很好。真的？「是！」走", "sentence") == ("很好。", "真的？", "「是！」", "走")


def test_absent_words_are_masked_or_removed():
    """The white space stays with a mask and goes with a removed word."""
    rows = np.array([[True, False, True], [False, False, False]])
    length = lambda texts: np.array([len(text) for text in texts])  # noqa: E731
    assert text_game(length, "a bb  c").texts(rows) == ["a [MASK]  c", "[MASK] [MASK]  [MASK]"]
    assert text_game(length, "a bb  c", absent=None).texts(rows) == ["a c", ""]


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_functions_get_batches_of_texts(batch_size):
    """Values do not depend on the batches; a column may be chosen."""
    seen = []

    def model(texts):
        seen.append(len(texts))
        return np.array([[text.count("good"), len(text)] for text in texts])

    game = text_game(model, "good or not good", output=0, batch_size=batch_size)
    rows = enumerate_all(4)
    assert game(rows).tolist() == (rows[:, 0] + 1.0 * rows[:, 3]).tolist()
    assert max(seen) <= batch_size


def test_bad_arguments_are_named():
    """What breaks a rule is named with the rule."""
    with pytest.raises(ArgumentError, match="`text` must hold at least one word"):
        text_game(len, "  ")
    with pytest.raises(ArgumentError, match="`unit` must be one of word, sentence"):
        split_text("a", "letter")
    with pytest.raises(ArgumentTypeError, match="`model` must be a callable"):
        text_game(3, "a")
    with pytest.raises(ArgumentTypeError, match=r"`text` must be a string. Got NoneType"):
        text_game(len, None)
    with pytest.raises(ArgumentError, match="`batch_size` must be at least 1"):
        text_game(len, "a", batch_size=0)
    with pytest.raises(ArgumentError, match=r"`output` must lie in 0..1, the model's outputs. Got 2"):
        text_game(lambda texts: np.zeros((len(texts), 2)), "a", output=2)(np.ones((1, 1), dtype=bool))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A Hugging Face text classifier with random weights and a dozen words, in a folder."""
    pytest.importorskip("torch", reason="torch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    path = tmp_path_factory.mktemp("model")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "bad", "film", "very", "not"]
    (path / "vocab.txt").write_text("\n".join(words))
    tokenizer = transformers.BertTokenizer(str(path / "vocab.txt"))
    tokenizer.save_pretrained(str(path))
    import torch

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(str(path))
    return path


@pytest.mark.parametrize("absent", ["mask", "remove"])
def test_tokens_of_a_local_model(folder, absent):
    """Each coalition's value is the probability for the text written out."""
    import torch

    model, tokenizer = load_text_model(folder)
    game = token_game(model, tokenizer, "a very good film", absent=absent, output=1, batch_size=3)
    assert game.names == ("a", "very", "good", "film")
    rows = enumerate_all(4)
    for row, value in zip(rows, game(rows), strict=True):
        pairs = zip(game.names, row, strict=True)
        shown = [word if here else "[MASK]" for word, here in pairs if here or absent == "mask"]
        inputs = tokenizer(" ".join(shown), return_tensors="pt")
        with torch.inference_mode():
            expected = model(**inputs).logits.softmax(dim=-1)[0, 1].item()
        assert value == pytest.approx(expected, abs=1e-6)


def test_the_predicted_class_is_the_default(folder):
    """The class that is most probable for the whole text."""
    model, tokenizer = load_text_model(folder)
    whole = np.ones((1, 2), dtype=bool)
    both = token_game(model, tokenizer, "bad film", output=None)(whole)[0]
    assert token_game(model, tokenizer, "bad film")(whole)[0] == pytest.approx(both.max())
    with pytest.raises(ArgumentError, match="`absent` must be 'mask' or 'remove'"):
        token_game(model, tokenizer, "bad film", absent="hide")
    with pytest.raises(ArgumentError, match=r"`output` must lie in 0..1, the model's outputs. Got 2"):
        token_game(model, tokenizer, "bad film", output=2)
    with pytest.raises(ArgumentError, match="`batch_size` must be at least 1"):
        token_game(model, tokenizer, "bad film", batch_size=0)


def test_unknown_words_are_players(folder):
    """What the vocabulary lacks becomes the unknown token, which the tokenizer did not add."""
    model, tokenizer = load_text_model(folder)
    game = token_game(model, tokenizer, "a zebra film", output=1)
    assert game.names == ("a", "[UNK]", "film")
    without = token_game(model, tokenizer, "a [MASK] film", output=1)(np.ones((1, 3), dtype=bool))
    assert game(np.array([[True, False, True]])) == pytest.approx(without, abs=1e-6)


def test_a_module_of_ones_own_needs_no_configuration(folder):
    """Only what a module answers is asked for: logits for ids and attention."""
    torch = pytest.importorskip("torch")
    model, tokenizer = load_text_model(folder)

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inside = model

        def forward(self, input_ids, attention_mask):
            return self.inside(input_ids=input_ids, attention_mask=attention_mask)

    whole = np.ones((1, 2), dtype=bool)
    own = token_game(Wrapped(), tokenizer, "good film", output=1)(whole)
    np.testing.assert_allclose(own, token_game(model, tokenizer, "good film", output=1)(whole), rtol=1e-6)


def test_a_text_too_long_is_cut_with_a_warning(folder):
    """The model's positions are the limit, also where the tokenizer knows none."""
    model, tokenizer = load_text_model(folder)
    assert model.config.max_position_embeddings == 64
    with pytest.warns(PolyshapWarning, match="takes 64 tokens and the text has 92"):
        game = token_game(model, tokenizer, "a good film " * 30)
    assert game.n_players == 62
    assert token_game(model, tokenizer, "a good " * 31).n_players == 62  # just fits


def test_removing_every_token_leaves_a_text(folder):
    """Without special tokens an empty text would be no input at all: it is one padding token."""
    model, tokenizer = load_text_model(folder)
    game = token_game(model, tokenizer, "good film", absent="remove", output=1)
    bare = replace(game, ids=game.ids[game.players], players=np.arange(2))
    values = bare(enumerate_all(2))
    assert np.isfinite(values).all()
    assert bare(enumerate_all(2)[:1]) == pytest.approx(values[:1], abs=1e-6)


@pytest.mark.parametrize("unit", ["word", "sentence"])
def test_a_hugging_face_classifier_of_strings(folder, unit):
    """Words and sentences are players of the same model; the values are its class probabilities."""
    model, tokenizer = load_text_model(folder)
    model.train()  # dropout is off while the game is played, and back on afterwards
    game = text_game(text_classifier(model, tokenizer), "a good film. not bad.", unit=unit, output=1)
    assert game.n_players == {"word": 5, "sentence": 2}[unit]
    whole = token_game(model, tokenizer, "a good film. not bad.", output=1)
    everything = np.ones((1, game.n_players), dtype=bool)
    expected = whole(np.ones((1, whole.n_players), dtype=bool))
    assert game(everything) == pytest.approx(expected, abs=1e-6)
    assert model.training
