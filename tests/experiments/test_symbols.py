"""The demonstration: its numbers are right, and its page is complete, self-contained and safe."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import diffhash as dh
from diffhash.experiments.symbols import COSTS, Answer, run_demo
from diffhash.experiments.symbols.html_report import demo_page
from diffhash.experiments.symbols.questions import WORDS
from diffhash.experiments.symbols.write_report import write_demo
from diffhash.featurizers.strokes import draw_strokes
from tests.experiments.symbols_settings import QUICK, few_symbols
from tests.experiments.test_paper_report import HOSTILE, _parsed

#: An arrow to the left.
ARROW = [np.array([[0.9, 0.5], [0.1, 0.5]]), np.array([[0.35, 0.3], [0.1, 0.5], [0.35, 0.7]])]


def quick_demo(folder, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("diffhash.experiments.symbols.run.load_symbols", few_symbols)
        return run_demo(folder, **QUICK, **options)


@pytest.fixture(scope="module")
def steps():
    return []


@pytest.fixture(scope="module")
def result(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return quick_demo(folder, on_step=lambda *step: steps.append(step))


@pytest.fixture(scope="module")
def page(result):
    return demo_page(result)


def test_every_step_is_reported_from_beginning_to_end(result, steps):
    for key in COSTS:
        assert [share for step, share, _ in steps if step == key][-1] == 1.0
    assert [step.title for step in result.steps] == [what for _, share, what in steps if share == 1.0]


def test_measures_are_those_of_the_stored_model_on_unseen_symbols(result):
    """They are computed again from the collection only."""
    symbols = few_symbols()
    with dh.Collection.open(result.collection) as collection:
        assert len(collection) == result.n_symbols == len(symbols)
        unseen = [item for block in collection.iterate() for item in block if item.payload["unseen"]]
    assert len(unseen) == result.n_test
    titles = {"text": "name", "image": "drawing", "serif": "serif drawing"}
    codes, own = {}, {}
    for m in titles:
        has = [(row, item.codes[m]) for row, item in enumerate(unseen) if m in item.codes]
        own[m], codes[m] = np.array([row for row, _ in has]), np.array([code for _, code in has])
    assert 0 < len(own["serif"]) < len(own["text"]) == result.n_test
    expected = [(a, b) for a in titles for b in titles if a != b]
    for direction, (a, b) in zip(result.directions, expected, strict=True):
        assert direction.title == f"{titles[a]} → {titles[b]}"
        again = dh.evaluate(codes[a], codes[b], own[a], own[b])
        assert (direction.queries, direction.items) == (len(np.intersect1d(own[a], own[b])), len(own[b]))
        assert direction.mean_average_precision == pytest.approx(again.mean_average_precision)
        assert direction.recall_at(10) == pytest.approx(again.recall_at(10))
        assert direction.mean_average_precision > 5 * result.chance


def test_answers_are_sorted_and_marked(result):
    symbols = few_symbols()
    test = {symbols.names[row] for row in symbols.split(n_test=result.n_test)[1]}
    for answer in (*result.words, *result.pictures):
        for hits in (answer.hits, answer.unseen_hits):
            assert [hit.distance for hit in hits] == sorted(hit.distance for hit in hits)
            assert all(hit.unseen == (hit.name in test) for hit in hits)
    assert all(hit.unseen for answer in result.words for hit in answer.unseen_hits)
    assert {answer.name for answer in result.pictures} <= test
    assert [answer.asked for answer in result.words] == list(WORDS)


def test_names_that_are_nearer_than_the_right_one_are_counted(result):
    with dh.Collection.open(result.collection) as collection:
        items = [item for block in collection.iterate() for item in block]
    codes = np.array([item.codes["text"] for item in items])
    for answer in result.pictures:
        own = next(item for item in items if item.payload["name"] == answer.name)
        apart = np.bitwise_count(codes ^ own.codes["image"]).sum(axis=1)
        distance = np.bitwise_count(own.codes["text"] ^ own.codes["image"]).sum()
        assert answer.nearer == (apart < distance).sum()


def test_words_that_were_never_learned_get_no_answer(result, page):
    """Their features are all zero, so a search would have no meaning."""
    unknown = next(answer for answer in result.words if answer.asked == "snowman")

    assert not unknown.known
    assert unknown.hits == ()
    assert "none of these words occurs in two or more training" in page


def test_the_collection_can_be_searched_with_words_and_drawings(result):
    with dh.Collection.open(result.collection) as collection:
        hits = collection.search_raw(
            ["leftwards arrow"], modality="text", into="image", k=3, where={"block": "Arrows"}
        )[0]
        symbols = few_symbols()
        names = collection.search_raw([symbols.pictures[100]], modality="image", into="text", k=3)[0]
    assert {hit.payload["block"] for hit in hits} == {"Arrows"}
    assert len(names) == 3


def test_running_again_replaces_the_collection(result):
    before = result.collection.stat().st_size

    again = quick_demo(result.collection.parent)

    assert again.collection == result.collection
    assert again.collection.stat().st_size == pytest.approx(before, rel=0.02)


def test_another_file_of_that_name_is_kept_and_named_before_any_work(tmp_path, monkeypatch):
    (tmp_path / "symbols.dh").write_text("somebody's notes")
    monkeypatch.setattr("diffhash.experiments.symbols.run.load_symbols", None)

    with pytest.raises(dh.errors.CollectionError):
        run_demo(tmp_path)
    assert (tmp_path / "symbols.dh").read_text() == "somebody's notes"


def test_page_shows_queries_hits_and_measures(result, page):
    tags = _parsed(page)
    text = " ".join("".join(tags.text).split())

    for answer in result.words:
        assert f"“{answer.asked}”" in text
    for answer in result.pictures:
        assert answer.name.lower() in text
    pictures = [attrs["src"] for tag, attrs in tags.seen if tag == "img"]
    shown = sum(len(a.hits) + len(a.unseen_hits) + bool(a.picture) for a in (*result.words, *result.pictures))
    assert len(pictures) == shown
    for direction in result.directions:
        assert f"{direction.mean_average_precision:.3f}" in text
        assert f"{direction.equal_error_rate:.3f}" in text
    assert sum(tag == "svg" and "role" in attrs for tag, attrs in tags.seen) == 2
    assert "24 bits" in text
    assert "diffhash search" in text


def test_page_is_self_contained(page):
    tags = _parsed(page)

    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in tags.seen}
    for _, attrs in tags.seen:
        assert (attrs.get("src") or "data:image/png;base64,").startswith("data:image/png;base64,")
        for name in ("href", "xlink:href", "srcset"):
            assert (attrs.get(name) or "#").startswith("#")
    assert not re.search(r"url\(\s*[\"']?(?!#)", page)
    assert "default-src 'none'" in page
    assert 'name="viewport"' in page
    assert "@media print" in page


def test_hostile_text_is_shown_and_never_run(result, tmp_path):
    hit = dataclasses.replace(
        result.words[0].hits[0], character=HOSTILE, name=HOSTILE, block=HOSTILE, picture=HOSTILE
    )
    words = (Answer(HOSTILE, hits=(hit,), unseen_hits=(hit,)), Answer(HOSTILE, known=False))
    pictures = (Answer(HOSTILE, name=HOSTILE, picture=HOSTILE, hits=(hit,), nearer=3),)
    directions = tuple(dataclasses.replace(d, query=HOSTILE, into=HOSTILE) for d in result.directions)
    hostile = dataclasses.replace(
        result,
        words=words,
        pictures=pictures,
        directions=directions,
        collection=tmp_path / "<img src=x onerror=alert(1)>.dh",
        method=HOSTILE,
        environment={"diffhash": HOSTILE, HOSTILE: HOSTILE},
        date=HOSTILE,
    )

    page = write_demo(hostile, tmp_path / "report.html").read_text(encoding="utf-8")

    tags = _parsed(page)
    assert "script" not in {tag for tag, _ in tags.seen}
    assert not any(name.startswith("on") for _, attrs in tags.seen for name in attrs)
    assert HOSTILE in "".join(tags.text)


def test_the_collection_reads_drawings_and_words_and_gives_chances(result):
    with dh.Collection.open(result.collection) as collection:
        assert collection.word_fields == ("name",)
        assert collection.stats().n_codes["drawing"] == result.n_symbols
        drawing = draw_strokes(ARROW, size=96, extent=0.8, thickness=0.06)
        (found,) = collection.search_raw([drawing], modality="drawing", into="drawing", k=10)
        (named,) = collection.search_raw(["leftwards arrow"], modality="text", into="image", k=5)
    assert sum("ARROW" in hit.payload["name"] for hit in found) >= 5
    assert all(hit.chance is not None for hit in found)
    assert named[0].payload["name"] == "LEFTWARDS ARROW"
    assert named[0].found_by == "both"
