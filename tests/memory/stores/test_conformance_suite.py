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

import pytest

from ace_graph.errors import CommitTooOld
from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.pending import Amend, Pending, PendingItem
from ace_graph.memory.policy import Policy
from ace_graph.memory.retention import START, Cleaned, Place
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.commit_queue import CommitRequest
from ace_graph.memory.stores.in_memory.store import InMemoryStore, Learners
from ace_graph.memory.turn import TurnRecord
from ace_graph.retention import Cutoffs
from ace_graph.testing import conformance
from ace_graph.testing.conformance import VERBS, cases
from tests.memory.stores.stores_under_test import MemorySubject

Recorded = TurnRecord | Amend | None
Work = Pending | PendingItem | None


class LastWriterWins(InMemoryStore):
    """Writes what was planned from the base, whatever is stored by now."""

    def _before(self, request: CommitRequest) -> Commit | None:
        held = self._held(request.learner)
        if (
            request.base.version.epoch in (None, held.snapshot.version.epoch)
            and request.delta.op_id not in held.applied
        ):
            held.snapshot = request.base
        return super()._before(request)


class AppliesTwice(InMemoryStore):
    """Does not remember op ids."""

    def _before(self, request: CommitRequest) -> Commit | None:
        self._held(request.learner).applied.clear()
        return super()._before(request)


class BringsBack(InMemoryStore):
    """Lets a late commit create a learner who was forgotten."""

    async def _commit(self, request: CommitRequest) -> Commit:
        return await super()._commit(replace(request, base=Snapshot()))


class StoppedClock(InMemoryStore):
    """Moves the access part with content only."""

    async def _commit(self, request: CommitRequest) -> Commit:
        held = self._held(request.learner)
        before = held.snapshot
        done = await super()._commit(request)
        if done.version == before.version:
            held.snapshot = before
        return done


class NewVersionEveryTurn(InMemoryStore):
    """Gives an etag to commits that change nothing."""

    async def _commit(self, request: CommitRequest) -> Commit:
        done = await super()._commit(request)
        held = self._held(request.learner)
        held.snapshot = replace(held.snapshot, version=done.version._replace(etag=self._new_token()))
        return replace(done, version=held.snapshot.version, snapshot=held.snapshot)


class LosesQuietTurns(InMemoryStore):
    """Stores a record only with a change of content."""

    async def _commit(self, request: CommitRequest) -> Commit:
        done = await super()._commit(request)
        held = self._held(request.learner)
        if isinstance(request.record, TurnRecord) and done.version == request.base.version:
            held.rows.pop()
        return done


class LooseKeys(InMemoryStore):
    """Takes ids that look alike for one learner."""

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        return await super().load(learner_id.strip().casefold(), known)

    async def commit(
        self, learner_id: str, delta: Delta, base: Snapshot, record: Recorded = None, pending: Work = None
    ) -> Commit:
        return await super().commit(learner_id.strip().casefold(), delta, base, record, pending)


class ReadsAlways(InMemoryStore):
    """Makes a new playbook at every load."""

    async def load(self, learner_id: str, known: Snapshot | None = None) -> Snapshot:
        found = await super().load(learner_id)
        return replace(found, playbook=replace(found.playbook))


class NeverCompacts(InMemoryStore):
    """Keeps every effect."""

    async def _commit(self, request: CommitRequest) -> Commit:
        kept, self.policy = self.policy, self.policy.model_copy(update={"history_kept": 10_000})
        try:
            return await super()._commit(request)
        finally:
            self.policy = kept


class LosesWork(InMemoryStore):
    """Stores the turn, and not the work that came with it."""

    async def _commit(self, request: CommitRequest) -> Commit:
        return await super()._commit(request if _claimed(request.pending) else replace(request, pending=None))


class NeverCompletes(InMemoryStore):
    """Applies what a worker commits, and leaves its work pending, also when the learner is gone."""

    async def _commit(self, request: CommitRequest) -> Commit:
        return await super()._commit(replace(request, pending=None) if _claimed(request.pending) else request)


class ManyHands(InMemoryStore):
    """Gives a learner's items to anybody who asks, leased or not."""

    async def claim(
        self, owner: str, now: datetime, seconds: float, learner_id: str | None = None
    ) -> PendingItem | None:
        items = await self.list_pending(learner_id, dead=False)
        return items[-1].model_copy(update={"lease": "x", "attempts": 1}) if items else None


class AppliesLateRepeats(InMemoryStore):
    """Forgets, with the keys that a cleaning removed, that it removed them."""

    async def _commit(self, request: CommitRequest) -> Commit:
        self._held(request.learner).keys_from = None
        return await super()._commit(request)


class GoesByTheCommitAlone(InMemoryStore):
    """Takes a turn for as young as the commit that brings it."""

    async def _commit(self, request: CommitRequest) -> Commit:
        try:
            return await super()._commit(request)
        except CommitTooOld:
            if (self._held(request.learner).keys_from or 0) > request.delta.now.timestamp():
                raise
            self._held(request.learner).keys_from = None
            return await super()._commit(request)


class CleansEverything(InMemoryStore):
    """Takes away old turns whatever refers to them, and whatever a dry run was to tell."""

    async def clean(
        self,
        learner_id: str,
        cutoffs: Cutoffs,
        place: Place = START,
        *,
        most: int = 200,
        dry_run: bool = False,
    ) -> Cleaned:
        held, before = self._held(learner_id), cutoffs.records
        old = [row for row in held.rows if before and row.record.started_at < before]
        held.rows = [row for row in held.rows if row not in old]
        return Cleaned(turns=len(old))


def _claimed(pending: Work) -> bool:
    return isinstance(pending, PendingItem)


class Faulty:
    """A subject that opens stores of one faulty kind."""

    def __init__(self, kind: Callable[..., InMemoryStore]) -> None:
        self._kind = kind
        self._learners = Learners()

    def open(self, policy: Policy | None = None) -> InMemoryStore:
        return self._kind(policy, learners=self._learners)


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
async def test_a_faulty_store_is_caught(kind: type[InMemoryStore], name: str) -> None:
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
        env={"PYTHONPATH": str(root)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(cases('load', 'conflict'))} passed" in done.stdout


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
