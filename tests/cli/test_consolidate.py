"""`ace-graph consolidate`: the plan, the run, taking it back, and what is distinct."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from ace_graph import playbooks
from ace_graph.memory import Bullet
from ace_graph.memory.delta import Reset
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.playbooks.consolidation import enqueue
from ace_graph.testing.conformance import NOON, rewriting, write
from tests.cli.commands import Commands
from tests.consolidation.planted import ALIKE, OTHERS, PARAPHRASES, bullets


def _planted(ace: Commands, *texts: str, more: Sequence[Bullet] = ()) -> None:
    async def work() -> None:
        async with SQLiteStore(ace.database) as store:
            planted = (*bullets(*(texts or (*PARAPHRASES, *OTHERS))), *more)
            await write(store, "local", rewriting(Reset(bullets=planted)))

    asyncio.run(work())


def test_the_dry_run_lists_what_the_run_then_merges(ace: Commands) -> None:
    _planted(ace)
    before = ace.database.read_bytes()
    planned = ace.ok("playbook", "consolidate", "--dry-run", "--json").json
    assert ace.database.read_bytes() == before
    done = ace.ok("playbook", "consolidate", "--json").json
    assert [(each["ids"], each["text"]) for each in planned["groups"]] == [
        (each["ids"], each["text"]) for each in done["groups"]
    ]
    assert done["merged"] + done["preserved"] + done["untouched"] == done["total"] == 5
    assert len(ace.bullets()) == 3


def test_a_run_is_taken_back(ace: Commands) -> None:
    _planted(ace)
    before = ace.bullets()
    told = ace.ok("playbook", "consolidate").out
    assert "5 bullets: 3 became 1, 0 preserved, 2 untouched" in told
    assert "takes it back" in told
    assert f"  gen-00001: {PARAPHRASES[0]}" in told.splitlines()
    assert "3 bullets restored, 1 removed" in ace.ok("playbook", "consolidate", "undo").out
    assert ace.bullets() == before
    nothing = ace("playbook", "consolidate", "undo")
    assert nothing.code == 1
    assert "no such consolidation" in nothing.err


@pytest.mark.parametrize("option", [("--topic", "calls"), ("--section", "api"), ("--kind", "fact")])
def test_only_what_the_options_select_is_looked_at(ace: Commands, option: tuple[str, str]) -> None:
    fields = {"topic": "calls", "section": "api", "memory_type": "semantic"}
    selected = [
        each.model_copy(update={"id": f"sel-{each.id}"})
        for each in bullets("Draw a bar first", "First, draw a bar", **fields)
    ]
    _planted(ace, *PARAPHRASES, more=selected)
    (group,) = ace.ok("playbook", "consolidate", "--dry-run", *option, "--json").json["groups"]
    assert sorted(group["ids"]) == [each.id for each in selected]


def test_alike_bullets_are_shown_with_their_texts(ace: Commands) -> None:
    _planted(ace, *ALIKE)
    told = ace.ok("playbook", "consolidate", "--dry-run").out.splitlines()
    assert told[0] == "alike; rules can't, --with-model asks the model to tell whether they say the same:"
    assert sorted(told[1:3]) == [f"  gen-0000{n}: {text}" for n, text in enumerate(ALIKE, 1)]


def test_distinct_bullets_are_never_merged(ace: Commands) -> None:
    _planted(ace)
    ids = [each["id"] for each in ace.bullets()][:3]
    ace.ok("playbook", "merge", *ids, "--never")
    assert ace.ok("playbook", "consolidate", "--json").json["merged"] == 0
    assert ace("playbook", "merge", ids[0], "--never").code == 2


def test_tags_and_types_select_and_importance_preserves_until_it_is_switched_off(ace: Commands) -> None:
    planted = bullets(*PARAPHRASES, importance=0.9, tags=("http",))

    async def work() -> None:
        async with SQLiteStore(ace.database) as store:
            await write(store, "local", rewriting(Reset(bullets=planted)))

    asyncio.run(work())
    for options, merged in (
        ((), 0),
        (("--no-preserve", "--tag", "other"), 0),
        (("--no-preserve", "--type", "episodic"), 0),
        (("--no-preserve", "--below", "0.5"), 0),
        (("--no-preserve", "--tag", "http", "--type", "procedural"), 3),
    ):
        done = ace.ok("playbook", "consolidate", "--dry-run", *options, "--json").json
        assert done["merged"] == merged, options


def test_the_own_playbooks_of_a_scope_are_consolidated(ace: Commands) -> None:
    made = (("local", "house", "tenant"), ("local", "notes", "user"), ("ada", "hers", "tenant"))

    async def work() -> None:
        async with SQLiteStore(ace.database) as store:
            alike = rewriting(Reset(bullets=bullets(*PARAPHRASES)))
            await write(store, "local", alike)
            for owner, name, scope in made:
                await playbooks.create(store, name, owner=owner, scope=scope)
                opened = await playbooks.open_playbook(store, name, owner)
                await write(store.playbooks, opened.key, rewriting(Reset(bullets=bullets(*PARAPHRASES))))
            await playbooks.grant(store, "hers", "user:local", "owner", owner="ada")

    def merged(*scope: str) -> dict[str, int]:
        done = ace.ok("playbook", "consolidate", "--scope", *scope, "--dry-run", "--json").json
        return {each["playbook"]: each["merged"] for each in done["playbooks"]}

    asyncio.run(work())
    assert merged("user") == {"default": 3, "notes": 3}
    assert merged("tenant") == {"house": 3}, "what others own is theirs to consolidate"
    assert merged("global") == {}
    assert merged("agent", "--agent", "x") == {"default": 0}
    assert "house:\nbecame " in ace.ok("playbook", "consolidate", "--scope", "tenant").out
    assert len(ace.bullets()) == 3, "the own memory stays as it is"


@pytest.mark.parametrize(
    "options",
    [
        ("--below", "0.9"),
        ("--below", "2"),
        ("--kind", "trajectory"),
        ("--kind", "nonsense"),
        ("--no-preserve", "--keep-above", "0.9"),
        ("--scope", "agent"),
        ("--scope", "tenant", "--all"),
        ("--scope", "tenant", "--name", "house"),
        ("--batch", "99"),
        ("--batch", "1001"),
    ],
)
def test_wrong_options_are_refused(ace: Commands, options: tuple[str, ...]) -> None:
    _planted(ace)
    assert ace("playbook", "consolidate", *options).code == 2


def test_a_learner_without_a_memory_is_named(ace: Commands) -> None:
    done = ace("playbook", "consolidate", "--learner", "nobody")
    assert done.code == 1
    assert "there is no playbook" in done.err


def test_a_run_that_failed_too_often_is_named_and_tried_again(
    ace: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    _planted(ace)

    async def fail() -> str:
        async with SQLiteStore(ace.database) as store:
            run = await enqueue(store, "local", now=NOON)
            item = await store.claim("w", NOON, 30, "local")
            assert item is not None
            assert await store.fail(item, "the disk is full", None)
            return run

    run = asyncio.run(fail())
    monkeypatch.setenv("ACE_MODEL", "offline")
    checks = {each["check"]: each for each in ace.ok("doctor", "--json").json["checks"]}
    again = f"reflect {run} --learner local"
    assert checks["pending learning"]["fix"] == f"ace-graph {again} consolidates again"
    ace.ok(*again.split())
    assert len(ace.bullets()) == 3
    checks = {each["check"]: each for each in ace.ok("doctor", "--json").json["checks"]}
    assert checks["pending learning"]["found"] == "0 waiting, 0 dead letters"
