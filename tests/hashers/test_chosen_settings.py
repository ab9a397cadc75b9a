"""The second fit of the calibration uses the settings that the first one chose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.hashers.refined.chosen_settings import chosen_parameters
from diffhash.hashers.refined.pair_trial import ViewSetting
from diffhash.maps.representation import METRICS, Representation

representations = st.builds(
    Representation,
    st.sampled_from(["linear", "kernel"]),
    st.sampled_from(METRICS),
    st.sampled_from([0.25, 1.0, 4.0]),
)
settings = st.builds(ViewSetting, representations, st.sampled_from([1.0, 0.03, 1e-05, 1e-07]))


@given(st.lists(settings, min_size=1, max_size=4))
def test_descriptions_give_the_settings_back(views):
    names = [f"m{number}" for number in range(len(views))]

    found = chosen_parameters(f"{' | '.join(map(str, views))}; rotated, 8 directions; more", names)

    for name, view in zip(names, views, strict=True):
        kernel = view.representation.features == "kernel"
        assert found["features"][name] == view.representation.features
        assert found["metric"][name] == view.representation.metric
        assert found["ridge"][name] == view.ridge
        assert found["width"][name] == (view.representation.width if kernel else "auto")


@pytest.mark.parametrize(
    "chosen", ["", "linear cosine; rotated", "linear cosine, ridge 1 | linear cosine, ridge 1"]
)
def test_another_description_fixes_nothing(chosen):
    assert chosen_parameters(chosen, ["x"]) == {}


@pytest.mark.parametrize("labelled", [False, True])
def test_calibrate_does_not_search_settings_again(labelled, monkeypatch):
    """The second fit has one representation and one ridge for each view; other parameters are those of the user."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(120, 3))
    views = {"x": latent @ rng.normal(size=(3, 5)), "y": latent @ rng.normal(size=(3, 4))}
    pairs = dh.Pairs.from_labels(*[latent[:, 0] > 0] * 2) if labelled else dh.Pairs.aligned(120)
    hasher = dh.RefinedHash(n_bits=8, max_iter=3).fit(views, pairs)
    second = []
    learn = dh.RefinedHash._learn
    monkeypatch.setattr(dh.RefinedHash, "_learn", lambda self, data: second.append(self) or learn(self, data))

    hasher.calibrate(views, pairs)

    (found,) = second
    assert chosen_parameters(hasher.report_.chosen, ["x", "y"])["ridge"] == found.ridge
    assert all(f"{found.features[m]} {found.metric[m]}" in hasher.report_.chosen for m in "xy")
    assert found.max_iter == 3
    assert hasher.ridge == "auto"
