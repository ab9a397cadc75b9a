"""The second fit of the calibration uses the settings that the first one chose."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import ParameterError
from diffhash.hashers import hasher_from_model
from diffhash.hashers.refined.fit_options import ViewOptions, ViewSetting
from diffhash.maps.representation import METRICS, Representation

representations = st.builds(
    Representation,
    st.sampled_from(["linear", "kernel"]),
    st.sampled_from(METRICS),
    st.sampled_from([0.25, 1.0, 4.0]),
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(120, 3))
    views = {"x": latent @ rng.normal(size=(3, 5)), "y": latent @ rng.normal(size=(3, 4))}
    return views, {"labels": dh.Pairs.from_labels(*[latent[:, 0] > 0] * 2), "rows": dh.Pairs.aligned(120)}


@pytest.fixture(scope="module")
def fitted(data):
    views, pairs = data
    return {kind: dh.RefinedHash(n_bits=8, max_iter=3).fit(views, each) for kind, each in pairs.items()}


@given(representations, st.floats(1e-7, 10))
def test_parameters_of_a_setting_allow_nothing_else(representation, ridge):
    found = ViewSetting(representation, ridge).parameters()

    widths = ViewOptions().widths if found["width"] == "auto" else (found["width"],)
    choices = ViewOptions((found["features"],), (found["metric"],), widths, (found["ridge"],))
    if representation.features == "kernel":
        assert choices.representations(np.ones((1, 1))) == [representation]
    else:
        assert found["width"] == "auto"
    assert choices.ridges == (ridge,)


@pytest.mark.parametrize("kind", ["labels", "rows"])
@pytest.mark.parametrize("reloaded", [False, True])
def test_calibrate_does_not_search_settings_again(kind, reloaded, data, fitted, tmp_path, monkeypatch):
    """The second fit has one representation and one ridge for each view; other parameters are those of the user."""
    hasher, views = fitted[kind], data[0]
    settings = hasher.report_.settings
    if reloaded:
        hasher.save(tmp_path / "m.dhm")
        hasher = dh.load(tmp_path / "m.dhm")
    second = _second_fits(monkeypatch)

    hasher.calibrate(views, data[1][kind])

    (found,) = second
    assert {name: getattr(found, name) for name in settings} == settings
    assert all(f"{found.features[m]} {found.metric[m]}" in hasher.report_.chosen for m in "xy")
    assert found.max_iter == 3
    assert hasher.ridge == "auto"


def test_settings_are_parameters_of_another_fit(data, fitted):
    hasher, views = fitted["rows"], data[0]

    again = dh.RefinedHash(n_bits=8, max_iter=3, **hasher.report_.settings).fit(views, data[1]["rows"])

    assert again.report_.settings == hasher.report_.settings


def test_a_model_without_settings_is_searched_again(data, fitted, monkeypatch):
    """Older releases kept only a description."""
    hasher = _with_settings(fitted["rows"], None)
    assert hasher.report_.settings == {}
    second = _second_fits(monkeypatch)

    hasher.calibrate(data[0], data[1]["rows"])

    assert [each.ridge for each in second] == ["auto"]


def test_settings_that_lack_a_modality_are_not_used(data, fitted, monkeypatch):
    """As in a model that another modality has joined."""
    views = {**data[0], "z": data[0]["x"] ** 3}
    hasher = fitted["rows"].extend(views, data[1]["rows"], modality="z")
    second = _second_fits(monkeypatch)

    hasher.calibrate(views, data[1]["rows"])

    assert [each.ridge for each in second] == ["auto"]


def test_impossible_settings_of_a_file_are_an_error(data, fitted):
    wrong = fitted["rows"].report_.settings | {"metric": {"x": "nonsense", "y": "cosine"}}
    hasher = _with_settings(fitted["rows"], wrong)
    model = hasher.model_

    with pytest.raises(ParameterError, match="metric"):
        hasher.calibrate(data[0], data[1]["rows"])

    assert hasher.model_ is model


def _with_settings(hasher, settings):
    """The hasher with other settings in its report; None for the report of an older release."""
    model = hasher.model_
    fields = json.loads(bytes(model.extra["report"]))
    del fields["settings"]
    if settings is not None:
        fields["settings"] = settings
    report = np.frombuffer(json.dumps(fields).encode(), dtype=np.uint8)
    return hasher_from_model(replace(model, extra=model.extra | {"report": report}))


def _second_fits(monkeypatch):
    second = []
    learn = dh.RefinedHash._learn
    monkeypatch.setattr(dh.RefinedHash, "_learn", lambda self, data: second.append(self) or learn(self, data))
    return second
