"""Specifies what a commit writes and a load reads of a large memory. Needs a `MeteredSubject`."""

from __future__ import annotations

from statistics import median

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.delta.operations import Rollback
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import KeyedStore
from ace_graph.memory.use_stamps import Uses
from ace_graph.testing.conformance.case import MeteredSubject, StoreUnderTest
from ace_graph.testing.conformance.writing import (
    NOON,
    adding,
    contents,
    new_learner,
    record,
    rewriting,
    write,
)

_POLICY = Policy(max_bullets=20_000)
_LESSON = "Convert both fractions to a common denominator"
_LESSONS = (
    _LESSON,
    "Draw a bar for each of the numbers",
    "Estimate the result before you compute",
    "Check the sum by taking one part away",
    "Write the unit beside each quantity",
)


def _metered(subject: StoreUnderTest) -> MeteredSubject:
    if isinstance(subject, MeteredSubject):
        return subject
    raise TypeError("the verb traffic needs the method measured: write it, or leave the verb out")


async def _remember(store: KeyedStore, learner: str, size: int) -> None:
    """Store so many bullets with a stamp each, as a rollback does, and a few turns after them."""
    bullets = tuple(
        Bullet(
            id=f"gen-{n:05d}",
            section="general",
            content=f"Fact {n} is about {n * 7}, at the length of a real lesson in words",
            created_at=NOON,
            updated_at=NOON,
        )
        for n in range(1, size + 1)
    )
    stamps = dict.fromkeys((bullet.id for bullet in bullets), 1)
    whole = Rollback(version=1, bullets=bullets, uses=Uses(clock=1, stamps=stamps))
    await store.commit(learner, rewriting(whole), Snapshot())
    for number in range(3):
        await write(store, learner, adding(f"Name the unit of part {number}"), record(number))


async def a_commit_writes_what_changed(subject: StoreUnderTest) -> None:
    """The bytes that a turn with one new bullet writes at 100, 1,000 and 10,000 bullets are within 10 %."""
    metered, written = _metered(subject), list[float]()
    async with subject.open(_POLICY) as store:
        for size in (100, 1_000, 10_000):
            learner = new_learner()
            await _remember(store, learner, size)
            sizes, states = list[int](), [await store.load(learner)]
            for text in _LESSONS:

                async def commit(
                    to: str = learner, text: str = text, states: list[Snapshot] = states
                ) -> None:
                    done = await store.commit(to, adding(text), states[-1], record(7))
                    states.append(done.snapshot)

                sizes.append((await metered.measured(commit)).written)
            assert {*_LESSONS} <= {*contents(states[-1])}
            written.append(median(sizes))  # a database splits a page now and then
    assert 0 < max(written) <= 1.1 * min(written), written


async def a_reader_one_version_behind_reads_one_effect(subject: StoreUnderTest) -> None:
    """What a load one version behind reads does not grow with the memory, in statements nor in bytes."""
    metered, reads = _metered(subject), list[tuple[int, int]]()
    async with subject.open(_POLICY) as store, subject.open(_POLICY) as other:
        for size in (100, 1_000):
            learner = new_learner()
            await _remember(store, learner, size)
            known = await other.load(learner)
            await write(store, learner, adding(_LESSON), record(7))

            async def load(whose: str = learner, known: Snapshot = known) -> None:
                assert _LESSON in contents(await other.load(whose, known))

            traffic = await metered.measured(load)
            reads.append((traffic.statements, traffic.read))
    (statements, small), (again, large) = reads
    assert statements == again
    assert 0 < large <= 1.1 * small, reads
    assert large < 16_000  # an effect, its touches, and the small access part
