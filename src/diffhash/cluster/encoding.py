"""``encode`` for folders of shards, on a cluster: one file of codes for each shard."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..atomic_write import remove_stale_parts, write_atomically
from ..codes import code_bytes
from ..errors import InputError, NonFiniteError, OutputFileError
from ..files import CodesWriter, encode_file, is_codes_file, open_features
from ..model import HashModel
from ..output_files import OutputKind
from ..paths import check_path
from ..workflows.feature_files import find_not_finite
from ..workflows.model_files import choose_modality, load_model
from ..workflows.options import FileName, OptionError
from ..workflows.progress import Progress, StepCounter
from ..workflows.results import Result
from .clients import connected
from .dask_import import cluster_errors
from .shards import Shard, open_shards

__all__ = ["ShardsResult", "encode_shards"]

#: Written beside the codes: which model made them, so that a later run does not mix the codes of two.
_RECORD = "encoding.json"


def _read_record(path: Path) -> dict[str, Any] | None:
    """The record in a file; None if it is something else."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(10_000))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and "diffhash_codes" in found else None


def _is_record(path: Path) -> bool:
    return _read_record(path) is not None


_RECORD_FILE = OutputKind("record of an encoding", _is_record)


@dataclass(frozen=True)
class ShardsResult(Result):
    """A folder of codes that was written.

    Attributes
    ----------
    path : Path
    modality : str
    shards : int
        Number of files of codes in the folder.
    resumed : int
        How many of them an earlier run had written.
    rows : int
        Rows of all shards.
    bits : int
    seconds : float
    """

    path: Path
    modality: str
    shards: int
    resumed: int
    rows: int
    bits: int
    seconds: float


def encode_shards(
    model: FileName,
    features: FileName,
    out: FileName,
    *,
    scheduler: str = "local",
    n_workers: int | None = None,
    modality: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> ShardsResult:
    """Encode a folder of shards on a cluster; every shard becomes a file of codes of the same name.

    Files are written whole or not at all. If the work is interrupted, the next call continues it: it encodes only
    shards that have no codes yet, or have changed since.

    Parameters
    ----------
    model : model (.dhm) or collection (.dh)
    features : folder of ``.npy`` or ``.parquet`` files
        The workers read it, and write the codes, under the same names as this process.
    out : folder
        Made if it does not exist.
    scheduler, n_workers
        As for :func:`fit_shards`.
    modality : str, optional
        By default the one with as many features as the shards.
    overwrite : bool
        Replace codes that another model has made.
    progress : function, optional
        Called with a :class:`~diffhash.workflows.Step`.
    """
    out = check_path(out, caller="encode")
    loaded = load_model(model)
    shards = open_shards(features, what="features")
    filled = next(shard for shard in shards if shard.n_rows)
    modality = choose_modality(loaded, filled.open(), modality)
    if filled.n_features != loaded.n_features[modality]:
        raise OptionError(
            f"{filled.name} has {filled.n_features} features, but modality {modality!r} of the model has "
            f"{loaded.n_features[modality]}"
        )
    outputs = [out / f"{shard.path.stem}.npy" for shard in shards]
    if len(set(outputs)) < len(outputs):
        raise OptionError(f"`features`: two shards in {features} differ only in their ending. Rename one")
    if any(
        output.exists() and output.samefile(shard.path) for output, shard in zip(outputs, shards, strict=True)
    ):
        raise OptionError(f"`out`: {out} is also the folder of the features. Write to another folder")
    start = time.perf_counter()
    _prepare_folder(out, loaded, modality, overwrite)
    todo = [(s, o) for s, o in zip(shards, outputs, strict=True) if not _is_done(s, o, loaded)]
    n_rows = sum(shard.n_rows for shard in shards)
    counter = StepCounter(progress, f"encoding {modality}", n_rows)
    counter.advance(n_rows - sum(shard.n_rows for shard, _ in todo))
    if todo:
        with connected(scheduler, n_workers=n_workers) as client, cluster_errors("encode"):
            _run(client, loaded, todo, modality, counter)
    # What killed workers have begun, now or in an earlier run.
    if any(out.glob(".*.part")):
        for output in outputs:
            remove_stale_parts(output)
    return ShardsResult(
        path=out,
        modality=modality,
        shards=len(shards),
        resumed=len(shards) - len(todo),
        rows=n_rows,
        bits=int(loaded.n_bits),
        seconds=time.perf_counter() - start,
    )


def _run(
    client: Any, model: HashModel, todo: list[tuple[Shard, Path]], modality: str, counter: StepCounter
) -> None:
    from dask import delayed
    from distributed import as_completed

    shared, task = delayed(model, traverse=False), delayed(_encode_shard, pure=False)
    tasks = [task(shared, delayed(shard, traverse=False), str(path), modality) for shard, path in todo]
    futures = client.compute(tasks)
    try:
        for future in as_completed(futures):
            counter.advance(future.result())
    finally:
        client.cancel(futures)


def _encode_shard(model: HashModel, shard: Shard, out: str, modality: str) -> int:
    """Task: write the codes of one shard; gives its number of rows."""
    with CodesWriter(out, code_bytes(model.n_bits)) as writer:
        if shard.n_rows:
            file = shard.open()
            try:
                for codes in encode_file(model, file, modality, n_threads=1):
                    writer.write(codes)
            except NonFiniteError as error:
                message = find_not_finite(file)
                raise NonFiniteError(f"{message or error} Remove or fill such values first.") from error
    if writer.n_rows != shard.n_rows:
        raise InputError(f"{shard.name} was changed while it was read. Encode it again.")
    return shard.n_rows


def _record(model: HashModel, modality: str) -> dict[str, Any]:
    digest = hashlib.sha256(model.to_bytes()).hexdigest()
    return {"diffhash_codes": 1, "model": digest, "modality": modality, "bits": int(model.n_bits)}


def _prepare_folder(out: Path, model: HashModel, modality: str, overwrite: bool) -> None:
    """Make the folder and the record; raise if it has codes of another model, or of unknown origin."""
    record, path = _record(model, modality), out / _RECORD
    try:
        out.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputFileError(
            f"{out}: the folder of codes cannot be made ({error.strerror or error})."
        ) from error
    known = _read_record(path)
    if known == record:
        return
    codes = [file for file in out.glob("*.npy") if is_codes_file(file)]
    if codes and not overwrite:
        made = "another model" if known else "an unknown model"
        raise OptionError(f"{out} has codes of {made}. Choose another folder, or use `overwrite`")
    for file in codes:
        file.unlink()
    write_atomically(path, json.dumps(record, indent=2).encode(), _RECORD_FILE)


def _is_done(shard: Shard, out: Path, model: HashModel) -> bool:
    """Whether the codes of a shard are there, and not older than it."""
    if not out.exists() or not is_codes_file(out):
        return False
    file = open_features(str(out)) if out.stat().st_size else None
    return (
        file is not None
        and (file.n_rows, file.n_features) == (shard.n_rows, code_bytes(model.n_bits))
        and out.stat().st_mtime_ns >= shard.modified_ns
    )
