"""The synthetic data is as section 6 of the paper describes it."""

from __future__ import annotations

import numpy as np
import pytest

import diffhash as dh


def test_shapes_types_and_labels():
    data = dh.datasets.make_paper_data(n_classes=7, n_train=300, n_test=50, random_state=1)
    for split, n in ((data.train, 300), (data.test, 50)):
        assert split.views["x"].shape == (n, 128)
        assert split.views["y"].shape == (n, 64)
        assert split.views["x"].dtype == np.float32
        np.testing.assert_array_equal(split.labels["x"], split.labels["y"])
        assert set(split.labels["x"]) <= set(range(7))


def test_noise_lies_between_3_and_6_in_each_feature_and_centres_are_shared():
    data = dh.datasets.make_paper_data(
        n_classes=2, n_train=8000, n_test=8000, center_scale=5.0, random_state=2
    )
    for modality in ("x", "y"):
        centers = {}
        for name in ("train", "test"):
            split = getattr(data, name)
            rows = split.views[modality][split.labels[modality] == 0]
            deviation = rows.std(axis=0)
            assert deviation.min() > 2.8
            assert deviation.max() < 6.2
            assert deviation.max() - deviation.min() > 2
            centers[name] = rows.mean(axis=0)
        np.testing.assert_allclose(centers["train"], centers["test"], atol=0.5)
        assert 3.5 < centers["train"].std() < 6.5


def test_seed_and_bad_parameters():
    first, again = (dh.datasets.make_paper_data(2, 5, 5, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.test.views["x"], again.test.views["x"])
    with pytest.raises(dh.errors.ParameterError, match="n_classes"):
        dh.datasets.make_paper_data(n_classes=0)
    with pytest.raises(dh.errors.ParameterError, match="center_scale"):
        dh.datasets.make_paper_data(center_scale=-1)
