"""The tables of the SQL store: one schema, made at the first call, the same for SQLite and PostgreSQL.

Any number of processes can start at once: the one with the lock makes the tables, the others find them. A
database with another schema is refused as it is.

Every key begins with the learner (in the tables of playbooks, with the playbook), and no row refers to
another's place in the database. So PostgreSQL can partition the tables by it, or Citus distribute them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files

from ace_graph.base.errors import OtherSchema
from ace_graph.memory.stores.base import other_schema
from ace_graph.memory.stores.sql.database import Tables
from ace_graph.memory.stores.sql.state import of_playbooks

SCHEMA = "2"

_TEXT = files("ace_graph.memory.stores.sql").joinpath("schema.sql").read_text("utf-8")
_LINES = (line for line in _TEXT.splitlines(keepends=True) if not line.startswith("--"))
_STATEMENTS = tuple("".join(_LINES).strip().removesuffix(";").split(";\n"))
_TABLE = re.compile(r"\s*CREATE TABLE (\w+) \((\s*user_id\b)?")
_MADE = "ace_memory_schema"
_OLDER = "ace_migrations"
"""The table in which schemas of before this one named their steps."""

_FOUND = tuple(match for each in _STATEMENTS if (match := _TABLE.match(each)) and match[1] != _MADE)
TABLES = tuple(dict.fromkeys(name for match in _FOUND for name in (match[1], of_playbooks(match[1]))))
"""The names of all tables, but for that of the schema."""


async def make_schema(tables: Tables, partitions: int = 0) -> None:
    """Make the tables where there are none; where they are there, nothing is locked or written.

    Tables of learners and playbooks get so many `partitions`. Raises OtherSchema, StoreError for a database
    that can't hold every text, and the driver's errors.
    """
    if await _is_made(tables):
        return
    async with tables.writing():
        await tables.begin_schema()
        if await _is_made(tables):
            return
        for statement in _statements(partitions):
            await tables.change(statement)
        await tables.change(
            "INSERT INTO ace_memory_schema VALUES (?, ?)", (SCHEMA, datetime.now(UTC).isoformat())
        )


async def _is_made(tables: Tables) -> bool:
    """Whether the tables are there. Raises OtherSchema."""
    held = {name for (name,) in await tables.fetch(tables.named_tables, (["ace_memory_schema", _OLDER],))}
    if not held:
        return False
    made = (
        "older" if _OLDER in held else (await tables.fetch("SELECT max(name) FROM ace_memory_schema"))[0][0]
    )
    if made != SCHEMA:
        raise OtherSchema(other_schema(made, SCHEMA))
    return True


def _statements(partitions: int) -> Iterator[str]:
    for statement in _STATEMENTS:
        table = _TABLE.match(statement)
        made = (
            _partitioned(statement, table[1], partitions)
            if partitions and table and table[2]
            else [statement]
        )
        for each in made:
            yield from dict.fromkeys((each, of_playbooks(each)))


def _partitioned(statement: str, name: str, partitions: int) -> Iterator[str]:
    yield f"{statement} PARTITION BY HASH (user_id)"
    for part in range(partitions):
        yield (
            f"CREATE TABLE {name}_{part} PARTITION OF {name} "
            f"FOR VALUES WITH (MODULUS {partitions}, REMAINDER {part})"
        )
