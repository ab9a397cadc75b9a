"""How often each bit of the stored codes is one. A bit that is always the same says nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codes import unpack

__all__ = ["describe_bits"]

#: Objects that are looked at.
_SAMPLE = 2_000


def describe_bits(store: Any) -> dict[str, Any]:
    """Share of ones in each bit, by modality, from the first objects."""
    codes: dict[str, list[Any]] = {}
    items: list[Any] = next(iter(store.iterate(batch=_SAMPLE)), [])
    for item in items:
        for name, code in item.codes.items():
            codes.setdefault(name, []).append(code)
    shares = {
        name: unpack(np.stack(rows), store.n_bits).mean(axis=0).tolist() for name, rows in codes.items()
    }
    return {"sampled": len(items), "n_bits": store.n_bits, "shares": shares}
