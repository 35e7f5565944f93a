"""Specifies copying: what is stored under a key is read whole, and goes on as it was where it is written."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

from ace_graph.base.errors import CommitTooOld, PlaybookExists
from ace_graph.base.retention import Cutoffs
from ace_graph.memory.commit import Pending
from ace_graph.memory.delta.operations import Delta, Reset
from ace_graph.memory.policy import Policy
from ace_graph.memory.record_retention import START
from ace_graph.memory.stores.base import LearnerExport, StoredVersion
from ace_graph.memory.stores.store import KeyedStore, Store
from ace_graph.memory.stores.whole import WholeMemory
from ace_graph.testing.conformance.case import StoreUnderTest, opened
from ace_graph.testing.conformance.shared_playbooks import created, error_of, grant_of, proposal_of
from ace_graph.testing.conformance.writing import (
    NOON,
    adding,
    contents,
    new_learner,
    record,
    rewriting,
    touching,
    write,
)
from ace_graph.testing.invariants import check


async def _read(store: KeyedStore, key: str) -> WholeMemory:
    found = await store.whole(key)
    assert found is not None, "something is stored under the key"
    return found


async def _filled(store: Store, learner: str) -> None:
    """Changes whose effects were compacted, commits without one, an old turn that was cleaned, work."""
    for n in range(1, 9):
        await write(store, learner, adding(f"Fact {n} is about {n * 7}", minute=n), record(n))
        await write(store, learner, touching("gen-00001"))
    old = Delta(op_id=str(uuid4()), now=NOON - timedelta(days=40), author="conformance")
    days_ago = {"started_at": old.now, "completed_at": old.now}
    await write(store, learner, old, record(turn_id="old").model_copy(update=days_ago))
    for n, priority in ((1, 0.0), (2, 1.0), (3, 1.0)):
        work = Pending(pending_id=str(uuid4()), turn_id=f"t{n}", body=f"work {n}", priority=priority)
        base = await store.load(learner)
        await store.commit(learner, touching(), base, record(10 + n, turn_id=f"t{n}"), work)
    leased = await store.claim("worker", NOON, 30, learner)
    assert leased is not None
    assert await store.fail(leased, "it failed", None)
    assert await store.claim("worker", NOON, 30, learner) is not None


async def what_is_written_is_what_was_read(subject: StoreUnderTest) -> None:
    """Written again after everything was deleted: the same export, versions, contents and pending work."""
    learner = new_learner()
    async with opened(subject, Policy(history_kept=2)) as store, opened(subject) as other:
        await _filled(store, learner)
        whole, exported, versions = await _read(store, learner), *await _views(store, learner)
        assert await store.forget(learner)
        assert await other.whole(learner) is None
        assert await other.put_whole(learner, whole)
        assert await _read(store, learner) == whole
        assert await _views(store, learner) == (exported, versions)
        assert [item.pending_id for item in await store.list_pending(learner)] == [
            item.pending_id for item in exported.pending
        ]
        assert whole.snapshot().version == exported.snapshot.version
        for each in versions:
            readable = await other.content_at(learner, each.n)
            assert (readable is not None) == each.readable
        await check(store, learner)


async def _views(store: Store, learner: str) -> tuple[LearnerExport, tuple[StoredVersion, ...]]:
    """What the other calls read."""
    return await store.export(learner), await store.versions(learner)


async def it_goes_on_where_it_was_written(subject: StoreUnderTest) -> None:
    """Repeats are recognised, earlier bases hold, keys that were removed stay removed, and work goes on."""
    learner, op_id = new_learner(), str(uuid4())
    async with opened(subject) as store:
        await write(store, learner, adding("Draw a bar", op_id=op_id), record(1))
        quiet = touching()
        await write(store, learner, quiet, record(2))
        base = await store.load(learner)
        work = Pending(pending_id=str(uuid4()), turn_id="t3", body="work")
        await store.commit(learner, touching(), base, record(3, turn_id="t3"), work)
        whole = await _read(store, learner)
        limit = NOON - timedelta(days=30)
        whole = replace(whole, head=replace(whole.head, keys_from=limit.timestamp()))
        await store.forget(learner)
        assert await store.put_whole(learner, whole)
        for repeated in (adding("Draw a bar", op_id=op_id), quiet):
            assert (await write(store, learner, repeated)).status == "repeated"
        late = Delta(op_id=str(uuid4()), now=limit - timedelta(days=1), author="conformance")
        assert isinstance(await error_of(write(store, learner, late)), CommitTooOld)
        assert (await store.commit(learner, adding("Name the unit"), base, record(4))).version.n == 2
        item = await store.claim("worker", NOON + timedelta(hours=1), 30, learner)
        assert item is not None
        done = await store.commit(
            learner, adding("Count in tenths", op_id=item.pending_id), await store.load(learner), pending=item
        )
        assert contents(done.snapshot) == ["Count in tenths", "Draw a bar", "Name the unit"]
        turns = await store.turns(learner)
        assert [turn.started_at.minute for turn in turns] == [4, 3, 2, 1]
        cutoffs = Cutoffs(steps=None, records=NOON + timedelta(days=1))
        assert (await store.clean(learner, cutoffs, START, dry_run=True)).next is not None
        await check(store, learner)


async def it_is_written_only_in_place_of_what_was_named(subject: StoreUnderTest) -> None:
    """Nothing, or the state that the caller read; something else stays as it is. A repetition is fine."""
    learner = new_learner()
    async with opened(subject) as store, opened(subject) as other:
        await write(store, learner, adding("Draw a bar"), record(1))
        early = await _read(store, learner)
        await write(store, learner, adding("Name the unit"), record(2))
        late = await _read(store, learner)
        assert early.precedes(late)
        assert not late.precedes(early)
        assert not await other.put_whole(learner, early)
        assert await _read(store, learner) == late
        assert await other.put_whole(learner, late)
        assert await other.put_whole(learner, early, late)
        assert not await other.put_whole(learner, late, late)
        assert await _read(store, learner) == early
        assert await other.put_whole(learner, late, early)
        assert contents(await store.load(learner)) == ["Draw a bar", "Name the unit"]


async def a_named_playbook_comes_with_its_entry(subject: StoreUnderTest) -> None:
    """With its grants and the proposals for it; a name that its owner has already is refused."""
    async with opened(subject) as store, opened(subject) as other:
        owner = new_learner()
        playbook_id = await created(store, owner, "Use version one", grants=(grant_of("", "user:eve"),))
        await write(store.playbooks, playbook_id, adding("Retry after 429"))
        for proposal_id in sorted(str(uuid4()) for _ in range(2)):
            await store.playbooks.put_proposal(proposal_of(playbook_id, proposal_id))
        whole, entry = await _read(store.playbooks, playbook_id), await store.playbooks.entry(playbook_id)
        grants, proposals = whole.grants, whole.proposals
        assert (len(grants), len(proposals)) == (1, 2)
        assert whole.entry == entry
        await store.playbooks.forget(playbook_id)
        assert await other.playbooks.put_whole(playbook_id, whole)
        assert await _read(store.playbooks, playbook_id) == whole
        assert await store.playbooks.entry(playbook_id) == entry
        assert await store.playbooks.grants(playbook_id) == grants
        assert await store.playbooks.proposals(playbook_id) == proposals
        done = await write(store.playbooks, playbook_id, rewriting(Reset(), minute=5))
        assert done.version.n == 3
        newer = await _read(store.playbooks, playbook_id)
        assert await other.playbooks.put_whole(playbook_id, whole, newer)
        assert await _read(store.playbooks, playbook_id) == whole
        await store.playbooks.forget(playbook_id)
        await created(store, owner)
        assert isinstance(await error_of(other.playbooks.put_whole(playbook_id, whole)), PlaybookExists)
        assert await store.playbooks.whole(playbook_id) is None


async def an_absent_key_has_nothing(subject: StoreUnderTest) -> None:
    """Reading it creates nothing."""
    learner = new_learner()
    async with opened(subject) as store:
        assert await store.whole(learner) is None
        assert await store.playbooks.whole(learner) is None
        assert (await store.load(learner)).absent
