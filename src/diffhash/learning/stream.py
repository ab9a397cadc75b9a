"""What is known about data that pass only once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..maps import FeatureMap
from ..maps.view_moments import ViewMoments
from .batches import Batch, Source, SourceForm
from .passes import DataSums, FeaturePass, FeatureSums, FirstPass

__all__ = ["NoSource", "Stream", "extended_stream"]


class _MapSettings(Protocol):
    """How the map of a modality is learned."""

    @property
    def affine(self) -> bool: ...

    @property
    def whiten(self) -> bool: ...

    def map_of(self, moments: ViewMoments, sample: Any) -> FeatureMap: ...


class NoSource(Source):
    """The form of batches that are gone."""

    def __init__(self, form: SourceForm) -> None:
        self.form, self.n_batches = form, None

    def reduce(self, job: Callable[[Batch], Any]) -> Any:  # noqa: ARG002 - nothing can be done
        """There is nothing to read."""
        raise AssertionError("the batches of a stream cannot be read again")


@dataclass(frozen=True)
class Stream:
    """Sums over all batches that have passed.

    Attributes
    ----------
    form : SourceForm
    n_batches : int
    n_rows : tuple of int
        Number of rows of each modality that have passed.
    sums : DataSums
    maps : tuple of FeatureMap, or None
        Maps that are not affine; the first batch fixes them.
    features : FeatureSums or None
        Sums of their features.
    forgotten : bool
        Whether anything was forgotten.
    """

    form: SourceForm
    n_batches: int
    n_rows: tuple[int, ...]
    sums: DataSums
    maps: tuple[FeatureMap, ...] | None
    features: FeatureSums | None
    forgotten: bool


def extended_stream(
    known: Stream | None,
    batch: Batch,
    form: SourceForm,
    job: FirstPass,
    settings: Sequence[_MapSettings],
    forget: float,
) -> Stream:
    """Add a batch; the stream before it is not changed.

    Parameters
    ----------
    known : Stream or None
        The batches before; None for the first.
    batch : Batch
    form : SourceForm
    job : FirstPass
    settings : settings of the map of each modality
    forget : float in [0, 1)
        The batches before count only ``1 - forget`` times as much.
    """
    sums = job(batch)
    maps = features = None
    if not all(each.affine for each in settings):
        maps = known.maps if known is not None else None
        if maps is None:
            rows, _ = sums.sample.data()
            maps = tuple(each.map_of(m, X) for each, m, X in zip(settings, sums.views, rows, strict=True))
        features = FeaturePass(maps, job.forms, tuple(each.whiten for each in settings))(batch)
    n_rows = tuple(batch.n_own(u) for u in range(len(batch.views)))
    if known is None:
        return Stream(form, 1, n_rows, sums, maps, features, False)
    # A copy: if learning fails, the batches before must not contain this one.
    before = known.sums.faded(1.0 - forget)
    mapped = None if known.features is None else known.features.faded(1.0 - forget)
    if features is not None and mapped is not None:
        features = mapped.merge(features)
    return replace(
        known,
        n_batches=known.n_batches + 1,
        n_rows=tuple(a + b for a, b in zip(known.n_rows, n_rows, strict=True)),
        sums=before.merge(sums),
        features=features,
        forgotten=known.forgotten or forget > 0,
    )
