"""What a prompt asks of the tutor: the task, the question, and what the playbook says.

The prompt's own words are kept apart from the data in it: a bullet that holds `<task>` asks for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

__all__ = ["Item", "Prompt", "read_prompt", "statements"]

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
    """One call, taken apart.

    `instructions` are the prompt's own words, `blocks` the content of its data blocks by their names.
    `wants_tags` is whether the reply goes into <scratch>, <final> and <used>.
    """

    task: Task
    question: str
    instructions: str
    blocks: Mapping[str, str]
    items: tuple[Item, ...]
    earlier_questions: tuple[str, ...]
    calculated: str | None
    tool_called: bool
    wants_tags: bool
    has_picture: bool


def read_prompt(messages: Sequence[BaseMessage]) -> Prompt:
    """Take the messages of a call apart."""
    system = "\n\n".join(message.text for message in messages if isinstance(message, SystemMessage))
    instructions, blocks = _take_apart(system)
    named = _TASK.search(instructions)
    positions = [n for n, message in enumerate(messages) if isinstance(message, HumanMessage)]
    questions = [messages[n] for n in positions]
    since = messages[positions[-1] + 1 :] if positions else messages
    results = [message.text for message in since if isinstance(message, ToolMessage)]
    lessons = blocks.get("lessons", "").splitlines()
    return Prompt(
        task=_TASKS.get(named[1], "answer") if named is not None else "answer",
        question=questions[-1].text[:_MOST_CHARS] if questions else "",
        instructions=instructions,
        blocks=blocks,
        items=(
            *_bullets(blocks.get("playbook", "")),
            *(Item(None, line.removeprefix("- ")[:_MOST_CHARS]) for line in lessons),
        ),
        earlier_questions=tuple(message.text[:_MOST_CHARS] for message in reversed(questions[:-1])),
        calculated=results[-1] if results else None,
        tool_called=any(isinstance(message, AIMessage) and message.tool_calls for message in since),
        wants_tags="<final>" in instructions,
        has_picture=bool(questions) and _has_other_parts(questions[-1]),
    )


def _take_apart(text: str) -> tuple[str, dict[str, str]]:
    """Return the words outside the data blocks of `text`, and the content of the first block of each name.

    What looks like a block inside another one is that one's content.
    """
    outside, blocks, never_closed = list[str](), dict[str, str](), set[str]()
    end = position = 0
    while (opening := _OPENING.search(text, position)) is not None:
        name, closing = opening[1], f"\n</{opening[1]}>"
        position = opening.end()
        closes_at = -1 if name in never_closed else text.find(closing, position - 1)
        if closes_at < 0:
            never_closed.add(name)
            continue
        outside.append(text[end : opening.start()])
        blocks.setdefault(name, text[position : closes_at + 1].strip())
        end = position = closes_at + len(closing)
    return "".join((*outside, text[end:])), blocks


def statements(text: str) -> list[Item]:
    """Return the sentences of the learner's message that state or ask for something ("can you draw it?")."""
    sentences = (sentence.strip() for sentence in _SENTENCE.findall(text[:_MOST_CHARS]))
    return [
        Item(None, sentence)
        for sentence in sentences
        if sentence and (not sentence.endswith("?") or _REQUEST.search(sentence))
    ]


def _bullets(playbook: str) -> Iterator[Item]:
    """The lines that hold a bullet: a number, its id, its counters, its text."""
    about_learner = False
    for line in playbook.split("\n"):
        if line.startswith("## "):
            about_learner = line == "## About this learner"
        elif (bullet := _LINE.fullmatch(line.strip())) is not None:
            yield Item(bullet[1], _ATTRIBUTION.sub("", bullet[2])[:_MOST_CHARS], about_learner)


def _has_other_parts(message: BaseMessage) -> bool:
    content: object = message.content  # pyright: ignore[reportUnknownMemberType]  # LangChain: list[str | dict]
    return isinstance(content, list) and message.text.strip() != "" and len(message.content_blocks) > 1
