"""Long work away from the event loops, in turns: one learner's never delays another's.

The work is pure: reading text by rules, screening, planning a commit. Short text is read where it is, because
a thread costs more than the reading. All else is carried out by a few threads, in slices of some
milliseconds. After a slice it is the next learner's turn, and a learner has one slice at a time, so it makes
no difference to a learner how much work others have.

Work is a generator that yields wherever it may be set aside, and returns its result (`Steps`). A function is
work of a single step.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
Steps = Generator[None, None, R]
"""Work that yields wherever it may be set aside, and returns its result."""
LONG_TEXT = 8_192
"""Text of more characters is read in a thread."""
_THREADS = 2
"""The interpreter runs one thread at a time: more of them would keep the event loops waiting longer."""
_SLICE_SECONDS = 0.01
_PIECE, _IN_COMMON, _LONGEST_WORD = 16_384, 200, 1_000
_NO_WORD = re.compile(r"\W")
_WHOSE = ContextVar[str | None]("ace_graph_whose_work", default=None)


@contextmanager
def working_for(learner_id: str) -> Generator[None]:
    """Say whose work is done inside the block, where the calls themselves do not say it."""
    token = _WHOSE.set(learner_id)
    try:
        yield
    finally:
        _WHOSE.reset(token)


async def run_off_loop(size: int, reader: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what `reader` returns for these arguments; `size` is the length of the text that it reads.

    Raises what `reader` raises.
    """
    if size <= LONG_TEXT:
        return reader(*args, **kwargs)
    return await off_loop(reader, *args, **kwargs)


async def off_loop(work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what `work` returns for these arguments, away from the event loop and in one slice."""
    return await in_slices(_one_step(work, *args, **kwargs))


async def in_slices(steps: Steps[R], whose: str | None = None) -> R:
    """Return the result of work, away from the event loop, in turns with what others have.

    It is the work of the learner of `working_for`, else of `whose`, else of the running task. Work of a
    caller that is cancelled ends at its next step. Raises what the work raises.
    """
    owner: Hashable = _WHOSE.get() or whose or asyncio.current_task()
    return await asyncio.wrap_future(_QUEUE.submit(owner, steps))


def finish(steps: Steps[R]) -> R:
    """Carry out work at once, where the caller is, and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast("R", end.value)


def _one_step(work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Steps[R]:
    yield
    return work(*args, **kwargs)


@dataclass(eq=False)
class _Work(Generic[R]):
    """Work that waits, or is carried out; its context is the caller's."""

    steps: Steps[R]
    context: Context
    result: Future[R] = field(default_factory=Future[R])

    def go_on(self, seconds: float) -> bool:
        """Carry out a slice; whether something is left."""
        until = time.monotonic() + seconds
        try:
            while not self.result.cancelled():
                self.context.run(next, self.steps)
                if time.monotonic() >= until:
                    return True
            self.steps.close()
        except StopIteration as end:
            with suppress(InvalidStateError):  # the caller was cancelled meanwhile
                self.result.set_result(cast("R", end.value))
        except BaseException as error:
            with suppress(InvalidStateError):
                self.result.set_exception(error)
        return False


class FairQueue:
    """Work by owner. Each owner who has any gets one slice in turn; threads start when they are needed."""

    def __init__(self, threads: int = _THREADS, slice_seconds: float = _SLICE_SECONDS) -> None:
        self._most = threads
        self._slice_seconds = slice_seconds
        self.reset()

    def reset(self) -> None:
        """Begin anew, without work and threads: those of a parent process are not there after a fork."""
        self._changed = threading.Condition()
        self._turns = deque[Hashable]()
        self._waiting: dict[Hashable, deque[_Work[Any]]] = {}  # Any: results of any type
        self._idle = 0
        self._threads = 0

    def submit(self, owner: Hashable, steps: Steps[R]) -> Future[R]:
        """Have the work carried out, in turns with the owner's own and that of others."""
        work = _Work(steps, copy_context())
        with self._changed:
            if owner not in self._waiting:
                self._waiting[owner] = deque()
                self._turns.append(owner)
            self._waiting[owner].append(work)
            if len(self._turns) > self._idle and self._threads < self._most:
                self._threads += 1
                name = f"ace-graph-off-loop-{self._threads}"
                threading.Thread(target=self._carry_out, name=name, daemon=True).start()
            self._changed.notify()
        return work.result

    def _carry_out(self) -> None:
        while True:
            owner, work = self._next()
            left = work.go_on(self._slice_seconds)
            with self._changed:
                if left:
                    self._waiting[owner].append(work)
                if self._waiting[owner]:
                    self._turns.append(owner)
                    self._changed.notify()
                else:
                    del self._waiting[owner]
            del work

    def _next(self) -> tuple[Hashable, _Work[Any]]:  # Any: as above
        """Wait for somebody's turn. The owner is in `_waiting` but in no turn until the slice has ended."""
        with self._changed:
            self._idle += 1
            while not self._turns:
                self._changed.wait()
            self._idle -= 1
            owner = self._turns.popleft()
            return owner, self._waiting[owner].popleft()


_QUEUE = FairQueue()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_QUEUE.reset)


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
