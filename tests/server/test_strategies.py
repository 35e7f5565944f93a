"""Strategies in the shape of three categories are taken by Python, HTTP and the command line alike."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel

from ace_graph import playbooks
from ace_graph.base import utc_now
from ace_graph.memory import StrategyEntry, content_of
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.server import Overrides
from ace_graph.testing import ScriptedModel
from tests.cli.commands import Commands
from tests.server.serving import bearer, serving, settings_for

GIVEN: tuple[Mapping[str, object], ...] = (
    {
        "category": "helpful",
        "pattern": "Retry once after a 429",
        "context": "calling an API",
        "confidence": 0.9,
        "evidence_count": 4,
    },
    {"category": "harmful", "pattern": "Send the whole file", "confidence": 0.25, "evidence_count": 2},
    {"category": "neutral", "pattern": "The service is slow on Mondays"},
)


async def in_python(folder: Path) -> None:
    entries = [StrategyEntry.model_validate(each) for each in GIVEN]
    await playbooks.update_playbook(SQLiteStore(folder / "ace.db"), entries, owner="alice")


async def over_http(folder: Path) -> None:
    async with serving(settings_for(folder), Overrides(model=ScriptedModel([]))) as served:
        strategies = [{to_camel(name): value for name, value in each.items()} for each in GIVEN]
        body = {"strategies": strategies, "merge": True}
        done = await served.client.put("/api/playbooks/default", json=body, headers=bearer("alice"))
        assert done.status_code == 200, done.text


async def by_command(folder: Path) -> None:
    (folder / "strategies.json").write_text(json.dumps({"strategies": GIVEN}), encoding="utf-8")
    url = f"sqlite:///{folder / 'ace.db'}"
    arguments = ("playbook", "import", folder / "strategies.json", "--learner", "alice", "--store", url)
    await asyncio.to_thread(Commands(folder).ok, *arguments)


@pytest.mark.parametrize("way", [in_python, over_http, by_command])
async def test_strategies_are_read_as_they_were_written(
    way: Callable[[Path], Awaitable[None]], tmp_path: Path
) -> None:
    await way(tmp_path)
    snapshot = await SQLiteStore(tmp_path / "ace.db").load("alice")
    held = content_of(snapshot, (), utc_now())
    wanted = {"category", "pattern", "context", "evidence_count"}
    found = {each.pattern: each.model_dump(include=wanted) for each in held.strategies}
    blank = {"context": None, "evidence_count": 0}
    assert found == {
        str(each["pattern"]): {**blank, **{name: each[name] for name in wanted & each.keys()}}
        for each in GIVEN
    }
    stated = {each.pattern: each.confidence for each in held.strategies}
    assert stated["Retry once after a 429"] == pytest.approx(0.9, abs=0.05)
    assert stated["Send the whole file"] == pytest.approx(0.25, abs=0.05)


async def test_a_strategy_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path), Overrides(model=ScriptedModel([]))) as served:
        for wrong in (
            {"pattern": ""},
            {"pattern": "x", "category": "good"},
            {"pattern": "x", "confidence": 2},
        ):
            done = await served.client.put(
                "/api/playbooks/default", json={"strategies": [wrong]}, headers=bearer("alice")
            )
            assert done.status_code == 422, wrong
            assert done.json()["error"].startswith(f"strategies[0].{list(wrong)[-1]} ")
        for empty in ({}, {"merge": True}):
            done = await served.client.put("/api/playbooks/default", json=empty, headers=bearer("alice"))
            assert done.status_code == 422, "it would empty the playbook"
    (tmp_path / "wrong.json").write_text('{"strategies": [{"pattern": "x", "category": "good"}]}', "utf-8")
    refused = await asyncio.to_thread(Commands(tmp_path), "playbook", "import", tmp_path / "wrong.json")
    assert "polarity" in refused.err + refused.out
