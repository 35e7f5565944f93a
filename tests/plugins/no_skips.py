"""What a skipped test means: its reason as the last line, and a failure where `ACE_REQUIRE_NEO4J=1`.

The gate sets that variable, so a server that did not start, or any other skip, can't turn into a green run.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

REQUIRED = "ACE_REQUIRE_NEO4J"


class NoSkips:
    """Counts skips by reason, in the process that holds the summary."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._count(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._count(report)

    def _count(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped:
            where = report.longrepr
            reason = where[2] if isinstance(where, tuple) else str(getattr(report, "wasxfail", where))
            self.reasons[reason.removeprefix("Skipped: ")] += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.reasons and os.environ.get(REQUIRED) == "1" and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        for reason, count in self.reasons.items():
            verdict = f"FAILED because {REQUIRED}=1: " if os.environ.get(REQUIRED) == "1" else ""
            line = f"{verdict}{count} skipped: {reason}"
            if terminal is not None:
                terminal.write_line(line, red=bool(verdict), yellow=not verdict)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(NoSkips(), "no-skips")
