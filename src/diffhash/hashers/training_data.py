"""What learning takes and returns: checked views and pairs, and arrays by modality."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import UnknownModalityError
from ..frames import names_by_modality
from ..learning.block_source import BlockSource, Rows
from ..maps import FeatureMap
from ..pairs.couples import ResolvedCouples, name_couples, resolve_couples
from ..pairs.resolved import ResolvedPairs
from ..threads import one_blas_thread
from ..types import FloatArray
from ..validation import check_learnable, check_view

if TYPE_CHECKING:
    from .base import BaseHasher

__all__ = ["Learned", "TrainingData", "block_source", "check_training_data", "few_threads"]

#: With at most this many objects, fit uses one BLAS thread, unless the features of a view have more numbers than this.
_FEW_OBJECTS, _FEW_NUMBERS = 20_000, 5_000_000


@dataclass(frozen=True)
class TrainingData:
    """Checked input of ``fit``: the views and the pairs of each couple of them.

    Attributes
    ----------
    modalities : tuple of str
    views : dict by modality, float arrays or CSR
    couples : ResolvedCouples
        Modalities have the numbers that they have in ``modalities``.
    feature_names : dict of tuples of str by modality
        Names of the columns of views that were tables with names.
    """

    modalities: tuple[str, ...]
    views: dict[str, Any]
    couples: ResolvedCouples
    feature_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def pairs(self) -> ResolvedPairs:
        """The pairs of the only couple, from the first modality to the last."""
        pairs = self.couples.only
        assert pairs is not None, "there are several couples"
        return pairs


@dataclass(frozen=True)
class Learned:
    """Result of learning: for every modality a map, a projection matrix and thresholds.

    Attributes
    ----------
    maps, projections, thresholds : dicts by modality
        Projections of shape (n_bits, n_features_out), thresholds of shape (n_bits,).
    extra : dict
        Further arrays by name, see :attr:`BaseHasher.extra_attributes`.
    """

    maps: dict[str, FeatureMap]
    projections: dict[str, FloatArray]
    thresholds: dict[str, FloatArray]
    extra: dict[str, FloatArray]


def check_training_data(
    views: Any, pairs: Any, *, caller: str, need_negatives: bool, couple_weights: Any = None
) -> TrainingData:
    """Check the arguments of ``fit`` before anything is computed."""
    if not isinstance(views, Mapping) or not views:
        raise UnknownModalityError(
            f"{caller}: views must be a dict of arrays by modality, such as "
            f'{{"image": X, "text": Y}}, got {type(views).__name__}.'
        )
    for name in views:
        if not isinstance(name, str) or not name:
            raise UnknownModalityError(f"{caller}: names of modalities must be strings, got {name!r}.")
    named = name_couples(pairs, list(views), caller=caller)
    names = names_by_modality(views, named.modalities, caller=caller)
    arrays = {m: check_view(views[m], caller=caller, modality=m) for m in named.modalities}
    for m, array in arrays.items():
        check_learnable(array, caller=caller, modality=m)
    n_rows = {m: X.shape[0] for m, X in arrays.items()}
    couples = resolve_couples(named, n_rows, couple_weights, caller=caller, need_negatives=need_negatives)
    return TrainingData(named.modalities, arrays, couples, names)


def few_threads(data: TrainingData, n_numbers: int = 0) -> AbstractContextManager[Any]:
    """With small matrices BLAS threads gain nothing, and they are slow when other programs use the cores.

    Parameters
    ----------
    data : TrainingData
    n_numbers : int
        Largest size of the features of a view; 0 if products of large matrices are computed in threads of their own.
    """
    few = max(X.shape[0] for X in data.views.values()) <= _FEW_OBJECTS and n_numbers <= _FEW_NUMBERS
    return one_blas_thread() if few else nullcontext()


def block_source(
    hasher: BaseHasher,
    views: Mapping[str, Rows],
    pairs: Any,
    progress: Callable[[int, int], None] | None = None,
) -> BlockSource:
    """Rows that are read in blocks, such as those of large files, as a source for :meth:`BaseHasher.fit_batches`.

    Parameters
    ----------
    hasher : BaseHasher
        Says which pairs are needed.
    views : dict of Rows by modality
    pairs : Pairs, or {(modality, modality): Pairs}
        Row numbers are those of all rows.
    progress : function, optional
        Called with the number of rows that were read in a pass, and the number of all rows.
    """
    caller = f"{type(hasher).__name__}.fit_batches"
    named = name_couples(pairs, list(views), caller=caller)
    n_rows = {m: views[m].shape[0] for m in named.modalities}
    couples = resolve_couples(
        named, n_rows, hasher.couple_weights, caller=caller, need_negatives=hasher._needs_negatives()
    )
    rows = [views[m] for m in named.modalities]
    return BlockSource(named.modalities, rows, couples, caller=caller, progress=progress)
