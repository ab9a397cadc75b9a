"""Collections move between all stores, and every store gives the same exact distances."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.errors import CollectionError, CollectionExistsError
from diffhash.workflows import OptionError, copying
from diffhash.workflows.copying import ContentSum

from .sample_codes import random_codes

PAYLOADS = [{"n": i, "text": f"é {i}", "deep": {"a": [i / 7, None, True, -0.0]}} for i in range(90)]


@pytest.fixture
def source(tmp_path, hasher):
    """A collection with objects in one modality, in the other, and in both; with gaps and replaced codes."""
    with dh.Collection.create(tmp_path / "source.dh", hasher) as store:
        store.add_codes(random_codes(60), modality="x", ids=range(60), payloads=PAYLOADS[:60])
        store.add_codes(
            random_codes(50, 1), modality="y", ids=range(40, 90), payloads=[None] * 20 + PAYLOADS[60:]
        )
        store.delete([3, 45, 88])
        store.upsert_codes(random_codes(5, 2), modality="x", ids=[7, 1, 20, 70, 80])
        store.add_codes(random_codes(1, 3), modality="x", ids=[10**12])
    return tmp_path / "source.dh"


def content(store):
    found = ContentSum()
    for block in store.iterate():
        found.update(block)
    return found


def distances(hits):
    return [[hit.distance for hit in row] for row in hits]


def test_a_copy_has_the_same_content_and_the_same_exact_distances(source, make_store):
    target = make_store()
    result = workflows.copy(source, target, block=17)

    with dh.open(source) as original:
        assert (result.objects, result.written, result.checked) == (len(original), len(original), True)
        assert content(target) == content(original)
        assert {item.id: item.payload for block in target.iterate() for item in block} == {
            item.id: item.payload for block in original.iterate() for item in block
        }
        queries = random_codes(25, seed=9)
        for options in (
            {},
            {"into": "x", "k": 100},
            {"into": "y", "radius": 3, "k": 100},
            {"into": "x", "where": {"n": {"ge": 30}}},
        ):
            got, expected = (s.search_codes(queries, **options) for s in (target, original))
            assert distances(got) == distances(expected)
        assert distances(target.within_codes(queries, radius=4)) == distances(
            original.within_codes(queries, radius=4)
        )


def test_a_copy_of_a_copy_is_the_same_file_content(source, make_store, tmp_path):
    """File to store to file: equal afterwards, also in the order of equal distances if the store keeps it."""
    target = make_store()
    workflows.copy(source, target)
    workflows.copy(target, tmp_path / "back.dh")

    with dh.open(source) as first, dh.open(tmp_path / "back.dh") as last:
        assert content(first) == content(last)
        assert last.model.to_bytes() == first.model.to_bytes()
        assert last.verify().ok


def captioned_file(path, hasher):
    with dh.Collection.create(path, hasher, words=["caption", "title"]) as store:
        payloads = [{"caption": "a red frog"}, {"title": "apple"}, {}]
        store.add_codes(random_codes(3), modality="x", ids=["f", "a", "n"], payloads=payloads)
    return path


def test_words_are_indexed_again_in_a_file_that_comes_back_from_a_store_without_a_word_index(
    hasher, tmp_path, monkeypatch
):
    """File to memory to file; the store in memory is made by ``copy``, as a store on a server is."""
    made = []

    def create(*arguments, **options):
        made.append(dh.create(*arguments, **options))
        return nullcontext(made[-1])

    first = captioned_file(tmp_path / "first.dh", hasher)
    with monkeypatch.context() as patch:
        patch.setattr(copying, "create_store", create)
        workflows.copy(first, "memory://")
    assert made[0].word_fields == (), "it cannot search words"
    workflows.copy(made[0], tmp_path / "back.dh")
    workflows.copy(tmp_path / "back.dh", tmp_path / "again.dh")

    for name in ("back.dh", "again.dh"):
        with dh.open(tmp_path / name) as store:
            assert store.word_fields == ("caption", "title")
            assert [hit.id for hit in store.search_words(["frogs"])[0]] == ["f"]
            assert store.verify().ok


def test_every_store_keeps_the_names_of_the_captions_for_a_copy(hasher, make_store, tmp_path):
    """Also a service in front of a store that has no word index."""
    target = make_store(words=["caption", "title"])
    workflows.copy(captioned_file(tmp_path / "first.dh", hasher), target)
    workflows.copy(target, tmp_path / "back.dh")

    with dh.open(tmp_path / "back.dh") as store:
        assert store.word_fields == ("caption", "title")
        assert [hit.id for hit in store.search_words(["frogs"])[0]] == ["f"]


def test_codes_without_a_model_keep_the_names_of_their_captions(tmp_path):
    with dh.create("memory://", n_bits=8, modalities=("x",), words="caption") as store:
        store.add_codes(random_codes(1)[:, :1], modality="x", payloads=[{"caption": "frog"}])
        workflows.copy(store, tmp_path / "back.dh")
    with dh.open(tmp_path / "back.dh") as back:
        assert len(back.search_words(["frog"])[0]) == 1


def test_an_interrupted_copy_continues(source, make_store):
    """Only what is missing or different is written; what the target had of it stays."""
    target = make_store()

    def stop_after_two_blocks(step):
        if step.name == "copying" and step.done >= 34:
            raise KeyboardInterrupt

    with pytest.raises(workflows.InterruptedBuild, match="to continue, use `resume`"):
        workflows.copy(source, target, block=17, progress=stop_after_two_blocks)
    assert 0 < len(target) < 85
    target.upsert_codes(random_codes(1, seed=77), modality="x", ids=[5], payloads=[{"other": 1}])
    had = len(target)

    with pytest.raises(OptionError, match="not empty"):
        workflows.copy(source, target)
    result = workflows.copy(source, target, resume=True)

    assert result.written == result.objects - had + 1
    assert workflows.copy(source, target, resume=True).written == 0
    with dh.open(source) as original:
        assert content(target) == content(original)


def test_objects_that_the_source_does_not_have_are_noticed(source, make_store):
    target = make_store()
    target.add_codes(random_codes(1), modality="y", ids=[777])
    with pytest.raises(CollectionError, match=r"differs from the source: 89 objects.*expected 88"):
        workflows.copy(source, target, resume=True)


def test_a_target_with_another_model_is_refused(source, make_store):
    target = make_store(None, n_bits=12, modalities=("x", "y"))
    with pytest.raises(OptionError, match="Codes of two models cannot be in one collection"):
        workflows.copy(source, target)
    assert len(target) == 0


def test_strings_and_codes_without_a_model_are_copied(make_store, tmp_path):
    source = make_store(None, n_bits=12, modalities=("a",))
    source.add_codes(
        random_codes(30), modality="a", ids=[f"id {i}\0'" for i in range(30)], payloads=[{}] * 30
    )
    result = workflows.copy(source, tmp_path / "x.dh")
    assert (result.objects, result.codes) == (30, 30)
    with dh.open(tmp_path / "x.dh") as copied:
        assert content(copied) == content(source)


def test_files_are_only_replaced_if_asked_and_never_by_themselves(source, tmp_path):
    workflows.copy(source, tmp_path / "b.dh")
    with pytest.raises(CollectionExistsError, match="`overwrite`, or `resume`"):
        workflows.copy(source, tmp_path / "b.dh")
    assert workflows.copy(source, tmp_path / "b.dh", overwrite=True).written == 88
    (tmp_path / "link.dh").symlink_to(source)
    for target in (source, tmp_path / "link.dh"):
        with pytest.raises(OptionError, match="is the source and the target"):
            workflows.copy(source, target, overwrite=True)
    with dh.open(source) as store:
        assert len(store) == 88
    with pytest.raises(OptionError, match="exclude each other"):
        workflows.copy(source, tmp_path / "b.dh", overwrite=True, resume=True)


def test_the_word_index_goes_along_to_another_file(tmp_path):
    with dh.Collection.create(tmp_path / "a.dh", n_bits=12, modalities=("x",), words="caption") as store:
        store.add_codes(
            random_codes(2), modality="x", payloads=[{"caption": "a green frog"}, {"caption": "sun"}]
        )
    workflows.copy(tmp_path / "a.dh", tmp_path / "b.dh")
    with dh.open(tmp_path / "b.dh") as store:
        assert [hit.id for hit in store.search_words(["frog"])[0]] == [0]


def test_the_sum_tells_contents_apart():
    """The same bytes in another place are another content."""

    def total(*items):
        found = ContentSum()
        found.update(
            [
                dh.stores.Item(i, {m: np.array(c, np.uint8) for m, c in codes.items()}, p)
                for i, codes, p in items
            ]
        )
        return found.text

    base = total((1, {"x": [1, 2]}, {"a": 1}))
    for other in (
        ("1", {"x": [1, 2]}, {"a": 1}),
        (1, {"y": [1, 2]}, {"a": 1}),
        (1, {"x": [2, 1]}, {"a": 1}),
        (1, {"x": [1, 2]}, {"a": 1.0}),
        (1, {"x": [1, 2]}, {"a": True}),
        (1, {"x": [1, 2]}, {"b": 1}),
        (1, {"x": [1, 2]}, {}),
        (1, {"x": [1], "y": [2]}, {"a": 1}),
    ):
        assert total(other) != base
    items = [(i, {"x": [i]}, {"n": i, "empty": i % 3} if i % 2 else {}) for i in range(9)]
    assert total(*items) == total(*items[::-1]) == total(*items[4:], *items[:4])
    assert total((1, {"x": [1]}, {"a": [{"b": -0.0}]})) == total((1, {"x": [1]}, {"a": [{"b": 0.0}]}))
    assert total((1, {"x": [1]}, {"a": 1, "b": 2})) == total((1, {"x": [1]}, {"b": 2, "a": 1}))
