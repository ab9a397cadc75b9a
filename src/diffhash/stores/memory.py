"""A store in memory: an index for each modality, with ids and payloads. It ends with the process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import CollectionNotFoundError, InputError
from ..native.pair_join import CodeJoin
from ..search import Duplicates, HammingIndex, asymmetric_search
from ..search.near_duplicates import MAX_PAIRS, find_duplicates
from ..types import CodeArray, FloatArray
from ..validation import known_modality
from .address import Address
from .engine_search import Neighbour, taken_error
from .engine_store import EngineStore, NewRows
from .filter_syntax import Node, matches
from .ids import Ids
from .protocol import Id, Item
from .store_description import NewStore, describe_store

__all__ = ["MemoryStore", "create_store", "open_store"]

T = TypeVar("T")
_MAX_ID = np.iinfo(np.int64).max


class MemoryStore(EngineStore):
    """Objects in memory, behind the same protocol as a collection: for tests, and for a part of a larger store.

    Parameters
    ----------
    hasher : a fitted hasher or a HashModel, optional
        Without it, give ``n_bits`` and ``modalities``, and add codes from elsewhere.
    n_bits, modalities, featurizers, fused
        As for :meth:`Collection.create`.
    words : str or list of str, optional
        As for :func:`diffhash.create`.

    Notes
    -----
    Threads may share a store. A search holds its lock, so searches run one after the other.

    Examples
    --------
    >>> store = MemoryStore(n_bits=8, modalities=("image",))
    >>> codes = np.array([[0b0000], [0b0111], [0b0001]], dtype=np.uint8)
    >>> store.add_codes(codes, modality="image", ids=["sun", "tree", "star"])
    ['sun', 'tree', 'star']
    >>> [(hit.id, hit.distance) for hit in store.search_codes(codes[:1], k=2)[0]]
    [('sun', 0), ('star', 1)]
    """

    engine = "memory"

    def __init__(
        self,
        hasher: Any = None,
        *,
        n_bits: int | None = None,
        modalities: Sequence[str] | None = None,
        featurizers: Mapping[str, Any] | None = None,
        fused: str | None = None,
        words: str | Sequence[str] | None = None,
    ) -> None:
        new = describe_store(
            hasher,
            n_bits=n_bits,
            modalities=modalities,
            featurizers=featurizers,
            fused=fused,
            words=words,
            caller="MemoryStore",
        )
        super().__init__(new.description, new.model, address="memory://", writable=True)
        self._lock = threading.RLock()
        # The ids of the indexes are positions: equal distances are in the order in which objects were added.
        self._codes = {name: _ModalityCodes(new.description.n_bits) for name in new.description.modalities}
        self._payloads: dict[Id, str] = {}
        self._kind = ""
        self._next_id = 0

    @property
    def id_kind(self) -> str:
        """Kind of the ids: "int", "str", or "" before the first object is added."""
        return self._kind

    @property
    def next_id(self) -> int:
        """The id of the next object that is added without one, if ids are whole numbers."""
        return self._next_id

    def _reading(self) -> AbstractContextManager[object]:
        return self._lock

    def _write(self, work: Callable[[], T], *, caller: str) -> T:  # noqa: ARG002 - the base class names it
        with self._lock:
            return work()

    def _insert(self, rows: NewRows, *, replace: bool, caller: str) -> list[Any]:
        stored = self._codes[rows.modality]
        if rows.ids is None:
            if self._next_id > _MAX_ID - len(rows.codes):
                raise InputError(f"{caller}: no whole numbers are left above {self._next_id - 1}. Give ids.")
            ids: list[Id] = list(range(self._next_id, self._next_id + len(rows.codes)))
        else:
            ids = list(rows.ids.strings) if rows.ids.kind == "str" else rows.ids.numbers.tolist()
        if not replace:
            for id_ in ids:
                if id_ in stored.positions:
                    raise taken_error(caller, id_, rows.modality)
        stored.put(ids, rows.codes)
        self._payloads.update(
            {id_: text for id_, text in zip(ids, rows.payloads, strict=True) if text is not None}
        )
        self._kind = "int" if rows.ids is None else rows.ids.kind
        if self._kind == "int":
            self._next_id = max(self._next_id, min(max(map(int, ids)), _MAX_ID - 1) + 1)
        return ids

    def _remove(self, ids: Ids, modalities: Sequence[str]) -> int:
        wanted = dict.fromkeys(ids[row] for row in range(len(ids)))
        removed = [id_ for id_ in wanted if any(id_ in self._codes[name].positions for name in modalities)]
        for name in modalities:
            self._codes[name].remove(removed)
        for id_ in removed:
            if not any(id_ in stored.positions for stored in self._codes.values()):
                self._payloads.pop(id_, None)
        return len(removed)

    def _fetch(self, ids: Ids, modalities: Sequence[str]) -> list[Item | None]:
        items = (self._item(ids[row], modalities) for row in range(len(ids)))
        return [item if item.codes else None for item in items]

    def _item(self, id_: Id, modalities: Sequence[str]) -> Item:
        codes = {
            name: self._codes[name].code(id_) for name in modalities if id_ in self._codes[name].positions
        }
        return Item(id_, codes, self._payload(id_))

    def _payload(self, id_: Id) -> dict[str, Any]:
        return dict(json.loads(self._payloads.get(id_, "{}")))

    def _blocks(self, modalities: Sequence[str], batch: int) -> Iterator[list[Item]]:
        with self._lock:
            ids = list(dict.fromkeys(id_ for name in modalities for id_ in self._codes[name].positions))
        for begin in range(0, len(ids), batch):
            with self._lock:
                self._check_open()
                items = [self._item(id_, modalities) for id_ in ids[begin : begin + batch]]
            if items := [item for item in items if item.codes]:
                yield items

    def _count_objects(self) -> int:
        with self._lock:
            filled = [stored.positions.keys() for stored in self._codes.values() if stored.positions]
            return len(filled[0] if len(filled) == 1 else set().union(*filled))

    def _count(self, modality: str, where: Node | None) -> int:
        stored = self._codes[modality]
        return len(stored.positions) if where is None else len(self._allowed(stored, where))

    def _allowed(self, stored: _ModalityCodes, where: Node) -> NDArray[np.int64]:
        found = [place for id_, place in stored.positions.items() if matches(where, self._payload(id_))]
        return np.array(found, dtype=np.int64)

    def _nearest(
        self, codes: CodeArray, modality: str, k: int | None, radius: int | None, where: Node | None
    ) -> list[list[Neighbour]]:
        stored = self._codes[modality]
        allowed = None if where is None else self._allowed(stored, where)
        if not len(stored.index) or (allowed is not None and not len(allowed)):
            return [[] for _ in codes]
        if k is None:
            assert radius is not None  # without k, everything within the radius is wanted
            found = stored.index.within(codes, radius, ids=allowed)
            parts = zip(found.offsets[:-1], found.offsets[1:], strict=True)
            rows = [(found.ids[a:b], found.distances[a:b]) for a, b in parts]
        else:
            nearest = stored.index.search(codes, k, ids=allowed)
            rows = list(zip(nearest.ids, nearest.distances, strict=True))
        return [
            [
                Neighbour(id_ := stored.ids[place], distance, self._payload(id_), -float(distance))
                for place, distance in zip(ids.tolist(), distances.tolist(), strict=True)
                if radius is None or distance <= radius
            ]
            for ids, distances in rows
        ]

    def _nearest_by_values(
        self,
        values: FloatArray,
        scale: FloatArray,
        modality: str,
        k: int,
        radius: int | None,
        where: Node | None,
    ) -> list[list[Neighbour]]:
        stored = self._codes[modality]
        index = stored.index
        if where is not None:
            allowed = np.sort(self._allowed(stored, where))
            index = HammingIndex(index.get(allowed), allowed, n_bits=index.n_bits)
        if not len(index):
            return [[] for _ in values]
        best = asymmetric_search(index, values, k, scale=scale, radius=radius)
        return [
            [
                Neighbour(id_ := stored.ids[place], distance, self._payload(id_), -score)
                for place, distance, score in zip(*row, strict=True)
                if radius is None or distance <= radius
            ]
            for row in zip(best.ids.tolist(), best.distances.tolist(), best.scores.tolist(), strict=True)
        ]

    def duplicates(
        self,
        radius: int,
        *,
        modality: str | None = None,
        into: str | None = None,
        max_pairs: int = MAX_PAIRS,
        progress: Callable[[float], None] | None = None,
    ) -> Duplicates:
        """Find all pairs of objects whose codes are within a radius; see :meth:`Collection.duplicates`."""
        caller = self._caller("duplicates")
        with self._lock:
            self._check_open()
            if modality is None:
                filled = [name for name, stored in self._codes.items() if stored.positions]
                options = [name for name in filled if name != into] or filled or list(self.modalities[:1])
                if len(options) > 1:
                    raise InputError(
                        f"{caller}: there are codes of {', '.join(map(repr, options))}. Say which to compare: "
                        "modality=..."
                    )
                modality = options[0]
            left = self._codes[known_modality(modality, self.modalities, caller=caller)]
            right = (
                left if into is None else self._codes[known_modality(into, self.modalities, caller=caller)]
            )
            # An object has the same number in both modalities: it is not its own duplicate.
            ids = list(dict.fromkeys([*left.positions, *right.positions]))
            numbers = {id_: number for number, id_ in enumerate(ids)}
            codes, keys = left.codes_and_numbers(numbers)
            others, other_keys = right.codes_and_numbers(numbers)
        join = CodeJoin(
            codes,
            None if right is left else others,
            radius,
            n_bits=self.n_bits,
            progress=progress,
            caller=caller,
        )

        def to_ids(some: NDArray[np.int64]) -> NDArray[Any]:
            chosen = np.empty(len(some), dtype=object)
            chosen[:] = [ids[number] for number in some.tolist()]
            return chosen if self._kind == "str" else chosen.astype(np.int64)

        return find_duplicates(join, (keys, other_keys), max_pairs=max_pairs, caller=caller, to_ids=to_ids)

    def _close(self) -> None:
        self._codes, self._payloads = {}, {}


class _ModalityCodes:
    """The codes of one modality, in an index whose ids are positions: the numbers of the codes as they were added."""

    def __init__(self, n_bits: int) -> None:
        self.index = HammingIndex(n_bits=n_bits)
        self.positions: dict[Id, int] = {}
        self.ids: dict[int, Id] = {}
        self._next = 0

    def put(self, ids: Sequence[Id], codes: CodeArray) -> None:
        """Add codes, and replace those that the ids have."""
        self.remove([id_ for id_ in ids if id_ in self.positions])
        places = range(self._next, self._next + len(ids))
        self.index.add(codes, np.array(places, dtype=np.int64))
        self.positions.update(zip(ids, places, strict=True))
        self.ids.update(zip(places, ids, strict=True))
        self._next += len(ids)

    def remove(self, ids: Sequence[Id]) -> None:
        """Remove the codes of ids; other ids are ignored."""
        places = [self.positions.pop(id_) for id_ in ids if id_ in self.positions]
        for place in places:
            del self.ids[place]
        if places:
            self.index.remove(np.array(places, dtype=np.int64))

    def code(self, id_: Id) -> CodeArray:
        """The code of an id."""
        return np.array(self.index.get([self.positions[id_]])[0])

    def codes_and_numbers(self, numbers: Mapping[Id, int]) -> tuple[CodeArray, NDArray[np.int64]]:
        """All codes, and the number of the object of each."""
        found = [numbers[self.ids[place]] for place in self.index.ids.tolist()]
        return self.index.codes, np.array(found, dtype=np.int64)


def create_store(
    address: Address,  # noqa: ARG001 - every engine takes it
    new: NewStore,
    *,
    overwrite: bool,  # noqa: ARG001 - nothing is there that could be overwritten
    timeout: float | None,  # noqa: ARG001 - nothing to wait for
) -> MemoryStore:
    """Make an empty store, for the registry."""
    described, words = new.description, new.description.words or None
    if new.model is None:
        return MemoryStore(n_bits=described.n_bits, modalities=described.modalities, words=words)
    return MemoryStore(new.model, fused=described.fused, words=words)


def open_store(address: Address, **_: Any) -> MemoryStore:
    """Refuse to open a store that is in the memory of nobody, for the registry."""
    raise CollectionNotFoundError(
        f"diffhash.open: {address.shown} cannot be opened, because a store in memory ends with its object. "
        "Make one: diffhash.create('memory://', hasher)."
    )
