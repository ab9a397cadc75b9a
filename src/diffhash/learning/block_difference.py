r"""The covariance differences of all couples as one symmetric block matrix, and its leading directions.

With the weight :math:`w_{uv}` of the couple of modalities u and v, the block (u, v) is
:math:`w_{uv} \Sigma^D_{uv}`, and the block (v, u) its transpose. A couple within one modality gives a symmetric
block on the diagonal. The eigenvectors of the most negative eigenvalues minimise
:math:`\sum w_{uv} \mathrm{tr}(P_u \Sigma^D_{uv} P_v^T)` among all that are orthonormal as a whole. Each is split by
modality, and each part is scaled to unit length. For two modalities and an empty diagonal, the eigenvectors are
:math:`(u_i, -v_i) / \sqrt 2` with the singular vectors :math:`u_i, v_i`: the paper's solution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.linalg

from ..maps import MappedView
from ..pairs.couples import ResolvedCouples
from ..types import FloatArray
from .projections import decompose_difference, leading_directions, smallest_eigenvectors
from .view_difference import DifferenceSettings, view_difference

__all__ = ["BlockMatrix", "JointDirections", "block_difference", "block_directions", "largest_rank"]

#: A part is tiny if its length, relative to the size of its blocks, is below this share of the largest part.
_TINY_PART = 1e-6
#: In matrices of at least this size, a few leading directions are found from products with columns: number of
#: columns beyond the directions, and largest number of times that they are multiplied.
_MIN_KRYLOV_SIZE, _MORE_COLUMNS, _KRYLOV_STEPS = 1024, 16, 6


@dataclass(frozen=True)
class BlockMatrix:
    """A symmetric matrix of blocks, of which only those that are not zero are kept.

    Attributes
    ----------
    sizes : tuple of int
        Number of features of each modality.
    blocks : dict of arrays by (u, v)
        Each couple once, in either order: the block (v, u) is the transpose. Diagonal blocks are symmetric.
    """

    sizes: tuple[int, ...]
    blocks: Mapping[tuple[int, int], FloatArray]

    @property
    def offsets(self) -> list[int]:
        """Where each modality begins, and the size of the whole matrix."""
        return [0, *np.cumsum(self.sizes).tolist()]

    def dense(self) -> FloatArray:
        """The whole matrix.

        Examples
        --------
        >>> BlockMatrix((1, 2), {(0, 1): np.array([[3.0, 4.0]])}).dense()
        array([[0., 3., 4.],
               [3., 0., 0.],
               [4., 0., 0.]])
        """
        ends = self.offsets
        matrix = np.zeros((ends[-1], ends[-1]))
        for (u, v), block in self.blocks.items():
            matrix[ends[u] : ends[u + 1], ends[v] : ends[v + 1]] = block
            matrix[ends[v] : ends[v + 1], ends[u] : ends[u + 1]] = block.T
        return matrix

    def times(self, vector: FloatArray) -> FloatArray:
        """The product with a vector or with columns."""
        parts = np.split(vector, self.offsets[1:-1])
        result = [np.zeros_like(part) for part in parts]
        for (u, v), block in self.blocks.items():
            result[u] += block @ parts[v]
            if u != v:
                result[v] += block.T @ parts[u]
        return np.concatenate(result)

    def scaled(self, scales: Sequence[FloatArray]) -> BlockMatrix:
        """The matrix after each feature was multiplied by its scale."""
        return BlockMatrix(
            self.sizes,
            {(u, v): scales[u][:, None] * block * scales[v] for (u, v), block in self.blocks.items()},
        )

    def row_norms(self) -> FloatArray:
        """Frobenius norm of all blocks of each modality."""
        squares = np.zeros(len(self.sizes))
        for (u, v), block in self.blocks.items():
            for side in {u, v}:
                squares[side] += np.square(block).sum()
        return np.sqrt(squares)


@dataclass(frozen=True)
class JointDirections:
    """Directions of all modalities that belong together, the strongest first.

    Attributes
    ----------
    parts : tuple of arrays of shape (rank, d)
        For each modality, rows of unit length. A row is zero if the modality says nothing there.
    strengths : array of shape (rank,) or longer
        Magnitudes of the negative eigenvalues; with one couple of two modalities, singular values.
    lengths : array of shape (n_modalities, rank), or None
        With several couples: how long the part of each modality was before it was scaled to unit length. The mean of
        the squares over the modalities is 1.
    """

    parts: tuple[FloatArray, ...]
    strengths: FloatArray
    lengths: FloatArray | None = None

    def first(self, rank: int) -> JointDirections:
        """The strongest directions only."""
        lengths = None if self.lengths is None else self.lengths[:, :rank]
        return JointDirections(tuple(part[:rank] for part in self.parts), self.strengths[:rank], lengths)


def block_difference(
    views: Sequence[MappedView], couples: ResolvedCouples, settings: DifferenceSettings
) -> BlockMatrix:
    r"""The blocks :math:`w_{uv} \Sigma^D_{uv}` of all couples.

    Parameters
    ----------
    views : list of MappedView
        One for each modality.
    couples : ResolvedCouples
    settings : DifferenceSettings
        With ``center`` for each modality.
    """
    blocks = {}
    for couple in couples:
        u, v = couple.sides
        matrix = view_difference(views[u], views[v], couple.pairs, settings.of_couple(u, v))
        if len(couples) > 1:
            matrix = couple.weight * (matrix if u != v else (matrix + matrix.T) / 2)
        blocks[u, v] = matrix
    return BlockMatrix(tuple(view.n_features for view in views), blocks)


def block_directions(matrix: BlockMatrix, n_directions: int, *, exact: bool) -> JointDirections:
    """Eigenvectors of the most negative eigenvalues, split by modality.

    Parameters
    ----------
    matrix : BlockMatrix
    n_directions : int
        There are fewer if the matrix is smaller.
    exact : bool
        Whether directions must be exact up to rounding, so that the first of many are those of few. With one
        couple the slower full decomposition is then used, which gives all strengths.

    Examples
    --------
    >>> matrix = BlockMatrix((1, 1, 1), {(0, 1): np.array([[-1.0]]), (1, 2): np.array([[-1.0]])})
    >>> found = block_directions(matrix, 1, exact=False)
    >>> [float(part[0, 0]) for part in found.parts], found.strengths.round(3)
    ([1.0, 1.0, 1.0], array([1.414]))
    """
    if len(matrix.blocks) == 1:
        ((u, v), block), decompose = next(iter(matrix.blocks.items())), leading_directions
        if exact:
            decompose = decompose_difference
        found = decompose(block, n_directions, one_view=u == v)
        return JointDirections((found.P,) if u == v else (found.P, found.Q), found.strengths)
    count = min(n_directions, matrix.offsets[-1])
    values, vectors = _most_negative(matrix, count, exact=exact)
    columns = np.split(vectors, matrix.offsets[1:-1])
    lengths = np.sqrt(len(columns)) * np.stack([np.linalg.norm(part, axis=0) for part in columns])
    parts = _unit_parts(columns, matrix.row_norms())
    return JointDirections(tuple(parts), np.maximum(-values, 0.0), lengths)


def _most_negative(matrix: BlockMatrix, count: int, *, exact: bool) -> tuple[FloatArray, FloatArray]:
    """The most negative eigenvalues, increasing, and their eigenvectors as columns."""
    size = matrix.offsets[-1]
    # All columns together must fit into the space: what is left over would be rounding errors.
    if size >= _MIN_KRYLOV_SIZE and (1 + _KRYLOV_STEPS) * (count + _MORE_COLUMNS) <= size:
        values, vectors, error = _krylov_eigenvectors(matrix, count)
        # If many eigenvalues are nearly equal, only the slower full decomposition finds the vectors exactly.
        if not exact or error <= 1e-8:
            return values, vectors
    return smallest_eigenvectors(matrix.dense(), count)


def _krylov_eigenvectors(matrix: BlockMatrix, count: int) -> tuple[FloatArray, FloatArray, float]:
    """The same from a few products with many columns (block Lanczos with a fixed start), and how exact they are.

    The error is the largest length of ``B v - value v``, relative to the largest eigenvalue. If the matrix has
    a low rank, as with few classes, the first products already span everything.
    """
    start = np.random.default_rng(0).standard_normal((matrix.offsets[-1], count + _MORE_COLUMNS))
    basis = _orthonormal(matrix.times(start))
    images = new = matrix.times(basis)
    for _ in range(_KRYLOV_STEPS):
        rest: FloatArray = new - basis @ (basis.T @ new)
        if np.linalg.norm(rest) <= 1e-12 * np.linalg.norm(new):
            break
        rest = _orthonormal(rest)
        # Once more: rounding leaves small parts inside the space.
        rest = _orthonormal(rest - basis @ (basis.T @ rest))
        new = matrix.times(rest)
        basis, images = np.hstack([basis, rest]), np.hstack([images, new])
    values, mix = smallest_eigenvectors(basis.T @ images, count)
    vectors = basis @ mix
    errors = np.linalg.norm(images @ mix - vectors * values, axis=0)
    return values, vectors, float(errors.max() / max(np.abs(values).max(), 1e-300))


def _orthonormal(columns: FloatArray) -> FloatArray:
    return np.asarray(scipy.linalg.qr(columns, mode="economic")[0])


def _unit_parts(columns: Sequence[FloatArray], norms: FloatArray) -> list[FloatArray]:
    """The parts of eigenvectors as rows of unit length; tiny parts, which are rounding errors, become zero."""
    lengths = np.stack([np.linalg.norm(part, axis=0) for part in columns])
    # Blocks of features in small units give short parts that are no errors: compare with the size of the blocks.
    relative = lengths / np.where(norms > 0, norms, np.inf)[:, None]
    kept = relative > _TINY_PART * relative.max(axis=0)
    scales = np.where(kept, 1.0 / np.where(kept, lengths, 1.0), 0.0)
    parts = [part.T * scale[:, None] for part, scale in zip(columns, scales, strict=True)]
    # The entry of largest magnitude in the first part that is not zero is positive, on every machine.
    for k, number in enumerate(kept.argmax(axis=0)):
        row = parts[number][k]
        if row[np.abs(row).argmax()] < 0:
            for part in parts:
                part[k] *= -1.0
    return parts


def _connected(start: int, among: frozenset[int], neighbours: Sequence[set[int]]) -> frozenset[int]:
    """The modalities that couples connect with one of them."""
    found, new = {start}, {start}
    while new:
        new = {v for u in new for v in neighbours[u] & among} - found
        found |= new
    return frozenset(found)


def largest_rank(sizes: Sequence[int], couples: Sequence[tuple[int, int]]) -> int:
    """Largest possible number of negative eigenvalues of a block matrix.

    Modalities without couples among each other (and within) are a subspace on which the matrix is zero. There
    are at most as many negative eigenvalues as features outside the largest such subspace.

    Parameters
    ----------
    sizes : list of int
        Number of features of each modality.
    couples : list of (u, v)

    Examples
    --------
    >>> largest_rank([128, 10], [(0, 1)]), largest_rank([128], [(0, 0)])
    (10, 128)
    >>> largest_rank([128, 10, 10], [(0, 1), (0, 2), (1, 2)]), largest_rank([128, 10, 10], [(0, 1), (0, 2)])
    (20, 20)
    """
    neighbours: list[set[int]] = [set() for _ in sizes]
    for u, v in couples:
        neighbours[u].add(v)
        neighbours[v].add(u)

    def independent(left: frozenset[int]) -> int:
        """Features of the largest set of modalities without couples among each other."""
        total = 0
        while left:
            part = _connected(min(left), left, neighbours)
            total, left = total + independent_in_part(part), left - part
        return total

    # Parts of a chain are shorter chains, of which there are few: long chains need the memory.
    @cache
    def independent_in_part(part: frozenset[int]) -> int:
        u = max(sorted(part), key=lambda each: len(neighbours[each] & part))
        if len(part) == 1:
            return sizes[u]
        with_u = sizes[u] + independent(part - {u} - neighbours[u])
        return max(with_u, independent(part - {u}))

    return sum(sizes) - independent(frozenset(u for u in range(len(sizes)) if u not in neighbours[u]))
