"""The experiment of the paper with tiny settings: cells, continuing a run, findings."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import diffhash as dh
from diffhash.evaluation import evaluate_model, model_rank_correlations
from diffhash.experiments.paper import (
    METHODS,
    Cell,
    Results,
    ResultsFileError,
    Settings,
    compute,
    plan,
    run,
    summarise,
)
from diffhash.experiments.paper.claims import check_claims
from diffhash.experiments.paper.measures import DIRECTIONS, RATES, WITHIN, measure_euclidean
from diffhash.experiments.paper.seed_statistics import SeedStatistics
from diffhash.experiments.paper.verdicts import AGREES, DISAGREES, PARTLY
from tests.experiments.paper_settings import tiny_settings


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduction")
    return run(tiny_settings(), folder), folder


def test_full_settings_are_those_of_the_paper():
    settings = Settings.full()

    assert settings.classes == (25, 50, 100)
    assert settings.roc_bits == (25, 50, 100)
    assert (settings.bits[0], settings.bits[-1]) == (8, 128)
    assert (settings.n_positive, settings.n_negative, settings.n_test) == (10_000, 100_000, 5_000)
    assert (settings.gamma, settings.n_landmarks) == (10.0, 1_000)


def test_linear_codes_have_at_most_as_many_bits_as_the_smaller_view():
    """CM-DIF has at most 64 bits. All longer lengths are replaced by 64."""
    lengths = METHODS["cm-dif"].lengths(Settings.full(), 100)

    assert lengths == (8, 16, 24, 32, 48, 64)
    assert 100 in METHODS["cm-ssh"].lengths(Settings.full(), 100)


def test_plan_computes_nothing_twice():
    """The sweeps include the main setting and use its numbers."""
    keys = [cell.key for cell in plan(Settings.full())]

    assert len(keys) == len(set(keys))
    assert keys.count("accuracy/K=50/scale=5/seed=0/cm-dif/gamma=10") == 1


def test_numbers_equal_those_of_a_separate_evaluation(finished):
    """The run evaluates a prefix of a long model. Fitting and evaluating the short model gives the same."""
    results, _ = finished
    settings = results.settings
    data = dh.datasets.make_paper_data(6, settings.n_train, settings.n_test, 5.0, random_state=1)
    labels = data.train.labels
    pairs = dh.Pairs.from_labels(labels["x"], labels["y"], 200, 400, random_state=1)
    hasher = dh.DiffHash(n_bits=4, standardize=False).fit(data.train.views, pairs)
    x, y = (hasher.encode(data.test.views[m], modality=m) for m in ("x", "y"))

    expected = dh.evaluate(y, x, data.test.labels["y"], data.test.labels["x"])

    found = results.cells["accuracy/K=6/scale=5/seed=1/cm-dif/gamma=10"]["lengths"]["4"]["y→x"]
    assert found["map"] == pytest.approx(expected.mean_average_precision, abs=1e-6)
    assert found["eer"] == pytest.approx(expected.equal_error_rate, abs=1e-6)


def test_bit_rates_are_shares_of_bits(finished):
    """FNR is the mean share of bits that differ on positives, FPR the share that agree on negatives."""
    results, _ = finished
    settings = results.settings
    data = dh.datasets.make_paper_data(3, settings.n_train, settings.n_test, 5.0, random_state=0)
    labels = data.train.labels
    pairs = dh.Pairs.from_labels(labels["x"], labels["y"], 200, 400, random_state=0)
    hasher = dh.DiffHash(n_bits=4, standardize=False).fit(data.train.views, pairs)
    x, y = (hasher.project(data.test.views[m], modality=m) >= 0 for m in ("x", "y"))
    share = (x[:, None] != y[None]).mean(axis=2)
    similar = data.test.labels["x"][:, None] == data.test.labels["y"]

    found = results.cells["accuracy/K=3/scale=5/seed=0/cm-dif/gamma=10"]["lengths"]["4"]["x→y"]

    assert found["fnr"] == pytest.approx(share[similar].mean(), abs=1e-6)
    assert found["fpr"] == pytest.approx(1 - share[~similar].mean(), abs=1e-6)


def test_numbers_within_a_modality_equal_those_of_a_separate_evaluation(finished):
    results, _ = finished
    settings = results.settings
    data = dh.datasets.make_paper_data(6, settings.n_train, settings.n_test, 5.0, random_state=1)
    labels = data.train.labels
    pairs = dh.Pairs.from_labels(labels["x"], labels["y"], 200, 400, random_state=1)
    hasher = dh.DiffHash(n_bits=4, standardize=False).fit(data.train.views, pairs)

    expected = evaluate_model(hasher, data.test.views, data.test.labels)["y", "y"]
    correlation = model_rank_correlations(hasher, data.test.views, metric="diagonal", n_pairs=20_000)["y"]

    found = results.cells["accuracy/K=6/scale=5/seed=1/cm-dif/gamma=10"]["lengths"]["4"]["y→y"]
    assert found["map"] == pytest.approx(expected.mean_average_precision, abs=1e-6)
    assert found["rho"] == pytest.approx(correlation.value, abs=1e-6)


def test_sweeps_are_not_measured_within_modalities(finished):
    results, _ = finished
    cells = [cell for cell in plan(results.settings) if not cell.timed and cell.method != "euclidean"]

    for cell in cells:
        measured = {name for row in results.cells[cell.key]["lengths"].values() for name in row}
        assert ("x→x" in measured) == (cell.roc_length is not None)


def test_euclidean_line_leaves_out_the_object_itself():
    """Objects of one class are far apart. If the query itself counted, it would be found first."""
    X = np.array([[0.0], [10.0], [11.0], [1.0]])

    found = measure_euclidean(X, np.array([0, 0, 1, 1]))

    # The relevant object is never the nearest of the other three.
    assert found["map"] < 0.6
    assert len(found["roc"]) == len(RATES)


def test_interrupted_run_continues(tmp_path, monkeypatch):
    """Finished cells stay unchanged, and only the others are computed."""
    computed = []

    def stop_after_five(cell: Cell, settings: Settings):
        if len(computed) == 5:
            raise KeyboardInterrupt
        computed.append(cell.key)
        return compute(cell, settings)

    monkeypatch.setattr("diffhash.experiments.paper.runner.compute", stop_after_five)
    with pytest.raises(KeyboardInterrupt):
        run(tiny_settings(), tmp_path)
    before = json.loads((tmp_path / "results.json").read_text())
    assert list(before["cells"]) == computed

    monkeypatch.setattr("diffhash.experiments.paper.runner.compute", compute)
    finished, seen = [], []
    results = run(
        tiny_settings(), tmp_path, on_plan=lambda done, left: seen.extend(done), on_cell=finished.append
    )

    assert [cell.key for cell in seen] == computed
    assert not {cell.key for cell in finished} & set(computed)
    assert {key: results.cells[key] for key in computed} == before["cells"]
    assert results.started == before["started"]
    assert set(results.cells) == {cell.key for cell in plan(tiny_settings())}
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_more_seeds_extend_a_run(finished, tmp_path):
    """Each seed has its own cells. With more seeds, the existing cells are kept."""
    _, folder = finished
    (tmp_path / "results.json").write_bytes((folder / "results.json").read_bytes())
    finished_cells = []

    run(tiny_settings(3), tmp_path, on_cell=finished_cells.append)

    assert {cell.seed for cell in finished_cells} == {2}


def test_other_settings_are_not_mixed_in(finished):
    _, folder = finished
    other = dataclasses.replace(tiny_settings(), n_train=151)

    with pytest.raises(ResultsFileError, match=r"n_train: 150 in the file, 151 now.*--fresh"):
        run(other, folder)


def test_another_version_is_not_mixed_in(finished, monkeypatch):
    _, folder = finished
    monkeypatch.setattr("diffhash.experiments.paper.results.version", lambda package: "99.0")

    with pytest.raises(ResultsFileError, match=r"numpy: .* in the file, 99.0 now"):
        Results.open(folder / "results.json", tiny_settings())


def test_a_fresh_start_ignores_the_file(tmp_path):
    (tmp_path / "results.json").write_text("{")

    assert Results.open(tmp_path / "results.json", tiny_settings(), fresh=True).cells == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b'{"format": "something else"}',
        b'{"format": "diffhash reproduction", "format_version": 1, "cells": []}',
        b'{"format": "diffhash reproduction", "format_version": 99}',
    ],
)
def test_damaged_file_is_named_and_kept(tmp_path, content):
    path = tmp_path / "results.json"
    path.write_bytes(content)

    with pytest.raises(ResultsFileError, match=r"results\.json"):
        run(tiny_settings(), tmp_path)

    assert path.read_bytes() == content


def test_the_results_file_has_settings_environment_and_dates(finished):
    _, folder = finished
    stored = json.loads((folder / "results.json").read_text())

    assert {"diffhash", "numpy", "processor", "cores", "python"} <= set(stored["environment"])
    assert stored["settings"]["seeds"] == [0, 1]
    assert stored["settings"]["gammas"] == ["0", "10", "1000", "inf"]
    assert stored["started"] <= stored["updated"]


def test_same_settings_give_the_same_numbers(finished, tmp_path):
    results, _ = finished
    again = run(tiny_settings(), tmp_path)

    def without_times(cells):
        return {
            key: {k: v for k, v in cell.items() if k not in ("fit_seconds", "threads")}
            for key, cell in cells.items()
        }

    assert without_times(again.cells) == without_times(results.cells)


def test_summary_has_every_figure(finished):
    summary = summarise(finished[0])

    assert [chart.kind for chart in summary.charts] == ["roc", "bits", "bits", "scale", "gamma", "bits"]
    assert [chart.section for chart in summary.charts] == ["main"] * 3 + ["sweeps"] * 2 + ["within"]
    assert [table.section for table in summary.tables] == ["tables", "tables", "within"]
    assert [panel.title for panel in summary.charts[0].panels] == ["K = 3, m = 3", "K = 6, m = 6"]
    for chart in summary.charts:
        for panel in chart.panels:
            for curve in panel.curves:
                assert len(curve.x) == len(curve.y) == len(curve.low) == len(curve.high)
                assert all(
                    low <= mean + 1e-12 and mean <= high + 1e-12
                    for low, mean, high in zip(curve.low, curve.y, curve.high, strict=True)
                )
    assert {f.verdict for f in summary.findings} <= {AGREES, PARTLY, DISAGREES}
    assert all(finding.evidence for finding in summary.findings)


def test_summary_leaves_out_seeds_that_are_not_in_the_settings(finished):
    results, _ = finished
    fewer = dataclasses.replace(results, settings=tiny_settings(1))

    spread = SeedStatistics(fewer).accuracy("cm-dif", 3, 4, "map")

    assert spread.low == spread.high


def _made_up(ours: float, theirs: float, *, seconds=(1.0, 9.0)) -> Results:
    """Results in which all methods of the paper have the accuracy ``ours``, and CM-SSH has ``theirs``."""
    settings = tiny_settings()
    results = Results.new(settings)
    for cell in plan(settings):
        if cell.method == "euclidean":
            numbers = {
                m: {"eer": 0.0, "map": 1.0, "roc": [1.0] * len(RATES), "class_rho": 0.2} for m in ("x", "y")
            }
        else:
            is_ours = METHODS[cell.method].ours
            value = ours if is_ours else theirs
            rates = {"eer": 1 - value, "map": value, "fnr": 0.3, "fpr": 0.5, "rho": 0.3}
            numbers = {
                "fit_seconds": seconds[0 if is_ours else 1],
                "threads": 2,
                "lengths": {str(m): dict.fromkeys([*DIRECTIONS, *WITHIN], rates) for m in cell.lengths},
                "roc": dict.fromkeys(DIRECTIONS, [value] * len(RATES)),
            }
        results.add(cell.key, numbers)
    return results


def _verdict_of(results: Results, words: str) -> str:
    (finding,) = [f for f in check_claims(SeedStatistics(results)) if words in f.statement]
    return finding.verdict


@pytest.mark.parametrize(("ours", "theirs", "verdict"), [(0.9, 0.5, AGREES), (0.5, 0.9, DISAGREES)])
def test_accuracy_is_judged_by_the_numbers(ours, theirs, verdict):
    results = _made_up(ours, theirs)

    assert _verdict_of(results, "in accuracy”") == verdict
    assert _verdict_of(results, "at every hash length") == verdict


def test_if_one_method_is_worse_the_verdict_is_partly():
    results = _made_up(0.9, 0.5)
    for key, cell in results.cells.items():
        if "/cm-dif/" in key and not key.startswith("time"):
            for row in cell["lengths"].values():
                for direction in DIRECTIONS:
                    row[direction] = {**row[direction], "eer": 0.6, "map": 0.4}

    assert _verdict_of(results, "in accuracy”") == PARTLY


@pytest.mark.parametrize(("kernel", "linear", "verdict"), [(0.5, 0.3, AGREES), (0.3, 0.5, DISAGREES)])
def test_distances_within_modalities_are_judged_by_the_numbers(kernel, linear, verdict):
    results = _made_up(0.9, 0.5)
    for key, cell in results.cells.items():
        for row in cell.get("lengths", {}).values():
            for name in WITHIN:
                row[name] = {**row[name], "rho": linear if "/cm-dif/" in key else kernel}

    assert _verdict_of(results, "intra-modal dissimilarities") == verdict


@pytest.mark.parametrize(("seconds", "verdict"), [((1.0, 9.0), AGREES), ((9.0, 1.0), DISAGREES)])
def test_training_time_is_judged_by_the_numbers(seconds, verdict):
    assert _verdict_of(_made_up(0.9, 0.5, seconds=seconds), "training time”") == verdict


def test_gamma_without_effect_does_not_agree():
    assert _verdict_of(_made_up(0.9, 0.5), "controls the tradeoff") == DISAGREES


@pytest.mark.parametrize(
    ("few", "many", "verdict"), [((0.9, 0.9), (0.85, 0.4), AGREES), ((0.9, 0.9), (0.4, 0.85), DISAGREES)]
)
def test_fall_with_more_classes_is_judged_by_the_numbers(few, many, verdict):
    results, at_many = _made_up(*few), _made_up(*many)
    results.cells |= {key: cell for key, cell in at_many.cells.items() if "K=6" in key}

    assert _verdict_of(results, "more classes") == verdict


def test_impossible_settings_are_refused():
    with pytest.raises(dh.errors.ParameterError, match="roc_bits"):
        Settings(classes=(3, 4), roc_bits=(3,))
    with pytest.raises(dh.errors.ParameterError, match="gammas is empty"):
        Settings(gammas=())
    with pytest.raises(dh.errors.ParameterError, match="seeds"):
        Settings.full(0)
