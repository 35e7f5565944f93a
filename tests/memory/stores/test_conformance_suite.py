"""The conformance suite itself: custom stores can run it as documented, and it detects faulty ones."""

from __future__ import annotations

import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar

import pytest

from ace_graph.base import Cutoffs
from ace_graph.memory import (
    START,
    Amend,
    Cleaned,
    CleaningPlace,
    Commit,
    Pending,
    PendingItem,
    Policy,
    Snapshot,
    TurnRecord,
)
from ace_graph.memory.delta import Delta
from ace_graph.memory.stores import CommitRequest, Rows, WholeMemory
from ace_graph.memory.stores.sql import SQLiteDatabase, SQLiteStore, SQLiteTables
from ace_graph.testing import conformance
from ace_graph.testing.conformance import VERBS, cases
from tests.memory.stores.stores_under_test import MemorySubject
from tests.plugins.warm_python import BYTECODE

Recorded = TurnRecord | Amend | None
Work = Pending | PendingItem | None


class Changed(SQLiteStore):
    """A store that changes its own rows."""

    async def change(self, statement: str, *values: object) -> int:
        async def change(rows: Rows) -> int:
            assert isinstance(rows, SQLiteTables)
            return await rows.change(statement, values)

        return await self._run(change, writes=True)


class LastWriterWins(SQLiteStore):
    """Puts back what the base was, whatever is stored by now."""

    _written: ClassVar[dict[str, WholeMemory]] = {}

    async def _commit_from(self, start: Snapshot, request: CommitRequest, began: float) -> Commit:
        learner, base = request.learner, request.base
        held = await self.whole(learner)
        if held is not None and all(turn.op_id != request.delta.op_id for turn in held.turns):
            if base.absent:
                await self.forget(learner)
            elif base.access.mark in self._written:
                await self.put_whole(learner, self._written[base.access.mark], held)
            start = base
        done = await super()._commit_from(start, request, began)
        written = await self.whole(learner)
        assert written is not None
        self._written[done.snapshot.access.mark] = written
        return done


class AppliesTwice(Changed):
    """Does not remember op ids."""

    async def _commit_from(self, start: Snapshot, request: CommitRequest, began: float) -> Commit:
        for table in ("ace_deltas", "ace_turns"):
            await self.change(
                f"UPDATE {table} SET op_id = op_id || hex(randomblob(8)) WHERE user_id = ?", request.learner
            )
        return await super()._commit_from(start, request, began)


class BringsBack(SQLiteStore):
    """Lets a late commit create a learner who was forgotten."""

    async def _commit(self, request: CommitRequest) -> Commit:
        return await super()._commit(replace(request, base=Snapshot()))


class StoppedClock(SQLiteStore):
    """Moves the access part with content only."""

    async def _commit(self, request: CommitRequest) -> Commit:
        before = await self.whole(request.learner)
        done = await super()._commit(request)
        if before is not None and done.version == before.head.version:
            await self.put_whole(request.learner, before, await self.whole(request.learner))
        return done


class NewVersionEveryTurn(SQLiteStore):
    """Gives an etag to commits that change nothing."""

    async def _commit(self, request: CommitRequest) -> Commit:
        done = await super()._commit(request)
        version = done.version._replace(etag=self._new_token())
        return replace(done, version=version, snapshot=replace(done.snapshot, version=version))


class LosesQuietTurns(Changed):
    """Stores a record only with a change of content."""

    async def _commit(self, request: CommitRequest) -> Commit:
        done = await super()._commit(request)
        if isinstance(request.record, TurnRecord) and done.version == request.base.version:
            await self.change("DELETE FROM ace_turns WHERE op_id = ?", request.delta.op_id)
        return done


class LooseKeys(SQLiteStore):
    """Takes ids that look alike for one learner."""

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        return await super().load(learner_id.strip().casefold(), known)

    async def commit(
        self, learner_id: str, delta: Delta, base: Snapshot, record: Recorded = None, pending: Work = None
    ) -> Commit:
        return await super().commit(learner_id.strip().casefold(), delta, base, record, pending)


class ReadsAlways(SQLiteStore):
    """Makes a new playbook at every load."""

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        found = await super().load(learner_id)
        return replace(found, playbook=replace(found.playbook))


class NeverCompacts(SQLiteStore):
    """Keeps every effect."""

    async def _commit(self, request: CommitRequest) -> Commit:
        policy = request.policy.model_copy(update={"history_kept": 10_000})
        return await super()._commit(replace(request, policy=policy))


class LosesWork(SQLiteStore):
    """Stores the turn, and not the work that came with it."""

    async def _commit(self, request: CommitRequest) -> Commit:
        return await super()._commit(request if _claimed(request.pending) else replace(request, pending=None))


class NeverCompletes(SQLiteStore):
    """Applies what a worker commits, and leaves its work pending, also when the learner is gone."""

    async def _commit(self, request: CommitRequest) -> Commit:
        return await super()._commit(replace(request, pending=None) if _claimed(request.pending) else request)


class ManyHands(SQLiteStore):
    """Gives a learner's items to anybody who asks, leased or not."""

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        items = await self.list_pending(learner_id, dead=False)
        return items[-1].model_copy(update={"lease": "x", "attempts": 1}) if items else None


class AppliesLateRepeats(Changed):
    """Forgets, with the keys that a cleaning removed, that it removed them."""

    async def _commit(self, request: CommitRequest) -> Commit:
        await self.change("UPDATE ace_learners SET keys_from = NULL")
        return await super()._commit(request)


class GoesByTheCommitAlone(Changed):
    """Takes a turn for as young as the commit that brings it."""

    async def _commit(self, request: CommitRequest) -> Commit:
        await self.change(
            "UPDATE ace_learners SET keys_from = NULL WHERE keys_from <= ?", request.delta.now.timestamp()
        )
        return await super()._commit(request)


class CleansEverything(Changed):
    """Takes away old turns whatever refers to them, and whatever a dry run was to tell."""

    async def clean(
        self,
        learner_id: str,
        cutoffs: Cutoffs,
        place: CleaningPlace = START,
        *,
        most: int = 200,
        dry_run: bool = False,
    ) -> Cleaned:
        if cutoffs.records is None:
            return Cleaned()
        before = cutoffs.records.isoformat()
        return Cleaned(turns=await self.change("DELETE FROM ace_turns WHERE started_at < ?", before))


def _claimed(pending: Work) -> bool:
    return isinstance(pending, PendingItem)


class Faulty:
    """A subject that opens stores of one faulty kind."""

    def __init__(self, kind: Callable[..., SQLiteStore]) -> None:
        self._kind = kind
        self._database = SQLiteDatabase()

    def open(self, policy: Policy | None = None) -> SQLiteStore:
        return self._kind(self._database, policy)


_CAUGHT = [
    (LastWriterWins, "conflict-both_additions_are_kept"),
    (LastWriterWins, "concurrency-writers_on_one_store_lose_nothing"),
    (LastWriterWins, "concurrency-first_commits_make_one_learner"),
    (AppliesTwice, "idempotency-a_repeated_commit_changes_nothing"),
    (AppliesTwice, "idempotency-at_once_it_is_applied_once"),
    (AppliesTwice, "history-compacting_keeps_the_op_ids"),
    (BringsBack, "forget-a_late_commit_is_refused"),
    (BringsBack, "turns-a_refused_commit_leaves_no_record"),
    (StoppedClock, "commit-the_clock_moves_with_every_commit"),
    (StoppedClock, "conflict-both_turns_move_the_clock"),
    (NewVersionEveryTurn, "commit-untouched_content_keeps_its_version"),
    (LosesQuietTurns, "turns-the_newest_comes_first"),
    (LosesQuietTurns, "conflict-both_turns_move_the_clock"),
    (LooseKeys, "isolation-odd_ids_are_learners_of_their_own"),
    (ReadsAlways, "load-known_content_is_used_again"),
    (NeverCompacts, "history-it_is_compacted"),
    (NeverCompacts, "export-compacted_changes_are_in_it"),
    (LosesWork, "pending-work_is_stored_with_the_turn"),
    (NeverCompletes, "pending-completing_is_part_of_the_commit"),
    (NeverCompletes, "pending-a_forgotten_learner_is_not_brought_back"),
    (ManyHands, "pending-a_claim_leases_the_item"),
    (ManyHands, "pending-one_learners_items_go_in_order"),
    (AppliesLateRepeats, "cleaning-a_late_repeat_is_refused"),
    (AppliesLateRepeats, "cleaning-a_base_from_then_does_not_help"),
    (GoesByTheCommitAlone, "cleaning-a_resumed_turn_is_refused_by_its_beginning"),
    (CleansEverything, "cleaning-pending_work_keeps_its_turn"),
    (CleansEverything, "cleaning-what_is_named_keeps_its_record"),
    (CleansEverything, "cleaning-failures_stay_unless_told"),
    (CleansEverything, "cleaning-a_dry_run_counts_the_same"),
]


@pytest.mark.parametrize(("kind", "name"), _CAUGHT, ids=lambda value: getattr(value, "__name__", value))
async def test_a_faulty_store_is_caught(kind: type[SQLiteStore], name: str) -> None:
    (case,) = [case for case in cases() if str(case) == name]
    with pytest.raises(AssertionError):
        await case(Faulty(kind))


def test_every_case_is_a_sentence_and_has_a_name_of_its_own() -> None:
    assert all(case.sentence.endswith(".") for case in cases())
    assert len({str(case) for case in cases()}) == len(cases())
    assert {case.verb for case in cases()} == set(VERBS)


def test_verbs_can_be_chosen_and_an_unknown_one_is_named() -> None:
    assert {case.verb for case in cases("load", "forget")} == {"load", "forget"}
    with pytest.raises(ValueError, match="save"):
        cases("load", "save")


async def test_damage_says_what_a_subject_without_text_lacks() -> None:
    for case in cases("damage"):
        with pytest.raises(TypeError, match="read_content and write_content"):
            await case(MemorySubject())


@pytest.mark.slow
def test_the_documented_lines_run_the_suite_on_a_store_of_ones_own(tmp_path: Path) -> None:
    documented = inspect.getdoc(conformance)
    assert documented is not None
    _, _, lines = documented.partition("lines of pytest:\n")
    lines, _, _ = lines.partition("\n\nThe verb `damage`")
    own = "from tests.memory.stores.stores_under_test import MemorySubject as MySubject\n"
    source = own + textwrap.dedent(lines).replace("cases()", "cases('load', 'conflict')")
    (tmp_path / "test_own.py").write_text(source)
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    root = Path(__file__).parents[3]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"]
    done = subprocess.run(
        [*command, str(tmp_path / "test_own.py")],
        cwd=tmp_path,
        env={**BYTECODE, "PYTHONPATH": str(root)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(cases('load', 'conflict'))} passed" in done.stdout


@pytest.mark.slow
def test_python_without_asserts_is_refused() -> None:
    code = (
        "import asyncio\n"
        "from ace_graph.testing.conformance import cases\n"
        "from tests.memory.stores.stores_under_test import MemorySubject\n"
        "asyncio.run(cases('load')[0](MemorySubject()))\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-O", "-c", code], cwd=root, check=False, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "run it without -O" in done.stderr
