"""Tries mutants, in the copy: `python -m benchmarks.mutants.trial PASS NAMES VERDICTS CHILDREN`.

It uses mutmut's own server of forks. In the pass "first" the server has collected the tests, so that most
mutants take a second; in the pass "second" every mutant imports everything anew, itself in place. Each name
in the file NAMES, a JSON list, is tried against the tests that reach its function, those of its room and the
quickest first, as far as the budget goes; in the second pass the tests of its module come next.
"control:NAME" is no mutant but the code as it is, against the tests of NAME. A line of VERDICTS is a name
and the exit code of pytest.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from math import ceil
from pathlib import Path
from typing import NamedTuple, TextIO, TypedDict

from mutmut.configuration import ForkServerWarmup, config
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.utils.file_utils import setup_source_paths
from mutmut.utils.format_utils import mangled_name_from_mutant_name
from mutmut.workers.isolation import MutantRunner, get_mutant_runner

from benchmarks.mutants.tree import BUDGET, SECOND_BUDGET

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
    which, names, verdicts, children = arguments
    reached: Reached = json.loads((Path("mutants") / "reached.json").read_text())
    wanted: list[str] = json.loads(Path(names).read_text())
    second = which == "second"
    trials = sorted((trial_of(name, reached, second=second) for name in wanted), key=lambda trial: trial.took)
    setup_source_paths()
    set_mutant_under_test("")
    if second:
        config().forkserver_warmup = ForkServerWarmup.NONE
    with Path(verdicts).open("a", encoding="utf-8") as file, _started(int(children)) as runner:
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


def trial_of(name: str, reached: Reached, *, second: bool = False) -> Trial:
    """Return the trial of a mutant: tests of its function within the budget, at least one.

    First come those of the room that mirrors the module's, because others only pass through it, and of each
    the quickest. A test whose id has escaped characters waits for the second pass: pytest escapes it again
    when it collects a second time in one process, and does not find it.
    """
    function, took = mangled_name_from_mutant_name(name.removeprefix(CONTROL)), reached["took"]
    reaching = reached["tests_of"].get(function, ())
    room = _room(function)
    tests = _ordered([test for test in reaching if second or "\\" not in test], room, took)
    if second:
        module = f"{function.rpartition('.')[0]}."
        near = {
            test for other, found in reached["tests_of"].items() if other.startswith(module) for test in found
        }
        tests += _ordered(near.difference(tests), room, took)
    sums = list(accumulate(took[test] for test in tests))
    many = max(bisect_right(sums, SECOND_BUDGET if second else BUDGET), 1)
    return Trial(name, tests[:many], sums[:many][-1] if sums else 0.0)


def _ordered(tests: Iterable[str], room: str, took: Mapping[str, float]) -> list[str]:
    return sorted(tests, key=lambda test: (not test.startswith(room), took[test], test))


def _room(function: str) -> str:
    """Return the folder of tests that mirrors the folder of a function's module."""
    return "/".join(("tests", *function.split(".")[1:-2], ""))


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
