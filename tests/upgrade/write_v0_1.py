"""Writes tests/upgrade/data/v0_1 with the code of version 0.1, which was commit fb9e8e6.

    git worktree add ../v01 fb9e8e6
    dev/neo4j/start.sh "$(dev/neo4j/get.sh)" ../v01-neo4j 7701       # an empty Neo4j of its own
    PYTHONPATH=../v01:. python -P -m tests.upgrade.write_v0_1 tests/upgrade/data/v0_1 bolt://127.0.0.1:7701

The data is kept as it is: a later version reads what 0.1 wrote, so nothing of it is ever written again. It is
made of:

    memory.db                 the SQLite store, by story_v0_1.py and served_v0_1.py
    memory-conversations.db   what the web backend kept beside it
    neo4j.cypher              the same story in Neo4j, but for what was served
    exports/                  `playbook export` in every format, and `learner export` of both stores
    said_sqlite.json          what 0.1 says is in the store: versions, figures, turns, pending work
    said_neo4j.json           the same of the Neo4j
    imported.json             the bullets that 0.1 reads from its own exports
    reader.zip                the modules of 0.1 that read these exports (not written by this program)

Does not: hold a test.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from neo4j import GraphDatabase

import ace_graph
from ace_graph import apply, open_store
from tests.upgrade.cypher import script_of
from tests.upgrade.figures import figures
from tests.upgrade.served_v0_1 import serve_some
from tests.upgrade.story_v0_1 import ADA, BJOERN, LEARNERS, ace, ada, bjoern, cleo

FORMATS = {
    "json": "json",
    "text": "txt",
    "ace": "ace.txt",
    "ace-plain": "ace-plain.txt",
    "kayba": "kayba.json",
    "kayba-v1": "kayba-v1.json",
    "lmb": "lmb.json",
}
Json = dict[str, object]


def main(folder: Path, neo4j: str) -> None:
    """Write everything."""
    here, code = Path(__file__).resolve().parents[2], Path(ace_graph.__file__).resolve()
    assert not code.is_relative_to(here), f"this is the code of {here}: set PYTHONPATH to that of 0.1"
    (folder / "exports").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        _sqlite(Path(made) / "memory.db", folder)
    _neo4j(neo4j, folder)


def _sqlite(file: Path, folder: Path) -> None:
    url = f"sqlite:///{file}"
    asyncio.run(_story(url))
    serve_some(url)
    _write(folder / "said_sqlite.json", asyncio.run(_said(url)))
    _export_learners(url, folder / "exports", "sqlite")
    imported = Json()
    for name, suffix in FORMATS.items():
        exported = folder / "exports" / f"ada.{suffix}"
        exported.write_text(ace(url, "playbook", "export", "--learner", ADA, "--format", name), "utf-8")
        copy = f"sqlite:///{file.with_name(name)}.db"
        ace(copy, "playbook", "import", str(exported), "--learner", ADA)
        imported[exported.name] = json.loads(
            ace(copy, "playbook", "show", "--all", "--json", "--learner", ADA)
        )
    own = folder / "exports" / f"{_plain(BJOERN)}.json"
    own.write_text(ace(url, "playbook", "export", "--learner", BJOERN), "utf-8")
    _write(folder / "imported.json", imported)
    for database in (file, file.with_name("memory-conversations.db")):
        _compact(database)
        shutil.copyfile(database, folder / database.name)


def _neo4j(url: str, folder: Path) -> None:
    """The host has a node of its own for ada; her bullets are drawn as nodes, too."""
    with GraphDatabase.driver(url) as driver, driver.session() as session:
        assert not session.run("MATCH (n) RETURN count(n) AS n").single(strict=True)["n"], "it is not empty"
        session.run("CREATE (:User {id: $id, email: 'ada@example.org'})-[:IN]->(:Class {name: '7b'})", id=ADA)
        asyncio.run(_story(url))
        ace(url, "neo4j", "project", "--learner", ADA)
        _write(folder / "said_neo4j.json", asyncio.run(_said(url)))
        _export_learners(url, folder / "exports", "neo4j", ACE_CONVERSATIONS="/nowhere")
        (folder / "neo4j.cypher").write_text("".join(script_of(session)), "utf-8")


def _export_learners(url: str, folder: Path, kind: str, **environment: str) -> None:
    for learner in LEARNERS:
        exported = ace(url, "learner", "export", learner, **environment)
        (folder / f"{_plain(learner)}.{kind}.learner.json").write_text(exported, "utf-8")


async def _story(url: str) -> None:
    for learner in (ada, bjoern, cleo):
        await learner(url)


async def _said(url: str) -> Json:
    """What the library and the command line say of every learner."""
    return {learner: await _said_of(url, learner) for learner in LEARNERS}


async def _said_of(url: str, learner: str) -> Json:
    store = open_store(url)
    async with store:
        snapshot, history = await store.load(learner), await store.history(learner)
        turns = await store.turns(learner, 1_000)
        pending = await store.list_pending(learner)
    folded = history.base
    versions = {history.base_n: figures(folded.bullets())}
    for entry in history.entries:
        assert entry.effect is not None
        folded = apply(folded, entry.effect)
        versions[entry.n] = figures(folded.bullets())
    assert folded == snapshot.playbook
    commands = {name: ("playbook", name, "--json", "--learner", learner) for name in ("stats", "history")}
    return {
        "version": snapshot.version.n,
        "access_clock": snapshot.access.access_clock,
        "stamps": dict(snapshot.access.stamps),
        "versions": versions,
        "turns": [turn.turn_id for turn in turns],
        "pending": [[item.pending_id, item.turn_id, item.state] for item in pending],
        **{name: json.loads(ace(url, *command)) for name, command in commands.items()},
    }


def _compact(database: Path) -> None:
    """Make the file as small as it can be, with no log beside it."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not database.with_name(f"{database.name}-wal").exists()


def _plain(learner: str) -> str:
    return learner.replace("ö", "oe")


def _write(file: Path, content: Json) -> None:
    """A line for each thing, so that differences can be read."""
    file.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
