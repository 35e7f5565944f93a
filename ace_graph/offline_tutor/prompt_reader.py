"""What a prompt asks of the tutor: the task, the question, and what the playbook says.

The prompt's own words are kept apart from the data in it: a bullet that holds `<task>` asks for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

__all__ = ["Item", "Prompt", "Task", "block", "read_prompt", "statements"]

Task = Literal["answer", "expand", "score", "reflect"]

_TASKS: dict[str, Task] = {"expand": "expand", "score": "score", "reflect": "reflect"}
_DATA = (
    "playbook|voice|reflections|critique|question|path|thoughts|answer|trace|bullets|ground_truth|evidence"
    "|earlier_answer|lessons|new_answer|new_evidence|memory_changes|check"
)
# A block's tags stand at the beginning of a line; a prompt may name one in the middle of a sentence.
_OPENING = re.compile(rf"^<({_DATA})>\n", re.MULTILINE)
_TASK = re.compile(r"<task>\s*(\w+)\s*</task>")
_LINE = re.compile(r"\d+\.\s+\[([^\]]+)\]\s+\[\+\d+/-\d+\]\s+(\S.*)")
_ABOUT = re.compile(r"^## About this learner$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ATTRIBUTION = re.compile(r"^(?:learner says|the learner (?:said|says))\s*:\s*", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\d)[^.!?\n]+)*[.!?]?")
_REQUEST = re.compile(r"\b(?:can|could|would|will) you\b", re.IGNORECASE)
_MOST_CHARS = 2_000
"""So much of a question, and of a line of the playbook, is read."""


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the playbook, or, without an id, a sentence of the learner's own message."""

    id: str | None
    text: str
    about_learner: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """One call, taken apart. `wants_tags` is whether the reply goes into <scratch>, <final> and <used>."""

    task: Task
    question: str
    system: str
    everything: str
    items: tuple[Item, ...]
    earlier_questions: tuple[str, ...]
    calculated: str | None
    tool_called: bool
    wants_tags: bool
    has_picture: bool


def read_prompt(messages: Sequence[BaseMessage]) -> Prompt:
    """Take the messages of a call apart."""
    system = "\n\n".join(message.text for message in messages if isinstance(message, SystemMessage))
    everything = "\n\n".join(message.text for message in messages)
    own_words = _without_blocks(system)
    asked = _TASK.search(own_words)
    questions = [message for message in messages if isinstance(message, HumanMessage)]
    since = _since_question(messages)
    results = [message for message in since if isinstance(message, ToolMessage)]
    return Prompt(
        task=_TASKS.get(asked[1], "answer") if asked is not None else "answer",
        question=questions[-1].text[:_MOST_CHARS] if questions else "",
        system=system,
        everything=everything,
        items=(*_items(block(system, "playbook")), *_lesson_items(block(system, "lessons"))),
        earlier_questions=tuple(message.text[:_MOST_CHARS] for message in reversed(questions[:-1])),
        calculated=results[-1].text if results else None,
        tool_called=any(isinstance(message, AIMessage) and message.tool_calls for message in since),
        wants_tags="<final>" in own_words,
        has_picture=bool(questions) and _has_other_parts(questions[-1]),
    )


def block(text: str, name: str) -> str:
    """Return the content of the first data block `name` in `text`, '' where there is none.

    What looks like a block inside another one is that one's content.
    """
    return next((text[found.inner].strip() for found in _blocks(text) if found.name == name), "")


@dataclass(frozen=True, slots=True)
class _Block:
    """Where a data block stands in a text, tags and all, and what is between the tags."""

    name: str
    whole: slice
    inner: slice


def _blocks(text: str) -> Iterator[_Block]:
    never_closed = set[str]()
    position = 0
    while (opening := _OPENING.search(text, position)) is not None:
        name, closing = opening[1], f"\n</{opening[1]}>"
        at = -1 if name in never_closed else text.find(closing, opening.end() - 1)
        if at < 0:
            never_closed.add(name)
            position = opening.end()
        else:
            position = at + len(closing)
            yield _Block(name, slice(opening.start(), position), slice(opening.end(), at + 1))


def _without_blocks(text: str) -> str:
    kept, position = list[str](), 0
    for found in _blocks(text):
        kept.append(text[position : found.whole.start])
        position = found.whole.stop
    return "".join((*kept, text[position:]))


def statements(text: str) -> list[Item]:
    """Return the sentences of the learner's message that state or ask for something ("can you draw it?")."""
    sentences = (sentence.strip() for sentence in _SENTENCE.findall(text[:_MOST_CHARS]))
    return [
        Item(None, sentence)
        for sentence in sentences
        if sentence and (not sentence.endswith("?") or _REQUEST.search(sentence))
    ]


def _items(playbook: str) -> tuple[Item, ...]:
    about = _ABOUT.search(playbook)
    of_learner = {found[1] for found in _lines(about[1])} if about is not None else set[str]()
    return tuple(
        Item(found[1], _ATTRIBUTION.sub("", found[2])[:_MOST_CHARS], found[1] in of_learner)
        for found in _lines(playbook)
    )


def _lines(playbook: str) -> Iterator[re.Match[str]]:
    """The lines that hold a bullet: their number, its id, its counters, its text."""
    for line in playbook.split("\n"):
        found = _LINE.fullmatch(line.strip())
        if found is not None:
            yield found


def _lesson_items(lessons: str) -> Iterator[Item]:
    """The lessons of an earlier look at this question, a line each."""
    for line in lessons.splitlines():
        yield Item(None, line.removeprefix("- ")[:_MOST_CHARS])


def _since_question(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    last = max((n for n, message in enumerate(messages) if isinstance(message, HumanMessage)), default=-1)
    return messages[last + 1 :]


def _has_other_parts(message: HumanMessage) -> bool:
    content: object = message.content  # pyright: ignore[reportUnknownMemberType]  # LangChain: list[str | dict]
    return isinstance(content, list) and message.text.strip() != "" and len(message.content_blocks) > 1
