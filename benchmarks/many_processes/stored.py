"""What is stored of a learner afterwards, beside what the learner told: lost, doubled, torn, or in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ace_graph.memory.stores.base import LearnerExport
from ace_graph.testing.invariants import problems
from benchmarks.many_processes.clients import Message

__all__ = ["Found", "found_of", "wrong_of"]


@dataclass(frozen=True)
class Found:
    """How often each text is there: lessons in the memory, turns by what was asked, messages of the learner.

    `deltas` counts those that changed the memory, `given_up` holds the streams of turns that no server tries
    again, `answers` the messages of the assistant, `broken` what the invariant checker says.
    """

    lessons: Counter[str]
    turns: Counter[str]
    said: Counter[str]
    deltas: int
    answers: int
    given_up: frozenset[str] = frozenset()
    broken: tuple[str, ...] = ()


def found_of(
    exported: LearnerExport, document: Mapping[str, Any]
) -> Found:  # Any: JSON of the export's route
    """Return what the memory holds, and what the exported document says of the conversations."""
    messages = [each for one in document["conversations"] for each in one["messages"]]
    return Found(
        lessons=Counter({each.content: each.seen for each in exported.snapshot.playbook.bullets()}),
        turns=Counter(turn.task for turn in exported.turns),
        said=Counter(each["content"] for each in messages if each["role"] == "user"),
        deltas=sum(
            entry.effect is not None and bool(entry.effect.changes) for entry in exported.history.entries
        ),
        answers=sum(each["role"] == "assistant" for each in messages),
        given_up=frozenset(
            each["stream_id"] for one in document["conversations"] for each in one["given_up"]
        ),
        broken=tuple(problems(exported)),
    )


def wrong_of(messages: Sequence[Message], found: Found) -> list[str]:
    """Return a sentence for everything that is lost, doubled or torn of one learner."""
    known = {each.stream_id for each in messages if each.stream_id}
    excused = len(found.given_up - known)  # a stream that broke before its id came
    wrong = list(found.broken)
    for message in messages:
        if message.stream_id in found.given_up:
            wrong += _doubled(message, found)
            continue
        told = list(_wrong_of_one(message, found))
        if told and message.ending == "unknown" and excused and not list(_doubled(message, found)):
            excused -= 1
            continue
        wrong += told
    return [*wrong, *_strangers(messages, found), *_counts(found)]


def _wrong_of_one(message: Message, found: Found) -> Iterator[str]:
    yield from _doubled(message, found)
    there = _there(message, found)
    if len(set(there)) > 1:
        lessons, turns, said = there
        yield f"{message.text!r}: {lessons} lessons, {turns} turns, {said} messages in the conversation"
    elif there == (0, 0, 0) and message.ending != "unknown":
        yield f"{message.text!r} was {message.ending} and is lost"


def _doubled(message: Message, found: Found) -> Iterator[str]:
    if max(_there(message, found)) > 1:
        yield f"{message.text!r} is there more than once"


def _there(message: Message, found: Found) -> tuple[int, int, int]:
    return found.lessons[message.lesson], found.turns[message.text], found.said[message.text]


def _strangers(messages: Sequence[Message], found: Found) -> Iterator[str]:
    told = {each.lesson for each in messages}
    for lesson in found.lessons:
        if lesson not in told:
            yield f"{lesson!r} was never told"


def _counts(found: Found) -> Iterator[str]:
    """A delta for each lesson, an answer for each message."""
    if found.deltas != len(found.lessons):
        yield f"there are {len(found.lessons)} lessons and {found.deltas} deltas"
    if found.answers != found.said.total():
        yield f"there are {found.said.total()} messages and {found.answers} answers in the conversation"
