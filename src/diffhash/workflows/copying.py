"""``copy``: a collection from one store to another, in blocks, compared afterwards."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from ..errors import CollectionError, CollectionExistsError, CollectionNotFoundError
from ..output_files import is_same_file
from ..paths import check_path
from ..stores import Collection, Item
from ..stores import create as create_store
from ..stores.address import is_url, shown_address
from ..stores.engine_store import EngineStore
from .kept_work import InterruptedBuild
from .model_files import open_store
from .options import FileName, OptionError, check_count
from .progress import Progress, StepCounter
from .results import CopyResult

__all__ = ["ContentSum", "copy"]

Opened: TypeAlias = Collection | EngineStore

#: Objects that are read and written at a time.
_BLOCK = 20_000
_MODULUS = 1 << 64
_canonical = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


@dataclass
class ContentSum:
    """A checksum of objects that does not depend on their order: ids, codes and payloads.

    It is the sum of a hash of each object modulo 2**64, so that stores with other orders have the same. The number
    of objects and of codes is kept with it.

    Examples
    --------
    >>> a, b = Item(1, {"x": np.zeros(1, np.uint8)}), Item(2, {"x": np.ones(1, np.uint8)}, {"n": 1})
    >>> first, second = ContentSum(), ContentSum()
    >>> first.update([a, b])
    >>> second.update([b])
    >>> second.update([a])
    >>> first == second
    True
    """

    objects: int = 0
    codes: int = 0
    total: int = 0

    def update(self, items: Iterable[Item]) -> None:
        """Count objects."""
        listed = list(items)
        self.objects += len(listed)
        self.codes += sum(len(item.codes) for item in listed)
        self.total = (self.total + sum(_hashes(listed))) % _MODULUS

    @property
    def text(self) -> str:
        """The checksum for people."""
        return f"{self.total:016x}"


def _hashes(items: list[Item]) -> list[int]:
    """A hash of the id, the codes and the payload of each object."""
    found = []
    for item, payload in zip(items, _canonical_texts([item.payload for item in items]), strict=True):
        id_, codes = item.id, item.codes
        parts = [f"s{id_}".encode() if isinstance(id_, str) else b"i%d" % id_]
        for modality in sorted(codes) if len(codes) > 1 else codes:
            parts += (modality.encode(), codes[modality].tobytes())
        if item.payload:
            parts.append(payload.encode())
        found.append(int.from_bytes(blake2b(b"\0".join(parts), digest_size=8).digest(), "little"))
    return found


def _canonical_texts(payloads: list[dict[str, Any]]) -> list[str]:
    """Payloads as JSON in which equal payloads are equal texts; one call of the encoder is faster than many."""
    if not payloads:
        return []
    word = secrets.token_hex(16)
    mixed: list[Any] = [word] * (2 * len(payloads))
    mixed[::2] = payloads
    text = _canonical(mixed)
    if "-0.0" in text:
        # PostgreSQL does not keep the sign of -0.0, which is equal to 0.0.
        text = _canonical(_without_signs(mixed))
    return text[1:].removesuffix(f',"{word}"]').split(f',"{word}",')


def _without_signs(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_signs(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_signs(item) for item in value]
    return 0.0 if isinstance(value, float) and value == 0 else value


def copy(
    source: FileName | Opened,
    target: FileName | Opened,
    *,
    overwrite: bool = False,
    resume: bool = False,
    check: bool = True,
    block: int = _BLOCK,
    progress: Progress | None = None,
) -> CopyResult:
    """Copy a collection to another store: model, codes, ids and payloads.

    Each block is one transaction of the target. After an interrupt, or a lost server, ``resume`` continues: objects
    that are in the target already, with the same codes and payload, are not written again. At the end the target
    is read, and its counts and its checksum are compared with those of the source.

    Parameters
    ----------
    source, target : file, address, or an open store
        A target that is an open store must be empty, unless ``resume``.
    overwrite : bool
        Replace an existing collection.
    resume : bool
        Continue in an existing collection with the same model.
    check : bool
        Read the target and compare it.
    block : int
        Number of objects in a block.
    progress : function, optional
        Called with a :class:`Step`.

    Raises
    ------
    CollectionError
        If the target differs from the source afterwards.

    Notes
    -----
    A copy of a file remembers which payload fields are captions, so a file that is copied to a server and back has
    its word index again. A target that is an open store must have been made with the same ``words``. Other
    indexes are not copied: those of payload fields, and approximate ones.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import diffhash as dh
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with dh.Collection.create(folder / "a.dh", n_bits=8, modalities=("x",)) as c:
    ...     _ = c.add_codes(np.arange(5, dtype=np.uint8)[:, None], modality="x", payloads=[{"n": 1}] * 5)
    >>> result = copy(folder / "a.dh", folder / "b.dh")
    >>> result.objects, result.written, result.checked
    (5, 5, True)
    """
    start = time.perf_counter()
    check_count(block, "block", minimum=1)
    if overwrite and resume:
        raise OptionError("`overwrite` and `resume` exclude each other")
    with _opened(source) as origin:
        _check_not_same(origin, target)
        with _opened_target(target, origin, overwrite, resume) as copied:
            return _copy(origin, copied, resume, check, block, progress, start)


def _copy(
    origin: Opened,
    copied: Opened,
    resume: bool,
    check: bool,
    block: int,
    progress: Progress | None,
    start: float,
) -> CopyResult:
    expected, written = ContentSum(), 0
    counter = StepCounter(progress, "copying", len(origin), "objects")
    try:
        for items in origin.iterate(batch=block):
            expected.update(items)
            written += _write(copied, _changed(copied, items) if resume else items)
            counter.advance(len(items))
    except KeyboardInterrupt:
        raise InterruptedBuild(
            f"interrupted. {shown_address(copied.address)} has {len(copied):,} objects; to continue, use `resume`"
        ) from None
    if check:
        _compare(copied, expected, block, progress)
    return CopyResult(
        source=origin.address,
        target=copied.address,
        objects=expected.objects,
        codes=expected.codes,
        written=written,
        checksum=expected.text,
        checked=check,
        seconds=time.perf_counter() - start,
    )


def _check_not_same(origin: Opened, target: FileName | Opened) -> None:
    """Raise if the target is the source: it must never be overwritten, under whatever name."""
    same = target is origin
    if isinstance(origin, Collection) and isinstance(target, str | os.PathLike) and not is_url(target):
        same = is_same_file(check_path(target, caller="copy"), [origin.path])
    elif isinstance(origin, EngineStore) and is_url(target):
        try:
            with open_store(str(target)) as other:
                same = isinstance(other, EngineStore) and other.description == origin.description
        except CollectionError:  # it does not exist yet, or making it says what is wrong
            same = False
    if same:
        raise OptionError(f"{origin.address} is the source and the target. Choose another target")


def _opened(store: FileName | Opened) -> AbstractContextManager[Opened]:
    return nullcontext(store) if isinstance(store, Collection | EngineStore) else open_store(store)


def _opened_target(
    target: FileName | Opened, origin: Opened, overwrite: bool, resume: bool
) -> AbstractContextManager[Opened]:
    """The target: a new collection like the source, or with ``resume`` an existing one."""
    if isinstance(target, Collection | EngineStore):
        if not resume and len(target):
            raise OptionError("the target is not empty. Use `resume` to continue a copy")
        _check_alike(origin, target)
        return nullcontext(target)
    if resume:
        try:
            opened = open_store(target, writable=True)
        except CollectionNotFoundError:
            return _new(target, origin, overwrite=False)
        try:
            _check_alike(origin, opened)
        except BaseException:
            opened.close()
            raise
        return opened
    try:
        return _new(target, origin, overwrite=overwrite)
    except CollectionExistsError as error:
        raise CollectionExistsError(
            f"{shown_address(target)} exists already. Choose another name, use `overwrite`, or `resume` to continue a "
            "copy that was interrupted."
        ) from error


def _new(target: FileName, origin: Opened, *, overwrite: bool) -> Opened:
    fields = origin.word_fields if isinstance(origin, Collection) else origin.description.words
    words = fields or None
    if not origin.has_model:
        return create_store(
            target, n_bits=origin.n_bits, modalities=origin.modalities, words=words, overwrite=overwrite
        )
    return create_store(target, origin.model, fused=origin.fused_modality, words=words, overwrite=overwrite)


def _check_alike(origin: Opened, target: Opened) -> None:
    """Raise unless codes of the source can be stored in the target: codes of two models never mix."""
    same = (
        origin.n_bits == target.n_bits
        and set(origin.modalities) == set(target.modalities)
        and origin.fused_modality == target.fused_modality
        and origin.has_model == target.has_model
    )
    if same and origin.has_model:
        same = origin.model.to_bytes() == target.model.to_bytes()
    if not same:
        raise OptionError(
            f"{target.address} has another model, other modalities or another number of bits than {origin.address}. "
            "Codes of two models cannot be in one collection. Choose another target"
        )


def _changed(target: Opened, items: list[Item]) -> list[Item]:
    """Objects that the target does not have, or not in the same way."""
    found = target.find([item.id for item in items])
    there = dict(
        zip(
            [row for row, other in enumerate(found) if other is not None],
            _hashes([o for o in found if o]),
            strict=True,
        )
    )
    wanted = _hashes(items)
    return [item for row, item in enumerate(items) if there.get(row) != wanted[row]]


def _write(target: Opened, items: list[Item]) -> int:
    """Store objects; the payload goes with the first of their codes."""
    written: set[Any] = set()
    for modality, chosen in _by_modality(items, target.modalities):
        target.upsert_codes(
            np.stack([item.codes[modality] for item in chosen]),
            modality=modality,
            ids=[item.id for item in chosen],
            payloads=[item.payload if item.payload and item.id not in written else None for item in chosen],
        )
        written.update(item.id for item in chosen)
    return len(items)


def _by_modality(items: list[Item], modalities: Iterable[str]) -> Iterator[tuple[str, list[Item]]]:
    for modality in modalities:
        chosen = [item for item in items if modality in item.codes]
        if chosen:
            yield modality, chosen


def _compare(target: Opened, expected: ContentSum, block: int, progress: Progress | None) -> None:
    """Raise unless the target has the same content as the source had."""
    found = ContentSum()
    counter = StepCounter(progress, "comparing", expected.objects, "objects")
    for items in target.iterate(batch=block):
        found.update(items)
        counter.advance(len(items))
    if found != expected:
        raise CollectionError(
            f"copy: {target.address} differs from the source: {found.objects:,} objects with {found.codes:,} codes "
            f"and checksum {found.text}, expected {expected.objects:,} with {expected.codes:,} and {expected.text}. "
            "Somebody else has changed one of them, or the target had other objects. Copy to a new collection, or use "
            "`overwrite`."
        )
