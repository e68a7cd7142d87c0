"""Neural networks as functions on rows: PyTorch modules and ONNX sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyshap.errors import ArgumentError, GameShapeError

__all__ = ["TORCH_ROWS", "onnx_function", "torch_function"]

# Activations of a network take far more memory than its input; 4,096 rows hide the cost of a call.
TORCH_ROWS = 4096
_ONNX_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


def torch_function(model: Any) -> Callable[[Any], NDArray[Any]]:
    """A PyTorch module in evaluation mode, without gradients, on its own device."""
    import torch

    first = next(model.parameters(), None)
    if first is None:
        first = next(model.buffers(), torch.zeros(0))
    dtype = first.dtype if first.dtype.is_floating_point else torch.get_default_dtype()

    reads_codes = _begins_with_embedding(model)

    def predict(rows: Any) -> NDArray[Any]:
        array = _matrix(rows)
        if array.dtype == object:  # columns of different types
            array = array.astype(float)
        given = torch.as_tensor(np.ascontiguousarray(array))
        if not (reads_codes and array.dtype.kind in "iu"):
            given = given.to(dtype=dtype)  # before it moves: not every device knows float64
        training = [module for module in model.modules() if module.training]
        model.eval()
        try:
            with torch.no_grad():
                answer = model(given.to(device=first.device))
                answer = getattr(answer, "logits", answer)  # as the models of transformers answer
                if not isinstance(answer, torch.Tensor):
                    raise GameShapeError(
                        f"`model` must return a tensor. Got {type(answer).__name__}. Give a function on rows "
                        "that asks the module and takes one tensor of its answer."
                    )
                return np.asarray(answer.cpu().to(dtype=torch.float64).numpy())
        finally:
            for module in training:
                module.training = True

    return predict


def _begins_with_embedding(model: Any) -> bool:
    """Whether the first parameters of a module are those of an embedding, which looks up whole numbers."""
    owners = (one for one in model.modules() if next(one.parameters(recurse=False), None) is not None)
    return "Embedding" in type(next(owners, None)).__name__


def _matrix(rows: Any) -> NDArray[Any]:
    """An array as it is, a frame of any library as one."""
    if isinstance(rows, np.ndarray):
        return rows
    if hasattr(rows, "to_numpy"):
        return np.asarray(rows.to_numpy())
    return np.stack([np.asarray(column) for column in rows.columns], axis=1)  # pyarrow


def onnx_function(model: Any) -> Callable[[Any], Any]:
    """An ONNX session: one matrix or named columns in, its scores out."""
    inputs, output = model.get_inputs(), _onnx_output(model)
    size = inputs[0].shape[0] if inputs[0].shape else None

    def predict(rows: Any) -> Any:
        feed, n_rows = _onnx_feed(inputs, rows), len(rows)
        if not isinstance(size, int):
            return _scores(model.run([output], feed)[0])
        # exported with a fixed number of rows: the last piece is filled up with copies of its last row
        pieces = (np.minimum(np.arange(start, start + size), n_rows - 1) for start in range(0, n_rows, size))
        answers = [
            _scores(model.run([output], {name: column[piece] for name, column in feed.items()})[0])
            for piece in pieces
        ]
        return np.concatenate(answers)[:n_rows]

    return predict


def _scores(answer: Any) -> Any:
    """A map of class to score for each row becomes a matrix."""
    if isinstance(answer, list) and answer and isinstance(answer[0], dict):
        return np.array([list(row.values()) for row in answer])
    return answer


def _onnx_feed(inputs: Sequence[Any], rows: Any) -> dict[str, NDArray[Any]]:
    """One matrix, or its columns cut up for several inputs; of a frame those of the inputs' names."""
    kinds = [_ONNX_TYPES.get(given.type, np.float32) for given in inputs]
    if len(inputs) == 1:
        return {inputs[0].name: _matrix(rows).astype(kinds[0])}
    if isinstance(rows, np.ndarray):
        parts = _cut(inputs, rows)
    elif missing := [given.name for given in inputs if given.name not in _names(rows)]:
        raise ArgumentError(
            "`X` must have columns named like the inputs of the ONNX session. "
            f"Missing: {', '.join(missing)}. An array is cut up in the order of the inputs."
        )
    else:
        parts = [np.asarray(rows[given.name]).reshape(-1, 1) for given in inputs]
    return {
        given.name: (part[:, 0] if len(given.shape) == 1 else part).astype(kind)
        for given, part, kind in zip(inputs, parts, kinds, strict=True)
    }


def _names(frame: Any) -> list[str]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)  # pyarrow, others


def _cut(inputs: Sequence[Any], rows: NDArray[Any]) -> list[NDArray[Any]]:
    """As many columns as each input is wide, in the order of the inputs."""
    widths = [one.shape[1] if len(one.shape) > 1 and isinstance(one.shape[1], int) else 1 for one in inputs]
    if sum(widths) != rows.shape[1]:
        shown = ", ".join(f"{one.name} ({width})" for one, width in zip(inputs, widths, strict=True))
        raise ArgumentError(
            f"`X` must have {sum(widths)} columns for the inputs of the ONNX session, {shown}. "
            f"Got {rows.shape[1]}."
        )
    return np.split(rows, np.cumsum(widths)[:-1], axis=1)


def _onnx_output(session: Any) -> str:
    """The scores of a classifier rather than its label; the first numeric output otherwise."""
    outputs = session.get_outputs()
    scores = [out for out in outputs if "float" in out.type or "double" in out.type]
    if not scores:
        raise ArgumentError(
            "`model` must have a floating point output to explain. Got "
            + ", ".join(f"{out.name}: {out.type}" for out in outputs)
            + "."
        )
    likely = [out for out in scores if "prob" in out.name.lower()]
    return str((likely or scores)[0].name)
