"""The red team on sharing and consolidation: nothing comes through that may not; the table is true."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

import pytest

from ace_graph.memory import Bullet
from ace_graph.memory import rights as asked
from ace_graph.memory import sharing as outgoing
from benchmarks.redteam import __main__ as red_team
from benchmarks.redteam.empty_stores import in_postgres
from benchmarks.redteam.play_sharing import play_all_sharing
from benchmarks.redteam.sharing import (
    Outcome,
    SharingAttack,
    read_sharing_attacks,
    sharing_report,
)
from tests.plugins.sizes import sized


def test_there_are_enough_attacks_on_sharing_and_consolidation() -> None:
    ways = Counter(attack.way for attack in read_sharing_attacks())
    assert sum(ways.values()) >= 60
    assert {"consolidated", "accepted and consolidated", "hidden", "team", "propose", "file"} <= set(ways)


async def test_no_attack_reads_or_changes_what_it_may_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "ace_graph")
    outcomes = await play_all_sharing(read_sharing_attacks())
    assert [each for each in outcomes if each.succeeded] == []
    assert sharing_report(outcomes) == red_team.RESULTS_SHARING.read_text(encoding="utf-8"), "make red-team"


def _always(_bullet: Bullet) -> bool:
    return True


def _never_denied(*_: object) -> None: ...


@pytest.mark.heavy
async def test_the_same_attacks_do_the_same_on_postgres(
    postgres: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "ace_graph")
    attacks = read_sharing_attacks()[:: sized(12, 1)]
    async with in_postgres(postgres) as stores:
        assert await play_all_sharing(attacks, stores) == await play_all_sharing(attacks)


async def test_a_leak_and_a_change_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    by_id = SharingAttack(1, "editor", "call", "history")
    by_name = SharingAttack(2, "viewer", "call", "delete")
    with monkeypatch.context() as leaking:
        leaking.setattr(outgoing, "leaves_owner", _always)
        (leaked,) = await play_all_sharing([by_id])
    with monkeypatch.context() as open_to_all:
        open_to_all.setattr(asked.PlaybookAccess, "check", _never_denied)
        (deleted,) = await play_all_sharing([by_name])
    assert (leaked.reach, deleted.reach) == ("read", "changed")


@pytest.mark.parametrize("line", ["bob\tread", "bob\twish\tx", "bob"])
def test_a_line_that_is_no_attack_on_sharing_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "sharing.tsv"
    file.write_text(f"bob\tread\tada/x\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no attack"):
        read_sharing_attacks(file)


def test_what_succeeded_is_listed() -> None:
    page = sharing_report([Outcome(SharingAttack(7, "bob", "read", "ada/private"), "read", "a secret")])
    assert "| 7 | bob | read | read | a secret |" in page
