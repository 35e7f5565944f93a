"""Samples to learn from, the environment that judges answers to them, and files of samples.

An environment is any Python function of a sample and an answer, sync or async. It returns how much of the
answer is right, with feedback if it likes, or a bool.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from array import array
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast, overload

from ace_graph.agent.evidence import Form
from ace_graph.base.errors import DatasetError, EnvironmentFailed
from ace_graph.memory.evidence import Verdict

if TYPE_CHECKING:
    from ace_graph.training.scoring import Task


@dataclass(frozen=True)
class Sample:
    """One task: the question, the right answer where there is one, and how many parts of it are counted.

    `units` is what accuracy is counted in: 1, or the number of labels where an answer holds several. A call
    that failed loses all of them. `form` says whether a number is right in any form that has its value or
    only written as the target is.
    """

    id: str
    question: str
    target: str | None = None
    units: int = 1
    form: Form = "any"


@dataclass(frozen=True)
class Outcome:
    """How many of a sample's units are right, and feedback for the reflector."""

    right: int
    feedback: str = ""

    def verdict(self, units: int) -> Verdict:
        """Return success where all units are right, failure where none is, else partial."""
        if self.right >= units:
            return "success"
        return "partial" if self.right > 0 else "failure"


Environment = Callable[[Sample, str], "Outcome | bool | Awaitable[Outcome | bool]"]
"""Judges an answer to a sample. A sync function blocks the event loop while it runs."""


async def judge(environment: Environment, sample: Sample, answer: str) -> Outcome:
    """Return the environment's outcome. Raises EnvironmentFailed for an exception or a wrong type."""
    try:
        judged = environment(sample, answer)
        outcome = await judged if inspect.isawaitable(judged) else judged
    except Exception as error:
        raise EnvironmentFailed(
            f"the environment failed on sample {sample.id} ({type(error).__name__}: {error}): fix it and "
            "resume; this sample will be tried again"
        ) from error
    if isinstance(outcome, bool):
        return Outcome(sample.units if outcome else 0)
    if not isinstance(outcome, Outcome) or not 0 <= outcome.right <= sample.units:  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's function
        raise EnvironmentFailed(
            f"the environment gave {outcome!r} for sample {sample.id}: it must give a bool, or an Outcome "
            f"with 0 to {sample.units} units right"
        )
    return outcome


MAX_LINE_BYTES = 10_000_000
MAX_TARGET_CHARS = 10_000
_SHOWN = 20
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHAPE = '{"context": "...", "target": "..."}'


@dataclass(frozen=True)
class Problem:
    """A line that can't be used, and why."""

    line: int
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


class _Unusable(Exception):
    """What is wrong with a line."""


class RowFile(Sequence[Sample]):
    """The rows of `path` that can be used, at most `limit` of them, in the order of the file.

    The file is read once to find its rows, and a row again when it is asked: 16 bytes a row are held. A line
    that can't be used is left out and reported, never guessed at. `skipped` counts the lines that can't be;
    `problems` are the first 20 of them. With `targets` false rows need none. Raises DatasetError where no row
    can be used, or the file can't be read; it must not change while it is used.
    """

    def __init__(self, path: Path, task: Task, limit: int | None = None, *, targets: bool = True) -> None:
        self.path = path
        self.skipped = 0
        self.problems: list[Problem] = []
        self._task, self._targets = task, targets
        self._offsets = array("q")
        self._lines = array("q")
        digest = hashlib.sha256()
        try:
            with path.open("rb") as file:
                self._find(file, limit, digest.update)
        except OSError as error:
            raise DatasetError(f"{path}: {error.strerror}: check the path") from error
        self.digest = digest.hexdigest()
        if not len(self):
            found = "; ".join(map(str, self.problems[:3])) or "it is empty"
            raise DatasetError(f"{path} has no row that can be used ({found}): a row is {_SHAPE} on a line")

    def __len__(self) -> int:
        return len(self._offsets)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...
    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        with self.path.open("rb") as file:
            file.seek(self._offsets[index])
            return self._sample(file.readline(), self._lines[index])

    def report(self) -> str | None:
        """Return a sentence about the lines that were left out, None where there is none."""
        if not self.skipped:
            return None
        first = "; ".join(map(str, self.problems[:3]))
        more = "; ..." if self.skipped > 3 else ""
        return f"{self.path}: {self.skipped} of {self.skipped + len(self)} rows can't be used: {first}{more}"

    def _find(self, file: BinaryIO, limit: int | None, update: Callable[[bytes], object]) -> None:
        for number, offset, line in _lines(file):
            if limit is not None and len(self._offsets) >= limit:
                return
            if line is not None and not line.strip():
                continue
            try:
                sample = self._sample(line, number)
            except _Unusable as error:
                self.skipped += 1
                if len(self.problems) < _SHOWN:
                    self.problems.append(Problem(number, str(error)))
                continue
            asked = (sample.question, sample.target, *((sample.form,) if sample.form != "any" else ()))
            update(repr(asked).encode("utf-8", "surrogatepass"))
            self._offsets.append(offset)
            self._lines.append(number)

    def _sample(self, line: bytes | None, number: int) -> Sample:
        """Return the row of a line. Raises _Unusable that says what is wrong with it."""
        if line is None:
            raise _Unusable(f"it is longer than {MAX_LINE_BYTES // 1_000_000} MB")
        try:
            found: object = json.loads(line.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise _Unusable("it is not UTF-8") from error
        except (ValueError, RecursionError) as error:
            raise _Unusable("it is not JSON") from error
        if not isinstance(found, dict):
            raise _Unusable("it is not a JSON object")
        fields = cast("dict[str, object]", found)
        question, target = fields.get("context"), fields.get("target")
        if not isinstance(question, str) or not question.strip():
            raise _Unusable("the context is missing" if question is None else "the context is not text")
        if _SURROGATE.search(question):
            raise _Unusable("the context holds a lone surrogate")
        if not self._targets:
            return Sample(f"line {number}", question)
        if isinstance(target, bool) or not isinstance(target, str | int | float):
            raise _Unusable(
                "the target is missing" if target is None else "the target is neither text nor number"
            )
        answer = str(target)
        if not answer.strip() or len(answer) > MAX_TARGET_CHARS:
            raise _Unusable("the target is empty" if not answer.strip() else "the target is too long")
        form = fields.get("form", "any")
        if form not in ("any", "same"):
            raise _Unusable('the form is neither "any" nor "same"')
        return Sample(f"line {number}", question, answer, self._task.units(answer), form)


def _lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes | None]]:
    """Yield number, offset and bytes of each line; None for one that is too long, which is never held."""
    number, offset = 0, 0
    while piece := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        begun, whole = offset, piece
        offset += len(piece)
        too_long = len(piece) > MAX_LINE_BYTES
        while too_long and not piece.endswith(b"\n") and (piece := file.readline(MAX_LINE_BYTES)):
            offset += len(piece)
        yield number, begun, None if too_long else whole
