"""The results of the demonstration as plain values, which the page and the terminal show."""

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
        A ``data:`` URL.
    distance : int
        Number of bits in which its code differs from the code of the query.
    unseen : bool
        True if the symbol was not used for training.
    right : bool
        True if it is the right answer: the symbol of the query, or the symbol with exactly this name.
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
    """A query and its hits.

    Attributes
    ----------
    asked : str
        The words of the query, or the character whose picture is the query.
    name : str
        Name of that character; empty for words.
    picture : str
        A ``data:`` URL; empty for words.
    known : bool
        True if at least one word of the query was learned. Without one there are no hits.
    hits : tuple of Found
        The nearest of all symbols.
    unseen_hits : tuple of Found
        The nearest of the unseen symbols; only for words.
    nearer : int or None
        Number of names that are nearer than the right one; only for pictures.
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
    """Measures of one search direction among unseen symbols.

    Attributes
    ----------
    query, into : str
        What is asked with, and what is searched, for people.
    queries, items : int
        Queries that have a right answer, and items that are searched.
    mean_average_precision, equal_error_rate : float
    interval : (float, float)
        95 % interval of the mean average precision, by bootstrap over the queries.
    roc : (false positive rates, true positive rates)
    recall : tuple of float
        Recall at 1, 2, …; each query has one right answer.
    """

    query: str
    into: str
    queries: int
    items: int
    mean_average_precision: float
    interval: tuple[float, float]
    equal_error_rate: float
    roc: tuple[tuple[float, ...], tuple[float, ...]]
    recall: tuple[float, ...]

    @property
    def title(self) -> str:
        """The direction for people."""
        return f"{self.query} → {self.into}"

    def recall_at(self, k: int) -> float:
        """Share of queries whose right answer is among the first ``k``."""
        return self.recall[k - 1]


@dataclass(frozen=True)
class Step:
    """One step of the demonstration and its time."""

    title: str
    seconds: float


@dataclass(frozen=True)
class DemoResult:
    """All results of the demonstration.

    Attributes
    ----------
    collection : path of the searchable file
    n_train, n_test : int
    n_serif : int
        Symbols that also have a drawing in the serif face.
    n_bits : int
    method : str
    directions : tuple of Direction
    words, pictures : tuples of Answer
    steps : tuple of Step
    search_seconds, code_seconds : float
        Median time of one search with words, ten answers; and of the search among the codes alone.
    bytes : dict of int
        Sizes in bytes, by name.
    environment : dict of str
    date : str
    """

    collection: Path
    n_train: int
    n_test: int
    n_serif: int
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
        """Number of symbols in the collection."""
        return self.n_train + self.n_test

    @property
    def chance(self) -> float:
        """Mean average precision of a random order: the mean of 1 / rank over all ranks of the one right answer."""
        return sum(1 / place for place in range(1, self.n_test + 1)) / self.n_test
