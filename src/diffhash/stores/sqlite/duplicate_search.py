"""Near-duplicates in a collection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...native.pair_join import CodeJoin
from ...search import Duplicates
from ...search.near_duplicates import MAX_PAIRS, find_duplicates
from ...types import CodeArray
from .reading import ReadMixin
from .snapshot import Snapshot

__all__ = ["DuplicatesMixin"]


class DuplicatesMixin(ReadMixin):
    """The part of a collection that finds near-duplicates."""

    def duplicates(
        self,
        radius: int,
        *,
        modality: str | None = None,
        into: str | None = None,
        max_pairs: int = MAX_PAIRS,
        progress: Callable[[float], None] | None = None,
    ) -> Duplicates:
        """Find all pairs of objects whose codes are within a radius, and the clusters that they form.

        Parameters
        ----------
        radius : int
            Largest distance of a pair; 0 finds equal codes.
        modality : str, optional
            Compare codes of this modality. May be left out if only one has codes.
        into : str, optional
            Compare with codes of this modality, by default the same. An object is not its own duplicate.
        max_pairs : int
            List at most so many pairs, the nearest ones; clusters and counts are complete.
        progress : function, optional
            Called with the share of the work that is done, from 0 to 1.

        Returns
        -------
        Duplicates
            Ids of pairs and clusters. The search is exact, and sees the collection as it was when it began.

        Examples
        --------
        >>> import diffhash as dh, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "codes.dh"
        >>> codes = np.array([[0b0000], [0b0111], [0b0001]], dtype=np.uint8)
        >>> with dh.Collection.create(path, n_bits=8, modalities=("image",)) as c:
        ...     ids = c.add_codes(codes, modality="image", ids=["sun", "tree", "copy of sun"])
        ...     found = c.duplicates(radius=1)
        >>> found.n_pairs, [cluster.tolist() for cluster in found.clusters]
        (1, [['sun', 'copy of sun']])
        """
        caller = "Collection.duplicates"
        with self._close_waits():
            with self._reading() as snapshot:
                modality = self._modality_to_compare(snapshot, modality, into, caller)
                other = modality if into is None else self._known_modality(into, snapshot, caller)
                codes, keys = _codes_and_keys(snapshot, modality)
                others, other_keys = (codes, keys) if other == modality else _codes_and_keys(snapshot, other)
            # Without the lock: codes, keys and string ids of a snapshot are only ever appended to.
            right = None if other == modality else others
            join = CodeJoin(codes, right, radius, n_bits=snapshot.n_bits, progress=progress, caller=caller)

            def to_ids(some: NDArray[np.int64]) -> NDArray[Any]:
                if snapshot.id_kind != "str":
                    return some
                ids = np.empty(len(some), dtype=object)
                ids[:] = snapshot.ids_of(some)
                return ids

            return find_duplicates(
                join, (keys, other_keys), max_pairs=max_pairs, caller=caller, to_ids=to_ids
            )

    def _modality_to_compare(
        self, snapshot: Snapshot, modality: str | None, into: str | None, caller: str
    ) -> str:
        if modality is not None:
            return self._known_modality(modality, snapshot, caller)
        filled = [name for name, stored in snapshot.modality_codes.items() if len(stored)]
        options = [name for name in filled if name != into] or filled or list(snapshot.modalities[:1])
        if len(options) > 1:
            raise InputError(
                f"{caller}: there are codes of {', '.join(map(repr, options))}. Say which to compare: modality=..."
            )
        return options[0]


def _codes_and_keys(snapshot: Snapshot, modality: str) -> tuple[CodeArray, NDArray[np.int64]]:
    stored = snapshot.modality_codes[modality]
    index = stored.index
    return index.codes, stored.keys[index.ids]
