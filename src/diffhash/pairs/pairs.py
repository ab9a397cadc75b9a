"""The public class :class:`Pairs`: which objects are similar and which are not.

:meth:`Pairs.resolve` checks the pairs against the views and returns
:class:`~diffhash.pairs.resolved.ResolvedPairs`, which all sums over pairs use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PairsError
from ..types import FloatArray, PairIndex
from ..validation import check_count, check_seed, known_modality
from .checks import check_index, check_pair_weights, check_row_counts
from .labels import LabelGroups, group_labels, sample_pairs
from .named import NamedGroups, group_by_name, list_few_pairs
from .resolve import resolve_pairs
from .resolved import ResolvedPairs
from .sampling import sample_resolved

__all__ = ["Pairs"]


class Pairs:
    """Similar and dissimilar pairs of rows of two views, or of one view.

    :meth:`aligned`, :meth:`from_labels` and :meth:`from_ids` also make pairs of many views.

    Parameters
    ----------
    positive : (i, j)
        Row numbers of similar objects: row ``i[p]`` of the first view is similar to row ``j[p]``
        of the second view.
    negative : (i, j), optional
        Row numbers of dissimilar objects. By default, every pair that is not positive; these pairs
        are never listed.
    weights : array of shape (n_positive,), optional
        How much each positive pair counts, a number above 0: how similar the objects are, or how
        certain it is. By default every pair counts 1.
    negative_weights : array of shape (n_negative,), optional
        The same for the negative pairs; only if they are listed.

    Notes
    -----
    Repeated pairs count once, with the largest weight. With one view the pairs are unordered, and
    ``(i, i)`` is left out. A pair with a weight, however small, is not one of "every other pair".

    See Also
    --------
    Pairs.aligned : row r of every view is one object.
    Pairs.from_ids : rows with the same id are one object; any view may lack it.
    Pairs.from_labels : objects with the same label are similar.

    Examples
    --------
    >>> Pairs(positive=([0, 1, 2], [0, 1, 0]))
    Pairs(3 positive, negative: every other pair)
    >>> Pairs(positive=([0, 1, 2], [0, 1, 0]), weights=[1.0, 1.0, 0.3])
    Pairs(3 positive with weights, negative: every other pair)
    """

    positive: PairIndex | None
    negative: PairIndex | None
    weights: FloatArray | None
    negative_weights: FloatArray | None

    def __init__(
        self, positive: Any, negative: Any = None, weights: Any = None, negative_weights: Any = None
    ) -> None:
        self._set()
        self.positive = check_index(positive, "positive")
        self.negative = None if negative is None else check_index(negative, "negative")
        self.weights = check_pair_weights(weights, self.positive, "weights", "positive")
        self.negative_weights = check_pair_weights(
            negative_weights, self.negative, "negative_weights", "negative"
        )

    def _set(
        self,
        n_aligned: int | None = None,
        groups: LabelGroups | None = None,
        one_view: bool = False,
        named: NamedGroups | None = None,
    ) -> None:
        self.positive = self.negative = self.weights = self.negative_weights = None
        self._n_aligned, self._groups, self._one_view, self._named = n_aligned, groups, one_view, named
        #: Numbers of rows of the two views, if ids tell them.
        self._n_rows: tuple[int, int] | None = None
        #: Whether rows of a group are one object (same id), not only similar (same label).
        self._by_id = named is not None and named.by_id
        #: Pairs of named couples that were drawn.
        self._drawn: dict[tuple[str, str], Pairs] = {}

    @classmethod
    def _implied(cls, **values: Any) -> Pairs:
        pairs = cls.__new__(cls)
        pairs._set(**values)
        return pairs

    @classmethod
    def aligned(cls, n: int) -> Pairs:
        """Row r of every view is one object, and every other pair is dissimilar.

        Examples
        --------
        >>> Pairs.aligned(500)
        Pairs(500 aligned rows, negative: every other pair)
        """
        return cls._implied(n_aligned=check_count(n, "n", caller="Pairs.aligned"))

    @classmethod
    def from_ids(cls, ids: Mapping[str, Any]) -> Pairs:
        """Rows with the same id belong together, in any number of views; every other pair is dissimilar.

        An object may lack any modality: no row of that view has its id. A view may have several rows
        with the same id, such as five captions of a picture.

        Parameters
        ----------
        ids : dict by modality
            Arrays of shape (n,): for each view, the ids of its rows, whole numbers or strings.

        Notes
        -----
        Pairs are between each two of the modalities. Pairs within a modality are used only if a couple
        names it twice: ``fit(views, {..., ("text", "text"): pairs.couple("text", "text")})``.

        Examples
        --------
        >>> pairs = Pairs.from_ids({"image": ["a", "b", "c"], "text": ["a", "a", "c"], "speech": ["c"]})
        >>> pairs
        Pairs(same id in 'image', 'text', 'speech')
        >>> pairs.couple("image", "text")
        Pairs(3 positive, negative: every other pair)
        """
        return cls._implied(named=group_by_name(ids, "ids", caller="Pairs.from_ids"))

    @classmethod
    def from_labels(
        cls,
        labels_x: Any,
        labels_y: Any = None,
        n_positive: int | None = None,
        n_negative: int | None = None,
        random_state: int | None = None,
    ) -> Pairs:
        """Objects are similar if they have the same label, or at least one common label.

        Parameters
        ----------
        labels_x, labels_y : arrays of shape (n,), or bool (n, n_labels)
            Labels of the rows of the two views. With one view, leave out the second. With any number of
            views, the first is a dict of arrays by modality.
        n_positive, n_negative : int, optional
            Draw this many distinct pairs at random (of each couple of modalities). By default *all* pairs
            are used, without listing them: positives are all pairs with a common label, negatives are all
            pairs without one (even if the positives were drawn).
        random_state : int, optional
            Seed for drawing pairs.

        Examples
        --------
        >>> Pairs.from_labels([0, 0, 1], [0, 1, 1])
        Pairs(positive: all by label, negative: all by label)
        >>> Pairs.from_labels([0, 0, 1], [0, 1, 1], n_positive=2, n_negative=3, random_state=0)
        Pairs(2 positive, 3 negative)
        >>> Pairs.from_labels({"image": [0, 0, 1], "text": [0, 1], "speech": [1, 1]})
        Pairs(same label in 'image', 'text', 'speech')
        """
        caller = "Pairs.from_labels"
        rng = np.random.default_rng(check_seed(random_state, caller=caller))
        for n, name in ((n_positive, "n_positive"), (n_negative, "n_negative")):
            if n is not None:
                check_count(n, name, caller=caller)
        if not isinstance(labels_x, Mapping):
            groups = group_labels(labels_x, labels_y, caller=caller)
            return cls._implied(groups=groups, one_view=labels_y is None)._draw(
                n_positive, n_negative, rng, caller
            )
        if labels_y is not None:
            raise PairsError(f"{caller}: give one dict of labels by modality, or two arrays of labels.")
        pairs = cls._implied(named=group_by_name(labels_x, "labels", caller=caller))
        for names in pairs._all_couples():
            drawn = pairs.couple(*names)._draw(n_positive, n_negative, rng, caller)
            if n_positive is not None or n_negative is not None:
                pairs._drawn[names] = drawn
        return pairs

    def _draw(
        self, n_positive: int | None, n_negative: int | None, rng: np.random.Generator, caller: str
    ) -> Pairs:
        """Draw pairs by label; None for all pairs of that kind."""
        groups = self._groups
        assert groups is not None, "pairs are drawn by label"
        if n_positive is None or n_negative is None:
            groups.check_closed_form(caller)

        def draw(n: int | None, similar: bool) -> PairIndex | None:
            if n is None:
                return None
            return sample_pairs(groups, n, similar=similar, one_view=self._one_view, rng=rng, caller=caller)

        self.positive, self.negative = draw(n_positive, similar=True), draw(n_negative, similar=False)
        return self

    @property
    def modalities(self) -> tuple[str, ...] | None:
        """Names of the modalities; None if the pairs do not name them."""
        return None if self._named is None else self._named.names

    @property
    def n_rows_by_name(self) -> dict[str, int] | None:
        """Number of ids or labels of each modality; None if the pairs do not name them."""
        named = self._named
        return None if named is None else dict(zip(named.names, map(len, named.groups.rows), strict=True))

    @property
    def n_aligned(self) -> int | None:
        """Number of aligned rows; None unless the pairs were made by :meth:`aligned`."""
        return self._n_aligned

    @property
    def by_id(self) -> bool:
        """Whether the pairs were made by :meth:`from_ids`."""
        return self._by_id

    @property
    def ids(self) -> NDArray[Any] | None:
        """All ids that were given to :meth:`from_ids`, each once; None for other pairs."""
        return self._named.groups.names if self._named is not None and self._by_id else None

    def couple(self, first: str, second: str) -> Pairs:
        """The pairs between two of the modalities, or within one if both names are the same.

        Parameters
        ----------
        first, second : str
            Names that were given to :meth:`from_ids` or :meth:`from_labels`.

        Examples
        --------
        >>> pairs = Pairs.from_labels({"image": [0, 0, 1], "text": [0, 1], "speech": [1, 1]})
        >>> pairs.couple("text", "speech")
        Pairs(positive: all by label, negative: all by label)
        """
        caller = "Pairs.couple"
        named = self._named
        if named is None:
            raise PairsError(
                f"{caller}: these pairs do not name modalities. Make them with from_ids or from_labels and a dict."
            )
        u, v = (named.names.index(known_modality(m, named.names, caller=caller)) for m in (first, second))
        if (first, second) in self._drawn:
            return self._drawn[first, second]
        if (second, first) in self._drawn:
            return self._drawn[second, first]._flipped()
        groups, within = named.groups.couple(u, v), first == second
        if not named.by_id:
            return self._implied(groups=groups, one_view=within)
        if not within and np.array_equal(groups.x, groups.y) and len(np.unique(groups.x)) == len(groups.x):
            return self.aligned(len(groups.x))
        listed = list_few_pairs(groups, one_view=within)
        pairs = self._implied(groups=groups, one_view=within) if listed is None else Pairs(listed)
        pairs._n_rows, pairs._one_view, pairs._by_id = (len(groups.x), len(groups.y)), within, True
        return pairs

    def _all_couples(self) -> list[tuple[str, str]]:
        """Each two of the named modalities; the only one twice."""
        names = self.modalities or ()
        return [(names[0], names[0])] if len(names) == 1 else list(combinations(names, 2))

    def _flipped(self) -> Pairs:
        """The same pairs with the two views exchanged."""
        groups = None if self._groups is None else self._groups.flipped()
        flipped = self._implied(n_aligned=self._n_aligned, groups=groups, one_view=self._one_view)
        flipped.positive = None if self.positive is None else self.positive[::-1]
        flipped.negative = None if self.negative is None else self.negative[::-1]
        flipped.weights, flipped.negative_weights = self.weights, self.negative_weights
        return flipped

    def sample(
        self,
        n_positive: int,
        n_negative: int,
        random_state: int | None = None,
        *,
        n_rows: int | Sequence[int] | None = None,
    ) -> Pairs:
        """Draw distinct pairs at random: each positive pair has the same chance, and each negative pair.

        Pairs that labels imply, or that are "every other pair", are not enumerated. Weights are kept.

        Parameters
        ----------
        n_positive, n_negative : int
            Number of pairs to draw; with named modalities, of each couple of them.
        random_state : int, optional
            Seed of the drawing.
        n_rows : (int, int), or int for one view, optional
            Numbers of rows of the views. Needed if positives are listed and negatives are not:
            nothing else tells which other pairs there are.

        Returns
        -------
        Pairs
            Both sets are listed, sorted by row.

        Raises
        ------
        PairsError
            If there are not that many pairs.

        Examples
        --------
        >>> Pairs.aligned(100_000).sample(500, 2000, random_state=0)
        Pairs(500 positive, 2000 negative)
        >>> Pairs(([0, 1], [0, 1])).sample(1, 3, random_state=0, n_rows=(10, 10))
        Pairs(1 positive, 3 negative)
        """
        caller = "Pairs.sample"
        n_positive = check_count(n_positive, "n_positive", caller=caller, minimum=0)
        n_negative = check_count(n_negative, "n_negative", caller=caller, minimum=0)
        rng = np.random.default_rng(check_seed(random_state, caller=caller))
        if self._named is None:
            return self._sample(n_positive, n_negative, rng, n_rows, caller)
        pairs = self._implied(named=self._named)
        for names in self._all_couples():
            couple = self.couple(*names)
            pairs._drawn[names] = couple._sample(n_positive, n_negative, rng, None, caller)
        return pairs

    def _sample(
        self, n_positive: int, n_negative: int, rng: np.random.Generator, n_rows: Any, caller: str
    ) -> Pairs:
        resolved = self.resolve(*self._sizes(n_rows, caller), caller=caller)
        sampled = sample_resolved(resolved, n_positive, n_negative, rng, caller=caller)
        return Pairs(sampled.positive, sampled.negative, sampled.positive_weights, sampled.negative_weights)

    def _sizes(self, n_rows: int | Sequence[int] | None, caller: str) -> tuple[int, int | None]:
        """Numbers of rows of the views; the second is None for one view."""
        if n_rows is not None:
            return check_row_counts(n_rows, caller)
        if self._n_aligned is not None:
            return self._n_aligned, self._n_aligned
        groups = self._groups
        known = self._n_rows if groups is None else (len(groups.x), len(groups.y))
        if known is not None:
            return known[0], None if self._one_view else known[1]
        if self.positive is None or self.negative is None:
            raise PairsError(
                f"{caller}: the negatives are every other pair, so the numbers of rows are needed. "
                "Give n_rows=(n, n'), or n_rows=n for one view."
            )
        i, j = (np.concatenate(sides) for sides in zip(self.positive, self.negative, strict=True))
        return int(i.max(initial=-1)) + 1, int(j.max(initial=-1)) + 1

    def __repr__(self) -> str:
        if self._named is not None:
            same = "id" if self._named.by_id else "label"
            return f"Pairs(same {same} in {', '.join(map(repr, self._named.names))})"
        implied = "all by label" if self._groups is not None else "every other pair"
        if self._n_aligned is not None:
            positive = f"{self._n_aligned} aligned rows"
        elif self.positive is None:
            positive = f"positive: {implied}"
        else:
            positive = f"{len(self.positive[0])} positive{'' if self.weights is None else ' with weights'}"
        negative = f"negative: {implied}"
        if self.negative is not None:
            weighted = "" if self.negative_weights is None else " with weights"
            negative = f"{len(self.negative[0])} negative{weighted}"
        return f"Pairs({positive}, {negative})"

    def resolve(self, n_x: int, n_y: int | None = None, *, caller: str = "Pairs.resolve") -> ResolvedPairs:
        """Check the pairs against views with ``n_x`` and ``n_y`` rows; ``n_y`` is None for one view."""
        if self._named is not None:
            names = self._named.names
            if len(names) != (1 if n_y is None else 2):
                raise PairsError(
                    f"{caller}: these pairs are between {len(names)} modalities ({', '.join(names)}). "
                    "Choose two of them: pairs.couple(first, second)."
                )
            return self.couple(names[0], names[-1]).resolve(n_x, n_y, caller=caller)
        return resolve_pairs(
            n_x,
            n_y,
            listed=((self.positive, self.weights), (self.negative, self.negative_weights)),
            groups=self._groups,
            n_aligned=self._n_aligned,
            n_rows=self._n_rows,
            caller=caller,
        )
