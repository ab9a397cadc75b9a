"""Copies of what a service serves."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import diffhash as dh
from diffhash import workflows
from diffhash.service.server import listen, make_server
from diffhash.service.settings import ServeSettings
from diffhash.stores import MemoryStore

from .process import wait_for


@pytest.fixture
def serve(monkeypatch):
    """A function that serves an open store in a thread, and gives the address of the service."""
    running = []

    def start(store):
        settings = ServeSettings(port=0, delay=0.0)
        listener = listen(settings)
        with monkeypatch.context() as patch:
            patch.setattr("diffhash.workflows.model_files.open_store", lambda *_, **__: store)
            server = make_server("store", settings, listener)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        running.append((server, thread))
        wait_for(lambda: server.started)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(60)


def test_a_store_without_a_word_index_behind_a_service_keeps_the_names_of_its_captions(serve, tmp_path):
    store = MemoryStore(n_bits=8, modalities=("x",), words=["caption", "title"])
    payloads = [{"caption": "a red frog"}, {"title": "apple"}]
    store.add_codes(np.zeros((2, 1), dtype=np.uint8), modality="x", ids=["f", "a"], payloads=payloads)

    url = serve(store)
    with dh.open(url) as there:
        assert there.word_fields == (), "it cannot search words"
    workflows.copy(url, tmp_path / "copy.dh")

    with dh.open(tmp_path / "copy.dh") as copy:
        assert copy.word_fields == ("caption", "title")
        assert [hit.id for hit in copy.search_words(["frogs"])[0]] == ["f"]
