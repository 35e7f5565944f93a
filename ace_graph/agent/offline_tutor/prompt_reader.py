"""What a prompt asks of the tutor: the task, the question, and what the playbook says.

The prompt's own words are kept apart from the data in it: a bullet that holds `<task>` asks for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from ace_graph.memory.bullet import PROFILE_SLOTS

Task = Literal["answer", "expand", "score", "reflect"]
_TASKS: dict[str, Task] = {"expand": "expand", "score": "score", "reflect": "reflect"}
_DATA = (
    "playbook|voice|reflections|critique|question|path|thoughts|answer|trace|bullets|ground_truth|evidence"
    "|earlier_answer|lessons|new_answer|new_evidence|memory_changes|check"
)

# A block's tags stand at the beginning of a line; a prompt may name one in the middle of a sentence.
_OPENING = re.compile(rf"<({_DATA})>")
_TASK = re.compile(r"<task>\s*(\w+)\s*</task>")
_LINE = re.compile(r"\d+\.\s+\[([^\]]+)\]\s+\[\+\d+/-\d+\]\s+(?:\(([a-z_]{1,20})\)\s)?(\S.*)")
_ATTRIBUTION = re.compile(r"^(?:learner says|the learner (?:said|says))\s*:\s*", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\d)[^.!?\n]+)*[.!?]?")
_REQUEST = re.compile(r"\b(?:can|could|would|will) you\b", re.IGNORECASE)
_APOSTROPHE = re.compile(r"(?<=\w)’(?=\w)")
_MOST_CHARS = 2_000
"""So much of a question, and of a line of the playbook, is read."""


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the playbook, or, without an id, a sentence of the learner's own message.

    `slot` names the value of the profile that it states, whatever its language.
    """

    id: str | None
    text: str
    about_learner: bool = False
    slot: str | None = None


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
    questions = [message for message in messages if isinstance(message, HumanMessage)]
    since = list(takewhile(lambda message: not isinstance(message, HumanMessage), reversed(messages)))
    results = [message.text for message in since if isinstance(message, ToolMessage)]
    lessons = blocks.get("lessons", "").splitlines()
    return Prompt(
        task=_TASKS.get(named[1], "answer") if named is not None else "answer",
        question=_APOSTROPHE.sub("'", questions[-1].text[:_MOST_CHARS]) if questions else "",
        instructions=instructions,
        blocks=blocks,
        items=(
            *_bullets(blocks.get("playbook", "")),
            *(Item(None, line.removeprefix("- ")[:_MOST_CHARS]) for line in lessons),
        ),
        earlier_questions=tuple(message.text[:_MOST_CHARS] for message in reversed(questions[:-1])),
        calculated=results[0] if results else None,
        tool_called=any(isinstance(message, AIMessage) and message.tool_calls for message in since),
        wants_tags="<final>" in instructions,
        has_picture=bool(questions)
        and questions[-1].text.strip() != ""
        and len(questions[-1].content_blocks) > 1,
    )


def _take_apart(text: str) -> tuple[str, dict[str, str]]:
    """Return the lines outside the data blocks of `text`, and the content of the first block of each name.

    What looks like a block inside another one is that one's content, as is all behind one that never ends.
    """
    outside, inside, blocks = list[str](), list[str](), dict[str, str]()
    name: str | None = None
    for line in text.split("\n"):
        if name is None and (opening := _OPENING.fullmatch(line)) is not None:
            name, inside = opening[1], []
        elif name is not None and line.startswith(f"</{name}>"):
            blocks.setdefault(name, "\n".join(inside).strip())
            name = None
        else:
            (outside if name is None else inside).append(line)
    return "\n".join(outside), blocks


def statements(text: str) -> list[Item]:
    """Return the sentences of the learner's message that state or ask for something ("can you draw it?")."""
    sentences = (sentence.strip() for sentence in _SENTENCE.findall(text[:_MOST_CHARS]))
    return [
        Item(None, sentence)
        for sentence in sentences
        if sentence and (not sentence.endswith(("?", "？")) or _REQUEST.search(sentence))
    ]


def _bullets(playbook: str) -> Iterator[Item]:
    """The lines that hold a bullet: a number, its id, its counters, its slot, its text."""
    about_learner = False
    for line in playbook.split("\n"):
        if line.startswith("## "):
            about_learner = line == "## About this learner"
        elif (bullet := _LINE.fullmatch(line.strip())) is not None:
            slot = bullet[2] if bullet[2] in PROFILE_SLOTS else None
            text = bullet[3] if slot or bullet[2] is None else f"({bullet[2]}) {bullet[3]}"
            yield Item(bullet[1], _ATTRIBUTION.sub("", text)[:_MOST_CHARS], about_learner, slot)
