"""The program that tries mutants: `python -m benchmarks.mutants.trial NAMES VERDICTS CHILDREN`, in the copy.

It uses mutmut's own server of forks, in which the tests are collected already, so that most mutants take a
second. Each name in the file NAMES, a JSON list, is tried against the tests that reach its function, the
quickest first, as long as these took no more than BUDGET together when they were measured. "control:NAME" is
no mutant but the code as it is, against the tests of NAME. A line of VERDICTS is a name and the exit code of
pytest.

Does not: choose names or judge codes.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from math import ceil
from pathlib import Path
from typing import NamedTuple, TextIO, TypedDict

from mutmut.configuration import config
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.utils.file_utils import setup_source_paths
from mutmut.utils.format_utils import mangled_name_from_mutant_name
from mutmut.workers.isolation import MutantRunner, get_mutant_runner

from benchmarks.mutants.tree import BUDGET

CONTROL = "control:"
NO_TESTS = 33


class Reached(TypedDict):
    """What the measuring plugin wrote: the tests that reach a function, and the seconds that they took."""

    tests_of: dict[str, list[str]]
    took: dict[str, float]


class Trial(NamedTuple):
    """A name, the tests it is tried against, and the seconds that they took without it."""

    name: str
    tests: list[str]
    took: float


def main(arguments: Sequence[str]) -> None:
    """Try the mutants, those first that need least time."""
    names: list[str] = json.loads(Path(arguments[0]).read_text())
    reached: Reached = json.loads((Path("mutants") / "reached.json").read_text())
    trials = sorted((trial_of(name, reached) for name in names), key=lambda trial: trial.took)
    setup_source_paths()
    set_mutant_under_test("")
    with Path(arguments[1]).open("a", encoding="utf-8") as file, _started(int(arguments[2])) as runner:
        for name, tests, took in trials:
            while not runner.has_capacity():
                _note(runner, file)
            if tests:
                limit = ceil((took + config().timeout_constant) * config().timeout_multiplier * 2)
                runner.submit(name, tests, limit, took)
            else:
                file.write(f"{json.dumps([name, NO_TESTS])}\n")
        runner.signal_work_complete()
        while runner.pending_count():
            _note(runner, file)


def trial_of(name: str, reached: Reached) -> Trial:
    """Return the trial of a mutant: the quickest tests of its function, at most BUDGET seconds of them."""
    function, took = mangled_name_from_mutant_name(name.removeprefix(CONTROL)), reached["took"]
    tests = sorted(reached["tests_of"].get(function, ()), key=lambda test: (took[test], test))
    sums = list(accumulate(took[test] for test in tests))
    many = max(bisect_right(sums, BUDGET), 1)
    return Trial(name, tests[:many], sums[:many][-1] if sums else 0.0)


@contextmanager
def _started(children: int) -> Generator[MutantRunner]:
    runner = get_mutant_runner(children)
    runner.startup()
    try:
        yield runner
    finally:
        runner.shutdown()


def _note(runner: MutantRunner, file: TextIO) -> None:
    done = runner.wait_for_result()
    file.write(f"{json.dumps([done.mutant_name, done.exit_code])}\n")
    file.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
