"""Specifies pending work: it is stored with a commit, leased, and completed once."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import uuid4

from ace_graph.base.errors import LearnerForgotten
from ace_graph.memory.commit import Commit, Pending, PendingItem
from ace_graph.memory.consolidation import read_consolidation
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import Store
from ace_graph.testing.conformance.case import StoreUnderTest, opened
from ace_graph.testing.conformance.writing import (
    NOON,
    adding,
    contents,
    new_learner,
    record,
    rewriting,
    touching,
)

_LEASE = 30.0


def _work(turn_id: str = "t1", *, priority: float = 0.0) -> Pending:
    return Pending(pending_id=str(uuid4()), turn_id=turn_id, body=f"learn from {turn_id}", priority=priority)


async def _turn(
    store: Store, learner: str, number: int = 1, *, priority: float = 0.0, turn_id: str = ""
) -> Pending:
    """Commit a turn that leaves work, `number` minutes past noon."""
    work = _work(turn_id or f"t{number}", priority=priority)
    base = await store.load(learner)
    made = record(number, turn_id=work.turn_id)
    await store.commit(learner, rewriting(minute=number), base, made, work)
    return work


async def _claim(store: Store, learner: str, *, minute: float = 60, owner: str = "w") -> PendingItem:
    """Claim the learner's next item, an hour past noon unless said otherwise."""
    item = await store.claim(owner, NOON + timedelta(minutes=minute), _LEASE, learner)
    assert item is not None, "there is an item, and no worker holds its lease"
    return item


async def _complete(store: Store, item: PendingItem, text: str = "Draw a bar") -> Commit:
    base = await store.load(item.learner_id)
    return await store.commit(item.learner_id, adding(text, op_id=item.pending_id), base, pending=item)


async def work_is_stored_with_the_turn(subject: StoreUnderTest) -> None:
    """Work that a commit brings is there with it, as it was given, on another store too."""
    learner = new_learner()
    async with opened(subject) as one, opened(subject) as two:
        work = await _turn(one, learner)
        listed = await two.list_pending(learner)
        exported = await two.export(learner)
        assert (await two.count_pending()).pending >= 1
    assert [item.pending_id for item in listed] == [work.pending_id]
    (item,) = listed
    assert item.model_dump(include=set(Pending.model_fields)) == work.model_dump()
    assert (item.learner_id, item.state, item.attempts) == (learner, "pending", 0)
    assert item.created_at == item.free_at == NOON + timedelta(minutes=1)
    assert exported.pending == (item,)
    assert [turn.turn_id for turn in exported.turns] == [work.turn_id]


async def a_repeated_commit_leaves_one_item(subject: StoreUnderTest) -> None:
    """The same op id again brings no second item."""
    learner, delta, work = new_learner(), touching(), _work()
    async with opened(subject) as store:
        for _ in range(2):
            await store.commit(learner, delta, Snapshot(), record(), work)
        assert len(await store.list_pending(learner)) == 1


async def a_refused_commit_leaves_no_work(subject: StoreUnderTest) -> None:
    """The work is stored with the delta or not at all."""
    learner = new_learner()
    async with opened(subject) as store:
        base = (await store.commit(learner, adding("Draw a bar"), Snapshot())).snapshot
        await store.forget(learner)
        assert await _refused(store, learner, base, _work())
        assert await store.list_pending(learner) == ()


async def _refused(store: Store, learner: str, base: Snapshot, work: Pending | PendingItem) -> bool:
    try:
        await store.commit(learner, adding("Late"), base, pending=work)
    except LearnerForgotten:
        return True
    return False


async def a_claim_leases_the_item(subject: StoreUnderTest) -> None:
    """A claim names the worker and the end of the lease; until then no other worker gets the item."""
    learner = new_learner()
    async with opened(subject) as one, opened(subject) as two:
        work = await _turn(one, learner)
        item = await _claim(one, learner, owner="first")
        assert (item.pending_id, item.owner, item.attempts) == (work.pending_id, "first", 1)
        assert item.free_at == NOON + timedelta(minutes=60, seconds=_LEASE)
        almost = item.free_at - timedelta(seconds=1)
        for store in (one, two):
            assert await store.claim("second", almost, _LEASE, learner) is None


async def only_one_of_many_gets_it(subject: StoreUnderTest) -> None:
    """Ten claims at once, on two stores: one gets the item."""
    learner, now = new_learner(), NOON + timedelta(minutes=60)
    async with opened(subject) as one, opened(subject) as two:
        await _turn(one, learner)
        claims = [store.claim(f"w{n}", now, _LEASE, learner) for n in range(5) for store in (one, two)]
        got = [item for item in await asyncio.gather(*claims) if item is not None]
    assert len(got) == 1


async def a_lease_that_ran_out_can_be_claimed(subject: StoreUnderTest) -> None:
    """After the lease has expired the next worker can claim the item, and attempts are counted."""
    learner = new_learner()
    async with opened(subject) as store:
        await _turn(store, learner)
        first = await _claim(store, learner)
        second = await _claim(store, learner, minute=61)
        assert second.pending_id == first.pending_id
        assert second.attempts == 2
        assert second.lease != first.lease
        assert not await store.renew(first, NOON + timedelta(minutes=90))
        assert not await store.fail(first, "too late", None)
        assert (await store.list_pending(learner))[0].state == "pending"


async def a_lease_can_be_renewed(subject: StoreUnderTest) -> None:
    """The holder can extend the lease, and no other worker gets the item."""
    learner = new_learner()
    async with opened(subject) as store:
        await _turn(store, learner)
        item = await _claim(store, learner)
        assert await store.renew(item, NOON + timedelta(minutes=70))
        assert await store.claim("other", NOON + timedelta(minutes=69), _LEASE, learner) is None
        assert (await _claim(store, learner, minute=70)).attempts == 2


async def one_learners_items_go_in_order(subject: StoreUnderTest) -> None:
    """The next item of a learner is given only when the one before is done; another learner's at once."""
    learner, other = new_learner(), new_learner()
    async with opened(subject) as store:
        first, second = await _turn(store, learner, 1), await _turn(store, learner, 2)
        await _turn(store, other, 3)
        item = await _claim(store, learner)
        assert item.pending_id == first.pending_id
        assert await store.claim("w2", NOON + timedelta(minutes=60), _LEASE, learner) is None
        assert (await _claim(store, other)).turn_id == "t3"
        await _complete(store, item)
        assert (await _claim(store, learner)).pending_id == second.pending_id


async def without_a_learner_anybodys_work_is_found(subject: StoreUnderTest) -> None:
    """A claim that names no learner gives the first item of each, the highest priority first, then none."""
    one, two = new_learner(), new_learner()
    then = NOON.replace(year=NOON.year - 50)  # nothing else in a shared database is free at that time
    async with opened(subject) as store:
        for learner, priority in ((one, 0.0), (one, 0.0), (two, 5.0)):
            delta = touching().model_copy(update={"now": then})
            work = _work(f"t{priority}", priority=priority)
            await store.commit(learner, delta, await store.load(learner), record(turn_id=work.turn_id), work)
        got = [await store.claim("w", then, _LEASE) for _ in range(3)]
        for item in got:
            if item is not None:
                await _complete(store, item, f"Fact of {item.turn_id}")
        for learner in (one, two):
            await store.forget(learner)  # so that the suite can run again on the same database
    assert [item.learner_id if item else None for item in got] == [two, one, None]


async def an_item_that_waits_for_its_retry_holds_the_later_ones(subject: StoreUnderTest) -> None:
    """After a failure the learner's later items wait with it, until its time has come."""
    learner = new_learner()
    async with opened(subject) as store:
        first, _ = await _turn(store, learner, 1), await _turn(store, learner, 2)
        item = await _claim(store, learner)
        assert await store.fail(item, "the model was away", NOON + timedelta(minutes=65))
        assert await store.claim("w", NOON + timedelta(minutes=64), _LEASE, learner) is None
        again = await _claim(store, learner, minute=65)
        assert (again.pending_id, again.attempts) == (first.pending_id, 2)
        assert again.error == "the model was away"
        uncounted = again.model_copy(update={"attempts": 1})
        assert await store.fail(uncounted, "stopped", NOON + timedelta(minutes=65))
        assert (await _claim(store, learner, minute=65)).attempts == 2


async def the_highest_priority_goes_first(subject: StoreUnderTest) -> None:
    """Of one learner's items the highest priority is next, then the oldest."""
    learner = new_learner()
    async with opened(subject) as store:
        for number, priority in ((1, 0.0), (2, 5.0), (3, 9.0), (4, 5.0)):
            await _turn(store, learner, number, priority=priority)
        listed = await store.list_pending(learner)
        done = []
        for _ in listed:
            item = await _claim(store, learner)
            done.append(item.turn_id)
            await _complete(store, item, f"Fact about {item.turn_id}")
        assert await store.list_pending(learner) == ()
    assert [item.turn_id for item in listed] == done == ["t3", "t2", "t4", "t1"]


async def a_dead_letter_waits_for_a_person(subject: StoreUnderTest) -> None:
    """Without a retry time the item is dead: listed with its error, never claimed, blocking nothing."""
    learner = new_learner()
    async with opened(subject) as store:
        first, second = await _turn(store, learner, 1), await _turn(store, learner, 2)
        assert await store.fail(await _claim(store, learner), "no lesson\x00 " + "x" * 1_000, None)
        assert (await _claim(store, learner)).pending_id == second.pending_id
        (dead,) = await store.list_pending(learner, dead=True)
        assert (await store.count_pending()).dead >= 1
        assert dead.pending_id == first.pending_id
        assert (dead.error or "").startswith("no lesson")
        assert len(dead.error or "") <= 500
        assert [i.pending_id for i in await store.list_pending(learner, dead=False)] == [second.pending_id]


async def a_dead_letter_can_be_tried_again(subject: StoreUnderTest) -> None:
    """A retry makes a dead letter pending again with 0 attempts; other items are not changed."""
    learner, later = new_learner(), NOON + timedelta(minutes=60)
    async with opened(subject) as store:
        work = await _turn(store, learner)
        assert not await store.retry(learner, work.pending_id, later)
        await store.fail(await _claim(store, learner), "broken", None)
        assert not await store.retry(new_learner(), work.pending_id, later)
        assert await store.retry(learner, work.pending_id, later)
        (anew,) = await store.list_pending(learner, dead=False)
        assert (anew.state, anew.attempts, anew.lease) == ("pending", 0, None)
        assert (await _claim(store, learner)).attempts == 1


async def completing_is_part_of_the_commit(subject: StoreUnderTest) -> None:
    """The commit that completes an item deletes it, and leaves its own op id behind: once, however often."""
    learner = new_learner()
    async with opened(subject) as store:
        await _turn(store, learner)
        item = await _claim(store, learner)
        done = [await _complete(store, item) for _ in range(2)]
        assert [commit.status for commit in done] == ["applied", "repeated"]
        assert await store.list_pending(learner) == ()
        assert contents(await store.load(learner)) == ["Draw a bar"]


async def two_workers_on_one_item_have_one_effect(subject: StoreUnderTest) -> None:
    """Two workers commit, one with an expired lease: the second commit is `repeated`."""
    learner = new_learner()
    async with opened(subject) as one, opened(subject) as two:
        await _turn(one, learner)
        late, newer = await _claim(one, learner), await _claim(two, learner, minute=61)
        done = await asyncio.gather(_complete(one, late, "Draw a bar"), _complete(two, newer, "Draw a line"))
        assert sorted(commit.status for commit in done) == ["applied", "repeated"]
        assert len((await one.load(learner)).playbook) == 1
        assert await one.list_pending(learner) == ()


async def a_forgotten_learner_is_not_brought_back(subject: StoreUnderTest) -> None:
    """Forget deletes the work; a worker that finishes late is LearnerForgotten, whatever its base."""
    learner = new_learner()
    async with opened(subject) as store:
        await _turn(store, learner)
        item = await _claim(store, learner)
        base = await store.load(learner)
        await store.forget(learner)
        assert await store.list_pending(learner) == ()
        for state in (base, await store.load(learner), Snapshot()):
            assert await _refused(store, learner, state, item)
        assert (await store.load(learner)).absent
        assert not await store.renew(item, NOON + timedelta(minutes=90))
        await store.commit(learner, adding("A new life"), Snapshot())
        assert await _refused(store, learner, await store.load(learner), item)
        assert contents(await store.load(learner)) == ["A new life"]


async def others_work_is_not_touched(subject: StoreUnderTest) -> None:
    """Forgetting one learner leaves another's work, also where one id begins like the other."""
    learner = new_learner()
    other = f"{learner}-2"
    async with opened(subject) as store:
        await _turn(store, learner)
        work = await _turn(store, other)
        await store.forget(learner)
        assert [item.pending_id for item in await store.list_pending(other)] == [work.pending_id]


def _facts(first: int, last: int, *, op_id: str | None = None) -> Delta:
    """Add facts that no rule takes for each other."""
    return adding(*(f"Fact {n} is about {n * 7}" for n in range(first, last + 1)), op_id=op_id, minute=last)


async def the_commit_that_passes_the_threshold_stores_a_consolidation(subject: StoreUnderTest) -> None:
    """The first bullet above `Policy.consolidate_above` brings one, 10 % more bring the next."""
    learner, policy = new_learner(), Policy(consolidate_above=10)
    async with opened(subject, policy) as one, opened(subject, policy) as two:
        due: list[str | None] = []
        for first, last in ((1, 10), (11, 11), (12, 12), (13, 13), (14, 14)):
            done = await one.commit(learner, _facts(first, last), await one.load(learner))
            due.append(done.scheduled)
            held = [item.pending_id for item in await two.list_pending(learner)]
            assert held == due[1:2], f"after the bullet number {last}"
        assert [name is not None for name in due] == [False, True, False, True, False]
        assert due[3] == due[1], "one that is pending becomes due again"
        item = await _claim(two, learner)
        assert read_consolidation(item) is not None
        await _complete(two, item, "Nothing is merged")
        for number in range(20, 26):
            done = await one.commit(learner, _facts(number, number), await one.load(learner))
        (new,) = await two.list_pending(learner)
        assert new.pending_id != item.pending_id


async def a_consolidation_is_stored_beside_other_work(subject: StoreUnderTest) -> None:
    """A commit that brings or completes work stores the consolidation as well, and learning goes first."""
    learner, other, policy = new_learner(), new_learner(), Policy(consolidate_above=3)
    async with opened(subject, policy) as store:
        for name, facts in ((learner, _facts(1, 4)), (other, rewriting())):
            work = _work()
            base = await store.load(name)
            done = await store.commit(name, facts, base, record(turn_id=work.turn_id), work)
            wanted = [work.pending_id] if done.scheduled is None else [work.pending_id, done.scheduled]
            assert [each.pending_id for each in await store.list_pending(name)] == wanted
        assert done.scheduled is None
        item = await _claim(store, other)
        more = _facts(1, 4, op_id=item.pending_id)
        done = await store.commit(other, more, await store.load(other), pending=item)
        assert [each.pending_id for each in await store.list_pending(other)] == [done.scheduled]
        again = await store.commit(other, more, await store.load(other))
        assert (again.status, again.scheduled) == ("repeated", None)
        assert len(await store.list_pending(learner)) == 2


async def no_consolidation_is_stored_without_a_threshold(subject: StoreUnderTest) -> None:
    """Unless the policy names a threshold, no commit stores a consolidation."""
    learner = new_learner()
    async with opened(subject) as store:
        assert (await store.commit(learner, _facts(1, 40), await store.load(learner))).scheduled is None
        assert await store.list_pending(learner) == ()
