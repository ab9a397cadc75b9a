"""``get`` and ``delete``: objects of a collection by their ids."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import UnknownIdError
from ..files import read_ids
from ..stores import Collection, Item
from ..stores.address import shown_address
from ..stores.engine_store import EngineStore
from .model_files import open_store
from .options import FileName, OptionError
from .results import DeleteResult, GetResult, shown_path

__all__ = ["delete", "get", "stored_id"]

_WHOLE = re.compile(r"-?[0-9]{1,19}")


def stored_id(store: Collection | EngineStore, given: int | str) -> int | str:
    """An id as it is stored: "3" is a number in a collection whose ids are numbers."""
    text = str(given)
    return int(text) if store.id_kind == "int" and _WHOLE.fullmatch(text) else text


def get(collection: FileName, ids: Sequence[int | str], *, modality: str | None = None) -> GetResult:
    """Objects of a collection by their ids: payloads and codes.

    Parameters
    ----------
    collection : collection (.dh), or the address of one
    ids : list of ids
        "3" is a number if the ids of the collection are numbers.
    modality : str, optional
        Only codes of this modality. By default all.

    Raises
    ------
    UnknownIdError
        If there is no such object.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import diffhash as dh, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.dh"
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> hasher = dh.DiffHash(n_bits=4).fit({"x": x, "y": x[:, :4]}, dh.Pairs.aligned(200))
    >>> with dh.Collection.create(path, hasher) as c:
    ...     _ = c.add(x[:2], modality="x", payloads=[{"n": 0}, {"n": 1}])
    >>> get(path, ["1"]).items[0].payload
    {'n': 1}
    """
    if not ids:
        raise OptionError("give at least one id")
    with open_store(collection) as store:
        _check_modality(store, modality)
        wanted = [stored_id(store, value) for value in ids]
        unknown = [value for value in wanted if value not in store]
        if unknown:
            listed = ", ".join(map(repr, unknown[:10]))
            raise UnknownIdError(f"{shown_address(collection)} has no object with the id {listed}.")
        items: list[Item] = store.get(wanted, modality=modality)
    return GetResult(shown_path(collection), tuple(items))


def delete(
    collection: FileName,
    ids: Sequence[int | str] = (),
    *,
    id_file: FileName | None = None,
    modality: str | None = None,
) -> DeleteResult:
    """Remove objects from a collection, or their codes in one modality.

    Parameters
    ----------
    collection : collection (.dh), or the address of one
    ids : list of ids
        "3" is a number if the ids of the collection are numbers.
    id_file : file, optional
        More ids, as ``build_features`` takes them.
    modality : str, optional
        By default all modalities, and the payloads.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import diffhash as dh, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.dh"
    >>> x = np.random.default_rng(0).normal(size=(200, 8))
    >>> hasher = dh.DiffHash(n_bits=4).fit({"x": x, "y": x[:, :4]}, dh.Pairs.aligned(200))
    >>> with dh.Collection.create(path, hasher) as c:
    ...     _ = c.add(x[:2], modality="x")
    >>> result = delete(path, ["1", "7"])
    >>> result.deleted, result.unknown, result.objects
    (1, (7,), 1)
    """
    listed = [*ids, *([] if id_file is None else read_ids(id_file))]
    if not listed:
        raise OptionError("give at least one id, or a file of `ids`")
    with open_store(collection, writable=True) as store:
        _check_modality(store, modality)
        wanted = list(dict.fromkeys(stored_id(store, value) for value in listed))
        unknown = tuple(value for value in wanted if value not in store)
        known = [value for value in wanted if value in store]
        deleted = store.delete(known, modality=modality) if known else 0
        return DeleteResult(shown_path(collection), deleted, unknown, len(store))


def _check_modality(store: Collection | EngineStore, modality: str | None) -> None:
    if modality is not None and modality not in store.modalities:
        raise OptionError(
            f"`modality`: the collection has no {modality!r}. It has {', '.join(store.modalities)}"
        )
