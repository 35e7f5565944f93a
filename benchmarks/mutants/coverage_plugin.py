"""A plugin for pytest: which tests reach which function, and how long they take, into `reached.json`.

mutmut's code notes every call of a function that has mutants while MUTANT_UNDER_TEST is "stats". A test that
fails is left out: some do, because their subject looks different with mutants in it. What counts as the time
of a test is that of the processor, so that a busy machine does not make the others' share smaller.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest
from mutmut.state import state

REACHED = Path("reached.json")


class Measuring:
    """What is known of the tests that passed."""

    def __init__(self) -> None:
        self.tests_of: defaultdict[str, set[str]] = defaultdict(set)
        self.took: dict[str, float] = {}
        self._seconds = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None]:
        """Measure the seconds of processor time, those of processes that have ended included."""
        began = _processor_seconds()
        yield
        self._seconds = _processor_seconds() - began

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the functions that were called since the last test ended, once the test has passed."""
        if report.when == "call" and report.passed:
            self.took[report.nodeid] = self._seconds
        if report.when == "teardown":
            called = set(state()._stats)  # pyright: ignore[reportPrivateUsage]  # mutmut has no other
            state()._stats.clear()  # pyright: ignore[reportPrivateUsage]
            for function in called if report.nodeid in self.took else ():
                self.tests_of[function].add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write what was measured."""
        tests = {function: sorted(found) for function, found in sorted(self.tests_of.items())}
        REACHED.write_text(json.dumps({"tests_of": tests, "took": self.took}))


def _processor_seconds() -> float:
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system


def pytest_configure(config: pytest.Config) -> None:
    """Begin to measure."""
    config.pluginmanager.register(Measuring(), "measuring")
