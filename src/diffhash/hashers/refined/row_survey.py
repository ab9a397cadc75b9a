"""How RefinedHash learns from a source: at once in memory, or in passes with a sample."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import InputError, SampleWarning
from ...learning.batches import Source, SourceForm
from ...learning.one_batch import one_batch
from ...learning.sample_keys import sample_limit
from ...learning.survey import ClassSamplePass, Survey, SurveyPass
from ...maps.representation import HISTOGRAM_METRICS
from ...pairs.couples import ResolvedCouples
from ...types import FloatArray
from ...validation import check_learnable_range
from ..training_data import TrainingData
from .all_rows import LabelledRows, PairedRows
from .fit_options import FitOptions
from .label_fit import classes_are_tiny

__all__ = [
    "MAX_SUMMED_FEATURES",
    "SurveyedRows",
    "has_wide_views",
    "learns_at_once",
    "survey_rows",
    "without_roots",
]

#: With more features than this, matrices of all products of features become too large.
MAX_SUMMED_FEATURES = 4096


@dataclass(frozen=True)
class SurveyedRows:
    """A sample of the rows of a source, and what gives sums over all of them.

    Attributes
    ----------
    views : list of arrays
        Rows of the sample, of each view.
    couples : ResolvedCouples
        Pairs between them.
    low : array of shape (n_views,)
        Smallest value of each view, of all rows.
    labelled : LabelledRows or None
        Given if the fit is to labels.
    paired : PairedRows
    """

    views: list[Any]
    couples: ResolvedCouples
    low: FloatArray
    labelled: LabelledRows | None
    paired: PairedRows


def has_wide_views(form: SourceForm) -> bool:
    """Whether a view has so many features that rows are collected in memory instead of summed."""
    return max(form.n_features) > MAX_SUMMED_FEATURES


def learns_at_once(form: SourceForm) -> bool:
    """Whether it is known that rows are learned from in memory, all at once."""
    if has_wide_views(form):
        return True
    return form.n_rows is not None and max(form.n_rows) <= sample_limit(form.n_features, form.sparse)


def survey_rows(source: Source, *, need_negatives: bool, caller: str) -> SurveyedRows | TrainingData:
    """The first pass over a source. If its sample has all rows, they are the training data."""
    form = source.form
    limit = sample_limit(form.n_features, form.sparse)
    survey = source.reduce(SurveyPass(form.couples, limit))
    for m, low, high in zip(form.modalities, survey.low, survey.high, strict=True):
        check_learnable_range(low, high, caller=caller, modality=m)
    numbers = survey.learnable(form, need_negatives=need_negatives, caller=caller)
    sample = survey.sample
    views, every = sample.data()
    couples = _only(every, numbers)
    if all(map(sample.complete, range(len(views)))):
        return _training_data(form, views, couples)
    labels = survey.labels.only(numbers)
    if _has_tiny_classes(labels):
        return _class_sample(source, survey, numbers, limit, caller)
    labelled = None
    if len(labels.numbers) == len(numbers):
        labelled = LabelledRows.of(source, labels, one_batch(form.modalities, views, every).batch)
    return SurveyedRows(views, couples, survey.low, labelled, PairedRows(source, numbers))


def _only(couples: ResolvedCouples, numbers: Sequence[int]) -> ResolvedCouples:
    return replace(couples, couples=tuple(couples.couples[number] for number in numbers))


def _training_data(form: SourceForm, views: Sequence[Any], couples: ResolvedCouples) -> TrainingData:
    return TrainingData(form.modalities, dict(zip(form.modalities, views, strict=True)), couples)


def _has_tiny_classes(labels: Any) -> bool:
    return any(classes_are_tiny(couple.pairs, labels.counts(couple)) for couple in labels.couples())


def _class_sample(
    source: Source, survey: Survey, numbers: Sequence[int], limit: int, caller: str
) -> TrainingData:
    """A sample in which objects keep their partners. Sums over very many classes would take too much memory."""
    form = source.form
    views, couples = source.reduce(ClassSamplePass(form.couples, limit)).sample().data()
    warnings.warn(
        f"{caller}: most labels have only one row, or a few. RefinedHash learns from a sample of "
        f"{max(couples.n_rows):,} of the {int(survey.n_rows.max()):,} rows.",
        SampleWarning,
        stacklevel=6,
    )
    return _training_data(form, views, _only(couples, numbers))


def without_roots(
    options: FitOptions, low: FloatArray, modalities: Sequence[str], *, caller: str
) -> FitOptions:
    """The options without metrics that need square roots, for views with negative values outside the sample."""
    views = []
    for choices, smallest, modality in zip(options.views, low, modalities, strict=True):
        metrics = choices.metrics
        if smallest < 0:
            metrics = tuple(m for m in metrics if m not in HISTOGRAM_METRICS)
            if not metrics:
                raise InputError(
                    f"{caller}: modality {modality!r}: metric {choices.metrics[0]!r} needs features that are never "
                    "negative, but there are negative values. Use 'cosine'."
                )
        views.append(replace(choices, metrics=metrics))
    return replace(options, views=tuple(views))
