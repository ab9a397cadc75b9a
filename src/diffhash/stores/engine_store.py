"""The base of stores whose engine has a few primitives: add rows, remove, fetch, count, find the nearest.

:class:`EngineStore` makes the whole protocol from them: checks of arguments, ids and payloads, the model, chances and
promises of a calibrated model, several modalities, known objects. A new engine is a subclass that implements the
methods under "What an engine implements"; :mod:`.memory` is the shortest example.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self, TypeVar

import numpy as np

from ..codes import check_codes, check_padding
from ..errors import (
    CollectionError,
    DiffhashError,
    NoModelError,
    ReadOnlyCollectionError,
    UnsupportedCallError,
)
from ..model import HashModel
from .capabilities import ENGINES, Capabilities
from .engine_objects import EngineObjects, NewRows
from .reports import StoreStats, VerifyReport
from .store_description import StoreDescription

__all__ = ["EngineStore", "NewRows"]

T = TypeVar("T")
_MAX_PROBLEMS = 20


class EngineStore(EngineObjects):
    """A store over the primitives of an engine.

    Parameters
    ----------
    description : StoreDescription
    model : HashModel or None
        None without a model.
    address : str
        For people: never with a password.
    writable : bool
    """

    #: Name of the engine, as in :data:`.capabilities.ENGINES`.
    engine: str

    def __init__(
        self, description: StoreDescription, model: HashModel | None, *, address: str, writable: bool
    ) -> None:
        self.description = description
        self._model = model
        self._address = address
        self._writable = writable
        self._closed = False
        self._process = os.getpid()

    # ---- What an engine implements, beside what its base classes list --------------------------------

    @abstractmethod
    def _close(self) -> None:
        """Close connections."""

    def _size_and_details(self) -> tuple[int | None, dict[str, Any]]:
        """Bytes that the store takes, and what only this engine has to tell."""
        return None, {}

    def _problems(self) -> list[str]:
        """What is wrong with the store, apart from what every store checks; for :meth:`verify`."""
        return []

    # ---- The protocol ------------------------------------------------------------------------------

    @property
    def capabilities(self) -> Capabilities:
        """What the store can do, see :class:`~diffhash.stores.Capabilities`."""
        return ENGINES[self.engine]

    @property
    def address(self) -> str:
        """Where the store is, without passwords."""
        return self._address

    @property
    def writable(self) -> bool:
        """Whether the store was opened for writing."""
        return self._writable

    @property
    def n_bits(self) -> int:
        """Number of bits of a code."""
        return self.description.n_bits

    @property
    def modalities(self) -> tuple[str, ...]:
        """Modalities of the model, and the one of fused codes if there is one."""
        return self.description.modalities

    @property
    def fused_modality(self) -> str | None:
        """The modality that holds fused codes; None if there is none."""
        return self.description.fused

    @property
    def has_model(self) -> bool:
        """Whether there is a model; without one only codes can be added and searched."""
        return self._model is not None

    @property
    def model(self) -> HashModel:
        """The model that made the codes: it encodes features and raw objects.

        Raises
        ------
        NoModelError
            If the store was made without a model; :attr:`has_model` tells.
        """
        self._check_open()
        if self._model is None:
            raise NoModelError(
                f"{type(self).__name__}: {self.address} has codes and no model, so it cannot encode features or raw "
                "objects. Make the codes where the others came from, and use add_codes, upsert_codes, search_codes and "
                "within_codes."
            )
        return self._model

    def _model_locked(self) -> AbstractContextManager[object]:
        # The model of an open store never changes: an engine compares the identity of the store before it writes.
        return nullcontext()

    @property
    def next_id(self) -> int:
        """The id of the next object that is added without one, if ids are whole numbers."""
        raise UnsupportedCallError(
            f"{type(self).__name__}: {self.address} cannot tell its next id. Give ids."
        )

    def stats(self) -> StoreStats:
        """Counts and sizes."""
        self._check_open()

        def work() -> StoreStats:
            size, details = self._size_and_details()
            return StoreStats(
                address=self.address,
                engine=self.engine,
                model=None if self._model is None else self._model.method,
                n_bits=self.n_bits,
                n_objects=self._count_objects(),
                n_codes={name: self._count(name, None) for name in self.modalities},
                fused_modality=self.fused_modality,
                id_kind=self.id_kind,
                size=size,
                details=details,
            )

        return self._read(work, caller=self._caller("stats"))

    def verify(self) -> VerifyReport:
        """Read all objects and check them, the counts, and the model.

        Returns
        -------
        VerifyReport
            ``.ok`` is True if nothing is wrong; ``.problems`` lists what is.
        """
        self._check_open()
        caller = self._caller("verify")
        problems = self._read(self._problems, caller=caller)
        n_codes, n_objects, n_payloads = dict.fromkeys(self.modalities, 0), 0, 0
        try:
            for block in self.iterate():
                n_objects += len(block)
                n_payloads += sum(bool(item.payload) for item in block)
                for name in self.modalities:
                    rows = [item.codes[name] for item in block if name in item.codes]
                    n_codes[name] += len(rows)
                    if rows:
                        stacked = check_codes(np.stack(rows), n_bits=self.n_bits, caller="verify")
                        check_padding(stacked, self.n_bits, caller=f"modality {name!r}")
            counted = self._read(
                lambda: {name: self._count(name, None) for name in self.modalities}, caller=caller
            )
            if not problems and (n_codes != counted or n_objects != len(self)):
                problems.append(
                    f"there should be {len(self)} objects with codes {counted}, "
                    f"and {n_objects} with {n_codes} were read"
                )
        except DiffhashError as error:
            problems.append(str(error))
        return VerifyReport(tuple(problems[:_MAX_PROBLEMS]), sum(n_codes.values()), n_objects, n_payloads)

    def close(self) -> None:
        """Close connections. Closing again does nothing."""
        if not self._closed:
            self._closed = True
            if os.getpid() == self._process:
                self._close()

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._closed:
            return f"{type(self).__name__}({self.address!r}, closed)"
        return f"{type(self).__name__}({self.address!r}, {self.n_bits} bits, {', '.join(self.modalities)})"

    def _check_open(self) -> None:
        if self._closed:
            raise CollectionError(f"{type(self).__name__}: {self.address} was closed. Open it again.")
        if os.getpid() != self._process:
            raise CollectionError(
                f"{type(self).__name__}: {self.address} was opened before this process was forked. Open it again "
                "here: a connection cannot be shared between processes."
            )

    def _check_writable(self, caller: str) -> None:
        self._check_open()
        if not self._writable:
            raise ReadOnlyCollectionError(
                f"{caller}: {self.address} was opened for reading. Open it with writable=True."
            )
