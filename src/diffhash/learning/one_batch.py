"""Rows and pairs in memory as a source of one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from ..pairs.couples import ResolvedCouples
from .batches import Batch, CoupleForm, OneBatch, SourceForm
from .sample_keys import partner_keys, row_keys

__all__ = ["one_batch"]


def one_batch(modalities: Sequence[str], views: Sequence[Any], couples: ResolvedCouples) -> OneBatch:
    """A source of checked views and pairs in memory.

    Parameters
    ----------
    modalities : list of str
    views : list of arrays of shape (n, n_features), dense or CSR
    couples : ResolvedCouples
    """
    keys = partner_keys([row_keys(np.arange(X.shape[0])) for X in views], couples.couples)
    batch = Batch(0, tuple(views), tuple(c.pairs for c in couples), tuple(keys), (0,) * len(views), keep=True)
    form = SourceForm(
        tuple(modalities),
        tuple(int(X.shape[1]) for X in views),
        tuple(scipy.sparse.issparse(X) for X in views),
        CoupleForm.all_of(couples),
        tuple(int(X.shape[0]) for X in views),
    )
    return OneBatch(batch, form)
