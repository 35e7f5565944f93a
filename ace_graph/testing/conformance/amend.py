"""Specifies `amend`: the record of a turn can be changed, by one writer at a time."""

from __future__ import annotations

from ace_graph.base.errors import ChangeRefused, TrajectoryNotFound
from ace_graph.memory.commit import Amend
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.turn import TurnRecord
from ace_graph.testing.conformance.case import StoreUnderTest, opened
from ace_graph.testing.conformance.writing import adding, new_learner, record, touching


async def a_record_can_be_amended(subject: StoreUnderTest) -> None:
    """An Amend changes the newest attempt's record, outside of a commit or with it; the clock stays."""
    learner = new_learner()

    def scored(turn: TurnRecord) -> TurnRecord:
        return turn.model_copy(update={"score": 0.25, "status": "partial"})

    async with opened(subject) as one, opened(subject) as two:
        for number in (1, 2):
            base = await one.load(learner)
            await one.commit(learner, touching(), base, record(number, turn_id="t1"))
        clock = (await one.load(learner)).access.access_clock
        changed = await one.amend(learner, Amend("t1", scored))
        newest, older = await two.turns(learner)
        assert changed == newest
        assert (newest.score, newest.status, older.score) == (0.25, "partial", None)
        assert (await two.load(learner)).access.access_clock == clock
        done = await two.commit(
            learner, adding("Draw a bar"), await two.load(learner), Amend("t1", lambda turn: older)
        )
        assert done.version.n == 1
        assert (await one.turns(learner))[0] == older
        assert len(await one.turns(learner)) == 2


async def an_amend_that_is_refused_writes_nothing(subject: StoreUnderTest) -> None:
    """What the change raises reaches the caller and nothing is written; a missing turn is an error."""
    learner = new_learner()

    def refuse(turn: TurnRecord) -> TurnRecord:
        raise ChangeRefused("no")

    async with opened(subject) as store:
        await store.commit(learner, touching(), Snapshot(), record(turn_id="t1"))
        before = await store.export(learner)
        for amend, error in ((Amend("t1", refuse), ChangeRefused), (Amend("t2", refuse), TrajectoryNotFound)):
            for call in (
                store.amend(learner, amend),
                store.commit(learner, adding("x"), before.snapshot, amend),
            ):
                try:
                    await call
                except error:
                    continue
                raise AssertionError(f"{error.__name__} was expected")
        assert await store.amend(learner, Amend("t2", refuse, missing_ok=True)) is None
        after = await store.export(learner)
    assert (after.turns, after.history) == (before.turns, before.history)
