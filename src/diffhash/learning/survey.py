"""The first pass of methods that choose their settings on a sample: the sample, and facts about all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..pairs.couples import couples_to_learn
from ..pairs.group_names import GroupNames
from ..types import FloatArray
from .batches import Batch, CoupleForm, SourceForm
from .label_survey import LabelSurvey
from .passes import Collected
from .row_sample import RowSample
from .sample_keys import name_keys

__all__ = ["ClassSamplePass", "Survey", "SurveyPass"]


@dataclass
class Survey:
    """What the first pass learns about the rows; parts can be merged.

    Attributes
    ----------
    collected : Collected
        A sample of the rows, in parts.
    low, high : arrays of shape (n_modalities,)
        Smallest and largest value of the features of each modality.
    n_rows : array of shape (n_modalities,)
    n_listed : array of shape (n_couples, 2)
        Number of listed positive and negative pairs.
    labels : LabelSurvey
        The labels of the couples that have them.
    """

    collected: Collected
    low: FloatArray
    high: FloatArray
    n_rows: FloatArray
    n_listed: FloatArray
    labels: LabelSurvey

    def merge(self, other: Survey) -> Survey:
        """Add another part."""
        # The sample is kept small: a stream of many batches would collect a sample of each.
        collected = Collected([self.collected.sample().merge(other.collected.sample())])
        return Survey(
            collected,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.n_rows + other.n_rows,
            self.n_listed + other.n_listed,
            self.labels.merge(other.labels),
        )

    @property
    def sample(self) -> RowSample:
        """The sample of all rows."""
        return self.collected.sample()

    def learnable(self, form: SourceForm, *, need_negatives: bool, caller: str) -> list[int]:
        """Numbers of the couples that have pairs; an error if pairs are missing."""
        if form.named is None:
            return list(range(len(form.couples)))
        counts = [self._n_pairs(number, each) for number, each in enumerate(form.couples)]
        negative = [n for _, n in counts] if need_negatives else None
        return couples_to_learn(form.named, [n for n, _ in counts], negative, caller=caller)

    def _n_pairs(self, number: int, form: CoupleForm) -> tuple[float, float]:
        """Number of positive and of negative pairs of a couple."""
        positive, negative = map(float, self.n_listed[number])
        n_x, n_y = (float(self.n_rows[u]) for u in form.sides)
        every = n_x * (n_x - 1) / 2 if form.first == form.second else n_x * n_y
        similar, other = positive, every - positive
        if number in self.labels.numbers:
            similar, other = self.labels.n_pairs(number)
        return (positive if form.positive_listed else similar, negative if form.negative_listed else other)


@dataclass(frozen=True)
class SurveyPass:
    """Job: a sample of at most ``limit`` rows of each modality, and facts about all rows."""

    forms: tuple[CoupleForm, ...]
    limit: int

    def __call__(self, batch: Batch) -> Survey:
        """The survey of one batch."""
        own = [batch.own(u) for u in range(len(batch.views))]
        return Survey(
            Collected([RowSample.of(batch, self.forms, self.limit)]),
            np.array([float(X.min()) if X.shape[0] else np.inf for X in own]),
            np.array([float(X.max()) if X.shape[0] else -np.inf for X in own]),
            np.array([float(X.shape[0]) for X in own]),
            np.array(
                [
                    [
                        0.0 if index is None else float(len(index[0]))
                        for index in (each.positive, each.negative)
                    ]
                    for each in batch.pairs
                ]
            ),
            LabelSurvey.of(batch, self.forms),
        )


@dataclass(frozen=True)
class ClassSamplePass:
    """Job: a sample of at most ``limit`` rows of each modality, in which rows with equal labels are drawn together."""

    forms: tuple[CoupleForm, ...]
    limit: int

    def __call__(self, batch: Batch) -> Collected:
        """The sample of one batch."""
        keys = list(batch.keys)
        # The first couple of a modality decides.
        for form, pairs in reversed(list(zip(self.forms, batch.pairs, strict=True))):
            if pairs.groups is None:
                continue
            names, numbers = GroupNames.of(pairs.groups)
            of_group = name_keys(names.keys)[numbers]
            for u, groups in ((form.second, pairs.groups.y), (form.first, pairs.groups.x)):
                keys[u] = of_group[groups[: batch.n_own(u)]]
        # The number of rows does not say how many of such keys are small.
        drawn = replace(batch, keys=tuple(keys), n_total=None)
        return Collected([RowSample.of(drawn, self.forms, self.limit)])
