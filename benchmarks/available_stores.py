"""The stores that are compared: one in memory, a new SQLite file, a real PostgreSQL and a real Neo4j.

Neo4j is the server that NEO4J_TEST_URI names (with NEO4J_TEST_PASSWORD), else one of our own, in Docker or
put together from jars, as the tests have it. PostgreSQL is a new database of the server that
POSTGRES_TEST_URI names, else a server made with the programs that are installed. All are gone with their data
afterwards; where one is not to be had, a line says so and the others are compared.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
from neo4j import GraphDatabase

from ace_graph.memory.delta.operations import Delta, Reset, Touch
from ace_graph.memory.policy import Policy
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.neo4j.store import Neo4jStore
from ace_graph.memory.stores.sql.postgres import PostgresStore
from ace_graph.memory.stores.sql.sqlite import SQLiteDatabase, SQLiteStore
from ace_graph.memory.stores.store import Store
from benchmarks.corpus import START, bullets
from tests.plugins.neo4j_process import LocalServer, fetch_jars, kill, start_in_docker, stop_in_docker
from tests.plugins.neo4j_source import VERSIONS, detect_sources
from tests.plugins.postgres_process import LocalPostgres, can_start

__all__ = ["ROOMY", "Neo4jHere", "Place", "Places", "new_postgres", "places", "seeded"]

ROOMY = Policy(max_bullets=100_000)
"""A cap that no benchmark reaches, where it is not the cap that is measured."""

_PATIENT = 120.0
"""Seconds that a server may take to answer, so that a busy machine makes a benchmark slow and not fail."""

_TOUCHES = 5
"""Fewer than a learner's first turns, which are reflected on one by one."""


@dataclass(frozen=True)
class Place:
    """One kind of store, and how to open it. Stores of one place hold the same data, like processes do."""

    name: str
    url: str
    in_memory: SQLiteDatabase = field(default_factory=SQLiteDatabase)

    def open(self, policy: Policy = ROOMY) -> Store:
        """Return a new store on this data."""
        if self.url.startswith("memory"):
            return SQLiteStore(self.in_memory, policy)
        if self.url.startswith("sqlite"):
            return SQLiteStore(self.url.removeprefix("sqlite:///"), policy)
        if self.url.startswith("postgres"):
            return PostgresStore(self.url, policy, timeout=_PATIENT)
        password = os.environ.get("NEO4J_TEST_PASSWORD")
        return Neo4jStore(self.url, username="neo4j", password=password, policy=policy, timeout=_PATIENT)


@dataclass(frozen=True)
class Neo4jHere:
    """A Neo4j server. `restart` kills it and waits until it answers again; None for one that is not ours."""

    uri: str
    restart: Callable[[], None] | None = None


@dataclass(frozen=True)
class Places:
    """All places, the Neo4j server, None where there is none, and names and versions of the servers."""

    all: tuple[Place, ...]
    neo4j: Neo4jHere | None = None
    servers: tuple[str, ...] = ()


async def seeded(store: Store, size: int) -> str:
    """Give a new learner `size` bullets, all of them used before; return its id."""
    learner, made = f"bench-{uuid4()}", bullets(size)
    commit = await store.commit(learner, _delta("seed", Reset(bullets=made)), Snapshot())
    for n in range(_TOUCHES):
        used = tuple(bullet.id for bullet in made[n::_TOUCHES])
        commit = await store.commit(learner, _delta(f"touch-{n}", Touch(bullet_ids=used)), commit.snapshot)
    return learner


def _delta(op_id: str, operation: Reset | Touch) -> Delta:
    return Delta(op_id=op_id, now=START, operations=(operation,), author="benchmark")


@contextmanager
def places() -> Generator[Places]:
    """The places for as long as the block runs."""
    with (
        tempfile.TemporaryDirectory(prefix="ace-bench-") as folder,
        new_postgres(Path(folder)) as postgres,
        _neo4j(Path(folder)) as neo4j,
    ):
        found = [Place("memory", "memory://"), Place("SQLite", f"sqlite:///{folder}/bench.db")]
        servers = list[str]()
        if postgres is not None:
            found.append(Place("PostgreSQL", postgres))
            servers.append(_postgres_version(postgres))
        if neo4j is not None:
            found.append(Place("Neo4j", neo4j.uri))
            servers.append(_neo4j_version(neo4j.uri))
        yield Places(tuple(found), neo4j, tuple(servers))


@contextmanager
def new_postgres(folder: Path) -> Generator[str | None]:
    """The URL of a new PostgreSQL database, for as long as the block runs; None where there is none."""
    given = os.environ.get("POSTGRES_TEST_URI")
    if given is not None:
        with _database(given) as url:
            yield url
    elif can_start():
        folder.chmod(0o711)  # the server is another user, where this one is root
        server = LocalPostgres(folder=folder)
        try:
            server.start()
            yield server.url
        finally:
            server.remove()
    else:
        _tell("No PostgreSQL: set POSTGRES_TEST_URI, or install its programs (apt install postgresql).")
        yield None


@contextmanager
def _database(server: str) -> Generator[str]:
    name = f"ace_bench_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'".encode())
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def _neo4j(folder: Path) -> Generator[Neo4jHere | None]:
    means, version, name = detect_sources(), VERSIONS[0], f"ace-bench-{uuid4().hex[:8]}"
    if means.uri is not None:
        yield Neo4jHere(means.uri)
    elif means.docker:
        try:
            yield Neo4jHere(start_in_docker(name))
        finally:
            stop_in_docker(name)
    elif means.can_serve(version):
        fetch_jars(version, _tell)
        server = LocalServer(version, means.javas[version], folder / "neo4j")
        try:
            server.start()
            yield Neo4jHere(server.uri, lambda: _restart(server))
        finally:
            if server.pid:
                kill(server.pid)
            shutil.rmtree(server.home, ignore_errors=True)
    else:
        _tell("No Neo4j: set NEO4J_TEST_URI, start Docker, or install Java 17 or 21 and Maven.")
        yield None


def _restart(server: LocalServer) -> None:
    server.kill()
    server.start()


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _neo4j_version(uri: str) -> str:
    password = os.environ.get("NEO4J_TEST_PASSWORD")
    with GraphDatabase.driver(uri, auth=("neo4j", password) if password else None) as driver:
        return str(driver.get_server_info().agent).replace("/", " ")


def _postgres_version(url: str) -> str:
    with psycopg.connect(url) as connection:
        return f"PostgreSQL {connection.info.parameter_status('server_version')}".partition(" (")[0]
