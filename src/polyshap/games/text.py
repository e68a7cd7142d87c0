"""Texts as games: players are tokens, words or sentences, absent ones are masked or removed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal

import numpy as np

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.errors import ArgumentError, ArgumentTypeError, PolyshapWarning, optional_import

__all__ = [
    "TextGame",
    "TokenGame",
    "load_text_model",
    "split_text",
    "text_classifier",
    "text_game",
    "token_game",
]

Unit = Literal["word", "sentence"]
Absent = Literal["mask", "remove"]

# A piece is a unit with the white space after it, so that the pieces of a text join to the text.
_PATTERNS: dict[str, str] = {
    "word": r"\S+\s*",
    # up to an end mark that white space or the end follows (none need follow a full-width one), or to the end
    "sentence": r"\S.*?(?:[.!?…]+[\"'»”)\]]*(?=\s|$)|[。！？]+[\"”」』）]*|$)\s*",
}


def split_text(text: str, unit: Unit = "word") -> tuple[str, ...]:
    """The words or sentences of a text, each with the white space after it.

    >>> split_text("It rains. We stay!", "sentence")
    ('It rains. ', 'We stay!')
    """
    if unit not in _PATTERNS:
        raise ArgumentError(f"`unit` must be one of {', '.join(_PATTERNS)}. Got {unit!r}.")
    _check_text(text)
    pieces = tuple(re.findall(_PATTERNS[unit], text, flags=re.DOTALL))
    if not pieces:
        raise ArgumentError("`text` must hold at least one word. Got an empty text.")
    return pieces


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise ArgumentTypeError(f"`text` must be a string. Got {type(text).__name__}.")


def _check_batch(batch_size: int) -> None:
    if batch_size < 1:
        raise ArgumentError(f"`batch_size` must be at least 1. Got {batch_size}.")


def _check_output(output: int, n_outputs: int) -> None:
    if not -n_outputs <= output < n_outputs:
        raise ArgumentError(f"`output` must lie in 0..{n_outputs - 1}, the model's outputs. Got {output}.")


def text_game(
    model: Callable[[list[str]], Any],
    text: str,
    *,
    unit: Unit = "word",
    absent: str | None = "[MASK]",
    output: int | None = None,
    batch_size: int = 64,
) -> TextGame:
    """The game of a text and any function on strings.

    Parameters
    ----------
    model : callable
        Takes a list of texts and returns (m,) or (m, n_outputs) numbers; `text_classifier` makes one of a
        Hugging Face classifier.
    text : str
    unit : {"word", "sentence"}
    absent : str or None
        What stands in for an absent player, or None to remove it.
    output : int, optional
        A column of the answer; all by default.
    batch_size : int
        Texts of one model call.

    Examples
    --------
    >>> count = lambda texts: np.array([text.count("good") for text in texts])
    >>> game = text_game(count, "good food, good wine", absent=None)
    >>> game.pieces
    ('good ', 'food, ', 'good ', 'wine')
    >>> game(np.array([[True, False, True, False], [False, True, True, True]])).tolist()
    [2.0, 1.0]
    """
    if not callable(model):
        raise ArgumentTypeError(f"`model` must be a callable on a list of texts. Got {type(model).__name__}.")
    _check_batch(batch_size)
    return TextGame(model, split_text(text, unit), absent, output, batch_size)


@dataclass(frozen=True, eq=False)
class TextGame:
    """The game of a text in pieces; built by `text_game`."""

    model: Callable[[list[str]], Any]
    pieces: tuple[str, ...]
    absent: str | None
    output: int | None
    batch_size: int

    @property
    def n_players(self) -> int:
        return len(self.pieces)

    def texts(self, coalitions: BoolMatrix) -> list[str]:
        """The text that each coalition stands for."""
        return ["".join(self._piece(player, here) for player, here in enumerate(row)) for row in coalitions]

    def _piece(self, player: int, present: bool) -> str:
        piece = self.pieces[player]
        if present:
            return piece
        if self.absent is None:
            return ""
        return self.absent + piece[len(piece.rstrip()) :]

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        blocks = range(0, len(coalitions), self.batch_size)
        answers = [self.model(self.texts(coalitions[start : start + self.batch_size])) for start in blocks]
        values = np.concatenate([np.asarray(answer, dtype=float) for answer in answers])
        if self.output is None or values.ndim == 1:
            return values
        _check_output(self.output, values.shape[1])
        return values[:, self.output]


def load_text_model(folder: str | PathLike[str], *, device: str | None = None) -> tuple[Any, Any]:
    """A Hugging Face text classifier and its tokenizer from a local folder; nothing is downloaded."""
    transformers = optional_import("transformers", extra="text", purpose="Loading a text classifier")
    optional_import("torch", extra="text", purpose="Running a text classifier")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        str(folder), local_files_only=True
    )
    return (model if device is None else model.to(device)).eval(), tokenizer


@contextmanager
def _inference(model: Any) -> Iterator[None]:
    """Without gradients and without dropout; the model is left as it was."""
    import torch

    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)


def text_classifier(model: Any, tokenizer: Any) -> Callable[[list[str]], FloatArray]:
    """The class probabilities (m, n_classes) of texts, for `text_game` with words or sentences as players.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Its answer has `logits`.
    tokenizer : transformers.PreTrainedTokenizer
    """

    def probabilities(texts: list[str]) -> FloatArray:
        inputs = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
        # a text of no token at all, where the tokenizer adds none, is one padding token
        if not inputs["input_ids"].shape[1]:
            inputs = tokenizer(
                texts, padding="max_length", max_length=1, truncation=True, return_tensors="pt"
            )
        with _inference(model):
            logits = model(**inputs.to(next(model.parameters()).device)).logits
            values: FloatArray = logits.softmax(dim=-1).double().cpu().numpy()
        return values

    return probabilities


def token_game(
    model: Any,
    tokenizer: Any,
    text: str,
    *,
    absent: Absent = "mask",
    output: int | Literal["predicted"] | None = "predicted",
    batch_size: int = 64,
) -> TokenGame:
    """The game of the tokens of a text and a Hugging Face classifier; special tokens are always present.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Its answer has `logits`; the values are class probabilities.
    tokenizer : transformers.PreTrainedTokenizer
    text : str
    absent : {"mask", "remove"}
        Replace absent tokens by the mask token, or remove them.
    output : int, "predicted" or None
        A class; the one predicted for the whole text; or all.
    batch_size : int
    """
    _check_text(text)
    _check_batch(batch_size)
    if absent not in ("mask", "remove"):
        raise ArgumentError(f"`absent` must be 'mask' or 'remove'. Got {absent!r}.")
    if absent == "mask" and tokenizer.mask_token_id is None:
        raise ArgumentError("`absent` must be 'remove' for a tokenizer without a mask token. Got 'mask'.")
    ids, players = _tokens(model, tokenizer, text)
    names = tuple(tokenizer.convert_ids_to_tokens(ids[players].tolist()))
    fill = int(tokenizer.mask_token_id) if absent == "mask" else None
    padding = tokenizer.pad_token_id or 0
    game = TokenGame(model, ids, players, names, fill, int(padding), None, batch_size)
    if output is None:
        return game
    whole = game(np.ones((1, len(players)), dtype=bool))[0]
    chosen = int(whole.argmax()) if output == "predicted" else int(output)
    _check_output(chosen, len(whole))
    return replace(game, output=chosen)


def _tokens(model: Any, tokenizer: Any, text: str) -> tuple[IntArray, IntArray]:
    """The tokens that the model can take, and the places of those that the tokenizer did not add."""
    config = getattr(model, "config", None)  # a module of one's own need not have one
    limit = min(tokenizer.model_max_length, getattr(config, "max_position_embeddings", 1 << 62))
    cut = tokenizer(text, truncation=True, max_length=limit, return_special_tokens_mask=True)
    ids = np.array(cut["input_ids"], dtype=np.intp)
    # not the numbers of special tokens: an unknown word is one of those, and a player
    players = np.flatnonzero(np.array(cut["special_tokens_mask"]) == 0)
    if not len(players):
        raise ArgumentError("`text` must hold at least one token. Got an empty text.")
    if len(ids) == limit and (n_tokens := len(tokenizer(text)["input_ids"])) > limit:
        warnings.warn(
            f"The model takes {limit} tokens and the text has {n_tokens}: the rest is cut off and gets no "
            "values. Explain parts of the text, or use sentences as players.",
            PolyshapWarning,
            stacklevel=3,
        )
    return ids, players


@dataclass(frozen=True, eq=False)
class TokenGame:
    """The game of the tokens of a text; built by `token_game`."""

    model: Any
    ids: IntArray
    players: IntArray
    names: Sequence[str]
    mask: int | None
    padding: int
    output: int | None
    batch_size: int

    @property
    def n_players(self) -> int:
        return len(self.players)

    def __call__(self, coalitions: BoolMatrix, /) -> FloatArray:
        import torch

        device = next(self.model.parameters()).device
        with _inference(self.model):
            parts = []
            for start in range(0, len(coalitions), self.batch_size):
                ids, attention = self._inputs(coalitions[start : start + self.batch_size])
                inputs = (torch.from_numpy(array).to(device) for array in (ids, attention))
                parts.append(self._probabilities(*inputs))
            values: FloatArray = torch.cat(parts).double().cpu().numpy()
        return values

    def _inputs(self, coalitions: BoolMatrix) -> tuple[IntArray, IntArray]:
        """Token numbers and attention (m, length)."""
        ids = np.tile(self.ids, (len(coalitions), 1))
        absent = np.zeros(ids.shape, dtype=bool)
        absent[:, self.players] = ~coalitions
        if self.mask is not None:
            return np.where(absent, self.mask, ids), np.ones_like(ids)
        # what is present moves to the front in its order; the rest is padding that gets no attention
        order = np.argsort(absent, axis=1, kind="stable")
        attention = ~np.take_along_axis(absent, order, axis=1)
        kept = np.where(attention, np.take_along_axis(ids, order, axis=1), self.padding)
        attention[:, 0] |= ~attention.any(axis=1)  # an empty text is one padding token
        longest = int(attention.sum(axis=1).max())
        return kept[:, :longest].copy(), attention[:, :longest].astype(np.intp)

    def _probabilities(self, ids: Any, attention: Any) -> Any:
        answer = self.model(input_ids=ids, attention_mask=attention).logits.softmax(dim=-1)
        return answer if self.output is None else answer[:, self.output]
