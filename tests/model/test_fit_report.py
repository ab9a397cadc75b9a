"""The report of a fit: bytes, files, HTML and the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffhash as dh
from diffhash.errors import ModelFileError
from diffhash.model import FitReport, Tried
from tests.cli.process import diffhash

scores = st.floats(0, 1)
reports = st.builds(
    FitReport,
    st.text(max_size=20),
    st.text(max_size=20),
    st.none() | scores,
    st.none() | scores,
    st.lists(st.builds(Tried, st.text(max_size=9), scores), max_size=4).map(tuple),
    st.lists(st.text(max_size=9), max_size=3).map(tuple),
    st.dictionaries(
        st.sampled_from(["features", "metric", "width", "ridge"]),
        st.dictionaries(st.text(max_size=5), st.text(max_size=5) | scores, max_size=3),
    ),
)


def _with_settings(settings):
    fields = {"chosen": "a", "measure": "b", "expected": 0, "chance": 0, "tried": [], "notes": []}
    return json.dumps(fields | {"settings": settings}).encode()


@pytest.fixture(scope="module")
def fitted():
    labels = np.arange(120) % 4
    rng = np.random.default_rng(0)
    views = {m: np.eye(4)[labels] + 0.2 * rng.normal(size=(120, 4)) for m in "xy"}
    return dh.RefinedHash(n_bits=8).fit(views, dh.Pairs.from_labels(labels, labels))


@given(reports)
def test_a_report_survives_as_bytes(report):
    assert FitReport.from_array(report.to_array()) == report


@given(reports)
def test_a_report_has_no_markup_of_its_own(report):
    html = report.to_html()
    assert html.count("<details>") == 1
    assert html.count("<tr>") == 1 + len(report.tried)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[1]",
        b"null",
        b"\xff\xfe",
        json.dumps(
            {"chosen": "a", "measure": "b", "expected": "much", "chance": 0, "tried": [], "notes": []}
        ).encode(),
        json.dumps(
            {"chosen": "a", "measure": "b", "expected": 0, "chance": 0, "tried": [{}], "notes": []}
        ).encode(),
        json.dumps(
            {"chosen": "a", "measure": "b", "expected": 0, "chance": 0, "tried": [], "notes": 3}
        ).encode(),
        _with_settings([]),
        _with_settings({"n_bits": {"x": 3}}),
        _with_settings({"ridge": 3}),
        _with_settings({"ridge": {"x": True}}),
        _with_settings({"ridge": {"x": float("nan")}}),
        _with_settings({"ridge": {"x": 10**400}}),
    ],
)
def test_damaged_bytes_are_an_error(data):
    with pytest.raises(ModelFileError, match="report in the model is damaged"):
        FitReport.from_array(np.frombuffer(data, dtype=np.uint8))


def test_the_report_is_kept_by_a_model_file_and_shown(fitted, tmp_path):
    report = fitted.report_
    assert report.measure == "mean average precision"
    assert report.expected > 0.9
    assert 0.2 < report.chance < 0.4
    assert report.chosen.split("; ")[-1] in {each.description for each in report.tried}
    assert report.to_html() in fitted._repr_html_()
    fitted.save(tmp_path / "m.dhm")

    assert dh.load(tmp_path / "m.dhm").report_ == report
    assert dh.RefinedHash(n_bits=8)._repr_html_()

    result = diffhash("info", tmp_path / "m.dhm")
    assert result.returncode == 0, result.stderr
    assert f"{report.expected:.3f}" in result.stdout
    as_json = diffhash("info", tmp_path / "m.dhm", "--json")
    assert report.chosen in json.loads(as_json.stdout).__repr__()


def test_fewer_landmarks_than_asked_for_are_noted(fitted):
    labels = np.arange(60) % 3
    X = np.eye(6)[np.arange(60) % 6]
    hasher = dh.RefinedHash(n_bits=4, n_landmarks=40, features="kernel").fit(
        {"x": X, "y": X + np.random.default_rng(0).normal(size=X.shape)}, dh.Pairs.from_labels(labels, labels)
    )
    assert hasher.n_landmarks_ == {"x": 6, "y": 40}
    assert [note for note in hasher.report_.notes if note.startswith("x: 6 landmarks")]
    assert not [note for note in hasher.report_.notes if note.startswith("y: ")]
