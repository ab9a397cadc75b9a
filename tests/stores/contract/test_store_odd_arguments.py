"""Arguments that are not what their names say are refused with an error of ours."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from diffhash.errors import InputError, UnknownModalityError


@pytest.mark.parametrize("payloads", [np.array(None), np.array({"a": 1}), np.array(3)])
def test_an_array_without_dimensions_is_not_a_list_of_payloads(store, payloads):
    with pytest.raises(InputError, match="payloads must be a list of dicts"):
        store.add_codes(np.zeros((1, 2), np.uint8), modality="x", ids=[1], payloads=payloads)
    assert len(store) == 0


@pytest.mark.parametrize("into", [np.zeros(0), np.zeros(3), scipy.sparse.eye_array(2), "z"])
def test_a_modality_to_search_in_that_is_not_a_name_is_unknown(store, into):
    store.add_codes(np.zeros((1, 2), np.uint8), modality="x", ids=[1])
    with pytest.raises(UnknownModalityError, match="unknown modality"):
        store.search_item(1, into=into)
