"""What stores tell about themselves: the result of a check, and counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["StoreStats", "VerifyReport"]


@dataclass(frozen=True)
class VerifyReport:
    """Result of ``verify`` of a store, such as :meth:`Collection.verify`.

    Attributes
    ----------
    problems : tuple of str
        Empty if nothing is wrong; at most 20.
    n_codes, n_objects, n_payloads : int
        How many codes, objects and payloads were read.
    """

    problems: tuple[str, ...]
    n_codes: int
    n_objects: int
    n_payloads: int

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True)
class StoreStats:
    """Counts of a store; ``stats`` returns it. A collection in a file has more: :class:`CollectionStats`.

    Attributes
    ----------
    address : str
        Without passwords.
    engine : str
    model : str or None
        Class name of the hasher that learned the model; None without a model.
    n_bits : int
    n_objects : int
    n_codes : dict by modality
    fused_modality : str or None
    id_kind : str
        "int", "str", or "" before the first object is added.
    size : int or None
        Bytes that it takes; None if the engine cannot tell.
    details : dict
        What only this engine has, such as the version of the server.
    """

    address: str
    engine: str
    model: str | None
    n_bits: int
    n_objects: int
    n_codes: dict[str, int]
    fused_modality: str | None
    id_kind: str
    size: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
