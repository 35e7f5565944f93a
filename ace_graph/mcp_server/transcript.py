"""A conversation as messages with roles, or as text: who said what.

    User: What is 1/2 + 1/3?
    Assistant: 2/5.
    User: That's wrong, it is 5/6.

In a text, a line that begins with nobody's name belongs to the one before. A text without such lines is one
task. Whatever an agent read stands in such a text, too, and may hold a line that begins with `User:`: so
nothing in it is certainly the learner's word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, Field

from ace_graph.mcp_server.arguments import Text

__all__ = ["MAX_CHARS", "Exchange", "Line", "Message", "last_exchange", "lines_of", "read_transcript"]

MAX_CHARS = 200_000
"""Of a transcript, or of all messages together."""

Speaker = Literal["learner", "agent"]
_SPEAKERS: Mapping[str, Speaker] = {
    **dict.fromkeys(("user", "human", "learner", "me"), "learner"),
    **dict.fromkeys(("assistant", "agent", "ai", "bot", "tool", "system"), "agent"),
}
_LONGEST_NAME = 12


class Message(BaseModel):
    """One message of a conversation. Other fields that an agent's messages have are ignored."""

    role: Literal["user", "assistant", "tool", "system"]
    content: Annotated[Text, Field(max_length=MAX_CHARS)] = ""


class Line(NamedTuple):
    """What one side said at once."""

    speaker: Speaker
    text: str


class Exchange(NamedTuple):
    """The last question of a transcript, the answer to it, and what came before, in order."""

    question: str
    answer: str
    before: tuple[Line, ...]


def lines_of(messages: Iterable[Message]) -> list[Line]:
    """Return what was said, in order; what the role `user` says is the learner's."""
    said = (Line("learner" if each.role == "user" else "agent", each.content.strip()) for each in messages)
    return [line for line in said if line.text]


def read_transcript(text: str) -> list[Line]:
    """Return what was said, in order; a text before the first name is the learner's."""
    found = list[tuple[Speaker, list[str]]]()
    for line in text.splitlines():
        name, colon, rest = line[: _LONGEST_NAME + 1].partition(":")
        speaker = _SPEAKERS.get(name.strip().strip("*").casefold()) if colon else None
        if speaker is not None:
            found.append((speaker, [(rest + line[_LONGEST_NAME + 1 :]).strip(" *")]))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            found.append(("learner", [line]))
    lines = [Line(speaker, "\n".join(parts).strip()) for speaker, parts in found]
    return [line for line in lines if line.text]


def last_exchange(lines: list[Line]) -> Exchange:
    """Return the last answer with the question before it; without an answer, the last question."""
    asked, found = None, None
    for n, line in enumerate(lines):
        if line.speaker == "learner":
            asked = n
        elif asked is not None:
            found = (asked, n)
    if found is not None:
        asked, answered = found
        return Exchange(lines[asked].text, lines[answered].text, tuple(lines[:asked]))
    return Exchange("" if asked is None else lines[asked].text, "", tuple(lines[: asked or 0]))
