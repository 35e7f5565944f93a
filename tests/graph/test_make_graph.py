"""The factory for LangGraph servers: the environment, `.env` below it, one graph for the same settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from ace_graph import ACEContext
from ace_graph.base import ConfigurationError
from ace_graph.graph import make_graph


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and an environment without our settings that is put back afterwards."""
    monkeypatch.chdir(tmp_path)
    for name in ("ACE_MODEL", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ACE_STORE", "OTHER_PROVIDER_KEY"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return tmp_path


def test_a_dot_env_in_the_working_directory_is_read(folder: Path) -> None:
    (folder / ".env").write_text(
        f"ACE_MODEL=offline\nACE_STORE=sqlite:///{folder}/mine.db\n", encoding="utf-8"
    )
    make_graph().invoke({"messages": [HumanMessage("Call me Ada.")]}, context=ACEContext(learner_id="ada"))
    assert (folder / "mine.db").exists()


def test_the_environment_wins_over_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text("ACE_MODEL=\nACE_STORE=no-store-at-all\n", encoding="utf-8")
    monkeypatch.setenv("ACE_MODEL", "offline")
    monkeypatch.setenv("ACE_STORE", "memory://")
    assert make_graph() is make_graph()


def test_what_it_says_to_other_libraries_reaches_them(folder: Path) -> None:
    (folder / ".env").write_text("OTHER_PROVIDER_KEY=for-them\nACE_STORE=memory://\n", encoding="utf-8")
    make_graph()
    assert os.environ["OTHER_PROVIDER_KEY"] == "for-them"
    assert "ACE_STORE" not in os.environ


def test_a_wrong_value_is_named(folder: Path) -> None:
    (folder / ".env").write_text("ACE_MODEL=offline\nACE_MAX_BULLETS=many\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="ACE_MAX_BULLETS"):
        make_graph()
