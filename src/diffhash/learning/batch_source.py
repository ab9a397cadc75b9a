"""An iterable of batches of views and pairs as a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ..errors import FeatureCountError, InputError, PairsError, UnknownModalityError
from ..frames import check_names, names_by_modality
from ..pairs import Pairs
from ..pairs.couples import NamedCouples, ResolvedCouples, name_couples, resolve_all
from ..validation import check_view
from .batches import Batch, CoupleForm, Mergeable, Source, SourceForm, merge_all
from .sample_keys import partner_keys, row_keys

__all__ = ["BatchSource", "checked_batch", "first_form"]

T = TypeVar("T", bound=Mergeable)


class BatchSource(Source):
    """Batches from an object that can be iterated several times, or from a function that returns an iterator.

    Parameters
    ----------
    batches : iterable of (views, pairs), or function without arguments
    couple_weights : dict or None
        The parameter of hashers.
    caller : str
    """

    def __init__(self, batches: Any, couple_weights: Any, *, caller: str) -> None:
        self._batches, self._weights, self._caller = batches, couple_weights, caller
        self.n_batches: int | None = None
        #: Numbers of rows of each batch, after the first pass.
        self._sizes: list[tuple[int, ...]] | None = None
        first = next(self._given(), None)
        if first is None:
            raise InputError(f"{caller}: there are no batches to learn from.")
        views, pairs = _split(first, f"{caller}: batch 0")
        self.form = first_form(views, pairs, couple_weights, caller=f"{caller}: batch 0")

    def _given(self) -> Iterator[Any]:
        who = self._caller
        given = self._batches() if callable(self._batches) else self._batches
        try:
            iterator: Iterator[Any] = iter(given)
        except TypeError:
            raise InputError(
                f"{who}: expected a list of batches (views, pairs), or a function that returns an iterator over them, "
                f"got {type(given).__name__}."
            ) from None
        if iterator is self._batches:
            raise InputError(
                f"{who}: {type(given).__name__} can be read only once, but learning takes several passes. Give a list, "
                "or a function that returns a new iterator; or use partial_fit."
            )
        return iterator

    def reduce(self, job: Callable[[Batch], T]) -> T:
        """Call the job with one batch after another."""
        sizes: list[tuple[int, ...]] = []
        ids: list[NDArray[Any]] = []
        found = merge_all(job(batch) for batch in self._checked(sizes, ids))
        if found is None or (self._sizes is not None and len(sizes) != len(self._sizes)):
            raise InputError(
                f"{self._caller}: the source gave {len(self._sizes or ())} batches in the first pass and "
                f"{len(sizes)} in a later one. It must give the same batches every time: give a list, or a function "
                "that returns a new iterator."
            )
        if self._sizes is None:
            check_ids_differ(ids, self._caller)
            self._sizes, self.n_batches = sizes, len(sizes)
        return found

    def _checked(self, sizes: list[tuple[int, ...]], ids: list[NDArray[Any]]) -> Iterator[Batch]:
        starts = (0,) * len(self.form.modalities)
        for number, given in enumerate(self._given()):
            who = f"{self._caller}: batch {number}"
            views, pairs = _split(given, who)
            batch = checked_batch(
                views, pairs, self.form, self._weights, number=number, starts=starts, caller=who
            )
            rows = tuple(int(X.shape[0]) for X in batch.views)
            if self._sizes is not None and (number >= len(self._sizes) or rows != self._sizes[number]):
                raise InputError(
                    f"{who} has {rows} rows, but other numbers of rows in the first pass. The source must give the "
                    "same batches every time."
                )
            sizes.append(rows)
            if self._sizes is None:
                ids += _ids_of(pairs)
            yield batch
            starts = tuple(start + n for start, n in zip(starts, rows, strict=True))


def _split(given: Any, who: str) -> tuple[Any, Any]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InputError(f"{who} must be a tuple (views, pairs), got {type(given).__name__}.")
    return given[0], given[1]


def _checked_views(views: Any, form: SourceForm | None, names: Any, who: str) -> list[Any]:
    """Views in the order of the modalities, checked; at least one row in all."""
    arrays = []
    for u, name in enumerate(names):
        X = views[name]
        if form is not None:
            check_names(X, form.feature_names.get(name), caller=who, modality=name)
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if form is not None and len(shape) == 2 and shape[0] == 0:
            X = np.zeros((0, shape[1]), np.float32) if not scipy.sparse.issparse(X) else X.tocsr()
        else:
            X = check_view(X, caller=who, modality=name)
        if form is not None and X.shape[1] != form.n_features[u]:
            raise FeatureCountError(
                f"{who}: modality {name!r} has {X.shape[1]} features, but {form.n_features[u]} in batch 0. "
                "Use the same features in all batches."
            )
        if form is not None and scipy.sparse.issparse(X) != form.sparse[u]:
            kinds = ("dense", "sparse")
            raise InputError(
                f"{who}: modality {name!r} is {kinds[not form.sparse[u]]}, but {kinds[form.sparse[u]]} in batch 0. "
                "Use the same form in all batches."
            )
        arrays.append(X)
    if not any(X.shape[0] for X in arrays):
        raise InputError(f"{who} is empty: it has no rows. Leave it out.")
    return arrays


def _named(views: Any, pairs: Any, names: Any, who: str) -> NamedCouples:
    if not isinstance(views, Mapping) or not views:
        raise UnknownModalityError(
            f"{who}: views must be a dict of arrays by modality, got {type(views).__name__}."
        )
    return name_couples(pairs, list(views) if names is None else names, caller=who)


def first_form(views: Any, pairs: Any, couple_weights: Any, *, caller: str) -> SourceForm:
    """What the first batch tells about all."""
    named = _named(views, pairs, None, caller)
    arrays = _checked_views(views, None, named.modalities, caller)
    n_rows = {m: int(X.shape[0]) for m, X in zip(named.modalities, arrays, strict=True)}
    couples = resolve_all(named, n_rows, couple_weights, caller=caller, list_ids=True)
    return SourceForm(
        named.modalities,
        tuple(int(X.shape[1]) for X in arrays),
        tuple(scipy.sparse.issparse(X) for X in arrays),
        CoupleForm.all_of(couples),
        None,
        named,
        names_by_modality(views, named.modalities, caller=caller),
    )


def checked_batch(
    views: Any,
    pairs: Any,
    form: SourceForm,
    couple_weights: Any,
    *,
    number: int,
    starts: tuple[int, ...],
    caller: str,
) -> Batch:
    """Check a batch against the form of the source.

    Parameters
    ----------
    views, pairs
        As for ``fit``; row numbers of the pairs count the rows of the batch.
    form : SourceForm
    couple_weights : dict or None
    number : int
        Number of the batch.
    starts : tuple of int
        How many rows of each modality were in the batches before.
    caller : str
    """
    if isinstance(views, Mapping):
        for name in views:
            if name not in form.modalities and form.named is not None and isinstance(pairs, Pairs):
                raise UnknownModalityError(
                    f"{caller}: unknown modality {name!r}. Batch 0 has {', '.join(map(repr, form.modalities))}."
                )
        for name in form.modalities:
            if name not in views:
                raise UnknownModalityError(
                    f"{caller}: modality {name!r} is missing. Give an array without rows if the batch has none of it."
                )
    named = _named(views, pairs, list(form.modalities), caller)
    arrays = _checked_views(views, form, form.modalities, caller)
    n_rows = {m: int(X.shape[0]) for m, X in zip(form.modalities, arrays, strict=True)}
    assert form.named is not None, "the form was made from a batch"
    if set(named.pairs) != set(form.named.pairs):
        raise PairsError(
            f"{caller}: the pairs are between {', '.join(map(repr, named.pairs))}, but in batch 0 between "
            f"{', '.join(map(repr, form.named.pairs))}. Use the same couples in all batches."
        )
    ordered = NamedCouples(form.modalities, {key: named.pairs[key] for key in form.named.pairs}, named.n_rows)
    couples = resolve_all(ordered, n_rows, couple_weights, caller=caller, list_ids=True)
    if CoupleForm.all_of(couples) != form.couples:
        raise PairsError(
            f"{caller}: the pairs are of another kind than those of batch 0 (listed or implied, by label or not, with "
            "weights or not). Make the pairs of all batches in the same way."
        )
    return make_batch(arrays, couples, number=number, starts=starts)


def make_batch(arrays: list[Any], couples: ResolvedCouples, *, number: int, starts: tuple[int, ...]) -> Batch:
    """A batch of checked arrays and pairs."""
    keys = [row_keys(np.arange(start, start + X.shape[0])) for start, X in zip(starts, arrays, strict=True)]
    return Batch(
        number,
        tuple(arrays),
        tuple(couple.pairs for couple in couples),
        tuple(partner_keys(keys, couples.couples)),
        starts,
    )


def _ids_of(pairs: Any) -> list[NDArray[Any]]:
    given = [pairs] if isinstance(pairs, Pairs) else list(pairs.values())
    found = [each.ids for each in given if isinstance(each, Pairs) and each.ids is not None]
    return [np.unique(np.concatenate(found))] if found else []


def check_ids_differ(ids: list[NDArray[Any]], caller: str) -> None:
    """Raise an error if an id occurs in two batches: their rows would not be found to be one object."""
    if not ids:
        return
    numbers = np.repeat(np.arange(len(ids)), [len(each) for each in ids])
    together = np.concatenate(ids)
    order = np.argsort(together, kind="stable")
    same = np.flatnonzero(together[order][1:] == together[order][:-1])
    if len(same):
        first, second = order[same[0]], order[same[0] + 1]
        raise PairsError(
            f"{caller}: the id {together[first].item()!r} occurs in batch {numbers[first]} and in batch "
            f"{numbers[second]}. Put all rows of an object into the same batch."
        )
