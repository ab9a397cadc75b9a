"""What is known about distances: counts of held-out similar and dissimilar pairs, kept in the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Calibration", "CoupleCalibration"]

_COUPLES, _COUNTS, _NUMBERS = "calibration_couples", "calibration_counts", "calibration_numbers"
#: Numbers of a couple in a file: whether it has labels, then pairs of numbers for both directions.
_N_NUMBERS = 9
_LARGEST_COUNT = 1 << 60


@dataclass(frozen=True, eq=False)
class CoupleCalibration:
    """Held-out pairs of one modality with another, or with itself, in the direction of a search.

    Attributes
    ----------
    counts : int64 array of shape (2, 1 + n_groups, n_bits + 1)
        Dissimilar and similar pairs at each distance. Row 0 counts all pairs, row 1 + g those that involve an
        object of group g. See :class:`diffhash.evaluation.grouped_counts.GroupedDistanceCounts`.
    labelled : bool
        Whether labels say which objects belong together.
    expected : float or None
        With labels, the share of the items that belong to a query; otherwise the number of items. None if no
        similar pair is known.
    recall_hamming, recall_asymmetric : float or None
        Share of the items of a query that are among its first ten, of at most ten, when held-out items are
        ranked by distance and by the query's real values.
    gain_error : float or None
        Standard error of the difference of the two, over the queries.
    """

    counts: NDArray[np.int64]
    labelled: bool
    expected: float | None
    recall_hamming: float | None
    recall_asymmetric: float | None
    gain_error: float | None = None

    @property
    def n_dissimilar(self) -> int:
        """Number of dissimilar pairs."""
        return int(self.counts[0, 0].sum())

    @property
    def n_similar(self) -> int:
        """Number of similar pairs."""
        return int(self.counts[1, 0].sum())

    @property
    def prefers_asymmetric(self) -> bool:
        """Whether real values of the query found more held-out objects than distances.

        The gain must be above its standard error: ranking by distance is faster.
        """
        if self.recall_hamming is None or self.recall_asymmetric is None:
            return False
        return self.recall_asymmetric - self.recall_hamming > (self.gain_error or 0.0)

    def expected_matches(self, n_items: int) -> float | None:
        """How many of ``n_items`` items belong to a query; None if no similar pair is known."""
        if self.expected is None:
            return None
        return min(self.expected * n_items if self.labelled else self.expected, float(n_items))


class Calibration:
    """The calibration of every couple of modalities that the second fit judged.

    Parameters
    ----------
    couples : dict of CoupleCalibration by (modality of the query, modality that is searched)
        Both directions of a couple have the same counts.

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
    >>> hasher = dh.DiffHash(n_bits=4).fit(data.train.views, dh.Pairs.aligned(200), calibrate=True)
    >>> couple = hasher.model_.calibration.couple("x", "y")
    >>> couple.n_similar, couple.n_dissimilar, couple.expected_matches(1000)
    (40, 1560, 1.0)
    """

    def __init__(self, couples: Mapping[tuple[str, str], CoupleCalibration]) -> None:
        self.couples = dict(couples)

    def couple(self, query: str | None, into: str) -> CoupleCalibration | None:
        """The calibration of a search; None if this couple was not judged."""
        return None if query is None else self.couples.get((query, into))

    def to_arrays(self, modalities: Sequence[str]) -> dict[str, NDArray[Any]]:
        """The calibration as arrays for ``HashModel.extra``."""
        names, counts, numbers = [], [], []
        for (first, second), there in self.couples.items():
            if modalities.index(first) > modalities.index(second):
                continue
            back = self.couples[second, first]
            names.append([modalities.index(first), modalities.index(second)])
            counts.append(there.counts)
            directions = [
                np.nan if value is None else value
                for pair in (
                    (there.expected, back.expected),
                    (there.recall_hamming, back.recall_hamming),
                    (there.recall_asymmetric, back.recall_asymmetric),
                    (there.gain_error, back.gain_error),
                )
                for value in pair
            ]
            numbers.append([float(there.labelled), *directions])
        return {
            _COUPLES: np.array(names, dtype=np.int64),
            _COUNTS: np.stack(counts),
            _NUMBERS: np.array(numbers, dtype=np.float64),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], modalities: Sequence[str], n_bits: int
    ) -> Calibration | None:
        """Inverse of :meth:`to_arrays`; None if there is no calibration, ValueError if it contradicts itself."""
        if not any(name in arrays for name in (_COUPLES, _COUNTS, _NUMBERS)):
            return None
        couples, counts, numbers = (arrays[name] for name in (_COUPLES, _COUNTS, _NUMBERS))
        _check(couples, counts, numbers, len(modalities), n_bits)
        found = {}
        for (first, second), table, (labelled, *values) in zip(
            couples.tolist(), counts, numbers.tolist(), strict=True
        ):
            for side, names in enumerate(((first, second), (second, first))):
                known = [None if np.isnan(value) else float(value) for value in values[side::2]]
                found[modalities[names[0]], modalities[names[1]]] = CoupleCalibration(
                    table, bool(labelled), *known
                )
        return cls(found)


def _check(
    couples: NDArray[Any], counts: NDArray[Any], numbers: NDArray[Any], n_modalities: int, n_bits: int
) -> None:
    """Raise ValueError if arrays from a file contradict each other."""
    n = len(couples)
    ok = couples.shape == (n, 2) and couples.dtype == np.int64 and n >= 1
    ok = ok and bool(
        ((couples >= 0) & (couples < n_modalities)).all() and (couples[:, 0] <= couples[:, 1]).all()
    )
    ok = ok and len({tuple(names) for names in couples.tolist()}) == n
    ok = ok and counts.dtype == np.int64 and counts.ndim == 4 and counts.shape[2] >= 3
    ok = ok and counts.shape == (n, 2, counts.shape[2], n_bits + 1)
    ok = ok and bool(((counts >= 0) & (counts <= _LARGEST_COUNT // (n_bits + 1))).all())
    if ok:
        # A pair involves one or two groups.
        total, involved = counts[:, :, 0], counts[:, :, 1:]
        sums = involved.astype(np.float64).sum(axis=2)
        ok = bool(
            (involved <= total[:, :, None]).all() and (sums >= total).all() and (sums <= 2.0 * total).all()
        )
    ok = ok and numbers.dtype == np.float64 and numbers.shape == (n, _N_NUMBERS)
    if ok:
        labelled, values = numbers[:, 0], numbers[:, 1:]
        ok = bool(np.isin(labelled, (0.0, 1.0)).all() and (np.isnan(values) | (values >= 0)).all())
        ok = ok and not np.isinf(values).any() and not (values[:, 2:] > 1).any()
        ok = ok and not (values[labelled == 1.0, :2] > 1).any()
    if not ok:
        raise ValueError("the distance counts of the calibration contradict each other")
