"""A Neo4j server of our own: started, killed, started again, and never left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.plugins.neo4j_source import jars_folder
from tests.plugins.sizes import PATIENT

RECIPE = Path(__file__).resolve().parents[2] / "dev" / "neo4j"
IMAGE = "neo4j:5.26-community"
# A server that lives for a minute spends half of its time on compiling what it will hardly use. Its code
# needs more than the 48 MB that one compiler gets, or it is thrown away and compiled again.
_QUICK_START = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=128m"
# A plan is made once, not again after its tenth use, nor every ten seconds because the database has grown.
_PLANNED_ONCE = """
internal.cypher.expression_engine=INTERPRETED
dbms.cypher.min_replan_interval=1h
internal.cypher.use_parameter_size=false
"""
# Outlives a test run that was killed, and ends its server.
_WATCH = """
(while kill -0 "$1"; do sleep 1; done; kill -9 "$2"; rm -rf "$3") </dev/null >/dev/null 2>&1 &
"""


def fetch_jars(version: str, write_line: Callable[[str], None]) -> Path:
    """Return the folder with the server's jars, fetched with Maven where they are missing.

    Raises RuntimeError with the end of what Maven said.
    """
    if not (jars_folder(version) / f"neo4j-server-{version}.jar").exists():
        write_line(f"Fetching Neo4j {version} with Maven: 123 MB, once ...")
    done = _bash(RECIPE / "get.sh", version)
    return Path(done.strip().splitlines()[-1])


class LocalServer:
    """A server put together from jars; its data is in `home`, on a port that stays the same.

    It does not outlive the process `owner`, by default this one.
    """

    def __init__(
        self, version: str, java_home: str, home: Path, *, auth: bool = False, owner: int | None = None
    ) -> None:
        self._owner = owner or os.getpid()
        self.version = version
        self.home = home
        self.port = int(_run(_bolt_port("free")))
        self.pid = 0
        self._environment = {
            **os.environ,
            "JAVA_HOME": java_home,
            "PYTHON": sys.executable,
            "NEO4J_AUTH_ENABLED": "true" if auth else "false",
            "SETTINGS": _PLANNED_ONCE,
            "START_SECONDS": str(int(PATIENT)),
            "JAVA_TOOL_OPTIONS": f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {_QUICK_START}",
        }

    @property
    def uri(self) -> str:
        return f"bolt://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until Bolt answers. Raises RuntimeError with the end of its logs."""
        told = _bash(
            RECIPE / "start.sh",
            str(jars_folder(self.version)),
            str(self.home),
            str(self.port),
            env=self._environment,
        )
        self.pid = int(told.rpartition("NEO4J_PID=")[2])
        _run(["sh", "-c", _WATCH, "watch", str(self._owner), str(self.pid), str(self.home)])

    def kill(self) -> None:
        """End it as a power cut would, and wait until its port is free."""
        kill(self.pid)
        while _run_ok(_bolt_port("answers", str(self.port))):
            time.sleep(0.05)


def kill(pid: int) -> None:
    """Send SIGKILL, unless it is gone already."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def start_in_docker(name: str) -> str:
    """Start a throw-away container on a free port and return the address of its Bolt."""
    publish = ["--publish", "127.0.0.1::7687", "--env", "NEO4J_AUTH=none"]
    _run(["docker", "run", "--detach", "--rm", "--name", name, *publish, IMAGE])
    port = _run(["docker", "port", name, "7687/tcp"]).strip().rpartition(":")[2]
    deadline = time.monotonic() + PATIENT
    while not _run_ok(_bolt_port("answers", port)):
        if time.monotonic() > deadline:
            raise RuntimeError(f"Neo4j in Docker did not answer: {_run(['docker', 'logs', name])[-2000:]}")
        time.sleep(0.5)
    return f"bolt://127.0.0.1:{port}"


def stop_in_docker(name: str) -> None:
    """Remove the container, if there is one."""
    if shutil.which("docker"):
        subprocess.run(["docker", "rm", "--force", name], capture_output=True, check=False)


def _bolt_port(*arguments: str) -> list[str]:
    """Return the command, in a Python that loads no site: it is run again and again."""
    return [sys.executable, "-IS", str(RECIPE / "bolt_port.py"), *arguments]


def _bash(script: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    return _run(["bash", str(script), *arguments], env)


def _run(command: list[str], env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise RuntimeError(f"{Path(command[-1]).name} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def _run_ok(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
