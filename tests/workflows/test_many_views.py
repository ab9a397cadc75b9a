"""Three views with gaps, from files to figures: fit, build, encode, evaluate and search."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.cli.app import run_app
from diffhash.errors import InputFileError

SIZES = {"image": 12, "text": 9, "speech": 7}
SETTINGS = {"whiten": True, "rotate": True}
FAST = workflows.LearningOptions("diff", 16, settings=SETTINGS, calibrate=False)


def write_view(folder, part, name, features, ids, classes):
    np.save(folder / f"{part}_{name}.npy", features)
    lines = [f"{part}{i},{classes[i]},{name} of {i}" for i in ids]
    (folder / f"{part}_{name}.csv").write_text("\n".join(["id,class,title", *lines]) + "\n")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Files of three views: every object has a picture, most have texts (some two), a third has speech."""
    folder = tmp_path_factory.mktemp("many")
    rng = np.random.default_rng(1)
    centres = {m: 2 * rng.normal(size=(5, n)) for m, n in SIZES.items()}
    found = {}
    for part, n in (("train", 200), ("test", 80)):
        classes = np.arange(n) % 5
        ids = {
            "image": rng.permutation(n),
            "text": rng.permutation(np.concatenate([np.arange(10, n), np.arange(20, 30)])),
            "speech": rng.permutation(n)[: n // 3],
        }
        views = {m: centres[m][classes[r]] + rng.normal(size=(len(r), SIZES[m])) for m, r in ids.items()}
        for m in SIZES:
            write_view(folder, part, m, views[m], ids[m], classes)
        found[part] = SimpleNamespace(views=views, ids=ids, classes=classes)
    pair_files = workflows.PairFiles(ids={m: f"{folder / f'train_{m}'}.csv#id" for m in SIZES})
    views = {m: folder / f"train_{m}.npy" for m in SIZES}
    learning = workflows.LearningOptions("diff", 16, settings=SETTINGS, calibrate=True)
    fitted = workflows.fit(views, folder / "model.dhm", pair_files=pair_files, learning=learning)
    plain = workflows.fit(views, folder / "plain.dhm", pair_files=pair_files, learning=FAST)
    assert fitted.learned_from == plain.learned_from == "200 objects by id"
    return SimpleNamespace(folder=folder, **found)


def files(data, kind, part="test"):
    """Files by modality: features, or a column of the tables."""
    ending = ".npy" if kind == "features" else f".csv#{kind}"
    return {m: f"{data.folder / f'{part}_{m}'}{ending}" for m in SIZES}


@pytest.fixture
def model(data):
    return dh.HashModel.load(data.folder / "model.dhm")


def test_a_fit_by_ids_is_the_fit_of_python(data, model):
    ids = {m: [f"train{i}" for i in r] for m, r in data.train.ids.items()}
    hasher = dh.DiffHash(n_bits=16, **SETTINGS).fit(data.train.views, dh.Pairs.from_ids(ids), calibrate=True)

    for m, rows in data.test.views.items():
        np.testing.assert_array_equal(model.encode(rows, m), hasher.encode(rows, m))
    np.testing.assert_array_equal(
        model.encode_fused(data.test.views, data.test.ids).codes,
        hasher.encode_fused(data.test.views, data.test.ids).codes,
    )


def test_fused_codes_of_files_are_those_of_the_model(data, model, tmp_path):
    out = tmp_path / "fused.npy"

    done = workflows.encode_fused(
        data.folder / "model.dhm", files(data, "features"), out, ids=files(data, "id")
    )

    expected = model.encode_fused(
        data.test.views, {m: [f"test{i}" for i in ids] for m, ids in data.test.ids.items()}
    )
    assert done.rows == 80
    np.testing.assert_array_equal(np.load(out), expected.codes)
    np.testing.assert_array_equal(np.load(tmp_path / "fused.ids.npy"), expected.ids)
    with pytest.raises(workflows.OptionError, match="different numbers of rows"):
        workflows.encode_fused(data.folder / "model.dhm", files(data, "features"), tmp_path / "o.npy")
    with pytest.raises(InputFileError, match="Learn it again with `calibrate`"):
        workflows.encode_fused(data.folder / "plain.dhm", files(data, "features"), tmp_path / "o.npy")
    out.unlink()
    with pytest.raises(workflows.OptionError, match=r"fused\.ids\.npy already exists"):
        workflows.encode_fused(data.folder / "model.dhm", files(data, "features"), out, ids=files(data, "id"))


def test_blocks_of_objects_have_the_codes_of_all(data, model):
    from diffhash.files import open_features
    from diffhash.model.fused_codes import number_objects
    from diffhash.workflows.fused_files import fused_blocks

    opened = {m: open_features(name) for m, name in files(data, "features").items()}
    n_rows = {m: len(ids) for m, ids in data.test.ids.items()}
    objects, _ = number_objects(n_rows, data.test.ids, caller="test")

    blocks = list(fused_blocks(model, opened, objects, block=7))

    assert [len(block) for block in blocks] == [7] * 11 + [3]
    np.testing.assert_array_equal(
        np.concatenate(blocks), model.encode_fused(data.test.views, data.test.ids).codes
    )


@pytest.fixture(scope="module")
def built(data):
    path = data.folder / "objects.dh"
    payloads = {"image": f"{data.folder / 'test_image.csv'}", "speech": f"{data.folder / 'speech_notes.csv'}"}
    notes = "\n".join(["note", *(f"n{i}" for i in data.test.ids["speech"])])
    (data.folder / "speech_notes.csv").write_text(notes + "\n")
    result = workflows.build_features(
        files(data, "features"),
        path,
        model=data.folder / "model.dhm",
        pair_files=workflows.PairFiles(ids=files(data, "id")),
        payloads=payloads,
        fused="object",
    )
    # The ten texts that are the second of their object are stored by themselves.
    assert result.objects == 90
    return path


def test_a_build_stores_rows_of_one_id_as_one_object(built, data, model):
    spoken, silent = int(data.test.ids["speech"][0]), min(set(range(30, 80)) - set(data.test.ids["speech"]))
    with dh.Collection.open(built) as collection:
        assert collection.verify().problems == ()
        assert collection.stats().n_codes == {"image": 80, "text": 80, "speech": 26, "object": 80}
        assert collection.get(f"test{silent}")[0].modalities == ("image", "text", "object")
        assert collection.get(f"test{silent}")[0].payload["title"] == f"image of {silent}"
        assert collection.get(f"test{spoken}")[0].payload == {
            "id": f"test{spoken}",
            "class": int(data.test.classes[spoken]),
            "title": f"image of {spoken}",
            "note": f"n{spoken}",
        }
        assert collection.get("test25#2")[0].modalities == ("text",)
        expected = model.encode_fused(data.test.views, data.test.ids)
        for id_, code in zip(expected.ids, expected.codes, strict=True):
            np.testing.assert_array_equal(collection.get(f"test{id_}")[0].codes["object"], code)


def test_a_query_of_several_modalities_is_fused(built, data, tmp_path):
    for m in ("image", "text"):
        np.save(tmp_path / f"{m}.npy", data.test.views[m][:3])
    vectors = {m: tmp_path / f"{m}.npy" for m in ("image", "text")}

    result = workflows.search(built, vector=vectors, k=4)

    with dh.Collection.open(built) as collection:
        views = {m: data.test.views[m][:3] for m in vectors}
        expected = collection.search(views, into="object", k=4)
        first = collection.search_item("test3", modality="object", into="object", k=2)
    assert (result.modality, result.into) == ("image+text", "object")
    assert [list(hits) for hits in result.hits] == expected
    assert list(workflows.search(built, item="test3", k=2).hits[0]) == first
    alone = workflows.search(built, vector={"text": tmp_path / "text.npy"}, into="image", k=4)
    assert alone.hits == workflows.search(built, vector=tmp_path / "text.npy", into="image", k=4).hits
    with pytest.raises(workflows.OptionError, match="`modality` goes with a query of one modality"):
        workflows.search(built, vector=vectors, modality="text")
    with pytest.raises(workflows.OptionError, match="the model has no 'object'"):
        workflows.search(built, vector={"object": tmp_path / "text.npy"})
    with pytest.raises(workflows.OptionError, match="`item` is a query by itself"):
        workflows.search(built, vector=vectors, item="test3")


def test_evaluation_in_all_directions_with_gaps(data, model):
    by_id = workflows.PairFiles(ids=files(data, "id"))
    found = workflows.evaluate(
        data.folder / "model.dhm", files(data, "features"), pair_files=by_id, within=True
    )

    directions = {(d.query, d.into): d for d in found.directions}
    across = {(a, b) for a in SIZES for b in SIZES if a != b}
    assert set(directions) == across | {("text", "text")}  # only texts occur twice
    codes = {m: model.encode(rows, m) for m, rows in data.test.views.items()}
    expected = dh.evaluate(codes["speech"], codes["text"], data.test.ids["speech"], data.test.ids["text"])
    assert directions["speech", "text"].mean_average_precision == expected.mean_average_precision
    assert directions["text", "text"].queries == 20
    matrix = found.matrix()
    assert matrix.databases == matrix.queries == tuple(SIZES)
    assert np.isnan(matrix.values[0, 0])


def test_evaluation_into_fused_codes_leaves_out_the_object_itself(data, model):
    labelled = workflows.PairFiles(labels=files(data, "class"), ids=files(data, "id"))
    found = workflows.evaluate(
        data.folder / "model.dhm", files(data, "features"), pair_files=labelled, fused=True
    )

    fused = model.encode_fused(data.test.views, data.test.ids)
    places = {int(id_): place for place, id_ in enumerate(fused.ids)}
    for m, ids in data.test.ids.items():
        expected = dh.evaluate(
            model.encode(data.test.views[m], m),
            fused.codes,
            data.test.classes[ids],
            data.test.classes[fused.ids],
            own=np.array([places[int(i)] for i in ids]),
        )
        direction = next(d for d in found.directions if (d.query, d.into) == (m, "fused"))
        assert direction.mean_average_precision == expected.mean_average_precision
    with pytest.raises(workflows.OptionError, match="`fused` needs a `model` and `labels`"):
        workflows.evaluate(data.folder / "model.dhm", files(data, "features"), fused=True)


def test_a_build_learns_and_fuses_aligned_rows_with_labels(data, tmp_path):
    order = {m: np.argsort(ids, kind="stable") for m, ids in data.train.ids.items()}
    rows = np.intersect1d(*(data.train.ids[m] for m in ("image", "text")))
    for m in ("image", "text"):
        ids = data.train.ids[m][order[m]]
        first = order[m][np.searchsorted(ids, rows)]
        np.save(tmp_path / f"{m}.npy", data.train.views[m][first])
    np.save(tmp_path / "labels.npy", data.train.classes[rows])

    result = workflows.build_features(
        {m: tmp_path / f"{m}.npy" for m in ("image", "text")},
        tmp_path / "c.dh",
        pair_files=workflows.PairFiles(labels=tmp_path / "labels.npy"),
        learning=FAST,
        fused="both",
    )

    assert result.objects == len(rows)
    with dh.Collection.open(tmp_path / "c.dh") as collection:
        assert collection.get(3)[0].modalities == ("image", "text", "both")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fused": "image"}, "is the name of a view"),
        ({"fused": 3}, "`fused` must be the name of a modality"),
        ({"fused": "o", "pair_files": "labels"}, "`fused` needs to know which rows are one object"),
    ],
)
def test_what_cannot_be_fused_is_refused_before_the_work(change, words, data, tmp_path):
    if change.get("pair_files") == "labels":
        change = change | {"pair_files": workflows.PairFiles(labels=files(data, "class", "train"))}
    with pytest.raises(workflows.OptionError, match=words):
        workflows.build_features(files(data, "features", "train"), tmp_path / "c.dh", learning=FAST, **change)
    assert list(tmp_path.iterdir()) == []


def test_a_second_row_whose_id_is_taken_is_named(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    (tmp_path / "a.csv").write_text("id\nx\nx\nx#2\n")
    same = dict.fromkeys("ab", tmp_path / "a.npy")

    with pytest.raises(InputFileError, match="would be stored as 'x#2'"):
        workflows.build_features(
            same,
            tmp_path / "c.dh",
            pair_files=workflows.PairFiles(ids=dict.fromkeys("ab", f"{tmp_path / 'a.csv'}#id")),
            learning=FAST,
        )


def test_the_command_line_takes_any_number_of_views(data, built, tmp_path, capsys):
    def options(name, given):
        return [word for m, file in given.items() for word in (name, f"{m}={file}")]

    views = options("--view", files(data, "features")) + options("--ids", files(data, "id"))
    model = str(data.folder / "model.dhm")
    assert run_app(["evaluate", model, *views, *options("--labels", files(data, "class")), "--fused"]) == 0
    table = capsys.readouterr().out
    assert "speech → fused" in table
    assert "mAP, from each line into each column\n" in table
    assert table.splitlines()[-4].split() == ["image", "text", "speech", "fused"]
    assert run_app(["encode", model, *views, "-o", str(tmp_path / "f.npy"), "--json"]) == 0
    assert '"rows": 80' in capsys.readouterr().out
    vectors = options("--vector", {m: f for m, f in files(data, "features").items() if m == "image"})
    assert run_app(["search", str(built), *vectors, "-k", "1"]) == 0
    assert "query 79" in capsys.readouterr().out
    assert run_app(["info", str(built)]) == 0
    assert "fused modality  object" in capsys.readouterr().out
    assert run_app(["encode", model, "a.npy", *views, "-o", str(tmp_path / "g.npy")]) == 2
    assert "give FEATURES of one modality, or --view NAME=FILE" in capsys.readouterr().err
    learn = options("--view", files(data, "features", "train"))
    assert run_app(["fit", *learn, "-o", str(tmp_path / "m.dhm")]) == 2
    assert "Give --ids of the rows of every view" in capsys.readouterr().err


def test_directions_without_a_common_object_are_not_measured(tmp_path):
    """Image and speech share no object; both share some with text."""
    rng = np.random.default_rng(0)
    ids = {"image": range(30), "text": range(60), "speech": range(30, 60)}
    for name, numbers in ids.items():
        np.save(tmp_path / f"{name}.npy", rng.integers(0, 256, (len(numbers), 1), dtype=np.uint8))
        np.save(tmp_path / f"{name}_ids.npy", np.array(numbers))

    found = workflows.evaluate(
        codes={name: tmp_path / f"{name}.npy" for name in ids},
        pair_files=workflows.PairFiles(ids={name: tmp_path / f"{name}_ids.npy" for name in ids}),
    )

    pairs = {(direction.query, direction.into) for direction in found.directions}
    assert pairs == {("image", "text"), ("text", "image"), ("text", "speech"), ("speech", "text")}
