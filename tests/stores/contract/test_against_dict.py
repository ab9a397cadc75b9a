"""After any sequence of calls a store has the same content as a plain dict."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import diffhash as dh
from diffhash.stores.filter_syntax import matches, parse

IDS = st.lists(st.integers(0, 12), unique=True, max_size=4)
MODALITIES = st.sampled_from(["x", "y"])
PAYLOADS = st.one_of(st.none(), st.fixed_dictionaries({"g": st.sampled_from([0, 1, 1.0, "1", None, True])}))
WHERE = st.sampled_from(
    [None, {"g": 1}, {"g": {"ne": 1}}, {"g": {"ge": 0}}, {"g": None}, {"not": {"g": "1"}}, {"h": {"gt": 0}}]
)


class Machine(RuleBasedStateMachine):
    """A store and two dicts with the same content: codes by (id, modality), payloads by id."""

    make_store = None
    as_strings = False

    def __init__(self):
        super().__init__()
        self.store = self.make_store()
        self.codes: dict[tuple[object, str], bytes] = {}
        self.payloads: dict[object, dict[str, object]] = {}

    def name(self, number):
        return f"id '{number}'" if self.as_strings else number

    def random(self, n, seed):
        return np.random.default_rng(seed).integers(0, 4, (n, 2), dtype=np.uint8)

    @rule(data=st.data(), ids=IDS, modality=MODALITIES, seed=st.integers(0, 99), replace=st.booleans())
    def put(self, data, ids, modality, seed, replace):
        ids = [self.name(number) for number in ids]
        payloads = [data.draw(PAYLOADS) for _ in ids]
        codes = self.random(len(ids), seed)
        if not replace and any((i, modality) in self.codes for i in ids):
            with pytest.raises(dh.errors.InputError, match="exists already"):
                self.store.add_codes(codes, modality=modality, ids=ids, payloads=payloads)
            return
        put = self.store.upsert_codes if replace else self.store.add_codes
        assert put(codes, modality=modality, ids=ids, payloads=payloads) == ids
        for i, code, payload in zip(ids, codes, payloads, strict=True):
            self.codes[i, modality] = code.tobytes()
            if payload is not None:
                self.payloads[i] = payload

    @rule(ids=IDS, modality=st.none() | MODALITIES)
    def delete(self, ids, modality):
        ids = [self.name(number) for number in ids]
        gone = [key for key in self.codes if key[0] in ids and modality in (None, key[1])]
        if self.codes or not self.as_strings:
            assert self.store.delete(ids, modality=modality) == len({i for i, _ in gone})
        for key in gone:
            del self.codes[key]
        for i in list(self.payloads):
            if not any(key[0] == i for key in self.codes):
                del self.payloads[i]

    @rule(seed=st.integers(0, 99), into=MODALITIES, k=st.integers(1, 8), where=WHERE)
    def search(self, seed, into, k, where):
        query = self.random(1, seed)
        allowed = [
            i
            for i, modality in self.codes
            if modality == into
            and (where is None or matches(parse(where, caller=""), self.payloads.get(i, {})))
        ]
        distance = {
            i: int(np.bitwise_count(np.frombuffer(self.codes[i, into], np.uint8) ^ query[0]).sum())
            for i in allowed
        }

        (hits,) = self.store.search_codes(query, into=into, k=k, where=where)

        assert [hit.distance for hit in hits] == sorted(distance.values())[:k]
        assert all(hit.distance == distance[hit.id] for hit in hits)
        assert all(hit.payload == self.payloads.get(hit.id, {}) for hit in hits)

    @precondition(lambda self: hasattr(self.store, "compact"))
    @rule(what=st.sampled_from(["compact", "index", "reopen", "read"]))
    def maintain(self, what):
        if what == "compact":
            self.store.compact()
        elif what == "index":
            self.store.index_payload("g")
        elif what == "reopen":
            self.store.close()
            self.store = dh.Collection.open(self.store.path, writable=True)
        else:
            with dh.Collection.open(self.store.path) as reader:
                assert len(reader) == len({i for i, _ in self.codes})

    @invariant()
    def has_the_same_content(self):
        ids = {i for i, _ in self.codes}
        assert len(self.store) == len(ids)
        items = [item for block in self.store.iterate(batch=3) for item in block]
        assert sorted(map(str, ids)) == sorted(str(item.id) for item in items)
        for item in items:
            expected = {modality: code for (i, modality), code in self.codes.items() if i == item.id}
            assert {modality: code.tobytes() for modality, code in item.codes.items()} == expected
            assert item.payload == self.payloads.get(item.id, {})

    def teardown(self):
        if hasattr(self.store, "verify"):
            assert self.store.verify().problems == ()
        self.store.close()


@pytest.mark.parametrize("as_strings", [False, True], ids=["numbers", "strings"])
def test_a_store_behaves_like_a_dict(make_store, as_strings):
    machine = type("Machine", (Machine,), {"make_store": staticmethod(make_store), "as_strings": as_strings})
    examples, steps = (2, 15) if make_store.is_slow else (60, 30)
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=steps))
