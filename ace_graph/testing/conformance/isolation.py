"""Specifies the isolation of learners, and which learner ids are valid."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from ace_graph.base.errors import InvalidContext
from ace_graph.memory.delta.operations import Tag
from ace_graph.memory.snapshot import Snapshot
from ace_graph.testing.conformance.case import StoreUnderTest
from ace_graph.testing.conformance.writing import adding, contents, new_learner, record, rewriting, write

_ODD_SUFFIXES = (
    "",
    " ",
    "/../etc",
    "'; DROP TABLE learners; --",
    '"quoted"',
    "`tick`",
    "back\\slash",
    "new\nline",
    "tab\t",
    "%41",
    "{braces}",
    "$param",
    ":colon",
    "*?[glob]",
    "Größe",
    "\u0647\u0648\u202e",
    "\N{FAMILY}\N{ZERO WIDTH JOINER}\N{GRINNING FACE}",
    "e\u0301",
    "\u00e9",
    "UPPER",
    "upper",
)


async def odd_ids_are_learners_of_their_own(subject: StoreUnderTest) -> None:
    """Ids with quotes, slashes, line breaks, any script, or that look alike, never share a memory."""
    stem = new_learner()
    ids = [stem + suffix for suffix in _ODD_SUFFIXES]
    async with subject.open() as store:
        for number, learner in enumerate(ids):
            await write(store, learner, adding(f"Fact {number} is about {number * 7}"), record(number))
        for number, learner in enumerate(ids):
            assert contents(await store.load(learner)) == [f"Fact {number} is about {number * 7}"]
            assert len(await store.turns(learner)) == 1


async def the_longest_id_works(subject: StoreUnderTest) -> None:
    """An id of 256 characters, also outside the basic plane, is a learner like any other."""
    stem = new_learner()
    ids = (stem.ljust(256, "x"), stem.ljust(256, "\N{GRINNING FACE}"), stem.ljust(255, "x"))
    async with subject.open() as store:
        for number, learner in enumerate(ids):
            await write(store, learner, adding(f"Fact {number} is about {number * 7}"))
        for number, learner in enumerate(ids):
            assert contents(await store.load(learner)) == [f"Fact {number} is about {number * 7}"]


async def an_unfit_id_is_refused_by_every_verb(subject: StoreUnderTest) -> None:
    """An empty id, one that is too long or of another type, a NUL, a lone surrogate: InvalidContext."""
    unfit = ("", "x" * 257, "x" * 10_000, "nul\x00", "lone\ud800", cast("str", None), cast("str", 7))
    async with subject.open() as store:
        verbs: list[Callable[[str], Awaitable[object]]] = [
            store.load,
            lambda learner: store.commit(learner, adding("Draw a bar"), Snapshot()),
            store.history,
            store.turns,
            store.export,
            store.forget,
        ]
        for learner in unfit:
            for verb in verbs:
                try:
                    await verb(learner)
                except InvalidContext:
                    continue
                raise AssertionError(f"{learner!r} was accepted")


async def one_text_is_two_bullets(subject: StoreUnderTest) -> None:
    """Two learners may hold the same text: a vote of one does not move the other's counter (C95)."""
    one, two = new_learner(), new_learner()
    async with subject.open() as store:
        (bar,) = (await write(store, one, adding("Draw a bar"))).report.added
        await write(store, two, adding("Draw a bar"))
        await write(store, one, rewriting(Tag(bullet_id=bar, tag="harmful")))
        assert [b.harmful for b in (await store.load(one)).playbook.bullets()] == [1]
        assert [b.harmful for b in (await store.load(two)).playbook.bullets()] == [0]


async def ids_and_op_ids_do_not_run_together(subject: StoreUnderTest) -> None:
    """An id that ends where another one's op id begins is not taken for it, whatever joins the two."""
    stem = new_learner()
    pairs = [(stem, "a:b"), (f"{stem}:a", "b"), (f"{stem}%3Aa", "b"), (stem, "a%3Ab"), (stem, "a%253Ab")]
    async with subject.open() as store:
        for learner, op_id in pairs:
            base = await store.load(learner)
            done = await store.commit(learner, adding(f"{learner} {op_id}", op_id=op_id), base)
            assert done.status == "applied"
