"""A real Neo4j for the tests that ask for one: started once per run, shared by all workers, then stopped.

`neo4j` is that server: the oldest version that is supported and, with ACE_TEST_EVERY_NEO4J=1, the newest,
too; heavy tests have that with ACE_TEST_LONG=1 only. A version that this machine can't run is deselected.
Where it can run none, the tests are skipped and say why. `locked_neo4j` is one that asks for a password, and
is shared, too. `own_neo4j` makes servers for one test alone, to be killed. Tests share a server and a
database, so each uses a learner id of its own (`learner`).

The database is not cleaned; the folder it lives in is thrown away.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, cast
from uuid import uuid4

import pytest
from _pytest.capture import CaptureManager

from tests.plugins.neo4j_process import LocalServer, fetch_jars, kill, start_in_docker, stop_in_docker
from tests.plugins.neo4j_source import VERSIONS, Neo4jSources, detect_sources
from tests.plugins.sizes import LONG

SHARED = ("neo4j", "locked_neo4j")
FIXTURES = (*SHARED, "own_neo4j")
NONE_HERE = (
    "no Neo4j for the tests: set NEO4J_TEST_URI, start Docker, or install Java 17 or newer and Maven "
    "(ACE_SKIP_NEO4J=1 leaves these tests out)"
)
SOURCES = pytest.StashKey[Neo4jSources]()
FOLDER = pytest.StashKey[Path]()
RUN_PID = pytest.StashKey[int]()

EVERY_VERSION = "ACE_TEST_EVERY_NEO4J" in os.environ

WriteLine = Callable[[str], None]
Start = Callable[[pytest.Config, str], dict[str, object]]
OwnNeo4j = Callable[[], LocalServer]


@dataclass(frozen=True)
class Neo4jServer:
    """Where the shared server is. `pid` is 0 for one that was not assembled here."""

    uri: str
    username: str | None = None
    password: str | None = None
    database: str | None = None
    pid: int = 0


class _Worker(Protocol):
    """What this plugin needs of an xdist worker, as its controller sees it."""

    config: pytest.Config
    workerinput: dict[str, object]


def pytest_configure(config: pytest.Config) -> None:
    given = cast("dict[str, str] | None", getattr(config, "workerinput", None))
    if given is None:
        config.stash[SOURCES] = detect_sources()
        config.stash[FOLDER] = Path(tempfile.mkdtemp(prefix="ace-neo4j-"))
        config.stash[RUN_PID] = os.getpid()
    else:
        config.stash[SOURCES] = Neo4jSources(**json.loads(given["neo4j_sources"]))
        config.stash[FOLDER] = Path(given["neo4j_folder"])
        config.stash[RUN_PID] = int(given["neo4j_run_pid"])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: _Worker) -> None:
    config = node.config
    node.workerinput["neo4j_sources"] = json.dumps(asdict(config.stash[SOURCES]))
    node.workerinput["neo4j_folder"] = str(config.stash[FOLDER])
    node.workerinput["neo4j_run_pid"] = str(config.stash[RUN_PID])


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or FOLDER not in config.stash:
        return
    folder = config.stash[FOLDER]
    for started in folder.glob("*.json"):
        server = json.loads(started.read_text())
        if server.get("pid"):
            kill(server["pid"])
    if config.stash[SOURCES].docker:
        stop_in_docker(folder.name)
    shutil.rmtree(folder, ignore_errors=True)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given = {str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize")}
    slow = metafunc.definition.get_closest_marker("slow") is not None
    versions = VERSIONS if LONG or (EVERY_VERSION and not slow) else VERSIONS[:1]
    for name in FIXTURES:
        if name in metafunc.fixturenames and name not in given:
            metafunc.parametrize(name, versions, indirect=True, scope="session" if name in SHARED else None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = {item for item in items if not _runs(config, item)}
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=list(left_out))


def _runs(config: pytest.Config, item: pytest.Item) -> bool:
    names = set(getattr(item, "fixturenames", ())).intersection(FIXTURES)
    if not names:
        return True
    item.add_marker("neo4j")
    sources: Neo4jSources = config.stash[SOURCES]
    version = str(cast("pytest.Function", item).callspec.params[names.pop()])
    if version != VERSIONS[0] and item.get_closest_marker("heavy") is not None and not LONG:
        return False
    if {"locked_neo4j", "own_neo4j"}.intersection(getattr(item, "fixturenames", ())):
        return sources.can_assemble(version)
    return version == VERSIONS[0] or sources.can_serve(version)


@pytest.fixture(scope="session")
def neo4j(request: pytest.FixtureRequest) -> Neo4jServer:
    """The server that all tests of this version share."""
    return _shared(request.config, request.param, request.param, _found)


@pytest.fixture(scope="session")
def locked_neo4j(request: pytest.FixtureRequest) -> Neo4jServer:
    """The one that asks for a password. One test sets it; for the others it is unknown."""
    return _shared(request.config, f"{request.param}-locked", request.param, _locked)


@pytest.fixture
def own_neo4j(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OwnNeo4j]:
    """Makes servers for this test alone: `own_neo4j().start()`."""
    version: str = request.param
    sources = request.config.stash[SOURCES]
    made: list[LocalServer] = []

    def make() -> LocalServer:
        with _file_lock(request.config.stash[FOLDER] / "jars.lock"):
            fetch_jars(version, _line_writer(request.config))
        made.append(LocalServer(version, sources.javas[version], tmp_path / f"neo4j-{len(made)}"))
        return made[-1]

    yield make
    for server in made:
        if server.pid:
            kill(server.pid)


@pytest.fixture
def learner() -> str:
    """A learner id that nobody used before."""
    return f"learner-{uuid4()}"


def _shared(config: pytest.Config, name: str, version: str, start: Start) -> Neo4jServer:
    """Return the server of that name; the first worker that asks starts it."""
    folder = config.stash[FOLDER]
    note = folder / f"{name}.json"
    with _file_lock(folder / f"{name}.lock"):
        if not note.exists():
            note.write_text(json.dumps(_started(config, version, start)))
    found = json.loads(note.read_text())
    if "error" in found:
        pytest.skip(found["error"])
    return Neo4jServer(**found)


def _started(config: pytest.Config, version: str, start: Start) -> dict[str, object]:
    try:
        return start(config, version)
    except RuntimeError as error:
        return {"error": f"Neo4j {version} did not start: {error}"}


def _found(config: pytest.Config, version: str) -> dict[str, object]:
    sources = config.stash[SOURCES]
    if sources.uri is not None:
        return {"uri": sources.uri, **_login()}
    if version == VERSIONS[0] and sources.docker:
        return {"uri": start_in_docker(config.stash[FOLDER].name)}
    if not sources.can_serve(version):
        return {"error": NONE_HERE}
    return _assembled(config, version, config.stash[FOLDER] / version)


def _locked(config: pytest.Config, version: str) -> dict[str, object]:
    return _assembled(config, version, config.stash[FOLDER] / f"{version}-locked", auth=True)


def _assembled(config: pytest.Config, version: str, home: Path, *, auth: bool = False) -> dict[str, object]:
    with _file_lock(config.stash[FOLDER] / "jars.lock"):
        fetch_jars(version, _line_writer(config))
    java = config.stash[SOURCES].javas[version]
    server = LocalServer(version, java, home, auth=auth, owner=config.stash[RUN_PID])
    server.start()
    return {"uri": server.uri, "pid": server.pid}


def _login() -> dict[str, object]:
    password = os.environ.get("NEO4J_TEST_PASSWORD")
    return {"username": "neo4j", "password": password} if password else {}


def _line_writer(config: pytest.Config) -> WriteLine:
    """Return what writes a line for the person who waits, past pytest's capturing."""

    def write_line(line: str) -> None:
        capture = cast("CaptureManager | None", config.pluginmanager.getplugin("capturemanager"))
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            sys.stderr.write(f"\n{line}\n")

    return write_line


@contextmanager
def _file_lock(path: Path) -> Generator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
