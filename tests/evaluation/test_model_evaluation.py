"""Evaluation of a model in all directions."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh
from diffhash.errors import InputError, ParameterError, UnknownModalityError
from diffhash.evaluation import (
    direction_matrix,
    evaluate_model,
)


def test_a_model_is_evaluated_in_all_directions_and_both_protocols(small_data, small_pairs):
    hasher = dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs)
    unseen = evaluate_model(hasher, small_data.test.views, small_data.test.labels)
    assert set(unseen) == {("x", "x"), ("x", "y"), ("y", "x"), ("y", "y")}
    assert unseen["x", "x"].table.sum() == 200 * 199, "a query does not find itself"
    assert unseen["x", "y"].table.sum() == 200 * 200
    training = evaluate_model(
        hasher,
        small_data.test.views,
        small_data.test.labels,
        database=small_data.train.views,
        database_labels=small_data.train.labels,
    )
    assert training["y", "x"].table.sum() == 200 * 400


def test_a_database_needs_its_labels_and_known_modalities(small_data, small_pairs):
    hasher = dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs)
    with pytest.raises(ParameterError, match="its labels, or neither"):
        evaluate_model(hasher, small_data.test.views, small_data.test.labels, database=small_data.train.views)
    with pytest.raises(InputError, match="unknown modality 'X'"):
        evaluate_model(hasher, {"X": small_data.test.views["x"]}, {"X": small_data.test.labels["x"]})


@pytest.mark.parametrize("learned", [lambda hasher: hasher, lambda hasher: hasher.model_])
def test_modality_names_and_labels_are_checked_before_anything_is_encoded(learned, small_data, small_pairs):
    hasher = learned(dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs))
    test = small_data.test
    unreadable = {"x": "not an array", "X": test.views["x"]}

    with pytest.raises(
        UnknownModalityError, match=r"^evaluate_model: unknown modality 'X'\. Known: 'x', 'y'"
    ):
        evaluate_model(hasher, unreadable, test.labels | {"X": test.labels["x"]})
    with pytest.raises(UnknownModalityError, match=r"^evaluate_model: unknown modality 'X'"):
        evaluate_model(
            hasher,
            test.views,
            test.labels,
            database=unreadable,
            database_labels=test.labels | {"X": test.labels["x"]},
        )
    with pytest.raises(ParameterError, match=r"^evaluate_model: there are no labels for modality 'y'"):
        evaluate_model(hasher, test.views, {"x": test.labels["x"]})


def test_the_learned_model_is_evaluated_as_its_hasher(small_data, small_pairs):
    hasher = dh.DiffHash(n_bits=4).fit(small_data.train.views, small_pairs)

    by_hasher = evaluate_model(hasher, small_data.test.views, small_data.test.labels)
    by_model = evaluate_model(hasher.model_, small_data.test.views, small_data.test.labels)

    for direction, result in by_hasher.items():
        np.testing.assert_array_equal(by_model[direction].table, result.table)


def test_a_matrix_of_directions_has_means_within_and_across():
    def evaluation_of(relevant_is_near):
        codes = np.array([[0], [255]], dtype=np.uint8)
        return dh.evaluate(codes, codes if relevant_is_near else ~codes, [0, 1], [0, 1])

    found = {
        ("text", "text"): evaluation_of(True),
        ("text", "image"): evaluation_of(False),
        ("image", "text"): evaluation_of(True),
    }

    matrix = direction_matrix(found)

    assert matrix.queries == ("text", "image")
    np.testing.assert_allclose(matrix.values, [[1.0, 0.5], [1.0, np.nan]])
    assert (matrix.within, matrix.across) == (1.0, 0.75)
    assert "0.500" in str(matrix).splitlines()[1]
    assert str(matrix).splitlines()[2].split() == ["image", "1.000", "-"]
    assert np.isnan(direction_matrix({("a", "a"): evaluation_of(True)}).across)
    with pytest.raises(ParameterError, match="measure must be one of"):
        direction_matrix(found, "speed")
