"""The questions in one message, and which of them the answer to one problem leaves open."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ace_graph.offline_tutor.parser import Compute, find_problem

__all__ = ["left_open"]

_ENDS = (". ", "! ", "\n")
_GOES_ON = re.compile(r"\b(?:it|that|this|draw|picture|steps?|me)\b", re.IGNORECASE)
_MOST_NAMED = 3


def left_open(message: str) -> str | None:
    """Return a sentence that names the questions that stay open when the first problem is solved.

    None where nothing does: a question about that problem ("can you draw it?") is none of its own.
    """
    asked = [part for question in _questions(message) for part in _parts(question)]
    solved = next((part for part in asked if find_problem(part) is not None), None)
    if solved is None:
        return None
    rest = [part for part in asked if part != solved and (find_problem(part) or not _GOES_ON.search(part))]
    return f"I have not answered {_named(rest)} here: ask that alone." if rest else None


def _questions(message: str) -> Iterator[str]:
    """The sentences that end in a question mark."""
    for piece in message.split("?")[:-1]:
        begins = max(piece.rfind(end) + len(end) if end in piece else 0 for end in _ENDS)
        if piece[begins:].strip():
            yield f"{piece[begins:]}?"


def _parts(question: str) -> Iterator[str]:
    """One question, or its calculations where "and" joins several."""
    pieces = [piece for piece in question.split(" and ") if isinstance(find_problem(piece), Compute)]
    if len(pieces) > 1:
        yield from (piece.strip(" ?") for piece in pieces)
    else:
        yield question.strip(" ,;:-")


def _named(questions: Sequence[str]) -> str:
    quoted = [f'"{each}"' for each in questions[:_MOST_NAMED]]
    more = len(questions) - len(quoted)
    return " and ".join(quoted) + (f" and {more} more" if more else "")
