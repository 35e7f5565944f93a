"""A PostgreSQL server of our own: started, killed, started again, and never left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from glob import glob
from pathlib import Path

__all__ = ["LocalPostgres", "can_start", "kill_postgres"]

_START = Path(__file__).resolve().parents[2] / "dev" / "postgres" / "start.sh"
_PLACES = (
    "/usr/lib/postgresql/*/bin/initdb",
    "/usr/pgsql-*/bin/initdb",
    "/opt/homebrew/opt/postgresql*/bin/initdb",
)
_OPTIONS = "-c max_connections=200 -c dynamic_shared_memory_type=mmap"
# Outlives a test run that was killed, and ends its server.
_WATCH = """
(while kill -0 "$1"; do sleep 1; done; kill -QUIT "$2"; sleep 1; rm -rf "$3") </dev/null >/dev/null 2>&1 &
"""


def can_start() -> bool:
    """Whether this machine has the programs."""
    return shutil.which("initdb") is not None or any(glob(place) for place in _PLACES)


class LocalPostgres:
    """A server on a port that stays the same.

    With a `folder` its data are there, and what is committed survives a power cut, as in use. It does not
    outlive the process `owner`, by default this one.
    """

    def __init__(self, *, password: str = "", owner: int | None = None, folder: Path | None = None) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="ace-postgres-", dir=folder))
        self.port = 0
        self.pid = 0
        self._owner = owner or os.getpid()
        # What tests write need not survive a power cut; that a server is killed, it survives anyway.
        options = _OPTIONS if folder is not None else f"{_OPTIONS} -c fsync=off"
        self._environment = {**os.environ, "POSTGRES_OPTIONS": options, "POSTGRES_PASSWORD": password}

    @property
    def url(self) -> str:
        """The URL of the database `postgres`, as the superuser `ace`, without a password."""
        return f"postgresql://ace@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it and wait until it answers. Raises RuntimeError with the end of its log."""
        command = ["bash", str(_START), str(self.home), str(self.port)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=self._environment)
        if done.returncode:
            raise RuntimeError(f"PostgreSQL did not start: {done.stderr.strip()[-2000:]}")
        told = dict(line.split("=", 1) for line in done.stdout.split())
        self.pid = int(told["POSTGRES_PID"])
        self.port = int(told["POSTGRES_URI"].rpartition(":")[2].partition("/")[0])
        watch = ["sh", "-c", _WATCH, "watch", str(self._owner), str(self.pid), str(self.home)]
        subprocess.run(watch, check=True)

    def kill(self) -> None:
        """End it and all of its processes as a power cut would."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        pids = [*map(int, children.read_text().split())] if children.exists() else []
        for pid in (self.pid, *pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while any(map(_is_alive, (self.pid, *pids))):
            time.sleep(0.02)
        # A container may have nobody who takes notice of a dead process: to PostgreSQL it looks alive.
        for left in (self.home / "data" / "postmaster.pid", *self.home.glob(".s.PGSQL.*")):
            left.unlink(missing_ok=True)

    def remove(self) -> None:
        """End it for good."""
        kill_postgres(self.pid)
        shutil.rmtree(self.home, ignore_errors=True)


def kill_postgres(pid: int) -> None:
    """End a server and the processes it has started, unless it is gone already."""
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGQUIT)


def _is_alive(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"
