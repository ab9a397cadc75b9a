"""The methods that are compared, each with the sizes that it can have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..hashers import DiffHash, RefinedHash
from ..types import FloatArray
from .linear_algebra import itq, principal_axes, unit_rows
from .parts import Part
from .spaces import Space, feature_space, fit_canonical_space
from .storages import FaissItems, Floats, HasherCodes, Method, Signs

__all__ = ["Candidate", "Training", "candidates", "import_faiss"]

#: Real values of the references without compression.
_FLOATS = (8, 32, 128)
_ITERATIONS = 50
#: Rows of each centroid of a product quantiser, at least.
_ROWS_PER_CENTROID = 4


@dataclass(frozen=True)
class Candidate:
    """A method of one size, before it is learned.

    Attributes
    ----------
    name : str
    ours : bool
    learn : function that gives the method
    """

    name: str
    ours: bool
    learn: Callable[[], Method]


class Training:
    """The training part, and what several methods learn from it."""

    def __init__(self, part: Part, modalities: tuple[str, str], seed: int) -> None:
        self.part, self.modalities, self.seed = part, modalities, seed
        self._hashers: dict[tuple[str, int], Any] = {}

    @property
    def one_space(self) -> bool:
        """Whether both views have as many features, so that they may be embeddings of one space."""
        return bool(self.part.X.shape[1] == self.part.Y.shape[1])

    @cached_property
    def features(self) -> Space:
        """Features of one space, each view minus its mean."""
        return feature_space(self.part, centred=True)

    @cached_property
    def canonical(self) -> Space:
        """Canonical variables."""
        rng = np.random.default_rng(self.seed)
        return fit_canonical_space(self.part, self.part.row_pairs(rng), rng)

    def stacked(self, space: Space) -> FloatArray:
        """Training rows of both views in a space."""
        return np.vstack([space.x(self.part.X), space.y(self.part.Y)])

    def hasher(self, make: type[Any], n_bits: int, **settings: Any) -> Any:
        """A model of ours; several ways to rank share it."""
        key = (make.__name__, n_bits)
        if key not in self._hashers:
            views = dict(zip(self.modalities, (self.part.X, self.part.Y), strict=True))
            self._hashers[key] = make(n_bits=n_bits, **settings).fit(views, self.part.pairs()).model_
        return self._hashers[key]


def candidates(training: Training, bits: Sequence[int]) -> Iterator[Candidate]:
    """All methods that suit the views, cheap ones first."""
    part, one_space = training.part, training.one_space
    if one_space:
        yield Candidate("cosine of features", False, partial(_floats, part))
        yield Candidate("signs, centred", False, partial(Signs, training.features))
    limit = training.canonical.n_dimensions
    for k in _FLOATS:
        if k <= limit:
            yield Candidate("CCA", False, partial(Floats, training.canonical.first(k)))
    for n in bits:
        if one_space and n <= part.X.shape[1]:
            yield from _rotated("ITQ", partial(_itq, training, n, canonical=False))
        if n <= limit:
            yield from _rotated("CCA + ITQ", partial(_itq, training, n, canonical=True))
    if import_faiss() is not None:
        yield from _quantised(training, bits)
    for n in bits:
        yield Candidate("DiffHash, rotated", True, partial(_diff, training, n))
    for n in bits:
        yield Candidate("RefinedHash", True, partial(_refined, training, n, real_queries=False))
        yield Candidate("RefinedHash, real queries", True, partial(_refined, training, n, real_queries=True))


def _floats(part: Part) -> Method:
    return Floats(feature_space(part, centred=False))


def _refined(training: Training, n_bits: int, *, real_queries: bool) -> Method:
    model = training.hasher(RefinedHash, n_bits, random_state=training.seed)
    return HasherCodes(model, training.modalities, real_queries=real_queries)


def _diff(training: Training, n_bits: int) -> Method:
    model = training.hasher(DiffHash, n_bits, whiten=True, rotate=True)
    return HasherCodes(model, training.modalities, real_queries=False)


def _principal(training: Training, n: int) -> Space:
    axes, _ = principal_axes(training.stacked(training.features), n)
    return training.features.then(axes)


def _rotated(name: str, learn: Callable[..., Method]) -> Iterator[Candidate]:
    yield Candidate(name, False, learn)
    yield Candidate(f"{name}, real queries", False, partial(learn, real_queries=True))


def _itq(training: Training, n: int, *, canonical: bool, real_queries: bool = False) -> Method:
    space = training.canonical.first(n) if canonical else _principal(training, n)
    rotation, _ = itq(training.stacked(space), _ITERATIONS, np.random.default_rng(training.seed))
    return Signs(space.then(rotation), real_queries=real_queries)


def _quantised(training: Training, bits: Sequence[int]) -> Iterator[Candidate]:
    """Product quantisation and RaBitQ of FAISS, of the features if they are in one space, and after CCA."""
    spaces = [("CCA + ", training.canonical)]
    if training.one_space:
        spaces.insert(0, ("", training.features))
    for prefix, space in spaces:
        limit = space.n_dimensions
        seen = set()
        for n in bits:
            n_bytes = n // 8
            if 2 * n_bytes <= limit:
                yield Candidate(f"{prefix}PQ", False, partial(_product, training, space, n_bytes))
            # RaBitQ stores eight bytes of factors beside a bit of each dimension.
            k = min(limit, 8 * (n_bytes - 8)) // 8 * 8
            if k >= 8 and k not in seen:
                seen.add(k)
                yield Candidate(f"{prefix}RaBitQ", False, partial(_rabitq, training, space, k))


def _product(training: Training, space: Space, n_bytes: int) -> Method:
    """A product quantiser with bytes of eight bits if there are enough rows for 256 centroids, else of two halves."""
    faiss = import_faiss()
    n_rows = sum(training.part.n_rows)
    halves = n_rows < 256 * _ROWS_PER_CENTROID
    m, n_bits = (2 * n_bytes, 4) if halves else (n_bytes, 8)
    space = space.first(space.n_dimensions // m * m)
    rows = unit_rows(training.stacked(space)).astype(np.float32)
    index = faiss.IndexPQ(space.n_dimensions, m, n_bits)
    index.pq.cp.min_points_per_centroid = 1
    index.pq.cp.seed = training.seed + 1234
    index.train(np.ascontiguousarray(rows))
    return FaissItems(space, index, 4 * space.n_dimensions * 2**n_bits)


def _rabitq(training: Training, space: Space, k: int) -> Method:
    faiss = import_faiss()
    # Features of one space have no order: their principal components are rotated. Canonical variables have one.
    space = _principal(training, k) if space is training.features else space.first(k)
    rotation = np.linalg.qr(np.random.default_rng(training.seed).standard_normal((k, k)))[0]
    space = space.then(rotation[: space.n_dimensions])
    rows = unit_rows(training.stacked(space)).astype(np.float32)
    index = faiss.IndexRaBitQ(space.n_dimensions)
    index.qb = 0  # queries as floats
    index.train(np.ascontiguousarray(rows))
    return FaissItems(space, index, 4 * space.n_dimensions)


def import_faiss() -> Any:
    """FAISS, or None if it is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    return faiss
