"""What the demonstration found, as plain values: the report and the terminal show nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Answer", "DemoResult", "Direction", "Found", "Step"]


@dataclass(frozen=True)
class Found:
    """A symbol that was found.

    Attributes
    ----------
    character, name, block : str
    picture : str
        A ``data:`` address.
    distance : int
        Bits in which its code differs from that of the question.
    unseen : bool
        Whether nothing was learned from this symbol.
    right : bool
        Whether it is the very symbol that was asked with, or has the very name.
    """

    character: str
    name: str
    block: str
    picture: str
    distance: int
    unseen: bool
    right: bool


@dataclass(frozen=True)
class Answer:
    """A question and what came.

    Attributes
    ----------
    asked : str
        Words, or the character whose picture was asked with.
    name : str
        Of that character; empty for words.
    picture : str
        A ``data:`` address; empty for words.
    known : bool
        Whether any word of the question was learned; without one there is nothing to go by.
    hits : tuple of Found
        The nearest of all symbols.
    unseen_hits : tuple of Found
        The nearest of those that nothing was learned from; only for words.
    nearer : int or None
        Names that are nearer than the right one; only for pictures.
    """

    asked: str
    name: str = ""
    picture: str = ""
    known: bool = True
    hits: tuple[Found, ...] = ()
    unseen_hits: tuple[Found, ...] = ()
    nearer: int | None = None


@dataclass(frozen=True)
class Direction:
    """Figures of one direction of search among unseen symbols.

    Attributes
    ----------
    title : str
    mean_average_precision, equal_error_rate : float
    interval : (float, float)
        Of the mean average precision, 95 %, by bootstrap over the queries.
    roc : (false positive rates, true positive rates)
    recall : tuple of float
        At 1, 2, …; each query has one right answer.
    """

    title: str
    mean_average_precision: float
    interval: tuple[float, float]
    equal_error_rate: float
    roc: tuple[tuple[float, ...], tuple[float, ...]]
    recall: tuple[float, ...]

    def recall_at(self, k: int) -> float:
        """Share of queries whose right answer is among the first ``k``."""
        return self.recall[k - 1]


@dataclass(frozen=True)
class Step:
    """Something that took time."""

    title: str
    seconds: float


@dataclass(frozen=True)
class DemoResult:
    """Everything that the demonstration has to tell.

    Attributes
    ----------
    collection : path of the searchable file
    n_train, n_test : int
    n_bits : int
    method : str
    directions : tuple of Direction
    words, pictures : tuples of Answer
    steps : tuple of Step
    search_seconds, code_seconds : float
        Median of one question in words until its ten answers, and of the search among the codes alone.
    bytes : dict of int
        Sizes by what they are the sizes of.
    environment : dict of str
    date : str
    """

    collection: Path
    n_train: int
    n_test: int
    n_bits: int
    method: str
    directions: tuple[Direction, ...]
    words: tuple[Answer, ...]
    pictures: tuple[Answer, ...]
    steps: tuple[Step, ...]
    search_seconds: float
    code_seconds: float
    bytes: dict[str, int]
    environment: dict[str, str]
    date: str

    @property
    def n_symbols(self) -> int:
        """All symbols of the collection."""
        return self.n_train + self.n_test

    @property
    def chance(self) -> float:
        """Mean average precision of a random order: the mean of 1 / place of the one right answer."""
        return sum(1 / place for place in range(1, self.n_test + 1)) / self.n_test
