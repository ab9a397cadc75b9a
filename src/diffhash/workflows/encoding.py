"""``encode``: a feature file becomes a file of codes."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ..codes import code_bytes
from ..files import CodesWriter, encode_file, open_features
from .feature_files import naming_bad_rows
from .model_files import choose_modality, load_model
from .options import FileName, OptionError
from .outputs import check_codes_output
from .progress import Progress, StepCounter
from .results import EncodeResult

__all__ = ["encode"]


def encode(
    model: FileName,
    features: FileName,
    out: FileName,
    *,
    modality: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> EncodeResult:
    """Encode a feature file in blocks. The memory does not grow with the number of rows.

    Parameters
    ----------
    model : model (.dhm) or collection (.dh)
    features : feature file
    out : file
        The codes (.npy): uint8 of shape (rows, bytes).
    modality : str, optional
        By default the one with as many features as the file.
    overwrite : bool
        Replace an existing file of codes.
    progress : function, optional
        Called with a :class:`Step`. An exception that it raises stops the work; nothing is written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import diffhash as dh, numpy as np
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> dh.DiffHash(n_bits=4).fit({"x": x, "y": x[:, :4]}, dh.Pairs.aligned(200)).save(folder / "m.dhm")
    >>> np.save(folder / "x.npy", x)
    >>> encode(folder / "m.dhm", folder / "x.npy", folder / "codes.npy").rows
    200
    """
    out = Path(out)
    if out.suffix.lower() != ".npy":
        raise OptionError(f"`out`: codes are written to an .npy file, got {str(out)!r}")
    check_codes_output(out, overwrite, [model, features])
    loaded = load_model(model)
    file = open_features(os.fspath(features))
    modality = choose_modality(loaded, file, modality)
    start = time.perf_counter()
    counter = StepCounter(progress, f"encoding {modality}", file.n_rows)
    with naming_bad_rows([file]), CodesWriter(out, code_bytes(loaded.n_bits)) as writer:
        for codes in encode_file(loaded, file, modality):
            writer.write(codes)
            counter.advance(len(codes))
    return EncodeResult(
        path=out,
        modality=modality,
        rows=writer.n_rows,
        bits=int(loaded.n_bits),
        seconds=time.perf_counter() - start,
        size=out.stat().st_size,
    )
