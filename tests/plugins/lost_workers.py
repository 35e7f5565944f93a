"""Where a worker process dies, the run goes on, and its summary names the test that the worker had.

Plugins that come with other packages (schemathesis) read what a worker left at its end, and fail the whole
run where it could leave nothing.
"""

from __future__ import annotations

from typing import Protocol

import pytest


class _Worker(Protocol):
    """What this plugin needs of an xdist worker, as its controller sees it."""

    workeroutput: dict[str, object]


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_testnodedown(node: _Worker) -> None:
    if not hasattr(node, "workeroutput"):
        node.workeroutput = {}
