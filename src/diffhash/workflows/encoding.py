"""``encode``: feature files become a file of codes, of one modality or fused."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..atomic_write import replacing
from ..codes import code_bytes
from ..files import IDS_FILE, CodesWriter, encode_file
from ..model.fused_codes import number_objects
from ..paths import check_path
from ..stores.sqlite.export import ids_path
from .feature_files import naming_bad_rows
from .fused_files import fused_blocks
from .model_files import check_calibrated, choose_modality, load_model
from .options import FileName, FileNames, OptionError, PairFiles, check_files, files_by_modality
from .outputs import check_codes_output, check_output
from .pair_files import ids_of_all_views, read_row_ids
from .progress import Progress, StepCounter
from .results import EncodeResult
from .view_files import Featurizers, open_view, open_views

__all__ = ["encode", "encode_fused"]


def encode(
    model: FileName,
    features: FileName,
    out: FileName,
    *,
    modality: str | None = None,
    featurizers: Featurizers | None = None,
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
    featurizers : dict by modality, optional
        Featurizers of your own that the model was learned with. They are checked by their hash.
        ``features`` may then be a column of texts, or of names of pictures, if ``modality`` is given.
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
    out, _ = _outputs(out)
    check_codes_output(out, overwrite, [model, features])
    loaded = load_model(model, featurizers)
    featurizer = None if modality is None else loaded.featurizers.get(modality)
    file = open_view(features, featurizer, modality or "", progress)
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


def encode_fused(
    model: FileName,
    views: Mapping[str, FileName],
    out: FileName,
    *,
    ids: FileNames | None = None,
    featurizers: Featurizers | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> EncodeResult:
    """Give each object one code from all that it has.

    Parameters
    ----------
    model : model (.dhm) or collection (.dh)
        Calibrated.
    views : dict of feature files by modality
    out : file
        The codes (.npy): uint8 of shape (objects, bytes).
    ids : file, or files by modality, optional
        Ids of the rows; rows with the same id are one object. The ids of the objects are written beside the codes,
        to a file that ends in ``.ids.npy``, in the order in which they first occur. By default row r of every view is
        one object.
    featurizers : dict by modality, optional
        Featurizers of your own that the model was learned with. They are checked by their hash.
        Views may then be columns of texts, or of names of pictures.
    overwrite : bool
        Replace existing files.
    progress : function, optional
        Called with a :class:`Step`. An exception that it raises stops the work; nothing is written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import diffhash as dh
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> hasher = dh.DiffHash(n_bits=4).fit({"x": x, "y": x[:, :4]}, dh.Pairs.aligned(200), calibrate=True)
    >>> hasher.save(folder / "m.dhm")
    >>> np.save(folder / "x.npy", x)
    >>> np.save(folder / "y.npy", x[:, :4])
    >>> encode_fused(folder / "m.dhm", {m: folder / f"{m}.npy" for m in "xy"}, folder / "codes.npy").rows
    200
    """
    check_files(views, "views")
    out, beside = _outputs(out)
    inputs = [model, *views.values(), *PairFiles(ids=ids).names()]
    check_codes_output(out, overwrite, inputs)
    if ids is not None:
        check_output(beside, overwrite, inputs, IDS_FILE)
    loaded = load_model(model, featurizers)
    check_calibrated(loaded, model)
    files = open_views(views, loaded.featurizers, progress)
    for name, file in files.items():
        choose_modality(loaded, file, name)
    n_rows = {name: file.count() for name, file in files.items()}
    objects, object_ids = None, None
    if ids is not None:
        sources = files_by_modality(ids, list(views), "ids")
        missing = [name for name in views if name not in sources]
        if missing:
            raise OptionError(f"`ids` are missing for {missing[0]!r}. Give them too: `ids` {missing[0]}=FILE")
        read = ids_of_all_views(read_row_ids(sources, n_rows, unique=False))
        objects, object_ids = number_objects(n_rows, read, caller="encode")
    elif len(set(n_rows.values())) > 1:
        counts = ", ".join(f"{name} {n:,}" for name, n in n_rows.items())
        raise OptionError(
            f"the views have different numbers of rows ({counts}), so they are not aligned. Give `ids` of the rows"
        )
    start = time.perf_counter()
    n_objects = max(n_rows.values()) if object_ids is None else len(object_ids)
    counter = StepCounter(progress, "encoding", n_objects)
    with naming_bad_rows(list(files.values())), CodesWriter(out, code_bytes(loaded.n_bits)) as writer:
        for codes in fused_blocks(loaded, files, objects):
            writer.write(codes)
            counter.advance(len(codes))
        if object_ids is not None:
            with replacing(beside, IDS_FILE) as part, part.open("wb") as file_of_ids:
                np.save(file_of_ids, object_ids, allow_pickle=False)
    return EncodeResult(
        path=out,
        modality="+".join(views),
        rows=writer.n_rows,
        bits=int(loaded.n_bits),
        seconds=time.perf_counter() - start,
        size=out.stat().st_size,
    )


def _outputs(out: FileName) -> tuple[Path, Path]:
    """The file of codes, and the file of ids beside it."""
    out = check_path(out, caller="encode")
    if out.suffix.lower() != ".npy":
        raise OptionError(f"`out`: codes are written to an .npy file, got {str(out)!r}")
    return out, ids_path(out)
