"""The accuracy benchmark: its scores, its registry, a smoke run that is resumed."""

import json
from math import prod

import numpy as np
import pytest

import diffhash as dh
from benchmarks.accuracy import __main__ as command
from benchmarks.accuracy.methods import ALIGNED, METHODS
from benchmarks.accuracy.rivals import AHEAD, BEHIND, EQUAL, INSIDE, compare, rivals_section
from benchmarks.accuracy.scores import interval, rank_table, score
from benchmarks.accuracy.summary import summarise
from benchmarks.datasets import DATASETS


def test_real_vectors_of_signs_score_as_their_codes_do():
    """The cosine of two vectors of signs falls with their Hamming distance, ties included."""
    rng = np.random.default_rng(0)
    signs = {side: rng.choice([-1.0, 1.0], size=(n, 16)) for side, n in (("q", 12), ("d", 40))}
    labels = {side: rng.integers(3, size=len(X)) for side, X in signs.items()}
    codes = {side: dh.codes.pack(X > 0) for side, X in signs.items()}

    real = score(signs["q"], signs["d"], labels["q"], labels["d"])
    binary = score(codes["q"], codes["d"], labels["q"], labels["d"])

    np.testing.assert_allclose(real.precision, binary.precision)
    np.testing.assert_allclose(real.recall, binary.recall)
    assert real.equal_error_rate == pytest.approx(binary.equal_error_rate)


def test_equal_distances_share_a_place():
    table = rank_table(np.array([[0.5, 0.1, 0.5]]), np.array([[True, False, False]]))

    np.testing.assert_array_equal(table, [[[1, 0], [1, 1], [0, 0]]])


def test_interval_holds_the_mean_and_narrows_with_more_queries():
    rng = np.random.default_rng(0)
    few, many = rng.uniform(size=50), rng.uniform(size=5000)

    assert interval(few)[0] < few.mean() < interval(few)[1]
    assert np.diff(interval(many)) < np.diff(interval(few)) / 5
    assert interval(np.append(few, np.nan)) == interval(few)


@pytest.mark.parametrize("name", METHODS)
def test_peers_are_tuned_at_least_as_widely_as_we_are(name):
    method = METHODS[name]
    settings = prod(len(values) for values in method.factory.grid.values())

    if method.family == "ours":
        assert settings <= (18 if method.kernel else 6)
    else:
        assert settings == (2 if method in ALIGNED else 18 if method.kernel else 6)


def test_aligned_embeddings_are_of_one_space_and_unit_length(tmp_path):
    task = DATASETS["aligned"].load(0, tmp_path)

    assert {X.shape[1] for X in task.test.values()} == {128}
    np.testing.assert_allclose(np.linalg.norm(task.test["text"], axis=1), 1, rtol=1e-5)
    assert not np.array_equal(task.test["text"], DATASETS["aligned"].load(1, tmp_path).test["text"])


def test_datasets_without_their_file_are_skipped_with_a_note(tmp_path, capsys):
    command.main(["--datasets", "wiki", "--data", str(tmp_path), "--results", str(tmp_path), "--no-report"])

    assert "wiki: skipped, no wiki.npz" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_report_of_nothing_says_what_to_do(tmp_path):
    with pytest.raises(SystemExit, match="measure first"):
        command.main(["--report", "--results", str(tmp_path)])


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("accuracy")
    arguments = ["--quick", "--results", str(folder), "--plots", str(folder / "plots")]
    command.main(arguments)
    return folder, arguments


def test_quick_run_writes_results_tables_and_plots(quick):
    folder, _ = quick
    cells = json.loads((folder / "accuracy-digit-halves.json").read_text())["cells"]

    assert len(cells) == len(command.QUICK["methods"]) * len(command.QUICK["bits"])
    found = cells["CCA + ITQ | 16 | 0"]
    assert found["bytes"] == 2
    for protocol in ("unseen", "training"):
        figures = found[protocol]["left → right"]["map"]
        assert 0.2 < figures["low"] < figures["mean"] < figures["high"] < 1
    assert (folder / "plots" / "digit-halves.png").stat().st_size > 10_000
    assert (folder / "plots" / "bytes.png").is_file()


def test_too_many_bits_show_a_dash_and_the_reason(quick):
    folder, _ = quick
    cells = json.loads((folder / "accuracy-digit-halves.json").read_text())["cells"]
    text = (folder / "accuracy.md").read_text(encoding="utf-8")

    assert "at most 32" in cells["DiffHash | 64 | 0"]["dash"]
    assert "at most 32: `DiffHash`; CCA signs; CCA + ITQ." in text
    row = next(line for line in text.splitlines() if line.startswith("| CCA signs"))
    assert [cell.strip() for cell in row.split("|")][4:7] == ["not run", "–", "not run"]


def test_a_run_is_resumed_and_a_changed_grid_measured_again(quick, capsys, monkeypatch):
    _, arguments = quick
    capsys.readouterr()
    command.main(arguments)
    assert "seed 0" not in capsys.readouterr().err

    monkeypatch.setattr(METHODS["CCA signs"].factory, "grid", {"ridge": [0.1, 1.0]})
    command.main(arguments)

    again = [line for line in capsys.readouterr().err.splitlines() if "seed 0" in line]
    assert len(again) == 2
    assert all("CCA signs" in line for line in again)


def cell(method, seed, unseen, training=None):
    """A cell of 16 bits as it stands in the results: mean, and the low end of its interval."""
    parts = {"unseen": unseen} | ({"training": training} if training else {})
    scores = {
        protocol: {"both": {"map": {"mean": mean, "low": low, "high": mean}}}
        for protocol, (mean, low) in parts.items()
    }
    return {"method": method, "width": 16, "seed": seed} | scores


@pytest.mark.parametrize(
    ("ours", "sign"), [((0.9, 0.8), AHEAD), ((0.9, 0.7), EQUAL), ((0.7, 0.8), INSIDE), ((0.7, 0.6), BEHIND)]
)
def test_the_best_peer_of_each_place_is_beside_ours(ours, sign):
    """Means over seeds; the best peer of one protocol is not that of the other."""
    cells = [
        cell("RefinedHash", 0, (ours[0], 0.0), (0.5, 0.4)),
        cell("RefinedHash", 1, (ours[1], 0.0)),
        cell("CVH", 0, (0.9, 0.8), (0.3, 0.2)),
        cell("CVH", 1, (0.7, 0.6)),
        cell("CCA signs", 0, (0.1, 0.0), (0.6, 0.5)),
        cell("DiffHash", 0, (1.0, 1.0), (1.0, 1.0)),
    ]
    summary = summarise(DATASETS["paper-25"], {"cells": dict(enumerate(cells))})

    assert compare(summary, 16, "unseen") == (sign, f"{np.mean(ours):.3f} {sign} 0.800 CVH")
    assert compare(summary, 16, "training") == (INSIDE, "0.500 ≈ 0.600 CCA signs")
    assert compare(summary, 32, "unseen") == ("", "not run")
    assert f"{INSIDE} behind it but inside its 95 % interval ({1 + (sign == INSIDE)})" in rivals_section(
        [summary]
    )
