"""A statement of a learner, or a request to forget, and the bullet that it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ace_graph.base.prompts import NOT_ASKED
from ace_graph.memory.bullet import MemoryType
from ace_graph.memory.classify import infer_topic
from ace_graph.memory.delta.operations import Add, Operation

ATTRIBUTION = "Learner says: "
MAX_STATEMENTS = 10

TAKEN_BACK = "the message asks to forget it"
NOT_KNOWN = "no such statement is remembered"

SensitiveFacts = Literal["keep", "ask", "drop"]
"""What becomes of a sensitive statement in passing: the setting ACE_SENSITIVE_FACTS."""


@dataclass(frozen=True)
class Statement:
    """A statement, or a request to forget, and the operation that it asks for; without one, `why` not.

    `asked`: the learner asked for it in so many words; else it was said in passing. `after_yes` is what
    keeps a sensitive statement once the learner has said yes to it. Of kind `which` are the statements that a
    request may mean which names none: `words` lists them. `request` are the words of the message that ask to
    forget, where `words` are those of what is forgotten.
    """

    kind: Literal["keep", "forget", "which"]
    words: str
    operation: Operation | None = None
    why: str = ""
    asked: bool = True
    after_yes: Add | None = None
    request: str = ""


def keep(words: str, section: str, memory_type: MemoryType, slot: str | None, source: str) -> Add:
    """Return the operation that keeps a statement; `source` names the turn. Links and wishes are allowed."""
    return Add(
        content=ATTRIBUTION + words,
        section=section,
        memory_type=memory_type,
        polarity="observation",
        slot=slot,
        topic=infer_topic(words),
        importance=0.8,
        examples=(source,),
        sources=("learner",),
        vouched=("link", "answers"),
    )


def part_only(words: str, said: str) -> Statement:
    """Return a request to forget what is a part of a statement that says more: nothing is forgotten."""
    why = f'it is a part of "{said}"; to have all of that forgotten, say "forget that ..." with these words'
    return Statement("forget", words, why=why, request=words)


def sensitive_statement(words: str, source: str, sensitive: SensitiveFacts) -> Statement:
    """Return what becomes of a sensitive statement that was said in passing."""
    operation = keep(words, "profile", "semantic", None, source)
    if sensitive == "keep":
        return Statement("keep", words, operation, asked=False)
    after_yes = operation if sensitive == "ask" else None
    return Statement("keep", words, why=NOT_ASKED, asked=False, after_yes=after_yes)
