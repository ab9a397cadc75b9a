"""``cross_validate``: folds of objects, not of rows of an array."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from ..errors import InputError, ParameterError
from ..pairs.couples import ResolvedCouples
from ..pairs.objects import object_numbers
from ..types import BoolArray, IntArray
from ..validation import check_count, check_flag, check_seed
from .base import BaseHasher
from .scoring import check_metric, score_couples
from .training_data import TrainingData

__all__ = ["cross_validate"]


def cross_validate(
    hasher: BaseHasher,
    views: Any,
    pairs: Any,
    *,
    cv: Any = 5,
    metric: str = "auto",
    random_state: Any = 0,
    return_hashers: bool = False,
) -> dict[str, Any]:
    """Fit on some objects and score on the others, several times.

    All rows of an object (the same id, a listed positive pair, the same row of aligned views) are in the same
    fold, so no object that is searched for was learned from. scikit-learn's function of the same name cannot do this:
    it takes rows of one array.

    Parameters
    ----------
    hasher : a hasher
        Not changed; copies of it are fitted.
    views, pairs
        As for ``fit``.
    cv : int, splitter of scikit-learn, or iterable of (train, test)
        Number of folds: objects are drawn at random, each label and each combination of modalities in proportion.
        A splitter gets an array with one row for each object, and the labels of the objects if labels were given.
        Objects are numbered in the order of their first row, view after view.
    metric : {"auto", "map", "recall@10", "auc"}
        See :meth:`BaseHasher.score`.
    random_state : int, Generator or None
        For the folds; the seed of the hasher is its own.
    return_hashers : bool
        Whether to return the fitted hashers, too.

    Returns
    -------
    dict of arrays
        ``test_score``, ``fit_time`` and ``score_time`` (seconds) of each fold, and the list ``estimator`` if asked
        for: the names of :func:`sklearn.model_selection.cross_validate`.

    Examples
    --------
    >>> import diffhash as dh
    >>> data = dh.datasets.make_paper_data(n_classes=5, n_train=200, n_test=10, random_state=0)
    >>> pairs = dh.Pairs.from_labels(data.train.labels)
    >>> result = cross_validate(dh.DiffHash(n_bits=4), data.train.views, pairs, cv=3)
    >>> result["test_score"].shape
    (3,)
    """
    caller = "cross_validate"
    if not isinstance(hasher, BaseHasher):
        raise ParameterError(f"{caller}: expected a hasher of diffhash, got {type(hasher).__name__}.")
    check_metric(metric, caller=caller)
    check_flag(return_hashers, "return_hashers", caller=caller)
    seeded = hasher._seeded(caller)
    data = seeded._checked(views, pairs, caller)
    numbers, labels = _objects(data.couples)
    scores, fit_times, score_times, fitted = [], [], [], []
    seed = check_seed(random_state, caller=caller)
    for fold, (train, test) in enumerate(_folds(cv, numbers, labels, seed, caller)):
        who = f"{caller}: fold {fold}"
        train_data = _part(data, [np.flatnonzero(train[each]) for each in numbers], who)
        test_data = _part(data, [np.flatnonzero(test[each]) for each in numbers], who, scored=True)
        each = clone(seeded)
        started = time.perf_counter()
        each.model_ = each._fit_model(train_data)
        fit_times.append(time.perf_counter() - started)
        started = time.perf_counter()
        codes = [each.encode(X, modality=m) for m, X in test_data.views.items()]
        scores.append(score_couples(codes, test_data.couples, metric, caller=who))
        score_times.append(time.perf_counter() - started)
        fitted.append(each)
    result: dict[str, Any] = {
        "fit_time": np.array(fit_times),
        "score_time": np.array(score_times),
        "test_score": np.array(scores),
    }
    return result | ({"estimator": fitted} if return_hashers else {})


def _part(data: TrainingData, rows: list[IntArray], who: str, *, scored: bool = False) -> TrainingData:
    couples = data.couples.subset(rows)
    usable = couples.couples if scored else couples.learnable().couples
    usable = tuple(c for c in usable if c.pairs.n_positive)
    taking_part = {side for couple in usable for side in couple.sides}
    if len(taking_part) < (1 if scored else len(data.modalities)):
        raise InputError(
            f"{who}: the {'held-out' if scored else 'training'} objects have no positive or no negative pairs of some "
            "modality. Use fewer folds, or give more objects."
        )
    views = {m: X[each] for (m, X), each in zip(data.views.items(), rows, strict=True)}
    return TrainingData(data.modalities, views, ResolvedCouples(couples.n_rows, usable), data.feature_names)


def _objects(couples: ResolvedCouples) -> tuple[list[IntArray], IntArray | None]:
    """For each modality the object of each row, and the label of each object if labels were given."""
    numbers = object_numbers(couples)
    n_objects = 1 + max(int(each.max()) for each in numbers)
    # Numbers in the order in which objects first occur.
    _, first, inverse = np.unique(np.concatenate(numbers), return_index=True, return_inverse=True)
    rank = np.empty(n_objects, np.int64)
    rank[np.argsort(first)] = np.arange(n_objects)
    numbers = np.split(rank[inverse], np.cumsum([len(each) for each in numbers])[:-1])
    if not all(couple.pairs.groups is not None for couple in couples):
        return numbers, None
    labels = np.full(n_objects, -1)
    for couple in couples:
        groups = couple.pairs.groups
        assert groups is not None, "checked above"
        for side, group in ((couple.second, groups.y), (couple.first, groups.x)):
            labels[numbers[side]] = group
    return numbers, labels


def _folds(
    cv: Any, numbers: list[IntArray], labels: IntArray | None, seed: int | None, caller: str
) -> Iterator[tuple[BoolArray, BoolArray]]:
    """For each fold, which objects are learned from and which are held out."""
    n_objects = 1 + max(int(each.max()) for each in numbers)
    if hasattr(cv, "split"):
        cv = cv.split(np.zeros((n_objects, 1)), labels)
    elif not hasattr(cv, "__iter__"):
        check_count(cv, "cv", caller=caller, minimum=2, maximum=n_objects)
        present = np.stack([np.bincount(each, minlength=n_objects) > 0 for each in numbers])
        kind = np.unique(present, axis=1, return_inverse=True)[1].reshape(-1)
        keys = (np.random.default_rng(seed).random(n_objects), *([] if labels is None else [labels]), kind)
        order = np.lexsort(keys)
        fold = np.empty(n_objects, np.int64)
        fold[order] = np.arange(n_objects) % cv
        cv = ((fold != k, fold == k) for k in range(cv))
    n_folds = 0
    for split in cv:
        n_folds += 1
        yield _masks(split, n_objects, caller)
    if not n_folds:
        raise ParameterError(f"{caller}: cv gives no folds.")


def _masks(split: Any, n_objects: int, caller: str) -> tuple[BoolArray, BoolArray]:
    try:
        train, test = (np.zeros(n_objects, bool) for _ in range(2))
        for mask, numbers in ((train, split[0]), (test, split[1])):
            if len(numbers):
                mask[np.asarray(numbers)] = True
    except (IndexError, TypeError, ValueError, KeyError) as error:
        raise ParameterError(
            f"{caller}: cv must be a number of folds, a splitter, or give (train, test) with numbers of objects below "
            f"{n_objects}. ({error})"
        ) from error
    if (train & test).any():
        raise ParameterError(f"{caller}: object {int(np.argmax(train & test))} is in both parts of a fold.")
    return train, test
