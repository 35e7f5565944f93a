"""`warm_python`: processes of their own that need not import everything once more.

`warm_python("-m", "some.module", "argument")` is a command, for whatever starts processes. It starts in some
milliseconds what takes a cold Python two seconds, for it is forked from one that has imported nearly all
(see `warm_server`). With ACE_TEST_HEAVY=1 it is `[sys.executable, ...]`: a cold start for all of them.

Does not: suit a test that kills the process from outside, sets its limits or gives it a terminal: what the
test starts only stands in for it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol

import pytest

from tests.plugins.sizes import HEAVY

_HERE = Path(__file__).resolve().parent


class WarmPython(Protocol):
    """Makes the command of a Python with these arguments: `-c CODE ...` or `-m MODULE ...`."""

    def __call__(self, *arguments: str) -> list[str]: ...


def cold_python(*arguments: str) -> list[str]:
    """Return the command of a Python that imports everything itself."""
    return [sys.executable, *arguments]


@pytest.fixture(scope="session")
def warm_python() -> Generator[WarmPython]:
    """Makes commands of Python that start at once; the first one waits until there is something to fork."""
    if HEAVY:
        yield cold_python
        return
    with ExitStack() as until_the_end:

        @cache
        def path() -> str:
            folder = tempfile.TemporaryDirectory(prefix="ace-warm-")
            return until_the_end.enter_context(_server(until_the_end.enter_context(folder)))

        def command(*arguments: str) -> list[str]:
            return [sys.executable, "-IS", str(_HERE / "warm_client.py"), path(), *arguments]

        yield command


@contextmanager
def _server(folder: str) -> Generator[str]:
    """Run a server until the block ends; give the path of its socket."""
    path = f"{folder}/socket"
    started = subprocess.Popen(
        [sys.executable, "-P", str(_HERE / "warm_server.py"), path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for pytest
    )
    with started as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n", "it said what is wrong"
        yield path
