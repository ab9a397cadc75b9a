"""A model file (.onnx) that ONNX Runtime runs on the CPU. What was hashed is what runs."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputFileError, MissingExtraError, ParameterError
from ..input_files import open_input
from ..threads import thread_count
from ..types import FloatArray

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OnnxModel", "file_and_hash", "file_needed", "unit_features"]


def file_and_hash(path: str | os.PathLike[str]) -> tuple[bytes, str]:
    """Content of a file, and its hash."""
    with open_input(Path(path), InputFileError) as file:
        data: bytes = file.read()
    return data, sha256(data).hexdigest()


class OnnxModel:
    """A model in memory.

    Parameters
    ----------
    path : file (.onnx)
        Its weights must be inside.
    output : str, optional
        Name of the output to use. By default the first one.
    n_threads : int, optional
        Threads of ONNX Runtime. By default as for all of diffhash.
    caller : str
        Prefix of error messages.

    Attributes
    ----------
    sha256 : str
        Hash of the file.
    output : str
    inputs : dict of shapes by name
        None, or a name, stands for any size.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, output: str | None, n_threads: int | None, caller: str
    ) -> None:
        self._path, self._caller = Path(path), caller
        runtime = _require_runtime(caller)
        n_threads = thread_count(n_threads, caller=caller)
        data, self.sha256 = file_and_hash(path)
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = n_threads, 1
        options.log_severity_level = 4  # what goes wrong is raised, too
        try:
            # From memory: other files, which the hash does not cover, cannot be read then.
            self._session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime has an error class for each status
            raise InputFileError(
                f"{caller}: {self._path} cannot be run by ONNX Runtime ({_first_line(error)}). If its weights are in a "
                "file of their own, save the model with all weights in one file."
            ) from error
        self.inputs = {each.name: (each.type, list(each.shape)) for each in self._session.get_inputs()}
        outputs = {each.name: list(each.shape) for each in self._session.get_outputs()}
        if output is not None and output not in outputs:
            raise ParameterError(
                f"{caller}: {self._path} has no output {output!r:.60}. It has {', '.join(outputs)}."
            )
        self.output = output or next(iter(outputs))

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> FloatArray:
        """The output for one batch."""
        try:
            (found,) = self._session.run([self.output], dict(inputs))
        except Exception as error:  # as above
            raise InputFileError(
                f"{self._caller}: {self._path} does not run with these inputs ({_first_line(error)})."
            ) from error
        values = np.asarray(found)
        if values.dtype.kind != "f" or values.ndim < 2:
            raise InputFileError(
                f"{self._caller}: output {self.output!r} of {self._path} must be rows of real numbers, got "
                f"{values.dtype} of shape {values.shape}. Name another output."
            )
        return values.astype(np.float32, copy=False)


def file_needed(caller: str, parameters: Mapping[str, Any]) -> ParameterError:
    """The error of a featurizer whose state has only the hash of its model file."""
    return ParameterError(
        f"{caller}: the model was learned with a model file, of which it has only the hash "
        f"({parameters.get('model_sha256')!s:.12}). Give an object: {caller}(FILE), or a file of settings."
    )


def unit_features(values: FloatArray) -> FloatArray:
    """Rows of unit length; rows of zeros stay."""
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0))


def _require_runtime(caller: str) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError(
            f"{caller}: running a model file needs ONNX Runtime ({error}). Run: pip install 'diffhash[onnx]'"
        ) from error
    return onnxruntime


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
