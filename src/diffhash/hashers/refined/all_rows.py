"""Sums over all rows of a source, for fits that choose their settings on a sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...learning.batches import Batch, Source
from ...learning.block_difference import BlockMatrix
from ...learning.class_scores import ViewRegression
from ...learning.coordinate_sums import coordinate_sums
from ...learning.label_indicators import label_indicators
from ...learning.label_survey import LabelSurvey
from ...learning.paired_directions import PrincipalAxes
from ...learning.regression_sums import regressions
from ...maps import FeatureMap

__all__ = ["LabelledRows", "PairedRows"]


@dataclass(frozen=True)
class LabelledRows:
    """All rows of a source whose couples have labels.

    Attributes
    ----------
    source : Source
    survey : LabelSurvey
        The labels of all rows.
    indicators : list of sparse arrays of shape (n_combinations, n_labels)
        For each view, the labels of each combination of the survey.
    sampled_indicators : list of sparse arrays of shape (n_sampled, n_labels)
        For each view, the labels of the rows of the sample.
    """

    source: Source
    survey: LabelSurvey
    indicators: list[Any]
    sampled_indicators: list[Any]

    @classmethod
    def of(cls, source: Source, survey: LabelSurvey, sampled: Batch) -> LabelledRows:
        """From the rows of the sample as a batch."""
        indicators = label_indicators(survey.couples())
        rows = [survey.rows_of(sampled, u) for u in range(len(sampled.views))]
        return cls(source, survey, indicators, [of[r] for of, r in zip(indicators, rows, strict=True)])

    def regressions(
        self, maps: list[FeatureMap], *, max_rank: int | None, who: Sequence[str]
    ) -> list[ViewRegression]:
        """The regression of each view, from one pass over all rows."""
        return regressions(self.source, maps, self.survey, self.indicators, max_rank=max_rank, who=who)


@dataclass(frozen=True)
class PairedRows:
    """All rows of a source of pairs.

    Attributes
    ----------
    source : Source
    numbers : list of int
        The couples to learn from.
    """

    source: Source
    numbers: list[int]

    def measure(
        self, maps: list[FeatureMap], axes: list[PrincipalAxes]
    ) -> tuple[list[PrincipalAxes], BlockMatrix]:
        """The axes with the variances of all rows, and the covariances of all couples, from one pass."""
        return coordinate_sums(self.source, maps, axes, self.numbers)
