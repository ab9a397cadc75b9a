"""``OnnxPictures``: vectors of pictures by a vision model in a local file (.onnx)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InputFileError, ParameterError
from ..types import FloatArray
from ..validation import check_count, check_flag, check_number
from .base import State
from .hog_features import LARGEST_SIDE
from .onnx_model import OnnxModel, file_needed, unit_features
from .picture_reading import picture_items, read_picture, require_pillow

__all__ = ["OnnxPictures"]

_CALLER = "OnnxPictures"
#: Mean and standard deviation of red, green and blue in the pictures of ImageNet, which most models expect.
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class OnnxPictures:
    """Turns pictures into the vectors of a vision model, which ONNX Runtime runs. Nothing is downloaded.

    Parameters
    ----------
    model : file (.onnx)
        A model with one input: float32 of shape (n, 3, size, size) or (n, size, size, 3).
    size : int, optional
        Side of the pictures that the model takes. By default what the file says.
    mean, std : three floats
        Subtracted from red, green and blue between 0 and 1, and divided by. By default those of ImageNet.
    crop : float, optional
        Cut out the square in the middle whose side is this share of the shorter side, such as 0.875. By default
        the whole picture is stretched to a square.
    output : str, optional
        Output of the model to use. By default the first one. If it has a vector for each place of a picture, their mean
        is used.
    normalize : bool
        Scale the vectors to unit length.
    batch_size : int
        Pictures that the model gets at a time.
    n_threads : int, optional

    Attributes
    ----------
    n_features : int
        Length of the vectors.

    Notes
    -----
    The state that is saved with a model has the hash of the file and the settings that change the vectors. It does not
    have the file: give the featurizer again when you open the model. With another file that is an error.

    Needs ONNX Runtime and Pillow: ``pip install 'diffhash[onnx,pictures]'``.
    """

    kind: ClassVar[str] = "onnx-pictures"
    takes: ClassVar[str] = "pictures"

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        size: int | None = None,
        mean: Sequence[float] = _MEAN,
        std: Sequence[float] = _STD,
        crop: float | None = None,
        output: str | None = None,
        normalize: bool = True,
        batch_size: int = 16,
        n_threads: int | None = None,
    ) -> None:
        require_pillow(_CALLER)
        self.mean, self.std = _colours(mean, "mean"), _colours(std, "std")
        if min(self.std) <= 0:
            raise ParameterError(f"{_CALLER}: std must be above 0, got {self.std}.")
        self.crop = None if crop is None else check_number(crop, "crop", caller=_CALLER, low=0.01, high=1.0)
        self.normalize = check_flag(normalize, "normalize", caller=_CALLER)
        self.batch_size = check_count(batch_size, "batch_size", caller=_CALLER)
        self._output = output
        self._model = OnnxModel(model, output=output, n_threads=n_threads, caller=_CALLER)
        self._input, self._channels_last, said = _picture_input(self._model, os.fspath(model))
        if size is None and said is None:
            raise ParameterError(f"{_CALLER}: {os.fspath(model)} takes pictures of any size. Give size.")
        self.size = check_count(said if size is None else size, "size", caller=_CALLER, maximum=LARGEST_SIDE)
        if said is not None and said != self.size:
            raise ParameterError(
                f"{_CALLER}: {os.fspath(model)} takes pictures of {said} × {said}, got size={self.size}."
            )
        self.n_features = int(self._vectors([np.zeros((self.size, self.size, 3), np.uint8)]).shape[1])

    def transform(self, pictures: Any) -> FloatArray:
        """Turn pictures into float32 vectors of shape (n, n_features).

        Parameters
        ----------
        pictures : list of paths, contents of files, Pillow images or uint8 arrays
            See :func:`diffhash.featurizers.read_pictures`. One batch of them is in memory at a time.
        """
        items = picture_items(pictures, f"{_CALLER}.transform")
        found = np.empty((len(items), self.n_features), dtype=np.float32)
        for start in range(0, len(items), self.batch_size):
            batch = [
                read_picture(
                    item, start + k, size=self.size, mode="RGB", caller=f"{_CALLER}.transform", crop=self.crop
                )
                for k, item in enumerate(items[start : start + self.batch_size])
            ]
            found[start : start + len(batch)] = self._vectors(batch)
        return found

    def state(self) -> State:
        """Hash of the file, and the settings that change the vectors."""
        parameters = {
            "model_sha256": self._model.sha256,
            "size": self.size,
            "mean": list(self.mean),
            "std": list(self.std),
            "crop": self.crop,
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
        """Always an error: the state has only the hash of the file."""
        raise file_needed(_CALLER, parameters)

    def _vectors(self, pictures: Sequence[NDArray[np.uint8]]) -> FloatArray:
        pixels = np.stack(pictures).astype(np.float32) / 255
        pixels = (pixels - np.array(self.mean, np.float32)) / np.array(self.std, np.float32)
        if not self._channels_last:
            pixels = pixels.transpose(0, 3, 1, 2)
        values = self._model.run({self._input: np.ascontiguousarray(pixels)})
        if len(values) != len(pictures):
            raise InputFileError(
                f"{_CALLER}: output {self._model.output!r} has {len(values)} rows for {len(pictures)} pictures. "
                "The model must take batches of any size; or give batch_size=1."
            )
        if values.ndim == 4:
            values = values.mean(axis=(1, 2) if self._channels_last else (2, 3))
        elif values.ndim == 3:
            values = values.mean(axis=1)
        return unit_features(values) if self.normalize else values


def _colours(values: Sequence[float], name: str) -> tuple[float, float, float]:
    try:
        red, green, blue = (float(value) for value in values)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{_CALLER}: {name} must be three numbers, for red, green and blue, got {values!r:.60}."
        ) from None
    if not np.isfinite([red, green, blue]).all():
        raise ParameterError(f"{_CALLER}: {name} must be finite, got {values!r:.60}.")
    return red, green, blue


def _picture_input(model: OnnxModel, path: str) -> tuple[str, bool, int | None]:
    """Name of the input, whether colours are its last axis, and the side of the pictures if the file says it."""
    if len(model.inputs) != 1:
        raise InputFileError(f"{_CALLER}: {path} must have one input, it has {', '.join(model.inputs)}.")
    ((name, (kind, shape)),) = model.inputs.items()
    if kind != "tensor(float)" or len(shape) != 4:
        raise InputFileError(
            f"{_CALLER}: input {name!r} of {path} must be float32 pictures of shape (n, 3, size, size), got {kind} of "
            f"shape {shape}."
        )
    last = shape[3] == 3 and shape[1] != 3
    sides = [side for side in (shape[1:3] if last else shape[2:4]) if isinstance(side, int)]
    if len(set(sides)) > 1:
        raise InputFileError(
            f"{_CALLER}: {path} takes pictures of {sides[0]} × {sides[1]}, which are not square."
        )
    return name, last, sides[0] if sides else None
