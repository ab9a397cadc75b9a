"""Results of a comparison, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["ComparedMethod", "Comparison", "DirectionScore"]


@dataclass(frozen=True)
class DirectionScore:
    """Mean over the queries of one direction, with a 95 % interval.

    Attributes
    ----------
    query, into : str
        Modalities.
    value, low, high : float
    """

    query: str
    into: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ComparedMethod:
    """A method of one size.

    Attributes
    ----------
    name : str
    ours : bool
    item_bytes : int
        All bytes that are stored for an item: the code, and what else the method keeps beside it.
    model_bytes : int
        Bytes of what was learned, stored once.
    directions : two DirectionScore
    value, low, high : float
        Mean of both directions, with a 95 % interval over the queries.
    gap, gap_low, gap_high : float
        Difference to the best method of all, with a 95 % interval of the same resampled queries.
    seconds : float
        Processor time of learning. What several methods share counts for the first one.
    """

    name: str
    ours: bool
    item_bytes: int
    model_bytes: int
    directions: tuple[DirectionScore, DirectionScore]
    value: float
    low: float
    high: float
    gap: float
    gap_low: float
    gap_high: float
    seconds: float

    @property
    def as_good(self) -> bool:
        """Whether the interval of the difference to the best method contains 0."""
        return self.gap_high >= 0

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dict that JSON can hold."""
        return asdict(self)


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found.

    Attributes
    ----------
    modalities : two str
    measure : {"recall@10", "mAP"}
    learned_from, asked : two ints each
        Rows of both views that were learned from, and that were queries and database.
    methods : tuple of ComparedMethod
        By bytes of an item, then by name.
    notes : tuple of str
        What was left out, and why.
    """

    modalities: tuple[str, str]
    measure: str
    learned_from: tuple[int, int]
    asked: tuple[int, int]
    methods: tuple[ComparedMethod, ...]
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> ComparedMethod:
        """The method with the highest value, whatever its size."""
        return max(self.methods, key=lambda method: method.value)

    @property
    def smallest_as_good(self) -> ComparedMethod:
        """Of the methods that are not measurably worse than the best one, the one with the fewest bytes."""
        fitting = [method for method in self.methods if method.as_good]
        return min(fitting, key=lambda method: (method.item_bytes, -method.value))

    def best_within(self, n_bytes: int) -> ComparedMethod | None:
        """The best method that stores at most so many bytes for an item."""
        fitting = [method for method in self.methods if method.item_bytes <= n_bytes]
        return max(fitting, key=lambda method: method.value) if fitting else None

    @property
    def advice(self) -> str:
        """Which method to take, in a sentence."""
        take, best = self.smallest_as_good, self.best
        chosen = f"Take {take.name} with {take.item_bytes:,} bytes per item ({self.measure} {take.value:.3f})"
        if take is best:
            return f"{chosen}: it is the best of all that were compared, and the smallest that is as good."
        return (
            f"{chosen}: the fewest bytes that are not measurably worse than the best, {best.name} with "
            f"{best.item_bytes:,} bytes ({best.value:.3f}; difference {take.gap:+.3f}, {take.gap_low:+.3f} to "
            f"{take.gap_high:+.3f})."
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as a dict that JSON can hold."""
        plain = asdict(self)
        plain["best"] = {"name": self.best.name, "item_bytes": self.best.item_bytes}
        take = self.smallest_as_good
        plain["take"] = {"name": take.name, "item_bytes": take.item_bytes}
        plain["advice"] = self.advice
        return plain
