"""No test reads or writes the memory of the person who runs the tests."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from ace_graph import open_store
from ace_graph.memory.stores.sql import SQLiteStore


def test_a_store_that_no_test_placed_is_in_a_folder_of_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ACE_MEMORY_FILE", "ACE_STORE", "NEO4J_URI"):
        monkeypatch.delenv(name, raising=False)
    store = open_store(None)
    assert isinstance(store, SQLiteStore)
    assert store.path is not None
    assert store.path.is_relative_to(tempfile.gettempdir())
    assert store.path.parents[1].name.startswith("ace-test-data-")
