"""Reading the solver's reply while it streams: the final answer apart from scratchpad and citations.

The reply's form is fixed by prompts/answer.md: `<scratch>`, `<final>`, `<used>`. Only text inside
`<final>` is shown, and as soon as it comes. A reply without the tags is the answer as a whole; it can
only be shown at its end, because its beginning may still turn out to be working.

Does not: judge the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["AnswerParser", "Parsed", "parse_answer"]

_OPEN, _CLOSE = "<final>", "</final>"
_SCRATCH = re.compile(r"<scratch>(.*?)(?:</scratch>|\Z)", re.DOTALL | re.IGNORECASE)
_USED = re.compile(r"<used>(.*?)(?:</used>|\Z)", re.DOTALL | re.IGNORECASE)
_FINAL = re.compile(r"<final>(.*?)(?:</final>|\Z)", re.DOTALL | re.IGNORECASE)
_LABEL = re.compile(r"\A(?:final\s+)?answer\s*:\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Parsed:
    """A reply taken apart. `used` are the ids as the model wrote them, unchecked."""

    answer: str
    reasoning: str
    used: tuple[str, ...]


class AnswerParser:
    """Feed it the reply's text as it comes; `feed` returns what may be shown now."""

    def __init__(self) -> None:
        self._text = ""
        self._state: Literal["before", "inside", "after"] = "before"
        self._position = 0
        self._shown = ""

    @property
    def answering(self) -> bool:
        """Whether the final answer has begun."""
        return self._state != "before"

    def feed(self, text: str) -> str:
        """Take the next piece of the reply, return the next piece of the answer (often '')."""
        self._text += text
        if self._state == "before":
            self._look_for_start()
        return self._take() if self._state == "inside" else ""

    def finish(self) -> tuple[str, Parsed]:
        """Return what was not shown yet, and the reply taken apart.

        The pieces that were shown, joined, are exactly `answer`.
        """
        parsed = parse_answer(self._text)
        if self._state == "before":
            return parsed.answer, parsed
        rest = ""
        if self._state == "inside":
            rest = self._visible(self._text[self._position :].rstrip())
            self._shown += rest
        return rest, Parsed(self._shown, parsed.reasoning, parsed.used)

    def _look_for_start(self) -> None:
        lowered = self._text.lower()
        start = lowered.find("</scratch>") if lowered.lstrip().startswith("<scratch>") else 0
        at = lowered.find(_OPEN, start) if start >= 0 else -1
        if at >= 0:
            self._state, self._position = "inside", at + len(_OPEN)

    def _take(self) -> str:
        pending = self._text[self._position :]
        end = pending.lower().find(_CLOSE)
        if end >= 0:
            self._state = "after"
            piece = pending[:end].rstrip()
        else:
            piece = pending[: len(pending) - _held_back(pending)].rstrip()
        visible = self._visible(piece)
        self._position += len(piece)
        self._shown += visible
        return visible

    def _visible(self, piece: str) -> str:
        return piece if self._shown else piece.lstrip()


def _held_back(text: str) -> int:
    """How many characters at the end may be the beginning of the closing tag."""
    tail = text.lower()
    longest = min(len(tail), len(_CLOSE) - 1)
    return next((n for n in range(longest, 0, -1) if _CLOSE.startswith(tail[-n:])), 0)


def parse_answer(text: str) -> Parsed:
    """Take a whole reply apart.

    "Answer: 5" gives 5; prose that only speaks of an answer stays as it is; nothing gives "".
    """
    reasoning = " ".join(part.strip() for part in _SCRATCH.findall(text))
    used = tuple(
        name.strip("[]") for part in _USED.findall(text) for name in re.split(r"[\s,]+", part) if name
    )
    without_scratch = _SCRATCH.sub("", text) if "</scratch>" in text.lower() else text
    final = _FINAL.search(without_scratch)
    if final:
        return Parsed(final.group(1).strip(), reasoning, used)
    plain = _USED.sub("", _SCRATCH.sub("", text)).strip()
    return Parsed(_LABEL.sub("", plain), reasoning, used)
