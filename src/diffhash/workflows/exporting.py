"""``export``: copies of a collection for other programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..files import is_codes_file
from ..stores.sqlite.export import FORMATS, ids_path
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
    out = Path(out)
    chosen = format or EXPORT_FORMATS.get(out.suffix.lower())
    if chosen not in _IS_OF_KIND:
        raise OptionError(
            f"`format` must be one of {', '.join(_IS_OF_KIND)}, or `out` must end in one of "
            f"{', '.join(EXPORT_FORMATS)}; got {format or str(out)!r}"
        )
    check_output(out, overwrite, [collection], f"file of format {chosen}", _IS_OF_KIND[chosen])
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
                check_output(
                    ids_path(out), overwrite, [collection], "file of ids", _starts_with(b"\x93NUMPY")
                )
        paths = store.export(out, chosen, modality=modality)
    n_codes = sum(counts.values()) if modality is None else counts[modality]
    return ExportResult(paths=tuple(paths), format=chosen, modality=modality, codes=n_codes)


def _starts_with(start: bytes) -> Callable[[Path], bool]:
    def check(path: Path) -> bool:
        with path.open("rb") as file:
            return file.read(len(start)) == start

    return check


#: How to tell whether an existing file may be replaced. Binary indexes of FAISS begin with "IB".
_IS_OF_KIND: dict[str, Callable[[Path], bool]] = {
    "parquet": _starts_with(b"PAR1"),
    "npy": is_codes_file,
    "faiss": _starts_with(b"IB"),
}
