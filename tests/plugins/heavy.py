"""Which tests are left out for what they cost, and which run first.

`heavy` are those of which every behaviour is proven by a cheaper test, too: on another store, at another
place of a sweep, at a smaller size. They run with ACE_TEST_HEAVY=1, as in .ci/run, and where a node id or
`-m` names them. `long` are those for ACE_TEST_LONG=1 alone, as in .ci/long. What is left out is deselected,
not skipped, and the summary has its number. `slow` are those that kill processes, start servers
of their own or run very many turns: they are left out as the heavy ones are, and run first, so that no worker
is left alone with one at the end. The folders of `AROUND` test the documents, the benchmarks and the
repository, not what is installed: without ACE_TEST_HEAVY=1 they run where an argument names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, TypeVar, cast

import pytest
from _pytest.mark import ParameterSet

from tests.plugins.sizes import HEAVY, LONG

__all__ = ["some_heavy"]

AROUND = ("benchmarks", "docs", "packaging")
_T = TypeVar("_T")
_LEFT_OUT = pytest.StashKey[int]()
_SENT = "heavy_left_out"
_HOW = "`make test HEAVY=1`, or ACE_TEST_HEAVY=1, runs them, as the gate does"


class _Worker(Protocol):
    """What this plugin needs of an xdist worker, as its controller sees it."""

    config: pytest.Config
    workeroutput: dict[str, object]


def some_heavy(values: Iterable[_T], light: Callable[[_T], bool]) -> list[ParameterSet]:
    """Return the values as parameters, marked `heavy` where they are not light; a tuple is of several."""
    return [
        pytest.param(
            *_parts(value),
            marks=() if light(value) else pytest.mark.heavy,
        )
        for value in values
    ]


def _parts(value: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)


def pytest_report_header(config: pytest.Config) -> list[str]:
    if _wants_heavy(config):
        return []
    return [f"heavy and slow tests, and those of {', '.join(AROUND)}, are left out: {_HOW}"]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    around = collection_path.parent == config.rootpath / "tests" and collection_path.name in AROUND
    named = any(f"tests/{each}" in argument for each in AROUND for argument in config.args)
    return True if around and not named and not _wants_heavy(config) else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    unwanted = (["heavy", "slow"] if not _wants_heavy(config) else []) + (["long"] if not LONG else [])
    left_out = [item for item in items if any(item.get_closest_marker(mark) for mark in unwanted)]
    if left_out:
        heavy = sum(item.get_closest_marker("long") is None for item in left_out)
        config.stash[_LEFT_OUT] = heavy
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_sessionfinish(session: pytest.Session) -> None:
    sent: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if sent is not None:
        sent[_SENT] = session.config.stash.get(_LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: _Worker) -> None:
    """Every worker has left out the same."""
    sent = getattr(node, "workeroutput", {}).get(_SENT, 0)
    assert isinstance(sent, int)
    node.config.stash[_LEFT_OUT] = max(sent, node.config.stash.get(_LEFT_OUT, 0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = config.stash.get(_LEFT_OUT, 0)
    if left_out:
        terminalreporter.write_line(f"{left_out} heavy or slow tests were left out: {_HOW}", yellow=True)


def _wants_heavy(config: pytest.Config) -> bool:
    named = any("::" in argument for argument in config.args)
    marks = str(config.getoption("markexpr", ""))
    return HEAVY or named or "heavy" in marks or "slow" in marks
