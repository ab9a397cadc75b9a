"""The name of a modality that is not a name."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from diffhash.errors import UnknownModalityError
from diffhash.validation import known_modality

NO_NAMES = [np.zeros(0), np.zeros(3), np.zeros((), "V4"), scipy.sparse.eye_array(2), 3, ["x"]]


@pytest.mark.parametrize("modality", NO_NAMES, ids=["empty", "numbers", "void", "sparse", "number", "list"])
def test_a_modality_that_is_not_a_name_is_unknown(modality):
    """Comparing an array with a name is an error of NumPy or SciPy."""
    with pytest.raises(UnknownModalityError, match="encode: unknown modality"):
        known_modality(modality, ("x", "y"), caller="encode")
