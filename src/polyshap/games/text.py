"""Texts as games: players are tokens, words or sentences, absent ones are masked or removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

import numpy as np

from polyshap._types import BoolMatrix, FloatArray, IntArray
from polyshap.errors import ArgumentError, ArgumentTypeError, optional_import

__all__ = ["TextGame", "TokenGame", "load_text_model", "split_text", "text_game", "token_game"]

Unit = Literal["word", "sentence"]
Absent = Literal["mask", "remove"]

# A piece is a unit with the white space after it, so that the pieces of a text join to the text.
_PATTERNS: dict[str, str] = {
    "word": r"\S+\s*",
    # up to an end mark that white space or the end follows, or up to the end of the text
    "sentence": r"\S.*?(?:[.!?…]+[\"'»”)\]]*(?=\s|$)|$)\s*",
}


def split_text(text: str, unit: Unit = "word") -> tuple[str, ...]:
    """The words or sentences of a text, each with the white space after it.

    >>> split_text("It rains. We stay!", "sentence")
    ('It rains. ', 'We stay!')
    """
    if unit not in _PATTERNS:
        raise ArgumentError(f"`unit` must be one of {', '.join(_PATTERNS)}. Got {unit!r}.")
    pieces = tuple(re.findall(_PATTERNS[unit], text, flags=re.DOTALL))
    if not pieces:
        raise ArgumentError("`text` must hold at least one word. Got an empty text.")
    return pieces


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
        Takes a list of texts and returns (m,) or (m, n_outputs) numbers.
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
    if batch_size < 1:
        raise ArgumentError(f"`batch_size` must be at least 1. Got {batch_size}.")
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
        return values if self.output is None or values.ndim == 1 else values[:, self.output]


def load_text_model(folder: str | PathLike[str], *, device: str | None = None) -> tuple[Any, Any]:
    """A Hugging Face text classifier and its tokenizer from a local folder; nothing is downloaded."""
    transformers = optional_import("transformers", extra="text", purpose="Loading a text classifier")
    optional_import("torch", extra="text", purpose="Running a text classifier")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        str(folder), local_files_only=True
    )
    return (model if device is None else model.to(device)).eval(), tokenizer


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
    if absent not in ("mask", "remove"):
        raise ArgumentError(f"`absent` must be 'mask' or 'remove'. Got {absent!r}.")
    if absent == "mask" and tokenizer.mask_token_id is None:
        raise ArgumentError("`absent` must be 'remove' for a tokenizer without a mask token. Got 'mask'.")
    ids = np.array(tokenizer(text, truncation=True)["input_ids"], dtype=np.intp)
    special = set(tokenizer.all_special_ids)
    players = np.flatnonzero([token not in special for token in ids.tolist()])
    if not len(players):
        raise ArgumentError("`text` must hold at least one token. Got an empty text.")
    names = tuple(tokenizer.convert_ids_to_tokens(ids[players].tolist()))
    fill = int(tokenizer.mask_token_id) if absent == "mask" else None
    padding = tokenizer.pad_token_id or 0
    game = TokenGame(model, ids, players, names, fill, int(padding), None, batch_size)
    if output == "predicted":
        output = int(game(np.ones((1, len(players)), dtype=bool))[0].argmax())
    return TokenGame(model, ids, players, names, fill, int(padding), output, batch_size)


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
        training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode():
                parts = []
                for start in range(0, len(coalitions), self.batch_size):
                    ids, attention = self._inputs(coalitions[start : start + self.batch_size])
                    inputs = (torch.from_numpy(array).to(device) for array in (ids, attention))
                    parts.append(self._probabilities(*inputs))
                values: FloatArray = torch.cat(parts).double().cpu().numpy()
        finally:
            self.model.train(training)
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
        longest = int(attention.sum(axis=1).max())
        return kept[:, :longest].copy(), attention[:, :longest].astype(np.intp)

    def _probabilities(self, ids: Any, attention: Any) -> Any:
        answer = self.model(input_ids=ids, attention_mask=attention).logits.softmax(dim=-1)
        return answer if self.output is None else answer[:, self.output]
