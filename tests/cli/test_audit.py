"""`ace-graph playbook audit`: the command of each finding, and its way back; files, exit codes, rights."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from ace_graph import playbooks
from ace_graph.cli.audit import command_of
from ace_graph.cli.command import Call
from ace_graph.memory import Bullet
from ace_graph.memory.audit import SEVERITY, AuditKind
from ace_graph.memory.delta import Remove, Reset
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing.conformance import rewriting, write
from tests.cli.commands import Commands, Json
from tests.memory.rotten import CLEAN, KEY, ROTTEN, bullet, planted
from tests.plugins.heavy import some_heavy

_LIGHT: tuple[AuditKind, ...] = ("contradiction", "duplicate", "full", "never_used", "no_source")
MEM0 = f"""{{"results": [
    {{"id": "a", "memory": "Ada lives in Berlin", "updated_at": "2025-01-01T10:00:00-08:00", "score": 1}},
    {{"id": "b", "memory": "Ada lives in Rome", "updated_at": "2025-02-01T10:00:00-08:00", "score": 1}},
    {{"id": "c", "memory": "{KEY}", "categories": ["keys"]}}]}}"""
FILES = {
    "mem0.json": (MEM0, {"outdated", "secret"}),
    "MEMORY.md": ("# Memory\n\n- Name the unit\n- Name the unit.\n", {"duplicate"}),
    "AGENTS.md": (
        "## Rules\n\n- Increase the timeout of it\n- Decrease the timeout of it\n",
        {"contradiction"},
    ),
    "ours.json": ('{"bullets": [{"content": "Name the unit", "harmful": 2}]}', {"harmful"}),
}


def _plant(ace: Commands, bullets: Sequence[Bullet]) -> None:
    async def work() -> None:
        async with SQLiteStore(ace.database) as store:
            await write(store, "local", rewriting(Reset(bullets=tuple(bullets))))

    asyncio.run(work())


def _audit(ace: Commands, *options: str) -> Json:
    return ace.ok("playbook", "audit", *options, "--json").json


def _findings(report: Json, kind: str) -> list[Json]:
    return [each for each in report["findings"] if each["kind"] == kind]


@pytest.mark.parametrize("kind", some_heavy(SEVERITY, _LIGHT.__contains__))
def test_the_command_of_a_finding_mends_it_and_is_taken_back(
    ace: Commands, kind: AuditKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with SQLiteStore(ace.database) as store:
            await planted(store, "ada", kind)

    asyncio.run(work())
    if kind == "full":
        monkeypatch.setenv("ACE_MAX_BULLETS", "2")
    before = _audit(ace, "--learner", "ada")
    (found,) = _findings(before, kind)
    assert before["counts"][kind] == 1
    program, *words = shlex.split(found["command"])
    assert program == "ace-graph"
    ace.ok(*words)
    assert _findings(_audit(ace, "--learner", "ada"), kind) == []
    undo = ("consolidate", "undo") if kind == "full" else ("rollback", str(before["version"]))
    ace.ok("playbook", *undo, "--learner", "ada")
    (again,) = _findings(_audit(ace, "--learner", "ada"), kind)
    assert {**again, "why": found["why"]} == found, "why tells of commits, and there were two"


def test_it_prints_what_a_board_and_a_person_need(ace: Commands) -> None:
    _plant(ace, [*CLEAN[:2], *(each.model_copy(update={"id": f"x{each.id}"}) for each in ROTTEN["outdated"])])
    report = _audit(ace)
    assert (report["bullets"], report["clean"], report["clean_share"]) == (4, 2, 0.5)
    assert set(report["counts"]) == set(SEVERITY)
    told = ace.ok("playbook", "audit").out.splitlines()
    assert told[0].startswith("medium outdated: said again on ")
    assert told[1:3] == ["  [xgen-00001] Ada lives in Berlin", "  [xgen-00002] Ada lives in Rome"]
    assert told[4] == "  ace-graph playbook remove --replaced-by=xgen-00002 xgen-00001"
    assert told[5:] == [
        "4 bullets, 2 without a finding (50%): 1 outdated",
        "playbook rollback 1 takes back what these commands change",
    ]
    assert "… and 1 more: --limit 1 shows all" in ace.ok("playbook", "audit", "--limit", "0").out


def test_a_memory_without_rot_and_one_that_is_not_there_are_clean(ace: Commands) -> None:
    _plant(ace, CLEAN)
    assert ace.ok("playbook", "audit", "--fail-on", "low").out == "4 bullets, 4 without a finding (100%)\n"
    nothing = _audit(ace, "--learner", "nobody", "--fail-on", "low")
    assert (nothing["version"], nothing["bullets"], nothing["findings"]) == (None, 0, [])


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [
        ((), 0),
        (("high",), 0),
        (("medium",), 1),
        (("low",), 1),
        (("outdated",), 1),
        (("secret",), 0),
        (("secret", "outdated"), 1),
        (("urgent",), 2),
    ],
)
def test_the_exit_code_says_whether_something_is_as_bad_as_that(
    ace: Commands, fail_on: tuple[str, ...], code: int
) -> None:
    _plant(ace, ROTTEN["outdated"])
    options = [word for limit in fail_on for word in ("--fail-on", limit)]
    done = ace("playbook", "audit", *options, "--json")
    assert done.code == code
    if code == 2:
        assert "use one such as high, medium or low" in done.err
        assert done.out == ""
    else:
        assert done.json["failing"] == code


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_others_is_audited_without_being_imported(ace: Commands, name: str) -> None:
    text, kinds = FILES[name]
    (ace.folder / name).write_text(text)
    done = ace("playbook", "audit", "--file", name, "--json", "--fail-on", "low")
    assert done.code == 1
    assert {each["kind"] for each in done.json["findings"]} == kinds
    assert {each["command"] for each in done.json["findings"]} == {None}
    assert KEY.split()[-1] not in done.out + done.err
    assert not ace.database.exists()
    assert "rollback" not in ace.ok("playbook", "audit", "--file", name).out
    ace.ok("playbook", "import", name)
    assert len(ace.bullets()) <= done.json["bullets"]


def test_what_can_not_be_read_is_told(ace: Commands) -> None:
    missing = ace("playbook", "audit", "--file", "nowhere.md")
    assert (missing.code, "check the path" in missing.err) == (1, True)
    Path("bad.json").write_text('[{"content": 7}, {"content": "Name the unit"}]')
    done = ace.ok("playbook", "audit", "--file", "bad.json", "--json")
    assert done.json["bullets"] == 1
    assert "not read" in done.err


def test_a_secret_and_a_sensitive_fact_are_named_and_never_printed(ace: Commands) -> None:
    ill = bullet(1, "Learner says: I have diabetes type 1 since 2019")
    _plant(ace, [ill, ill.model_copy(update={"id": "gen-00003"}), bullet(2, KEY)])
    for done in (ace.ok("playbook", "audit"), ace.ok("playbook", "audit", "--json")):
        for word in ("diabetes", KEY.split()[-1]):
            assert word not in done.out + done.err
        assert "gen-00002" in done.out
        assert "gen-00003" in done.out


def test_no_id_and_no_name_makes_another_command_of_it(ace: Commands) -> None:
    rotten = ROTTEN["harmful"][-1]
    ids = ("--all", "-n", "$(touch hacked)", "a; b")
    named = [
        rotten.model_copy(update={"id": name, "content": f"Add {n} numerators"}) for n, name in enumerate(ids)
    ]
    _plant(ace, [*CLEAN[:1], *named])
    for finding in _audit(ace)["findings"]:
        ace.ok(*shlex.split(finding["command"])[1:])
    assert [each["id"] for each in ace.bullets()] == [CLEAN[0].id]


@pytest.mark.parametrize(
    ("store", "option"),
    [
        ("postgresql://me:hunter2@host/db", "--store=URL"),
        ("sqlite:///my notes.db", "'--store=sqlite:///my notes.db'"),
    ],
)
def test_a_password_of_the_store_is_not_shown(store: str, option: str) -> None:
    told = command_of(Remove(bullet_id="gen-00001"), Call(store=store))
    assert told == f"ace-graph playbook remove {option} gen-00001"


def test_who_may_only_read_gets_no_command(ace: Commands) -> None:
    async def work() -> None:
        async with SQLiteStore(ace.database) as store:
            await playbooks.create(store, "api", owner="ada")
            opened = await playbooks.open_playbook(store, "api", "ada")
            await write(store.playbooks, opened.key, rewriting(Reset(bullets=ROTTEN["outdated"])))
            await playbooks.grant(store, "api", "user:bob", "viewer", owner="ada")
            await playbooks.grant(store, "api", "user:cyd", "editor", owner="ada")

    asyncio.run(work())

    def command(who: str) -> str | None:
        (finding,) = _audit(ace, "--learner", who, "--name", "ada/api")["findings"]
        assert finding["ids"] == ["gen-00001", "gen-00002"]
        return finding["command"]

    assert command("bob") is None
    told = command("cyd")
    assert told == "ace-graph playbook remove --replaced-by=gen-00002 --learner=cyd --name=ada/api gen-00001"
    ace.ok(*shlex.split(told)[1:])
    assert _audit(ace, "--learner", "bob", "--name", "ada/api")["findings"] == []
    stranger = ace("playbook", "audit", "--learner", "eve", "--name", "ada/api")
    assert (stranger.code, stranger.out) == (1, "")
