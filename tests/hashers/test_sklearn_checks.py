"""scikit-learn's own checks of estimators, over a hasher whose two views are halves of one array."""

from __future__ import annotations

import pytest
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import diffhash as dh

from .column_halves import ColumnHalves

HASHERS = [dh.DiffHash(n_bits=1)]
#: Checks that do not apply, and why.
NOT_APPLICABLE = {
    "check_dtype_object": "arrays of Python objects are refused, with an InputError that says what to do",
    "check_fit2d_1sample": "one object is refused, in the words of pairs: there is no negative pair",
    "check_fit2d_1feature": "with one column, one of the halves is empty",
}
# Data of some checks have nothing in common in both halves, which hashers warn about.
pytestmark = pytest.mark.filterwarnings(
    "ignore::diffhash.errors.DiffhashWarning", "ignore::sklearn.exceptions.SkipTestWarning"
)


@parametrize_with_checks(
    [ColumnHalves(hasher) for hasher in HASHERS], expected_failed_checks=lambda _: NOT_APPLICABLE
)
def test_a_hasher_of_two_halves_passes(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "hasher",
    [dh.DiffHash(n_bits=1), dh.KernelDiffHash(n_bits=1), dh.BoostedHash(n_bits=1), dh.RefinedHash(n_bits=1)],
    ids=lambda hasher: type(hasher).__name__,
)
def test_hashers_pass_the_checks_for_estimators_of_other_input(hasher):
    """The tags say that input is a dict, so scikit-learn runs only what needs no array."""
    assert all(found["status"] == "passed" for found in check_estimator(hasher))


def test_tags_say_that_views_are_a_dict_and_pairs_are_needed():
    tags = get_tags(dh.RefinedHash())

    assert tags.estimator_type == "transformer"
    assert tags.input_tags.dict
    assert tags.input_tags.sparse
    assert not tags.input_tags.two_d_array
    assert tags.target_tags.required
