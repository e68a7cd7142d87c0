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

    def predict(rows: Any) -> Any:
        answer = model.run([output], _onnx_feed(inputs, rows))[0]
        if isinstance(answer, list) and answer and isinstance(answer[0], dict):  # a map of class to score
            return np.array([list(row.values()) for row in answer])
        return answer

    return predict


def _onnx_feed(inputs: Sequence[Any], rows: Any) -> dict[str, NDArray[Any]]:
    """One matrix, or one column for each named input."""
    kinds = [_ONNX_TYPES.get(given.type, np.float32) for given in inputs]
    if len(inputs) == 1:
        return {inputs[0].name: _matrix(rows).astype(kinds[0])}
    columns = list(rows.T) if isinstance(rows, np.ndarray) else [rows[given.name] for given in inputs]
    return {
        given.name: np.asarray(column).astype(kind).reshape(-1, 1)
        for given, column, kind in zip(inputs, columns, kinds, strict=True)
    }


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
