"""Reading long text away from the event loop, so that other turns go on meanwhile.

A reader is a pure function of text: rules, retrieval, parsing. Short text is read where it is, because a
thread costs more than the reading. Long text goes to a worker thread, one at a time per event loop: the
interpreter runs one thread at a time, and several busy ones would keep the loop waiting for its turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync

__all__ = ["LONG_TEXT", "pieces", "read_text"]

P = ParamSpec("P")
R = TypeVar("R")

LONG_TEXT = 8_192
"""Text of more characters is read in a thread."""

_PIECE, _IN_COMMON, _LONGEST_WORD = 16_384, 200, 1_000
_NO_WORD = re.compile(r"\W")

_ONE_AT_A_TIME = RunVar[CapacityLimiter]("ace_graph_long_texts")


async def read_text(size: int, reader: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what `reader` returns for these arguments; `size` is the length of the text that it reads.

    A cancellation waits for the reader to end. Raises what `reader` raises.
    """
    if size <= LONG_TEXT:
        return reader(*args, **kwargs)
    return await run_sync(partial(reader, *args, **kwargs), limiter=_limiter())


def pieces(text: str) -> Iterator[str]:
    """Yield a long text in pieces, so that no search of one holds the interpreter for long.

    They are cut at the ends of words and have 200 characters in common, so that a phrase is whole in one.
    """
    start = 0
    while len(text) - start > _PIECE:
        end = _end_of_word(text, start + _PIECE)
        yield text[start:end]
        start = _end_of_word(text, end - _IN_COMMON)
    yield text[start:]


def _end_of_word(text: str, at: int) -> int:
    """Return the first place from `at` on that is in no word; `at` itself in a word that never ends."""
    found = _NO_WORD.search(text, at, at + _LONGEST_WORD)
    return found.start() if found is not None else at


def _limiter() -> CapacityLimiter:
    """The limiter of the running event loop."""
    limiter = _ONE_AT_A_TIME.get(None)
    if limiter is None:
        limiter = CapacityLimiter(1)
        _ONE_AT_A_TIME.set(limiter)
    return limiter
