"""Pairs of many modalities: by id, by label and aligned; couples and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import InputError, PairsError, ParameterError, UnknownModalityError
from diffhash.pairs import named
from diffhash.pairs.couples import name_couples, resolve_couples
from diffhash.pairs.objects import hold_out_couples, object_numbers


def couples_of(pairs, n_rows, weights=None):
    found = name_couples(pairs, list(n_rows), caller="test")
    return resolve_couples(found, n_rows, weights, caller="test", need_negatives=True)


def pairs_in(resolved):
    """All positive pairs as a set, listed or implied by groups."""
    if resolved.positive is not None:
        return set(zip(*map(np.ndarray.tolist, resolved.positive), strict=True))
    x, y = resolved.groups.x, resolved.groups.y
    every = {(i, j) for i in range(len(x)) for j in range(len(y)) if x[i] == y[j]}
    return {(i, j) for i, j in every if i < j} if resolved.one_view else every


@given(st.integers(0, 2**31), st.integers(1, 40), st.sampled_from([0, 8]))
def test_rows_with_the_same_id_are_pairs_in_every_couple(seed, n_ids, most_per_row):
    """With few rows of an id the pairs are listed, with many they are implied; the pairs are the same."""
    rng = np.random.default_rng(seed)
    ids = {name: rng.integers(0, n_ids, size=rng.integers(2, 12)).astype(str) for name in "abc"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(named, "_MAX_PAIRS_PER_ROW", most_per_row)
        pairs = dh.Pairs.from_ids(ids)
        for u in "abc":
            for v in "abc":
                sizes = (len(ids[u]), None if u == v else len(ids[v]))
                resolved = pairs.couple(u, v).resolve(*sizes)
                expected = {
                    (i, j)
                    for i, one in enumerate(ids[u])
                    for j, other in enumerate(ids[v])
                    if one == other and (u != v or i < j)
                }
                assert pairs_in(resolved) == expected
                assert resolved.n_positive == len(expected)
                n_all = sizes[0] * (sizes[0] - 1) // 2 if u == v else sizes[0] * sizes[1]
                assert resolved.n_negative == n_all - len(expected)


def test_equal_ids_without_repetition_are_aligned_rows():
    ids = ["c", "a", "b"]
    pairs = dh.Pairs.from_ids({"x": ids, "y": ids, "z": ids[::-1]})

    assert pairs.couple("x", "y").resolve(3, 3).aligned
    assert not pairs.couple("x", "z").resolve(3, 3).aligned


def test_many_rows_of_one_id_are_not_listed():
    """A million pairs of ten ids: their number is known, and nothing is enumerated."""
    ids = np.arange(100_000) % 10
    resolved = dh.Pairs.from_ids({"x": ids, "y": ids, "z": ids}).couple("x", "y").resolve(100_000, 100_000)

    assert resolved.positive is None
    assert resolved.n_positive == 10 * 10_000**2


@pytest.mark.parametrize("second", [["a", "b", "a"], None])
def test_labels_by_name_are_the_labels_by_position(second):
    first = ["b", "a", "b", "c"]
    by_name = {"x": first} if second is None else {"x": first, "y": second}
    sizes = (4, None if second is None else 3)

    one = dh.Pairs.from_labels(by_name).resolve(*sizes)
    other = dh.Pairs.from_labels(first, second).resolve(*sizes)

    assert pairs_in(one) == pairs_in(other)
    assert one.n_negative == other.n_negative


def test_a_couple_of_labels_can_be_asked_for_in_either_order():
    pairs = dh.Pairs.from_labels({"x": [0, 1], "y": [1, 1, 0], "z": [0]}, n_positive=1, random_state=0)
    forward, backward = pairs.couple("x", "y"), pairs.couple("y", "x")

    np.testing.assert_array_equal(forward.positive, backward.positive[::-1])
    assert pairs_in(pairs.couple("y", "z").resolve(3, 1)) == {(2, 0)}


def test_named_pairs_are_sampled_couple_by_couple():
    ids = {name: np.arange(30) for name in "xyz"}
    sample = dh.Pairs.from_ids(ids).sample(5, 9, random_state=0)

    for u, v in ("xy", "xz", "zy"):
        resolved = sample.couple(u, v).resolve(30, 30)
        assert (resolved.n_positive, resolved.n_negative) == (5, 9)
        assert all(i == j for i, j in pairs_in(resolved))


def test_aligned_rows_of_many_views_are_pairs_of_all_couples():
    couples = couples_of(dh.Pairs.aligned(4), {"x": 4, "y": 4, "z": 4})

    assert [couple.sides for couple in couples] == [(0, 1), (0, 2), (1, 2)]
    assert all(couple.pairs.aligned for couple in couples)


def test_couples_without_common_objects_are_left_out():
    """Objects with gaps: nobody has both speech and text, but pictures join them."""
    pairs = dh.Pairs.from_ids({"image": [1, 2, 3, 4], "text": [1, 2], "speech": [3, 4]})
    couples = couples_of(pairs, {"image": 4, "text": 2, "speech": 2})

    assert [couple.sides for couple in couples] == [(0, 1), (0, 2)]


def test_couples_have_weights():
    pairs = {("x", "y"): dh.Pairs.aligned(3), ("y", "y"): dh.Pairs.from_labels([0, 1, 0])}
    couples = couples_of(pairs, {"x": 3, "y": 3}, {("y", "x"): 2, "y": 0.5})

    assert [(couple.sides, couple.weight) for couple in couples] == [((0, 1), 2.0), ((1, 1), 0.5)]


ALIGNED = dh.Pairs.aligned(4)
ROWS = dict.fromkeys(["x", "y", "z", "w"], 4)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: dh.Pairs.from_ids([1, 2]), PairsError, "dict of ids by modality.*got list"),
        (lambda: dh.Pairs.from_ids({}), PairsError, "an empty dict"),
        (lambda: dh.Pairs.from_ids({"a": [1], "b": []}), PairsError, "the ids of 'b' are empty"),
        (lambda: dh.Pairs.from_ids(np.arange(3)), PairsError, "got ndarray"),
        (lambda: dh.Pairs.from_ids({1: [1]}), PairsError, "must be strings"),
        (lambda: dh.Pairs.from_ids({"x": [[1, 0]], "y": [[0, 1]]}), PairsError, "one id for each row"),
        (lambda: dh.Pairs.from_ids({"x": [1.0, np.nan], "y": [1, 2]}), PairsError, "the ids of 'x' has NaN"),
        (lambda: dh.Pairs.from_ids({"x": [1], "y": ["1"]}), PairsError, "cannot be compared"),
        (lambda: dh.Pairs.from_ids({"x": [1], "y": []}), PairsError, "the ids of 'y'"),
        (lambda: dh.Pairs.from_labels({"x": [1]}, [2]), PairsError, "one dict of labels"),
        (lambda: dh.Pairs.aligned(3).couple("x", "y"), PairsError, "do not name modalities"),
        (
            lambda: dh.Pairs.from_ids({"x": [1], "y": [1]}).couple("x", "z"),
            UnknownModalityError,
            "unknown modality 'z'",
        ),
        (
            lambda: dh.Pairs.from_ids({"x": [1], "y": [1], "z": [1]}).resolve(1, 1),
            PairsError,
            r"between 3 modalities.*couple\(first, second\)",
        ),
        (
            lambda: couples_of(dh.Pairs.from_ids({"x": [1], "y": [1]}), {"x": 1, "y": 1, "z": 1}),
            PairsError,
            "says nothing about modality 'z'",
        ),
        (
            lambda: couples_of(dh.Pairs.from_ids({"x": [1], "q": [1]}), {"x": 1, "y": 1}),
            UnknownModalityError,
            "unknown modality 'q'",
        ),
        (
            lambda: couples_of(dh.Pairs.from_ids({"x": [1, 2], "y": [1, 1]}), {"x": 2, "y": 3}),
            PairsError,
            "modality 'y' has 3 rows, but there are ids or labels for 2",
        ),
        (
            lambda: dh.Pairs.from_ids({"x": [1, 2], "y": [1, 1]}).resolve(2, 3),
            PairsError,
            "have 2 and 3 rows, but there are ids for 2 and 2",
        ),
        (
            lambda: couples_of(
                dh.Pairs.from_ids({"x": [1, 2], "y": [1, 2], "z": [3, 4]}), {"x": 2, "y": 2, "z": 2}
            ),
            PairsError,
            "modality 'z' has no positive pair with any other modality",
        ),
        (
            lambda: couples_of({("x", "y"): ALIGNED, ("z", "w"): ALIGNED}, ROWS),
            PairsError,
            "2 separate parts: 'x' and 'y'; 'z' and 'w'",
        ),
        (
            lambda: couples_of({("x", "y"): ALIGNED, ("z", "z"): dh.Pairs.from_labels([0, 0, 1, 1])}, ROWS),
            PairsError,
            "modality 'z' has no positive pair with any other",
        ),
        (
            lambda: couples_of({("x", "y"): ALIGNED, ("y", "z"): dh.Pairs(([], []))}, ROWS),
            PairsError,
            r"couple \('y', 'z'\): there is no positive pair",
        ),
        (
            lambda: couples_of({("x", "y"): ALIGNED, ("y", "z"): dh.Pairs(([0], [7]))}, ROWS),
            PairsError,
            r"couple \('y', 'z'\): positive pair 0 has row 7",
        ),
        (lambda: couples_of({("x", "q"): ALIGNED}, ROWS), UnknownModalityError, "unknown modality 'q'"),
        (lambda: couples_of({("x", "y"): ALIGNED}, ROWS, 3), ParameterError, "couple_weights must be a dict"),
        (
            lambda: couples_of({("x", "y"): ALIGNED}, ROWS, {("x", "z"): 1.0}),
            InputError,
            "unknown modality 'z'",
        ),
        (
            lambda: couples_of({("x", "y"): ALIGNED}, ROWS, {("x", "x"): 1.0}),
            ParameterError,
            "which has no pairs",
        ),
        (
            lambda: couples_of({("x", "y"): ALIGNED}, ROWS, {("x", "y"): 1.0, ("y", "x"): 1.0}),
            ParameterError,
            "twice",
        ),
        *(
            (
                lambda weight=weight: couples_of({("x", "y"): ALIGNED}, ROWS, {("x", "y"): weight}),
                ParameterError,
                "finite number above 0",
            )
            for weight in (0, -1.0, np.nan, np.inf, True, "1", None)
        ),
        *(
            (lambda weights=weights: dh.Pairs(([0, 1], [0, 1]), weights=weights), PairsError, "weights")
            for weights in ([1.0], [1.0, 0.0], [1.0, -2.0], [1.0, np.nan], [1.0, np.inf], ["a", "b"], 3.0)
        ),
        (lambda: dh.Pairs(([0], [0]), negative_weights=[1.0]), PairsError, "needs a list of negative pairs"),
    ],
)
def test_bad_couples_raise_an_error_that_names_the_problem(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_repeated_pair_has_its_largest_weight_in_either_order():
    pairs = dh.Pairs(([0, 2, 1, 1], [1, 1, 0, 1]), weights=[0.5, 3.0, 2.0, 9.0])

    one_view = pairs.resolve(3)
    two_views = pairs.resolve(3, 3)

    assert dict(zip(zip(*one_view.positive, strict=True), one_view.positive_weights, strict=True)) == {
        (0, 1): 2.0,
        (1, 2): 3.0,
    }
    assert two_views.positive_weights.tolist() == [0.5, 2.0, 9.0, 3.0]
    assert two_views.positive_mass == 14.5


def test_samples_and_subsets_keep_the_weights_of_their_pairs():
    i, j = np.arange(20), (np.arange(20) * 7) % 20
    weights = 1.0 + 10 * i + j
    pairs = dh.Pairs((i, j), weights=weights)
    of_pair = {(a, b): 1.0 + 10 * a + b for a, b in zip(i.tolist(), j.tolist(), strict=True)}

    sample = pairs.sample(8, 5, random_state=0, n_rows=(20, 20))
    rows = np.array([3, 1, 9, 11, 19, 5])
    subset = pairs.resolve(20, 20).subset(rows, np.arange(20))

    assert [of_pair[pair] for pair in zip(*map(np.ndarray.tolist, sample.positive), strict=True)] == list(
        sample.weights
    )
    back = zip(rows[subset.positive[0]].tolist(), subset.positive[1].tolist(), strict=True)
    assert [of_pair[pair] for pair in back] == subset.positive_weights.tolist()


@given(st.integers(0, 2**31))
def test_objects_are_the_rows_that_ids_join(seed):
    rng = np.random.default_rng(seed)
    ids = [rng.choice(12, size=n, replace=n > 12) for n in (12, 8, 20)]
    pairs = dh.Pairs.from_ids(dict(zip("abc", ids, strict=True)))

    numbers = np.concatenate(object_numbers(couples_of(pairs, {"a": 12, "b": 8, "c": 20})))

    everything = np.concatenate(ids)
    # The first view has every id, so rows are one object if and only if they have the same id.
    assert np.array_equal(numbers[:, None] == numbers, everything[:, None] == everything)


def test_all_rows_of_an_object_are_in_the_same_part_of_a_split(rng):
    ids = [np.arange(300), rng.permutation(300)[:150], np.repeat(np.arange(100, 300), 2)]
    n_rows = dict(zip("abc", map(len, ids), strict=True))
    couples = couples_of(dh.Pairs.from_ids(dict(zip("abc", ids, strict=True))), n_rows)

    splits = hold_out_couples(couples, 0.25, 10_000, rng, 4)

    assert len(splits) == 4
    scored = []
    for split in splits:
        fit_ids, scored_ids = (
            {i for each, part in zip(ids, rows, strict=True) for i in each[part].tolist()}
            for rows in (split.fit_rows, split.scored_rows)
        )
        assert not fit_ids & scored_ids
        assert 0.15 < len(scored_ids) / 300 < 0.35
        assert len(split.scored) == 3
        scored.append(scored_ids)
    assert len(set.union(*scored)) > 290, "the splits score different objects"


def test_a_split_of_many_objects_is_bounded_and_has_partners(rng):
    ids = np.arange(20_000)
    couples = couples_of(
        dh.Pairs.from_ids({"a": ids, "b": ids[5000:6000], "c": ids[5500:]}),
        {"a": 20_000, "b": 1000, "c": 14_500},
    )

    split = hold_out_couples(couples, 0.25, 2000, rng)[0]

    for fit, scored in zip(split.fit_rows, split.scored_rows, strict=True):
        assert len(fit) + len(scored) <= 2000
    assert all(couple.pairs.n_positive > 20 for couple in split.scored)


def test_chains_of_pairs_that_join_everything_do_not_make_one_object(rng):
    i = np.arange(999)
    chain = dh.Pairs((np.concatenate([i, i]), np.concatenate([i, i + 1])))
    couples = couples_of({("a", "b"): chain, ("b", "c"): dh.Pairs.aligned(1000)}, dict.fromkeys("abc", 1000))

    numbers = object_numbers(couples)

    assert len(np.unique(np.concatenate(numbers))) >= 1000
    np.testing.assert_array_equal(numbers[1], numbers[2], "aligned rows stay together")
    assert hold_out_couples(couples, 0.25, 2000, rng)
