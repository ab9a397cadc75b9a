"""Type aliases for arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Real-valued array, float32 or float64.
FloatArray: TypeAlias = NDArray[np.floating[Any]]
#: Array of whole numbers: row numbers, labels, counts.
IntArray: TypeAlias = NDArray[np.integer[Any]]
#: Packed codes, ``uint8`` of shape ``(n, ceil(n_bits / 8))``, little bit order.
CodeArray: TypeAlias = NDArray[np.uint8]
#: Boolean array.
BoolArray: TypeAlias = NDArray[np.bool_]
#: Row numbers of pairs: ``(i, j)``, two integer arrays of equal length.
PairIndex: TypeAlias = tuple[IntArray, IntArray]
#: Feature arrays by modality, as a user passes them (dense, or scipy sparse).
Views: TypeAlias = Mapping[str, Any]
