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
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import TextIO

from mutmut.configuration import ForkServerWarmup, config
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.utils.file_utils import setup_source_paths
from mutmut.workers.isolation import MutantRunner, get_mutant_runner

from benchmarks.mutants.selection import Reached, trial_of

NO_TESTS = 33


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
