"""`warm_python`: processes of their own that need not import everything once more.

`warm_python("-m", "some.module", "argument")` is a command, for whatever starts processes. It starts in some
milliseconds what takes a cold Python two seconds, for it is forked from one that has imported nearly all
(see `warm_server`). With ACE_TEST_LONG=1 it is `[sys.executable, ...]`: a cold start for all of them.

A test that kills the process from outside or sets its limits needs `cold_python`: what the test starts here
only stands in for the process.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Protocol

import pytest

from tests.plugins.sizes import LONG

BYTECODE = {name: value for name, value in os.environ.items() if name == "PYTHONPYCACHEPREFIX"}
"""What a process in an environment of its own needs, or it compiles all that it imports."""

_HERE = Path(__file__).resolve().parent


class WarmPython(Protocol):
    """Makes the command of a Python with these arguments: `-c CODE ...` or `-m MODULE ...`."""

    def __call__(self, *arguments: str) -> list[str]: ...


def cold_python(*arguments: str) -> list[str]:
    """Return the command of a Python that imports everything itself."""
    return [sys.executable, *arguments]


@pytest.fixture(scope="session")
def warm_python(testrun_uid: str) -> WarmPython:
    """Makes commands of Python that start at once; the first one waits until there is something to fork."""
    return cold_python if LONG else partial(_warm_command, testrun_uid)


def _warm_command(run: str, *arguments: str) -> list[str]:
    return [sys.executable, "-IS", str(_HERE / "warm_client.py"), _socket(run), *arguments]


@cache
def _socket(run: str) -> str:
    """Return the socket of the run's server, which all workers share; the first one starts it."""
    folder = Path(tempfile.gettempdir()) / f"ace-warm-{run}"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "socket"
    owner = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            server = [sys.executable, "-P", str(_HERE / "warm_server.py"), str(path), str(owner)]
            subprocess.run(server, check=True, stdin=subprocess.DEVNULL, start_new_session=True)
    return str(path)
