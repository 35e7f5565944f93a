"""A real PostgreSQL for the tests that ask for one: started once per run and shared by all workers.

It is the server that POSTGRES_TEST_URI names, as a user who may create databases, or one of the programs that
are installed here. Where there is neither, the tests that need one are deselected, and a line says why;
ACE_REQUIRE_POSTGRES=1 makes that a failure. `postgres` is the URL of a database of the test module's own,
`own_postgres` makes servers for one test alone, to be killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, cast
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pytest

from tests.plugins.postgres_process import LocalPostgres, can_start, kill_postgres

__all__ = ["AVAILABLE", "OwnPostgres"]

OwnPostgres = Callable[..., LocalPostgres]

REQUIRED = "ACE_REQUIRE_POSTGRES"
_GIVEN = os.environ.get("POSTGRES_TEST_URI") or None
AVAILABLE = _GIVEN is not None or can_start()
_NONE_HERE = (
    "no PostgreSQL for the tests: set POSTGRES_TEST_URI, or install its programs (apt install postgresql)"
)
_FIXTURES = frozenset({"postgres", "empty_postgres", "own_postgres"})
_FOLDER = pytest.StashKey[Path]()
_RUN_PID = pytest.StashKey[int]()
_LEFT_OUT = pytest.StashKey[int]()


class _Worker(Protocol):
    """What this plugin needs of an xdist worker, as its controller sees it."""

    config: pytest.Config
    workerinput: dict[str, object]


def pytest_configure(config: pytest.Config) -> None:
    given = cast("dict[str, str] | None", getattr(config, "workerinput", None))
    folder = given["postgres_folder"] if given else tempfile.mkdtemp(prefix="ace-postgres-run-")
    config.stash[_FOLDER] = Path(folder)
    config.stash[_RUN_PID] = int(given["postgres_run_pid"]) if given else os.getpid()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: _Worker) -> None:
    node.workerinput["postgres_folder"] = str(node.config.stash[_FOLDER])
    node.workerinput["postgres_run_pid"] = str(node.config.stash[_RUN_PID])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if AVAILABLE:
        return
    left_out = [item for item in items if _FIXTURES.intersection(getattr(item, "fixturenames", ()))]
    if not left_out:
        return
    if os.environ.get(REQUIRED) == "1":
        raise pytest.UsageError(f"{REQUIRED}=1, but there is {_NONE_HERE}")
    config.stash[_LEFT_OUT] = len(left_out)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = config.stash.get(_LEFT_OUT, 0)
    if left_out:
        terminalreporter.write_line(f"{left_out} deselected: {_NONE_HERE}", yellow=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or _FOLDER not in config.stash:
        return
    for started in config.stash[_FOLDER].glob("*.json"):
        server = json.loads(started.read_text())
        if server["pid"]:
            kill_postgres(server["pid"])
            shutil.rmtree(server["home"], ignore_errors=True)
    shutil.rmtree(config.stash[_FOLDER], ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> str:
    """The URL of the server that all tests share."""
    if _GIVEN is not None:
        return _GIVEN
    folder = pytestconfig.stash[_FOLDER]
    note = folder / "server.json"
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not note.exists():
            server = LocalPostgres(owner=pytestconfig.stash[_RUN_PID])
            server.start()
            note.write_text(json.dumps({"url": server.url, "pid": server.pid, "home": str(server.home)}))
    return str(json.loads(note.read_text())["url"])


@pytest.fixture(scope="module")
def postgres(postgres_server: str) -> Iterator[str]:
    """The URL of a new database, for the tests of one module."""
    with _database(postgres_server) as url:
        yield url


@pytest.fixture
def empty_postgres(postgres_server: str) -> Iterator[str]:
    """The URL of a new database, for one test."""
    with _database(postgres_server) as url:
        yield url


@contextmanager
def _database(server: str) -> Generator[str]:
    import psycopg

    name = f"ace_test_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'".encode())
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def own_postgres() -> Iterator[OwnPostgres]:
    """Makes servers for this test alone: `own_postgres(password="...").start()`."""
    made: list[LocalPostgres] = []

    def make(*, password: str = "") -> LocalPostgres:
        made.append(LocalPostgres(password=password))
        return made[-1]

    yield make
    for server in made:
        server.remove()
