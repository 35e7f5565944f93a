"""Specifies cleaning: old records are deleted, referenced ones are kept, late repeats are an error."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from ace_graph.base.errors import CommitTooOld
from ace_graph.base.retention import Retention
from ace_graph.memory.commit import Amend, Pending
from ace_graph.memory.delta.operations import Add, Delta, Judge, Operation, Reset
from ace_graph.memory.policy import Policy
from ace_graph.memory.record_retention import START, Cleaned
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import Store
from ace_graph.memory.trajectory import deleted
from ace_graph.memory.turn import Step, TurnFeedback, TurnRecord, TurnReflection
from ace_graph.testing.conformance.case import StoreUnderTest, opened
from ace_graph.testing.conformance.writing import NOON, adding, new_learner, record, touching, write
from ace_graph.testing.invariants import check

_TEN_AND_THIRTY = Retention(trace_days=10, record_days=30)


def _at(days: float) -> datetime:
    """The moment this many days before NOON."""
    return NOON - timedelta(days=days)


def _delta(days: float, *operations: Operation, op_id: str | None = None) -> Delta:
    return Delta(op_id=op_id or str(uuid4()), now=_at(days), operations=operations, author="conformance")


def _turn(name: str, days: float, **fields: object) -> TurnRecord:
    """A turn that was made so many days ago, has a step, and was reflected on at once."""
    made: dict[str, object] = {
        "started_at": _at(days),
        "completed_at": _at(days),
        "steps": (Step(kind="action", text="did it"),),
        "reflections": (TurnReflection(turn_id=name, at=_at(days)),),
    }
    return record(turn_id=name).model_copy(update=made | fields)


async def _wrote(store: Store, learner: str, *turns: TurnRecord) -> list[Delta]:
    """Write these turns, each in a commit of its own time, then a clear, so that none is a recent one."""
    deltas = [Delta(op_id=str(uuid4()), now=turn.started_at, author="conformance") for turn in turns]
    for delta, turn in zip(deltas, turns, strict=True):
        await write(store, learner, delta, turn)
    await write(store, learner, _delta(0, Reset()))
    return deltas


async def _cleaned(
    store: Store,
    learner: str,
    kept: Retention = _TEN_AND_THIRTY,
    *,
    now: datetime = NOON,
    most: int = 200,
    dry_run: bool = False,
) -> Cleaned:
    done = Cleaned(next=START)
    while done.next is not None:
        done += await store.clean(learner, kept.cutoffs(now), done.next, most=most, dry_run=dry_run)
    return done


async def _steps(store: Store, learner: str) -> dict[str, int]:
    """The turns that are there, each with the number of its steps."""
    return {turn.turn_id: len(turn.steps) for turn in await store.turns(learner)}


async def steps_go_then_the_record(subject: StoreUnderTest) -> None:
    """Old steps are deleted after a reflection, old records too; recent ones are kept."""
    learner = new_learner()
    async with opened(subject) as store:
        turns = (
            _turn("gone", 31),
            _turn("emptied", 29),
            _turn("unreflected", 29, reflections=()),
            _turn("young", 9),
        )
        await _wrote(store, learner, *turns)
        done = await _cleaned(store, learner)
        assert (done.steps, done.turns, done.unreflected) == (1, 1, 1)
        assert await _steps(store, learner) == {"young": 1, "unreflected": 1, "emptied": 0}
        (emptied,) = [turn for turn in await store.turns(learner) if turn.turn_id == "emptied"]
        assert emptied.steps_dropped == "retention"
        assert emptied.evidence == turns[1].evidence
        assert (await _cleaned(store, learner)).turns == 0
        assert await check(store, learner) == []


async def nothing_goes_where_days_are_unlimited(subject: StoreUnderTest) -> None:
    """Without limits nothing is deleted, however old it is."""
    learner = new_learner()
    async with opened(subject) as store:
        await _wrote(store, learner, _turn("old", 9_000))
        done = await _cleaned(store, learner, Retention(None, None))
        assert done == Cleaned()
        assert await _steps(store, learner) == {"old": 1}


async def failures_stay_unless_told(subject: StoreUnderTest) -> None:
    """A turn that failed keeps its record and its steps, unless failures are not kept either."""
    learner = new_learner()
    async with opened(subject) as store:
        await _wrote(
            store, learner, _turn("failed", 31, status="failure"), _turn("partly", 31, status="partial")
        )
        assert (await _cleaned(store, learner)).turns == 0
        assert await _steps(store, learner) == {"partly": 1, "failed": 1}
        assert (await _cleaned(store, learner, Retention(10, 30, keep_failures=False))).turns == 2


async def pending_work_keeps_its_turn(subject: StoreUnderTest) -> None:
    """A turn with pending work or a dead letter is kept as a whole until the work is done."""
    learner = new_learner()
    async with opened(subject) as store:
        for name in ("waits", "dead"):
            work = Pending(pending_id=f"learn-{name}", turn_id=name, body="{}")
            base = await store.load(learner)
            await store.commit(learner, _delta(31), base, _turn(name, 31), work)
        await write(store, learner, _delta(0, Reset()))
        first = await store.claim("worker", NOON, 30, learner)
        assert first is not None
        await store.fail(first, "it failed", None)
        assert (await _cleaned(store, learner)) == Cleaned()
        assert await _steps(store, learner) == {"dead": 1, "waits": 1}
        second = await store.claim("worker", NOON, 30, learner)
        assert second is not None
        done = Delta(op_id=second.pending_id, now=NOON, author="worker")
        await store.commit(learner, done, await store.load(learner), None, second)
        assert (await _cleaned(store, learner)).turns == 1
        assert await check(store, learner) == []


async def what_is_named_keeps_its_record(subject: StoreUnderTest) -> None:
    """Sources of bullets, turns voted on, parents and recent turns keep their record, not their steps."""
    learner = new_learner()
    async with opened(subject) as store:
        names = ("source", "voted", "parent", "nobody")
        await _wrote(store, learner, *(_turn(name, 31) for name in names))
        ids = (await write(store, learner, _delta(0, Add(content="Draw", sources=("source",))))).report.added
        vote = Judge(turn_id="voted", source="tool", verdict="success", bullet_ids=ids)
        await write(store, learner, _delta(0, vote))
        await write(store, learner, _delta(0), _turn("part", 1, parent_id="parent"))
        await write(store, learner, _delta(31), _turn("recent", 31))
        assert (await _cleaned(store, learner)).turns == 1
        kept = await _steps(store, learner)
    assert kept == {"recent": 0, "part": 1, "parent": 0, "voted": 0, "source": 0}


async def what_was_said_later_counts(subject: StoreUnderTest) -> None:
    """Feedback makes a record young again; a trajectory that was never completed goes by its last step."""
    learner, late = new_learner(), _at(20)
    open_: dict[str, object] = {"status": "in_progress", "completed_at": None, "reflections": ()}
    feedback = TurnFeedback(kind="human", verdict="success", score=1.0, at=late)
    async with opened(subject) as store:
        await _wrote(
            store,
            learner,
            _turn("judged", 31, feedback=(feedback,)),
            _turn("logged", 31, **open_, steps=(Step(kind="action", text="did it", at=late),)),
            _turn("abandoned", 31, **open_),
            _turn("erased", 31, status="failure"),
        )
        await store.amend(learner, Amend("erased", deleted))
        assert (await _cleaned(store, learner)).turns == 2
        assert await _steps(store, learner) == {"logged": 1, "judged": 0}


async def a_late_repeat_is_refused(subject: StoreUnderTest) -> None:
    """Once its key is gone, a commit that comes again is CommitTooOld and changes nothing."""
    learner = new_learner()
    async with opened(subject) as store, opened(subject) as other:
        old, young = await _wrote(store, learner, _turn("old", 31), _turn("young", 29))
        assert (await _cleaned(store, learner)).turns == 1
        before = await store.load(learner)
        for again in (store, other):
            await _is_too_old(again, learner, old, _turn("old", 31))
        assert await store.load(learner) == before
        assert await _steps(store, learner) == {"young": 0}
        assert (await write(other, learner, young, _turn("young", 29))).status == "repeated"
        assert (await write(other, learner, _delta(0), _turn("new", 0))).status == "applied"


async def a_base_from_then_does_not_help(subject: StoreUnderTest) -> None:
    """A late repeat is refused on any base of the same epoch, the newest and the original one."""
    learner, delta = new_learner(), _delta(31, Add(content="Draw a bar"))
    async with opened(subject, Policy(history_kept=1)) as store:
        first = await store.commit(learner, delta, Snapshot())
        for n in range(4):
            await write(store, learner, _delta(30.5, Add(content=f"Fact {n} is about {n * 7}")))
        assert (await _cleaned(store, learner)).deltas > 0
        for base in (first.snapshot, await store.load(learner)):
            try:
                await store.commit(learner, delta, base)
            except CommitTooOld:
                continue
            raise AssertionError("a late repeat was applied again")
        assert len((await store.load(learner)).playbook) == 5


async def a_resumed_turn_is_refused_by_its_beginning(subject: StoreUnderTest) -> None:
    """A turn that is taken up again has a new date, and is known as old by when it began."""
    learner, made = new_learner(), _turn("old", 31)
    async with opened(subject) as store:
        (old,) = await _wrote(store, learner, made)
        await _cleaned(store, learner)
        resumed = old.model_copy(update={"now": NOON})
        await _is_too_old(store, learner, resumed, made.model_copy(update={"completed_at": NOON}))


async def _is_too_old(store: Store, learner: str, delta: Delta, made: TurnRecord) -> None:
    try:
        await write(store, learner, delta, made)
    except CommitTooOld:
        return
    raise AssertionError("a late repeat was applied again")


async def old_commits_pass_where_no_key_went(subject: StoreUnderTest) -> None:
    """A learner of whom no key was removed takes commits of any date."""
    learner = new_learner()
    async with opened(subject) as store:
        await _wrote(store, learner, _turn("young", 1))
        assert (await _cleaned(store, learner)).turns == 0
        assert (await write(store, learner, _delta(9_000), _turn("older", 9_000))).status == "applied"


async def deltas_go_behind_the_history(subject: StoreUnderTest) -> None:
    """Deltas that are old and before the stored history are deleted; the history does not change."""
    learner = new_learner()
    async with opened(subject, Policy(history_kept=2)) as store:
        for n in range(9):
            await write(store, learner, _delta(40 - n, Add(content=f"Fact {n} is about {n * 7}")))
        await write(store, learner, _delta(31))
        history = await store.history(learner)
        assert history.base_n > 0
        done = await _cleaned(store, learner)
        assert done.deltas == history.base_n + 1  # and the one that changed nothing
        assert await store.history(learner) == history
        assert (await store.export(learner)).history.entries == history.entries
        assert await check(store, learner) == []


async def a_young_delta_keeps_those_after_it(subject: StoreUnderTest) -> None:
    """Deltas are deleted from the oldest version on: one with a late date keeps the versions after it."""
    learner = new_learner()
    async with opened(subject, Policy(history_kept=1)) as store:
        for n, days in enumerate((40, 1, 40, 40, 40)):
            await write(store, learner, _delta(days, Add(content=f"Fact {n} is about {n * 7}")))
        assert (await store.history(learner)).base_n >= 3
        assert (await _cleaned(store, learner)).deltas == 1
        assert await check(store, learner) == []


async def batches_are_bounded(subject: StoreUnderTest) -> None:
    """No batch deletes more rows than its limit, and all batches together delete everything that is old."""
    learner = new_learner()
    async with opened(subject, Policy(history_kept=1)) as store:
        for n in range(6):
            await write(store, learner, _delta(35, Add(content=f"Fact {n} is about {n * 7}")))
        await _wrote(
            store,
            learner,
            *(_turn(f"t{n}", 40 - n, status="failure" if n % 4 else "success") for n in range(8)),
            *(_turn(f"s{n}", 29) for n in range(5)),
        )
        cutoffs, done = Retention(10, 30, keep_failures=False).cutoffs(NOON), Cleaned(next=START)
        while done.next is not None:
            one = await store.clean(learner, cutoffs, done.next, most=2)
            assert one.steps + one.turns + one.deltas + one.unreflected <= 2
            done += one
        assert (done.turns, done.steps) == (8, 5)
        assert done.deltas >= 4


async def a_dry_run_counts_the_same(subject: StoreUnderTest) -> None:
    """A dry run counts what the cleaning would delete, and deletes nothing."""
    learner = new_learner()
    async with opened(subject, Policy(history_kept=1)) as store:
        for n in range(5):
            await write(store, learner, _delta(35, Add(content=f"Fact {n} is about {n * 7}")))
        turns = [_turn(f"t{n}", 25 + n, status="failure" if n % 3 == 0 else "success") for n in range(12)]
        await _wrote(store, learner, *turns, _turn("unreflected", 29, reflections=()))
        before = await store.export(learner)
        planned = await _cleaned(store, learner, most=3, dry_run=True)
        assert await store.export(learner) == before
        assert await _cleaned(store, learner, most=3) == planned
        assert planned.turns > 0
        assert planned.steps > 0
        assert planned.deltas > 0


async def others_keep_theirs(subject: StoreUnderTest) -> None:
    """A cleaning concerns one learner; another one's rows and keys stay."""
    learner, other = new_learner(), new_learner()
    async with opened(subject) as store:
        await _wrote(store, learner, _turn("old", 31))
        (delta,) = await _wrote(store, other, _turn("old", 31))
        assert (await _cleaned(store, learner)).turns == 1
        assert await _steps(store, other) == {"old": 1}
        assert (await write(store, other, delta, _turn("old", 31))).status == "repeated"


async def an_absent_learner_has_nothing_to_clean(subject: StoreUnderTest) -> None:
    """Cleaning an absent learner does nothing and creates no learner."""
    learner = new_learner()
    async with opened(subject) as store:
        assert await _cleaned(store, learner) == Cleaned()
        assert (await store.load(learner)).absent


async def neither_version_nor_clock_moves(subject: StoreUnderTest) -> None:
    """A cleaning is no change of the memory: a base from before it still holds."""
    learner = new_learner()
    async with opened(subject) as store:
        await _wrote(store, learner, _turn("old", 31))
        before = await store.load(learner)
        await _cleaned(store, learner)
        assert await store.load(learner) == before
        done = await store.commit(learner, adding("Draw a bar"), before)
        assert done.version.n == before.version.n + 1


async def a_cleaning_is_due_once(subject: StoreUnderTest) -> None:
    """Only one of all processes starts a cleaning in a given number of seconds."""
    later = NOON + timedelta(days=int(str(uuid4().int)[:5]))
    async with opened(subject) as one, opened(subject) as two:
        started = [await store.begin_cleaning(later, 60) for store in (one, two, one)]
        after = later + timedelta(seconds=61)
        repeated = [await store.begin_cleaning(after, 60) for store in (two, one)]
    assert (started, repeated) == ([True, False, False], [True, False])


async def learners_are_listed_in_pages(subject: StoreUnderTest) -> None:
    """The list of learners is in the order of their ids, in pages, with the date of the last turn."""
    prefix = str(uuid4())
    names = [f"{prefix}-{n}" for n in range(5)]
    async with opened(subject) as store:
        for n, name in enumerate(names):
            await write(store, name, adding("Draw a bar", minute=n))
        await write(store, names[1], touching(), _turn("t1", 3))
        await write(store, names[1], touching(), _turn("t2", 2))
        await store.amend(names[1], Amend("t2", deleted))
        first = await store.learners(3, prefix)
        second = await store.learners(3, first[-1].learner_id)
    listed = [each for each in (*first, *second) if each.learner_id.startswith(prefix)]
    assert len(first) == 3
    assert [each.learner_id for each in listed] == names
    assert [each.last_turn for each in listed] == [None, _at(3), None, None, None]
    assert [each.version for each in listed] == [1] * 5
    assert (listed[4].created_at, listed[4].changed_at) == (NOON + timedelta(minutes=4),) * 2


async def sizes_count_what_is_stored(subject: StoreUnderTest) -> None:
    """The sizes rise with what is written, and fall with what is forgotten.

    Others may use the same database meanwhile; what they disturb is counted again.
    """
    async with opened(subject) as store:
        counts = [await _moved_sizes(store) for _ in range(2)]
        while counts[-1] != ((1, 1, 1, 1, 1), (0, 0, 0, 0, 0)) and len(counts) < 10:
            counts.append(await _moved_sizes(store))
    assert counts[-1] == ((1, 1, 1, 1, 1), (0, 0, 0, 0, 0)), counts


async def _moved_sizes(store: Store) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How the sizes move with a turn, its dead letter last, and where they are once it is forgotten."""
    learner = new_learner()
    before = await store.sizes()
    work = Pending(pending_id="learn", turn_id="t1", body="{}")
    await store.commit(learner, adding("Draw a bar"), await store.load(learner), _turn("t1", 1), work)
    written = await store.sizes()
    item = await store.claim("worker", NOON, 30, learner)
    assert item is not None
    assert await store.fail(item, "broken", None)
    failed = await store.sizes()
    await store.forget(learner)
    after = await store.sizes()
    first, held, gone = ((e.learners, e.turns, e.deltas, e.pending) for e in (before, written, after))
    risen = (*(b - a for a, b in zip(first, held, strict=True)), failed.pending - before.pending)
    return risen, (*(b - a for a, b in zip(first, gone, strict=True)), after.pending - before.pending)
