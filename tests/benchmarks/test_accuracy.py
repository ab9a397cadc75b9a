"""The accuracy benchmark: its scores, its registry, a smoke run that is resumed."""

import json
import shutil

import numpy as np
import pytest

import diffhash as dh
from benchmarks.accuracy import __main__ as command
from benchmarks.accuracy import jobs, summary
from benchmarks.accuracy.differences import paired_differences, paired_gap
from benchmarks.accuracy.methods import BITS, METHODS
from benchmarks.accuracy.results import FORMAT, Results, queries_key
from benchmarks.accuracy.rivals import AHEAD, BEHIND, LEVEL, compare, largest_fall, rivals_section
from benchmarks.accuracy.scores import interval, rank_table, score
from benchmarks.accuracy.summary import summarise
from benchmarks.datasets import DATASETS, DEVELOPMENT, REPORT, Dataset
from benchmarks.loaders import split_task


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


def test_inner_products_of_probabilities_rank_by_the_chance_of_one_class():
    """By cosine the second item would come first; by inner product it is the first one."""
    query, items = np.array([[0.9, 0.1]]), np.array([[1.0, 0.0], [0.81, 0.09]])
    labels = np.array([0, 1])

    assert score(query, items, np.array([0]), labels, inner=True).precision == 1
    assert score(query, items, np.array([0]), labels).precision == 0.5


def seeds(method, dataset):
    return range(3 if dataset.redrawn or method.seeded else 1)


def test_peers_that_must_be_everywhere_run_at_32_bits_on_labelled_data():
    for name in (
        "RefinedHash",
        "CCA + ITQ",
        "ridge to class codes",
        "logistic to class codes",
        "SCM-seq",
        "BATCH",
        "SRLCH",
        "SCRATCH",
    ):
        assert all(
            32 in METHODS[name].runs(d, seed)
            for d in DATASETS.values()
            if d.labelled
            for seed in seeds(METHODS[name], d)
        )
    assert METHODS["RefinedHash"].widths == BITS == (8, 16, 32, 64, 128)


def test_other_seeds_measure_less():
    """Nothing where a seed changes nothing; on large data 32 bits only, except of RefinedHash."""
    fixed, small, large = (DATASETS[key] for key in ("wiki", "ngs", "paper-25"))

    assert METHODS["CVH"].runs(fixed, 0) == METHODS["CVH"].runs(small, 1) == (16, 32, 64, 128)
    assert METHODS["CVH"].runs(fixed, 1) == METHODS["BATCH"].runs(DATASETS["stamps"], 0) == ()
    assert METHODS["BATCH"].runs(fixed, 1) == (16, 32, 64, 128)
    assert METHODS["BATCH"].runs(large, 0) == (16, 32, 64, 128)
    assert METHODS["BATCH"].runs(large, 1) == METHODS["CVH"].runs(large, 1) == (32,)
    assert METHODS["RefinedHash"].runs(large, 2) == BITS


def test_datasets_without_their_file_are_skipped_with_a_note(tmp_path, capsys):
    command.main(["--datasets", "wiki", "--data", str(tmp_path), "--results", str(tmp_path), "--no-report"])

    assert "wiki: skipped, no wiki.npz in the data folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_without_a_folder_the_note_says_how_to_give_one(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("DIFFHASH_DATA", raising=False)
    command.main(["--datasets", "cora", "--results", str(tmp_path), "--no-report"])

    assert "cora: skipped, no cora.npz in any folder (--data or DIFFHASH_DATA)" in capsys.readouterr().err


def test_a_role_selects_its_datasets():
    development, report = (set(command.parse(["--role", role]).datasets) for role in (DEVELOPMENT, REPORT))

    assert development == {"wiki", "uci-digits", "cora", "scene15", "aligned"}
    assert development | report == set(DATASETS)
    assert command.parse(["--role", REPORT, "--datasets", "wiki", "ngs"]).datasets == ["ngs"]


def test_a_report_of_nothing_says_what_to_do(tmp_path):
    with pytest.raises(SystemExit, match="measure first"):
        command.main(["--report", "--results", str(tmp_path)])


def stand_in(key, *, labelled=True, redrawn=True):
    """A small dataset of two views of 6 and 5 features; another split with every seed."""

    def load(seed, folder):
        rng = np.random.default_rng(0)
        labels = np.arange(150) % 4
        shared = rng.standard_normal((4, 8))[labels] + 0.5 * rng.standard_normal((150, 8))
        views = {m: shared @ rng.standard_normal((8, d)) for m, d in (("left", 6), ("right", 5))}
        test = np.zeros(150, dtype=bool)
        test[np.random.default_rng(seed).permutation(150)[:50]] = True
        return split_task(views, test, labels if labelled else None)

    about = "Made up for a test."
    return Dataset(key, f"Stand-in {key}", about, load, DEVELOPMENT, 100, redrawn=redrawn, labelled=labelled)


METHODS_OF_TEST = ["RefinedHash", "DiffHash", "CCA + ITQ", "BATCH", "CCA, real-valued"]
POSTERIORS = "class posteriors, real-valued"


DATASETS_OF_TEST = {d.key: d for d in (stand_in("classes"), stand_in("pairs", labelled=False))}


def run(arguments):
    """The command, with the stand-ins in place of the datasets."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (command, jobs, summary):
            patch.setattr(module, "DATASETS", DATASETS_OF_TEST)
        command.main(arguments)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of two stand-ins, with and without labels, two splits each."""
    folder = tmp_path_factory.mktemp("accuracy")
    methods = [*METHODS_OF_TEST, POSTERIORS]
    arguments = [
        "--results",
        str(folder),
        "--plots",
        str(folder / "plots"),
        "--bits",
        "8",
        "16",
        "--seeds",
        "2",
    ]
    arguments += ["--methods", *methods, "--datasets", *DATASETS_OF_TEST]
    run(arguments)
    return folder, arguments


def read(folder, key):
    return json.loads((folder / f"accuracy-{key}.json").read_text(encoding="utf-8"))


def test_a_run_writes_results_tables_and_plots(made):
    folder, _ = made
    data = read(folder, "classes")
    cells = data["cells"]

    # RefinedHash alone has 8 bits; real values are not limited by --bits.
    assert {key for key in cells if key.endswith("| 1")} == {
        *(f"RefinedHash | {bits} | 1" for bits in (8, 16)),
        *(f"{name} | 16 | 1" for name in ("DiffHash", "CCA + ITQ", "BATCH")),
        *(f"CCA, real-valued | {width} | 1" for width in (2, 8, 32, 128)),
        f"{POSTERIORS} | 0 | 1",
    }
    assert cells["BATCH | 16 | 0"]["bytes"] == 2
    assert cells[f"{POSTERIORS} | 0 | 0"]["bytes"] == 16
    for protocol in ("unseen", "training"):
        figures = cells["BATCH | 16 | 0"][protocol]["left → right"]["map"]
        assert 0.3 < figures["low"] < figures["mean"] <= figures["high"] <= 1
    assert data["representations"]["best"].keys() == {"left", "right"}
    assert (folder / "plots" / "classes.png").stat().st_size > 10_000
    assert all((folder / "plots" / name).is_file() for name in ("bytes.png", "bits.png", "pairs.png"))
    assert not any("posteriors" in key for key in read(folder, "pairs")["cells"])


def test_too_many_bits_show_a_dash_and_the_reason(made):
    folder, _ = made
    text = (folder / "accuracy.md").read_text(encoding="utf-8")

    assert "at most 5" in read(folder, "classes")["cells"]["DiffHash | 16 | 0"]["dash"]
    assert "at most 5: `DiffHash`." in text
    # A peer has kernel features where linear ones are too few.
    assert "dash" not in read(folder, "classes")["cells"]["CCA + ITQ | 16 | 0"]
    row = next(line for line in text.splitlines() if line.startswith("| `DiffHash` | labels"))
    assert [cell.strip() for cell in row.split("|")][3:7] == ["–", "not run", "not run", "not run"]


def test_the_report_has_the_three_protocols(made):
    folder, _ = made
    text = (folder / "accuracy.md").read_text(encoding="utf-8")

    assert "| C, unseen | C, training items | B | A |" in text
    assert "B and A are measured for our methods, with labels" in text
    assert "*Development set.* Made up for a test. 2 seeds." in text


def test_databases_that_are_fused_and_know_their_labels_are_measured_for_our_methods(made):
    folder, _ = made
    cells = read(folder, "classes")["cells"]

    def figure(protocol):
        return cells["RefinedHash | 16 | 0"][protocol]["both"]["map"]["mean"]

    assert figure("fused") > figure("unseen") - 0.1
    assert figure("fused with labels") >= figure("fused")
    assert "fused" not in cells["RefinedHash | 16 | 1"], "with the first seed only"
    assert "fused" not in cells["RefinedHash | 8 | 0"]
    assert "fused" not in cells["BATCH | 16 | 0"]
    assert "fused" not in read(folder, "pairs")["cells"]["RefinedHash | 16 | 0"]


def test_the_difference_is_that_of_the_means_over_all_splits(made):
    folder, _ = made
    for key, figure in (("classes", "map"), ("pairs", "recall")):
        data = read(folder, key)
        gap = data["differences"]["16 | unseen"]
        means = [
            np.mean(
                [data["cells"][f"{name} | 16 | {seed}"]["unseen"]["both"][figure]["mean"] for seed in (0, 1)]
            )
            for name in ("RefinedHash", gap["peer"])
        ]
        assert gap["mean"] == pytest.approx(means[0] - means[1], abs=2e-5)
        assert gap["low"] <= gap["mean"] <= gap["high"]


def test_a_run_is_resumed_and_a_changed_grid_measured_again(made, capsys, monkeypatch):
    _, arguments = made
    capsys.readouterr()
    run(arguments)
    assert "seed 0" not in capsys.readouterr().err

    monkeypatch.setattr(METHODS["BATCH"].factory, "grid", {"ridge": [0.1, 1.0]})
    run(arguments)

    again = [line for line in capsys.readouterr().err.splitlines() if "| seed" in line]
    assert len(again) == 2
    assert all("BATCH" in line for line in again)


def test_again_measures_the_named_methods_only(made, capsys):
    _, arguments = made
    capsys.readouterr()
    place = arguments.index("--methods")
    run([*arguments[:place], "--methods", "CCA + ITQ", "--again", "--datasets", "classes"])

    lines = [line for line in capsys.readouterr().err.splitlines() if "| seed" in line]
    assert len(lines) == 2
    assert all("CCA + ITQ" in line for line in lines)


def test_again_keeps_the_cells_that_are_not_selected(made, tmp_path):
    """Cells of other widths and seeds stay as they are, and so does the setting that all cells share."""
    folder, _ = made
    for path in folder.glob("accuracy-classes.*"):
        shutil.copy(path, tmp_path)
    before = read(tmp_path, "classes")
    marked = json.loads(json.dumps(before))
    for each in marked["cells"].values():
        each["train_seconds"] = -1.0
    (tmp_path / "accuracy-classes.json").write_text(json.dumps(marked), encoding="utf-8")

    selected = ["--methods", "RefinedHash", "CCA + ITQ", "--bits", "16", "--seeds", "1"]
    run(["--results", str(tmp_path), "--datasets", "classes", *selected, "--again", "--no-report"])

    after = read(tmp_path, "classes")
    assert after["cells"].keys() == before["cells"].keys()
    again = {key for key, each in after["cells"].items() if each.get("train_seconds") != -1.0}
    assert again == {"RefinedHash | 16 | 0", "CCA + ITQ | 16 | 0"}
    assert after["tuning"] == before["tuning"]
    assert after["differences"].keys() == before["differences"].keys()


def test_intervals_measure_again_only_what_is_compared(made, tmp_path, capsys):
    """The figures of every query are not part of the repository; the best peers are enough to make them again."""
    folder, _ = made
    shutil.copy(folder / "accuracy-classes.json", tmp_path)
    before = read(tmp_path, "classes")
    kept = before.pop("differences")
    (tmp_path / "accuracy-classes.json").write_text(json.dumps(before), encoding="utf-8")
    peers = {gap["peer"] for key, gap in kept.items() if key.startswith("16 ")}
    arguments = ["--results", str(tmp_path), "--datasets", "classes", "--seeds", "2", "--bits", "16"]
    arguments += ["--methods", "RefinedHash", "DiffHash", *peers, "--intervals", "--no-report"]

    run(arguments)

    after = read(tmp_path, "classes")
    lines = [line for line in capsys.readouterr().err.splitlines() if "| seed" in line]
    assert {name for name in METHODS if any(name in line for line in lines)} == {"RefinedHash", *peers}
    assert after["tuning"] == before["tuning"]
    for key in (key for key in kept if key.startswith("16 ")):
        assert after["differences"][key]["mean"] == pytest.approx(kept[key]["mean"], abs=1e-6)

    run(arguments)
    assert "| seed" not in capsys.readouterr().err, "nothing is missing now"


def test_a_difference_is_forgotten_with_the_cells_it_was_made_from(tmp_path):
    """The queries of the peer are not at hand, so the difference cannot be computed again."""
    data = {"format": FORMAT, "tuning": {}, "cells": {}, "representations": {}}
    data["cells"] = {f"RefinedHash | {w} | 0": cell("RefinedHash", 0, 0.5) | {"width": w} for w in (16, 32)}
    data["differences"] = {f"{w} | unseen": {"peer": "CVH", "mean": 0.1} for w in (16, 32)}
    (tmp_path / "x.json").write_text(json.dumps(data), encoding="utf-8")
    results = Results(tmp_path / "x.json", DATASETS["wiki"])

    results.forget(METHODS["RefinedHash"], widths=(16,))

    assert list(results.data["cells"]) == ["RefinedHash | 32 | 0"]
    assert list(results.data["differences"]) == ["32 | unseen"]


def test_results_of_another_format_are_not_read(tmp_path):
    path = tmp_path / "accuracy-aligned.json"
    path.write_text(json.dumps({"format": FORMAT - 1, "cells": {"CVH | 16 | 0": {}}}), encoding="utf-8")

    assert not Results(path, DATASETS["aligned"]).data["cells"]
    with pytest.raises(SystemExit, match="measure first"):
        command.main(["--report", "--results", str(tmp_path)])


def test_two_processes_measure_two_datasets(tmp_path):
    """Made-up data and the simplest method: the files are there when the processes have ended."""
    arguments = [
        "--datasets",
        "aligned",
        "--methods",
        "raw signs",
        "--bits",
        "16",
        "--seeds",
        "1",
        "--jobs",
        "2",
    ]
    command.main([*arguments, "--results", str(tmp_path), "--no-report"])

    assert list(read(tmp_path, "aligned")["cells"]) == ["raw signs | 16 | 0"]


def cell(method, seed, unseen, training=None):
    """A cell of 16 bits as it stands in the results."""
    parts = {"unseen": unseen} | ({"training": training} if training else {})
    scores = {
        protocol: {"both": {"map": {"mean": mean, "low": mean - 0.1, "high": mean + 0.1}}}
        for protocol, mean in parts.items()
    }
    return {"method": method, "width": 16, "seed": seed} | scores


@pytest.mark.parametrize(("shift", "sign"), [(0.1, AHEAD), (0.0, LEVEL), (-0.1, BEHIND)])
def test_the_best_peer_of_each_place_is_beside_ours(shift, sign):
    """The best peer of one database is not that of the other; the sign is that of the paired interval."""
    cells = [
        cell("RefinedHash", 0, 0.8 + shift, 0.5),
        cell("CVH", 0, 0.8, 0.3),
        cell("CCA signs", 0, 0.1, 0.6),
        cell("DiffHash", 0, 1.0, 1.0),
    ]
    noise = np.random.default_rng(0).normal(0, 0.2, 400)
    noise -= noise.mean()
    # Queries differ much more from one another than the methods do: only paired differences see it.
    level = np.random.default_rng(1).uniform(0, 1, 400)
    queries = {
        queries_key("RefinedHash", 16, 0, "unseen"): level + shift + noise * (shift == 0),
        queries_key("CVH", 16, 0, "unseen"): level,
    }
    found = summarise(DATASETS["wiki"], {"cells": dict(enumerate(cells))})
    found.data["differences"] = paired_differences(found, queries)

    assert list(found.data["differences"]) == ["16 | unseen"]
    got, text = compare(found, 16, "unseen")
    assert got == sign
    assert text.startswith(f"{0.8 + shift:.3f} {sign} 0.800 CVH<br>")
    assert compare(found, 16, "training") == ("", "0.500, 0.600 CCA signs")
    assert compare(found, 32, "unseen") == ("", "not run")
    assert f"is below zero ({int(sign == BEHIND)})" in rivals_section([found])


def test_splits_that_differ_are_compared_seed_by_seed():
    ours = {0: np.array([0.5, 1.0]), 1: np.array([0.25])}
    theirs = {0: np.array([0.5, 0.5]), 1: np.array([0.5]), 2: np.array([9.0])}

    np.testing.assert_allclose(paired_gap(ours, theirs, same_queries=False), [0, 0.5, -0.25])
    assert paired_gap(ours, {}, same_queries=False) is None
    assert paired_gap({5: ours[0]}, theirs, same_queries=False) is None


def test_the_largest_fall_is_from_one_width_to_the_next():
    assert largest_fall([0.5, 0.4, 0.45, 0.44]) == pytest.approx(0.1)
    assert largest_fall([0.1, 0.2]) < 0
