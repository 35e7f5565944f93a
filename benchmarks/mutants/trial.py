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
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from math import ceil
from pathlib import Path
from typing import TextIO

from mutmut.configuration import config
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state
from mutmut.stats import load_stats
from mutmut.utils.file_utils import setup_source_paths
from mutmut.utils.format_utils import mangled_name_from_mutant_name
from mutmut.workers.isolation import MutantRunner, get_mutant_runner

CONTROL = "control:"
NO_TESTS = 33
BUDGET = 40.0
"""Seconds."""


def main(arguments: Sequence[str]) -> None:
    """Try the mutants."""
    names: list[str] = json.loads(Path(arguments[0]).read_text())
    setup_source_paths()
    load_stats()
    set_mutant_under_test("")
    with Path(arguments[1]).open("a", encoding="utf-8") as file, _started(int(arguments[2])) as runner:
        for name in sorted(names, key=_expected):
            while not runner.has_capacity():
                _note(runner, file)
            tests = _tests(name)
            if tests:
                limit = ceil((_expected(name) + config().timeout_constant) * config().timeout_multiplier * 2)
                runner.submit(name, tests, limit, _expected(name))
            else:
                file.write(f"{json.dumps([name, NO_TESTS])}\n")
        runner.signal_work_complete()
        while runner.pending_count():
            _note(runner, file)


def _tests(name: str) -> list[str]:
    function = mangled_name_from_mutant_name(name.removeprefix(CONTROL))
    took = state().duration_by_test
    tests = sorted(
        state().tests_by_mangled_function_name.get(function, ()),
        key=lambda test: (took.get(test, 0.0), test),
    )
    sums = accumulate(took.get(test, 0.0) for test in tests)
    return [test for test, so_far in zip(tests, sums, strict=True) if so_far <= BUDGET] or tests[:1]


def _expected(name: str) -> float:
    """How many seconds the tests of a mutant took without it."""
    return sum(state().duration_by_test.get(test, 0.0) for test in _tests(name))


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
