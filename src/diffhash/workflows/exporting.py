"""``export``: copies of a collection for other programs."""

from __future__ import annotations

from ..paths import check_path
from ..stores.sqlite.export import FORMATS, ids_file, ids_path, output_kind
from .model_files import open_collection
from .options import FileName, OptionError
from .outputs import check_output
from .results import ExportResult

__all__ = ["EXPORT_FORMATS", "export"]

#: Formats by the ending of their files.
EXPORT_FORMATS = {f".{name}": name for name in FORMATS}


def export(
    collection: FileName,
    out: FileName,
    *,
    format: str | None = None,  # noqa: A002 - as Collection.export
    modality: str | None = None,
    overwrite: bool = False,
) -> ExportResult:
    """Write codes and ids of a collection, and with Parquet payloads, to files of other programs.

    Parameters
    ----------
    collection : collection (.dh)
    out : file
        ``.parquet`` has a row for each code: id, modality, code and payload. ``.npy`` has the
        codes of one modality; the ids are in a second file that ends in ``.ids.npy``. ``.faiss`` is a
        binary FAISS index of one modality; ids that are strings are in a second file.
    format : "parquet", "npy" or "faiss", optional
        By default from the ending of ``out``.
    modality : str, optional
        Parquet holds all modalities by default. The other formats hold one.
    overwrite : bool
        Replace existing files of the same kind.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import diffhash as dh, numpy as np
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> hasher = dh.DiffHash(n_bits=4).fit({"x": x, "y": x[:, :4]}, dh.Pairs.aligned(200))
    >>> with dh.Collection.create(folder / "x.dh", hasher) as c:
    ...     _ = c.add(x, modality="x")
    >>> result = export(folder / "x.dh", folder / "codes.npy")
    >>> [path.name for path in result.paths], result.codes
    (['codes.npy', 'codes.ids.npy'], 200)
    """
    out = check_path(out, caller="export")
    chosen = format or EXPORT_FORMATS.get(out.suffix.lower())
    if chosen not in FORMATS:
        raise OptionError(
            f"`format` must be one of {', '.join(FORMATS)}, or `out` must end in one of "
            f"{', '.join(EXPORT_FORMATS)}; got {format or str(out)!r}"
        )
    check_output(out, overwrite, [collection], output_kind(chosen))
    with open_collection(collection) as store:
        if modality is not None and modality not in store.modalities:
            known = ", ".join(store.modalities)
            raise OptionError(f"`modality`: the collection has no {modality!r}. It has {known}")
        counts = store.stats().n_codes
        filled = [name for name, n in counts.items() if n]
        if chosen != "parquet" and modality is None and len(filled) > 1:
            raise OptionError(
                f"a file of format {chosen} holds one modality. Say `modality`: {', '.join(filled)}"
            )
        if chosen != "parquet":
            modality = modality or (filled or list(store.modalities))[0]
            if chosen == "npy" or store.id_kind == "str":
                check_output(ids_path(out), overwrite, [collection], ids_file())
        paths = store.export(out, chosen, modality=modality)
    n_codes = sum(counts.values()) if modality is None else counts[modality]
    return ExportResult(paths=tuple(paths), format=chosen, modality=modality, codes=n_codes)
