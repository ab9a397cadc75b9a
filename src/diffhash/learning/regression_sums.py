"""Sums over the rows of a source from which the regressions to labels follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..maps import FeatureMap
from .batches import Batch, Source
from .class_scores import RegressionSums, ViewRegression
from .label_survey import LabelSurvey

__all__ = ["regressions"]


@dataclass
class _AllSums:
    """The sums of each modality."""

    views: list[RegressionSums]

    def merge(self, other: _AllSums) -> _AllSums:
        self.views = [mine.merge(theirs) for mine, theirs in zip(self.views, other.views, strict=True)]
        return self


@dataclass(frozen=True)
class _RegressionPass:
    """Job: the sums of the mapped features of all modalities.

    Attributes
    ----------
    maps : tuple of FeatureMap
    survey : LabelSurvey
    indicators : tuple of sparse arrays of shape (n_combinations, n_labels)
        Labels of each combination of each modality.
    """

    maps: tuple[FeatureMap, ...]
    survey: LabelSurvey
    indicators: tuple[Any, ...]

    def __call__(self, batch: Batch) -> _AllSums:
        found = []
        for u, (fitted, labels) in enumerate(zip(self.maps, self.indicators, strict=True)):
            rows = self.survey.rows_of(batch, u)
            found.append(RegressionSums.of(batch.mapped(u, fitted), labels, rows, precise=True))
        return _AllSums(found)


def regressions(
    source: Source,
    maps: Sequence[FeatureMap],
    survey: LabelSurvey,
    indicators: Sequence[Any],
    *,
    max_rank: int | None,
    who: Sequence[str],
) -> list[ViewRegression]:
    """The regression of each modality to its labels, from one pass over all rows.

    Parameters
    ----------
    source : Source
    maps : list of FeatureMap
    survey : LabelSurvey
        Of the same source.
    indicators : list of sparse arrays of shape (n_combinations, n_labels)
        For each modality, the labels of each combination of the survey.
    max_rank : int or None
        Largest number of principal components.
    who : list of str
        For each modality, the prefix of error messages.
    """
    sums = source.reduce(_RegressionPass(tuple(maps), survey, tuple(indicators)))
    return [each.regression(max_rank, who=name) for each, name in zip(sums.views, who, strict=True)]
