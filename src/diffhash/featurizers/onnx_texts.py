"""``OnnxTexts``: vectors of texts by a language model in a local file (.onnx)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, InputFileError, MissingExtraError
from ..types import FloatArray
from ..validation import check_choice, check_count, check_flag
from .base import State
from .onnx_model import OnnxModel, file_and_hash, file_needed, unit_features

__all__ = ["OnnxTexts"]

_CALLER = "OnnxTexts"
_POOLINGS = ("mean", "first")
#: Names of inputs, and what they get.
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class OnnxTexts:
    """Turns texts into the vectors of a language model, which ONNX Runtime runs. Nothing is downloaded.

    Parameters
    ----------
    model : file (.onnx)
        A model that takes ``input_ids`` and may take ``attention_mask`` and ``token_type_ids``.
    tokenizer : file, optional
        A ``tokenizer.json`` of the package tokenizers. By default the one beside the model.
    max_tokens : int
        Longer texts are cut off.
    pooling : {"mean", "first"}
        How the vectors of the tokens become one vector: their mean, or that of the first token. A model that gives one
        vector for each text needs none.
    output : str, optional
        Output of the model to use. By default the first one.
    normalize : bool
        Scale the vectors to unit length.
    batch_size : int
        Texts that the model gets at a time.
    n_threads : int, optional

    Attributes
    ----------
    n_features : int
        Length of the vectors.

    Notes
    -----
    The state that is saved with a model has the hashes of both files and the settings that change the vectors. It does
    not have the files: give the featurizer again when you open the model. With other files that is an error.

    A text gets the same vector in every batch up to rounding errors (about 1e-6).

    Needs ONNX Runtime and tokenizers: ``pip install 'diffhash[onnx]'``.
    """

    kind: ClassVar[str] = "onnx-texts"
    takes: ClassVar[str] = "text"

    def __init__(
        self,
        model: str | os.PathLike[str],
        tokenizer: str | os.PathLike[str] | None = None,
        *,
        max_tokens: int = 256,
        pooling: str = "mean",
        output: str | None = None,
        normalize: bool = True,
        batch_size: int = 32,
        n_threads: int | None = None,
    ) -> None:
        self.max_tokens = check_count(max_tokens, "max_tokens", caller=_CALLER)
        self.pooling = check_choice(pooling, "pooling", _POOLINGS, caller=_CALLER)
        self.normalize = check_flag(normalize, "normalize", caller=_CALLER)
        self.batch_size = check_count(batch_size, "batch_size", caller=_CALLER)
        self._output = output
        path = Path(model).with_name("tokenizer.json") if tokenizer is None else Path(tokenizer)
        self._tokenizer, self._tokenizer_hash = _read_tokenizer(path, self.max_tokens)
        self._model = OnnxModel(model, output=output, n_threads=n_threads, caller=_CALLER)
        unknown = [name for name in self._model.inputs if name not in _INPUTS]
        if unknown or _INPUTS[0] not in self._model.inputs:
            raise InputFileError(
                f"{_CALLER}: {os.fspath(model)} must take input_ids, and at most attention_mask and token_type_ids "
                f"too; it takes {', '.join(self._model.inputs)}."
            )
        self.n_features = int(self._vectors(["a"]).shape[1])

    def transform(self, texts: Iterable[str]) -> FloatArray:
        """Turn texts into float32 vectors of shape (n, n_features)."""
        items = _as_texts(texts)
        # Texts of about the same length share a batch, so that little is padded.
        order = np.argsort([len(text) for text in items], kind="stable")
        found = np.empty((len(items), self.n_features), dtype=np.float32)
        for start in range(0, len(items), self.batch_size):
            rows = order[start : start + self.batch_size]
            found[rows] = self._vectors([items[row] for row in rows])
        return found

    def state(self) -> State:
        """Hashes of the files, and the settings that change the vectors."""
        parameters = {
            "model_sha256": self._model.sha256,
            "tokenizer_sha256": self._tokenizer_hash,
            "max_tokens": self.max_tokens,
            "pooling": self.pooling,
            "output": self._output,
            "normalize": self.normalize,
        }
        return parameters, {}

    @classmethod
    def from_state(
        cls,
        parameters: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],  # noqa: ARG003 - the protocol's
    ) -> Self:
        """Always an error: the state has only the hashes of the files."""
        raise file_needed(_CALLER, parameters)

    def _vectors(self, texts: Sequence[str]) -> FloatArray:
        encoded = self._tokenizer.encode_batch(list(texts))
        width = max(1, *(len(each.ids) for each in encoded))
        ids, mask, types = (np.zeros((len(texts), width), dtype=np.int64) for _ in range(3))
        for row, each in enumerate(encoded):
            n = len(each.ids)
            ids[row, :n], mask[row, :n], types[row, :n] = each.ids, each.attention_mask, each.type_ids
        given = dict(zip(_INPUTS, (ids, mask, types), strict=True))
        values = self._model.run({name: given[name] for name in self._model.inputs})
        if values.ndim > 3 or len(values) != len(texts):
            raise InputFileError(
                f"{_CALLER}: output {self._model.output!r} must have a vector for each text or each token, got shape "
                f"{values.shape} for {len(texts)} texts of {width} tokens. Name another output."
            )
        if values.ndim == 3 and self.pooling == "first":
            values = values[:, 0]
        elif values.ndim == 3:
            weights = mask[..., None].astype(np.float32)
            values = (values * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        return unit_features(values) if self.normalize else values


def _as_texts(texts: Any) -> list[str]:
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InputError(f"{_CALLER}.transform: expected a list of texts, got {type(texts).__name__}.")
    items = list(texts)
    for number, text in enumerate(items):
        if not isinstance(text, str):
            raise InputError(
                f"{_CALLER}.transform: text {number} must be a string, got {type(text).__name__}."
            )
    return items


def _read_tokenizer(path: Path, max_tokens: int) -> tuple[Any, str]:
    try:
        import tokenizers
    except ImportError as error:
        raise MissingExtraError(
            f"{_CALLER}: texts need the package tokenizers ({error}). Run: pip install 'diffhash[onnx]'"
        ) from error
    data, digest = file_and_hash(path)
    try:
        tokenizer = tokenizers.Tokenizer.from_str(data.decode())
    except Exception as error:  # the package raises plain exceptions
        raise InputFileError(f"{_CALLER}: {path} is not a tokenizer.json ({error!s:.200}).") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=max_tokens)
    return tokenizer, digest
