"""Oriented gradients and thumbnails."""

import numpy as np
import pytest

from diffhash.errors import InputError, ParameterError
from diffhash.featurizers import HogFeatures, hog, thumbnails


def slow_votes(picture, cells, orientations):
    """Loop over pixels; each adds its gradient to two directions and four cells."""
    height, width = picture.shape
    votes = np.zeros((cells, cells, orientations))
    for r in range(height):
        for c in range(width):
            dx = picture[r, c + 1] - picture[r, c - 1] if 0 < c < width - 1 else 0.0
            dy = picture[r + 1, c] - picture[r - 1, c] if 0 < r < height - 1 else 0.0
            place = np.arctan2(dy, dx) % np.pi / np.pi * orientations - 0.5
            row, column = (r + 0.5) * cells / height - 0.5, (c + 0.5) * cells / width - 0.5
            for i in range(cells):
                for j in range(cells):
                    near = max(0, 1 - abs(i - row)) * max(0, 1 - abs(j - column))
                    for o in range(orientations):
                        apart = abs(o - place) % orientations
                        share = max(0, 1 - min(apart, orientations - apart))
                        votes[i, j, o] += np.hypot(dx, dy) * near * share
    return votes


def slow_hog(picture, cells, orientations, block):
    votes = slow_votes(picture, cells, orientations)
    features = []
    for i in range(cells - block + 1):
        for j in range(cells - block + 1):
            v = votes[i : i + block, j : j + block].ravel()
            v = np.minimum(v / np.linalg.norm(v), 0.2)
            features.append(v / np.linalg.norm(v))
    return np.concatenate(features)


@pytest.mark.parametrize(
    ("height", "width", "cells", "block"), [(12, 12, 3, 2), (11, 14, 4, 2), (8, 8, 2, 1)]
)
def test_hog_equals_the_loop_over_pixels(height, width, cells, block):
    pictures = np.random.default_rng(0).random((3, height, width))

    fast = hog(pictures, cells=cells, orientations=5, block=block)

    slow = [slow_hog(picture, cells, 5, block) for picture in pictures]
    np.testing.assert_allclose(fast, slow, atol=1e-5)


def test_hog_does_not_depend_on_brightness_contrast_or_batch():
    pictures = np.random.default_rng(1).integers(0, 100, (700, 16, 16)).astype(np.float64)

    features = hog(pictures, cells=4)

    np.testing.assert_allclose(hog(pictures * 2 + 30, cells=4), features, atol=1e-5)
    np.testing.assert_allclose(hog(pictures[600:601], cells=4), features[600:601], atol=1e-6)


def test_signed_directions_distinguish_an_edge_from_its_negative():
    edge = np.zeros((1, 8, 8))
    edge[:, :, 4:] = 1.0

    assert np.allclose(hog(edge, cells=2), hog(-edge, cells=2))
    assert not np.allclose(hog(edge, cells=2, signed=True), hog(-edge, cells=2, signed=True))


def test_a_flat_picture_has_no_gradients():
    assert not HogFeatures().fit_transform(np.full((2, 16, 16), 7, dtype=np.uint8)).any()


def test_thumbnails_average_areas_of_any_size():
    """A pixel on a border counts for both areas, so the mean of the picture stays the same."""
    pictures = np.random.default_rng(2).random((4, 7, 10))

    small = thumbnails(pictures, side=3)

    np.testing.assert_allclose(small.mean(axis=1), pictures.mean(axis=(1, 2)), rtol=1e-5)


def test_the_number_of_features_does_not_depend_on_the_picture_size():
    features = HogFeatures(cells=4, thumbnail=4).fit(np.ones((1, 32, 32)))

    assert features.transform(np.ones((2, 20, 50))).shape == (2, features.n_features_out_)
    assert features.transform(np.ones((0, 20, 50))).shape == (0, features.n_features_out_)


@pytest.mark.parametrize(
    "pictures", [np.ones((4, 4)), np.ones((2, 1, 5)), np.full((1, 4, 4), "a"), np.full((1, 4, 4), np.nan)]
)
def test_input_that_is_not_a_batch_of_grey_pictures_is_refused(pictures):
    with pytest.raises(InputError, match="expected"):
        HogFeatures().transform(pictures)


@pytest.mark.parametrize("parameters", [{"cells": 0}, {"block": 9}, {"orientations": 0}, {"thumbnail": -1}])
def test_impossible_parameters_are_refused(parameters):
    with pytest.raises(ParameterError, match="must be"):
        HogFeatures(**parameters).fit(np.ones((1, 16, 16)))
