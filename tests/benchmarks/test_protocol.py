"""``diffhash bench protocol`` on small files in the forms that the field publishes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.io

import diffhash as dh
from benchmarks.protocol.__main__ import main
from benchmarks.protocol.files import find_data
from benchmarks.protocol.measure import PROTOCOLS, database_codes, measure
from diffhash.datasets.files import load_coco, load_split
from diffhash.errors import InputError
from tests.cli.process import diffhash

N, N_LABELS = 150, 4
SMALL = ["--n-test", "30", "--n-train", "80"]


def make_objects(rng, n=N):
    """Two views of objects with one or two of four labels."""
    labels = np.zeros((n, N_LABELS), np.uint8)
    labels[np.arange(n), rng.integers(0, N_LABELS, n)] = 1
    labels[rng.random(n) < 0.2, 0] = 1
    centres = rng.normal(scale=3, size=(2, N_LABELS, 12))
    image, text = (labels @ each + rng.normal(size=(n, 12)) for each in centres)
    return image.astype(np.float32), text.astype(np.float32), labels


def write_mirflickr(folder, rng):
    """As published: one file for each array, each in its own folder."""
    for name, array in zip(("XAll", "YAll", "LAll"), make_objects(rng), strict=True):
        (folder / name).mkdir(parents=True)
        scipy.io.savemat(folder / name / f"mirflickr25k-{name.lower()}.mat", {name: array})


def write_nuswide(folder, rng):
    folder.mkdir(parents=True)
    for name, array in zip(("XAll", "YAll", "LAll"), make_objects(rng), strict=True):
        scipy.io.savemat(folder / f"nus-wide-tc10-{name.lower()}.mat", {name: array})


def write_coco(folder, rng, *, in_two_parts=False):
    h5py = pytest.importorskip("h5py")
    folder.mkdir(parents=True)
    arrays = dict(zip(("XAll", "YAll", "LAll"), make_objects(rng), strict=True))
    if in_two_parts:
        names = {"XAll": "imgs_deep", "YAll": "text", "LAll": "imgs_labels"}
        arrays = {
            f"{part}_{names[name]}": rows
            for name, array in arrays.items()
            for part, rows in (("train", array[:100]), ("test", array[100:]))
        }
    with h5py.File(folder / "MSCOCO_deep_doc2vec_data_rand.h5py", "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return arrays


def write_wiki(folder, rng):
    folder.mkdir(parents=True)
    image, text, labels = make_objects(rng)
    classes = labels.argmax(axis=1) + 1
    parts = {"tr": slice(0, 110), "te": slice(110, N)}
    arrays = {
        f"{letter}_{end}": X[rows] for letter, X in (("I", image), ("T", text)) for end, rows in parts.items()
    }
    scipy.io.savemat(folder / "raw_features.mat", arrays)
    for name, rows in (("trainset", parts["tr"]), ("testset", parts["te"])):
        lines = [f"text{row}\timage{row}\t{number}" for row, number in enumerate(classes[rows])]
        (folder / f"{name}_txt_img_cat.list").write_text("\n".join(lines))


@pytest.fixture
def folder(tmp_path, rng):
    write_wiki(tmp_path / "data" / "wikipedia", rng)
    write_mirflickr(tmp_path / "data" / "MIRFLICKR25K", rng)
    write_nuswide(tmp_path / "data" / "NUS-WIDE-TC10", rng)
    write_coco(tmp_path / "data" / "MSCOCO", rng)
    return tmp_path / "data"


def test_all_data_sets_of_a_folder_are_one_table(folder, capsys):
    arguments = ["--data", str(folder), "--bits", "4", "8", "--methods", "DiffHash", "--protocols", "C"]
    status = main([*arguments, *SMALL])

    above, _, rows = capsys.readouterr().out.partition("\n\n")
    assert status == 0
    assert (
        "Wikipedia: features image 12, text 12; 4 classes; 40 queries, 110 training objects, database the"
        in above
    )
    assert (
        "MIRFlickr-25K: features image 12, text 12; 4 labels; 30 queries, 80 training objects, database 120"
        in above
    )
    assert "NUS-WIDE" in above
    assert "drawn with seed 0. Papers seldom say" in above
    head, _, *lines = rows.strip().splitlines()
    assert head.startswith(
        "| task | method | protocol | Wikipedia, 4 bits | Wikipedia, 8 bits | MIRFlickr-25K, 4 bits"
    )
    assert head.count(" bits |") == 8
    values = [float(cell) for line in lines for cell in line.strip("| ").split(" | ")[3:]]
    assert len(values) == 16
    assert min(values) > 0.6, "the views tell the labels; chance is about 0.4"


def test_all_protocols_are_rows(folder, tmp_path, capsys):
    arguments = ["--data", str(folder), "--datasets", "wiki", "--bits", "4", "--methods", "DiffHash"]
    main([*arguments, "--top", "10", "--json", str(tmp_path / "figures.json")])

    above, _, rows = capsys.readouterr().out.partition("\n\n")
    assert "Protocol A uses the labels of every object that is searched" in above
    assert "(mAP@10)" in above
    lines = rows.strip().splitlines()[2:]
    assert [line.split(" | ")[:3] for line in lines] == [
        [f"| {task}", "DiffHash", protocol]
        for task in ("image → text", "text → image")
        for protocol in PROTOCOLS
    ]
    assert len(json.loads((tmp_path / "figures.json").read_text())) == 8


def test_the_usual_splits_are_the_default(folder):
    for each in find_data(folder):
        if each.data_set.sizes is None:
            continue
        queries, training = (2_000, 5_000) if each.data_set.key == "nuswide" else each.data_set.sizes
        with pytest.raises(InputError, match=f"n_test={queries} and n_train={training}"):
            each.read(0, None, None)


def test_multi_label_figures_are_those_of_the_obvious_computation(folder):
    """Protocol C by hand, and A and B are better than C: they know more about the database."""
    found = next(each for each in find_data(folder) if each.data_set.key == "mirflickr")
    data, _ = found.read(0, 30, 80)
    figures = {
        (each.protocol, each.task[0]): each.value
        for each in measure("MIRFlickr-25K", data, ["RefinedHash"], [8], ["C", "B", "A"])
    }

    hasher = dh.RefinedHash(n_bits=8).fit(data.train.views, dh.Pairs.from_labels(data.train.labels))
    queries = dh.codes.unpack(hasher.encode(data.test.views["image"], modality="image"), 8)
    items = dh.codes.unpack(hasher.encode(data.database.views["text"], modality="text"), 8)
    distance = (queries[:, None] != items).sum(axis=2)
    shared = (data.test.labels["image"][:, None] & data.database.labels["text"]).any(axis=2)
    counts = np.stack(
        [
            [np.bincount(d[s == kind], minlength=9) for kind in (0, 1)]
            for d, s in zip(distance, shared, strict=True)
        ]
    )
    expected = dh.evaluation.average_precision(counts.transpose(0, 2, 1))
    assert figures["C", "image"] == pytest.approx(np.nanmean(expected))
    for query in ("image", "text"):
        assert figures["A", query] >= figures["C", query] - 0.01
        assert figures["B", query] >= figures["C", query] - 0.02


def test_fused_databases_keep_the_codes_of_queries(folder):
    found = find_data(folder / "wikipedia")[0]
    data, split = found.read(0, None, None)
    hasher = dh.DiffHash(n_bits=3).fit(data.train.views, dh.Pairs.from_labels(data.train.labels))
    before = hasher.encode(data.test.views["text"], modality="text")

    codes = {protocol: database_codes(hasher, data, protocol)["image"] for protocol in "CBA"}

    assert split == "the split of the files"
    np.testing.assert_array_equal(hasher.encode(data.test.views["text"], modality="text"), before)
    assert {each.shape for each in codes.values()} == {(110, 1)}
    assert (codes["A"] != codes["C"]).any()


def test_a_file_that_is_split_already_has_its_own_database(tmp_path, rng):
    image, text, labels = make_objects(rng)
    parts = {"tr": slice(0, 60), "te": slice(60, 80), "db": slice(80, N)}
    arrays = {
        f"{letter}_{end}": X[rows]
        for letter, X in (("I", image), ("T", text), ("L", labels))
        for end, rows in parts.items()
    }
    scipy.io.savemat(tmp_path / "MIRFLICKR.mat", arrays)

    data, split = find_data(tmp_path)[0].read(0, None, None)

    assert split == "the split of the file"
    np.testing.assert_array_equal(data.database.views["image"], image[80:])
    np.testing.assert_array_equal(data.database.labels["text"], labels[80:].astype(bool))
    assert len(data.train.views["text"]) == 60
    del arrays["L_db"]
    scipy.io.savemat(tmp_path / "MIRFLICKR.mat", arrays)
    assert load_split(tmp_path / "MIRFLICKR.mat").database is None


def test_coco_in_two_parts_is_joined(tmp_path, rng):
    arrays = write_coco(tmp_path / "coco", rng, in_two_parts=True)

    data = load_coco(tmp_path / "coco", n_test=30, n_train=80)

    rows = np.concatenate([data.test.views["image"], data.database.views["image"]])
    given = np.concatenate([arrays["train_imgs_deep"], arrays["test_imgs_deep"]])
    assert sorted(map(tuple, rows)) == sorted(map(tuple, given))


def test_loose_files_of_one_data_set_are_the_data_set(tmp_path, rng):
    write_nuswide(tmp_path / "mine", rng)
    assert [each.path for each in find_data(tmp_path / "mine")] == [tmp_path / "mine"]
    np.savez(tmp_path / "mine" / "wiki.npz", a=np.zeros(3))

    with pytest.raises(InputError, match="a folder of its own"):
        find_data(tmp_path / "mine")


def test_folders_without_data_say_so(tmp_path, capsys):
    assert main(["--data", str(tmp_path)]) == 1
    assert "has no files of Wikipedia, MIRFlickr-25K" in capsys.readouterr().err
    assert main(["--data", str(tmp_path / "none")]) == 1
    assert "is not a folder" in capsys.readouterr().err


def test_the_command_reads_names_relative_to_where_it_is_run(folder):
    done = diffhash(
        "bench", "protocol", "--data", "data", "--datasets", "wiki", "--bits", "4", "--methods", "DiffHash",
        "--protocols", "C", cwd=folder.parent,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "| image → text | DiffHash | C |" in done.stdout
