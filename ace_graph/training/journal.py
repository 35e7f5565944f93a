"""The steps of a run, in order: replayed when the run is resumed, then appended to.

`FileJournal` is `steps.jsonl`, one line a step. A line that a crash or a full disk left incomplete is cut off
when the file is opened, so its step did not happen. A training step holds the commit that it made, so the
memory can be rebuilt from the journal alone.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

from pydantic import Field, ValidationError

from ace_graph.agent.models import Usage
from ace_graph.base.errors import RunFolderError
from ace_graph.base.frozen import Frozen
from ace_graph.memory.delta.operations import Delta
from ace_graph.memory.evidence import Verdict
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.turn import TurnRecord

MAX_ANSWER_CHARS = 2_000
MAX_FEEDBACK_CHARS = 2_000
Amount = Annotated[int, Field(ge=0)]


class BulletChanges(Frozen):
    """What the step changed in the memory, in ids."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    tagged: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    error: str | None = None


class Committed(Frozen):
    """The step's commit, replayed when the run is resumed."""

    delta: Delta
    record: TurnRecord | None = None


class AdaptationStep(Frozen):
    """One answered sample.

    `number` counts from 1 within phase and epoch, `index` is the sample's place in its data, from 0. `right`
    of `units`, `correct`, `answer` and the environment's `feedback` are those of the first answer, before any
    revision. `injected` are the ids of the bullets in the prompt, `transcripts` those of the samples whose
    transcripts were. `seconds` is wall time. `bullets` is the size of the playbook after the step.
    """

    phase: str
    epoch: Amount
    number: Amount
    index: Amount
    sample: str
    target: str | None = None
    answer: str = ""
    right: Amount = 0
    units: Amount = 1
    correct: bool = False
    failed: bool = False
    error: str | None = None
    verdict: Verdict = "unknown"
    feedback: str | None = None
    attempts: Amount = 0
    injected: tuple[str, ...] = ()
    transcripts: tuple[str, ...] | None = None
    cited: tuple[str, ...] = ()
    withheld: bool = False
    learned: BulletChanges | None = None
    bullets: Amount = 0
    usage: dict[str, Usage] = Field(default_factory=dict[str, Usage])
    seconds: Annotated[float, Field(ge=0)] = 0
    commit: Committed | None = None


class Journal:
    """Where a run's steps are kept: here in memory, lost with the process; FileJournal keeps them."""

    def __init__(self) -> None:
        self._steps: list[AdaptationStep] = []
        self._marked = 0

    def recorded(self, phase: str, epoch: int) -> Iterator[AdaptationStep]:
        """Yield the next steps of an earlier run, as long as they belong to this phase."""
        return iter(())

    def append(self, step: AdaptationStep) -> None:
        """Add a step. Raises RunFolderError when it can't be kept; then nothing was added."""
        self._steps.append(step)

    def mark(self) -> None:
        """Make this the point to which `rewind` goes back."""
        self._marked = len(self._steps)

    def rewind(self) -> None:
        """Drop the steps since the last mark."""
        del self._steps[self._marked :]

    def steps(self) -> Iterator[AdaptationStep]:
        """Yield every step so far."""
        return iter(tuple(self._steps))

    def close(self) -> None:
        """Flush the file to the disk and close it, if there is one."""


def steps_of(journal: Journal, phase: str, epoch: int) -> Iterator[AdaptationStep]:
    """Yield the steps of one phase, which stand together in a journal."""
    begun = False
    for step in journal.steps():
        if (step.phase, step.epoch) == (phase, epoch):
            begun = True
            yield step
        elif begun:
            return


class FileJournal(Journal):
    """The journal in a file, which only one run may have open at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._old: BinaryIO | None = None
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            _lock(self._file, path)
            # The size of the file after cutting off what follows its last line break
            with open(self._file, "rb", closefd=False) as reading:
                size = reading.seek(0, os.SEEK_END)
                end = size
                while end > 0:
                    start = max(0, end - 65_536)
                    reading.seek(start)
                    found = reading.read(end - start).rfind(b"\n")
                    if found >= 0:
                        end = start + found + 1
                        break
                    end = start
            if end < size:
                os.ftruncate(self._file, end)
            self._end = self._marked = end
            self._old = path.open("rb")
        except OSError as error:
            raise unusable(path, error) from error
        try:
            self._next = self._read()
        except RunFolderError:
            self.close()
            raise

    def recorded(self, phase: str, epoch: int) -> Iterator[AdaptationStep]:
        while self._next is not None and (self._next.phase, self._next.epoch) == (phase, epoch):
            step, self._next = self._next, self._read()
            yield step

    def append(self, step: AdaptationStep) -> None:
        if self._next is not None:
            raise RunFolderError(
                f"{self._path} goes on with a step of {self._next.phase!r} that this run would not do: "
                "choose another folder"
            )
        line = f"{step.model_dump_json(exclude_none=True)}\n".encode()
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError as error:
            os.ftruncate(self._file, self._end)
            raise unusable(self._path, error) from error
        self._end += len(line)

    def mark(self) -> None:
        self._marked = self._end

    def rewind(self) -> None:
        os.ftruncate(self._file, self._marked)
        self._end = self._marked

    def steps(self) -> Iterator[AdaptationStep]:
        with self._path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield _step(line, number, self._path)

    def close(self) -> None:
        if self._old is not None:
            self._old.close()
            self._old = None
            os.fsync(self._file)
            os.close(self._file)

    def _read(self) -> AdaptationStep | None:
        line = self._old.readline() if self._old is not None else b""
        return _step(line, None, self._path) if line else None


def _step(line: bytes, number: int | None, path: Path) -> AdaptationStep:
    try:
        return AdaptationStep.model_validate_json(line)
    except ValidationError as error:
        where = f"line {number}" if number is not None else "a line"
        raise RunFolderError(
            f"{where} of {path} is not a step of this version: begin again in another folder"
        ) from error


def _lock(file: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # a system without it: two runs in one folder are then not found out
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(file)
        raise RunFolderError(f"another run writes to {path.parent}: wait for it, or stop it first") from error


def unusable(path: Path, error: OSError) -> RunFolderError:
    """Return the error that says what to do about a file of a run that can't be written."""
    return RunFolderError(f"{path}: {error.strerror}: make it writable or make room, and resume the run")


_ANSWERED, _FAILED = 1, 2


class Accuracy:
    """Counts of the first answers to `count` samples; `add` counts one more."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.total = self.correct = self.failed = self.right_units = self.all_units = 0
        self.reflector_errors = 0
        self.seconds = 0.0
        self._right = array("L", bytes(array("L").itemsize * count))
        self._units = array("L", bytes(array("L").itemsize * count))
        self._state = bytearray(count)
        self._usage: dict[str, Usage] = {}

    def add(self, step: AdaptationStep) -> None:
        """Count a step; each sample once."""
        self.total += 1
        self.correct += step.correct
        self.failed += step.failed
        self.right_units += step.right
        self.all_units += step.units
        self.reflector_errors += step.learned is not None and step.learned.error is not None
        self.seconds += step.seconds
        self._right[step.index], self._units[step.index] = step.right, step.units
        self._state[step.index] = _FAILED if step.failed else _ANSWERED
        for role, cost in step.usage.items():
            self._usage[role] = self._usage.get(role, Usage()) + cost

    def done(self, index: int) -> bool:
        """Whether the sample at `index` was counted."""
        return bool(self._state[index])

    @property
    def accuracy(self) -> float:
        """Right units of all units; 0 where nothing was counted."""
        return self.right_units / self.all_units if self.all_units else 0.0

    @property
    def usage(self) -> Mapping[str, Usage]:
        """What the calls cost, by role."""
        return self._usage

    def outcomes(self) -> Iterator[tuple[int, int]]:
        """Yield (right, units) of every sample that was counted, in the order of the data."""
        for index in range(self.count):
            if self._state[index]:
                yield self._right[index], self._units[index]

    def pairs(self, other: Accuracy) -> Iterator[tuple[bool, bool]]:
        """Yield whether each sample that was counted in both is fully right here, and there."""
        for index in range(min(self.count, other.count)):
            if self._state[index] and other._state[index]:
                yield self._all_right(index), other._all_right(index)

    def beside(self, other: Accuracy) -> Iterator[tuple[int, int, int]]:
        """Yield (right units here, right units there, units) of each sample that was counted in both."""
        for index in range(min(self.count, other.count)):
            if self._state[index] and other._state[index]:
                yield self._right[index], other._right[index], self._units[index]

    def _all_right(self, index: int) -> bool:
        return self._right[index] >= self._units[index]


@dataclass(frozen=True)
class Epoch:
    """One pass over the training data: its first answers, the validation after it, the playbook's size."""

    number: int
    trained: Accuracy
    validated: Accuracy | None
    bullets: int


@dataclass(frozen=True)
class AdaptationResult:
    """A run, finished or not.

    `measured_on` names the phase of `measured`: test, validation, or train. `controls` are measured on the
    same samples. `phases` holds the accuracy of every phase and epoch. `playbook` is the best one, or the
    newest where nothing was measured that could tell. `asked` is the description that the run began with.
    """

    kind: Literal["offline", "online"]
    asked: Mapping[str, object]
    finished: bool
    playbook: Playbook
    measured_on: str
    measured: Accuracy
    controls: Mapping[str, Accuracy] = field(default_factory=dict[str, Accuracy])
    epochs: tuple[Epoch, ...] = ()
    best_epoch: int | None = None
    phases: Mapping[tuple[str, int], Accuracy] = field(default_factory=dict[tuple[str, int], Accuracy])
    journal: Journal | None = None

    def steps(self) -> Iterator[AdaptationStep]:
        """Yield every step of the run, oldest first."""
        return self.journal.steps() if self.journal is not None else iter(())
