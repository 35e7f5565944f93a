"""A URL names a store, the settings name one where there is no URL, and opening does no I/O.

Does not: reach a server. The tests of the Neo4j store do.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import ace_graph
from ace_graph import open_store
from ace_graph.base import ConfigurationError, Settings, StoreUrlError, variable_names
from ace_graph.memory import DecayRates, Policy, Snapshot
from ace_graph.memory.stores.neo4j import Neo4jStore
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.stores import policy_of
from ace_graph.testing.conformance import adding


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in variable_names():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


def _file(url: str | None = None) -> Path:
    store = open_store(url)
    assert isinstance(store, SQLiteStore)
    assert store.path is not None
    return store.path


def _is_in_memory(url: str | None = None) -> bool:
    store = open_store(url)
    return isinstance(store, SQLiteStore) and store.path is None


def test_a_sqlite_url_has_a_relative_or_an_absolute_path(tmp_path: Path) -> None:
    assert _file("sqlite:///ace.db") == tmp_path / "ace.db"
    assert _file("sqlite:////srv/my%20 data?/ace.db") == Path("/srv/my%20 data?/ace.db")
    assert _file("sqlite:///~/ace.db") == tmp_path / "ace.db"


def test_a_memory_url_is_a_store_of_its_own() -> None:
    assert _is_in_memory("memory://")


@pytest.mark.parametrize("scheme", ["neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"])
def test_every_scheme_of_the_driver_is_a_neo4j_url(scheme: str) -> None:
    assert isinstance(open_store(f"{scheme}://localhost:7687"), Neo4jStore)


_WRONG = (
    "",
    "ace.db",
    "mysql://host/db",
    "sqlite:ace.db",
    "sqlite://",
    "sqlite:///",
    "sqlite://ace.db",
    "sqlite:///:memory:",
    "sqlite:///folder/",
    "memory://x",
    "SQLITE:///ace.db",
    "neo4j:host",
    "file:///ace.db",
)


@pytest.mark.parametrize("url", _WRONG)
def test_another_url_is_an_error_that_shows_the_forms(url: str) -> None:
    with pytest.raises(StoreUrlError, match=r"sqlite:///ace.db"):
        open_store(url)


def test_an_error_never_quotes_a_password() -> None:
    for url in ("mysql://me:hunter2@host/db", "neo4j://me:hunter2@host:7687", "me:hunter2@host"):
        with pytest.raises(StoreUrlError) as caught:
            open_store(url)
        assert "hunter2" not in str(caught.value)


def test_without_a_url_the_settings_decide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _file() == tmp_path / "data" / "ace-graph" / "ace.db"
    monkeypatch.setenv("NEO4J_URI", "neo4j://localhost:7687")
    assert isinstance(open_store(), Neo4jStore)
    monkeypatch.setenv("ACE_MEMORY_FILE", str(tmp_path / "mine.db"))
    assert _file() == tmp_path / "mine.db"
    monkeypatch.setenv("ACE_STORE", "memory://")
    assert _is_in_memory()
    assert _file("sqlite:///ace.db") == tmp_path / "ace.db"


def test_the_policy_comes_from_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACE_MAX_BULLETS", "7")
    monkeypatch.setenv("ACE_CURATOR_SIMILARITY", "0.8")
    monkeypatch.setenv("ACE_DECAY_SEMANTIC", "5")
    monkeypatch.setenv("ACE_DECAY_EPISODIC", "-1")
    decay = DecayRates(semantic=1.0, episodic=0.0)
    expected = Policy(max_bullets=7, similarity=0.8, decay=decay, consolidate_above=5)
    assert open_store("memory://").policy == expected
    assert open_store("memory://", settings=Settings.load()).policy == expected
    assert open_store("memory://", Policy(max_bullets=9)).policy == Policy(max_bullets=9)


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACE_MAX_BULLETS", "many")
    with pytest.raises(ConfigurationError, match="ACE_MAX_BULLETS"):
        open_store()


def test_opening_creates_nothing(tmp_path: Path) -> None:
    open_store()
    open_store("sqlite:///ace.db")
    assert list(tmp_path.iterdir()) == []


async def test_the_default_file_is_created_with_its_folder_for_its_owner_only(tmp_path: Path) -> None:
    async with open_store() as store:
        await store.commit("alice", adding("Draw a bar"), Snapshot())
        await store.commit("bob", adding("Name the unit"), Snapshot())
        assert len((await store.load("alice")).playbook) == 1
        assert len((await store.load("bob")).playbook) == 1
    folder = tmp_path / "data" / "ace-graph"
    assert (folder / "ace.db").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_neo4j_driver_is_imported_when_it_is_needed_only() -> None:
    code = "import sys, ace_graph; ace_graph.open_store('memory://'); sys.exit('neo4j' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_public_name_is_hidden_by_a_module_of_that_name() -> None:
    assert [name for name in ace_graph.__all__ if find_spec(f"ace_graph.{name}")] == []


def test_the_settings_say_which_versions_of_named_playbooks_stay() -> None:
    given = Settings.model_validate(
        {**Settings().model_dump(), "versions_kept": 2, "versions_days": 0, "versions_major": False}
    )
    kept = policy_of(given).of_playbooks().versions
    assert (kept.keep_latest, kept.keep_days, kept.keep_all_major) == (2, 0, False)
    assert policy_of(Settings()).versions == Policy().versions
