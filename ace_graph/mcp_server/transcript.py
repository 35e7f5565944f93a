"""A transcript as text: who said what, line by line.

    User: What is 1/2 + 1/3?
    Assistant: 2/5.
    User: That's wrong, it is 5/6.

A line that begins with nobody's name belongs to the one before. A text without such lines is one task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

__all__ = ["Exchange", "Line", "last_exchange", "read_transcript"]

Speaker = Literal["learner", "agent"]
_SPEAKERS: Mapping[str, Speaker] = {
    **dict.fromkeys(("user", "human", "learner", "me"), "learner"),
    **dict.fromkeys(("assistant", "agent", "ai", "bot", "tool", "system"), "agent"),
}
_LONGEST_NAME = 12


class Line(NamedTuple):
    """What one side said at once."""

    speaker: Speaker
    text: str


class Exchange(NamedTuple):
    """The last question of a transcript, the answer to it, and what came before, in order."""

    question: str
    answer: str
    before: tuple[Line, ...]


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
