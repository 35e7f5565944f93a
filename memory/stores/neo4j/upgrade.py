"""States of versions before migration 0010 become a base and what follows, one by one, under their locks.

The migration upgrades all; a state that a process of an older version creates after that is upgraded when it
is met. Whatever a state's own texts hold, the others are upgraded: a text that can't be read stays as it is.
"""

from __future__ import annotations

from secrets import token_hex
from typing import Final, cast

from ace_graph.memory.stores.base_and_tail import (
    StoredBase,
    StoredStamps,
    base_checksum,
    stamps_checksum,
)
from ace_graph.memory.stores.neo4j.rows import base_properties, stamps_properties
from ace_graph.memory.stores.neo4j.runner import Runner, fetch
from ace_graph.memory.stores.stored_form import upgraded_access, upgraded_content, upgraded_stamps

__all__ = ["IN_OLD_FORM", "OLD_FORM", "TAKE", "UPGRADE", "upgrade", "upgrade_locked"]

TAKE: Final = "MATCH (l:AceLock {user_id: $uid}) SET l.seq = l.seq + 1 RETURN l.seq AS seq"

OLD_FORM: Final = """
MATCH (m:AceMemoryState {user_id: $uid}) WHERE m.content_base IS NULL
RETURN m.version AS version, m.memory_json AS memory_json, m.access_json AS access_json,
  coalesce(m.base_version, 0) AS base, m.next_base_version AS next,
  COLLECT { MATCH (m)-[:HAS_CHECKPOINT]->(c) RETURN [c.version, c.memory_json] } AS checkpoints
"""
"""A state as versions before migration 0010 stored it: the content whole."""

UPGRADE: Final = """
MATCH (m:AceMemoryState {user_id: $uid})
SET m += $state
REMOVE m.memory_json, m.checksum, m.base_version, m.next_base_version
WITH m
CALL (m) {
  MATCH (m)-[:HAS_CHECKPOINT]->(old) DETACH DELETE old
}
CALL (m) {
  UNWIND $bases AS base
  CREATE (m)-[:HAS_BASE]->(new:AceBase) SET new = base
}
CREATE (m)-[:HAS_STAMPS]->(s:AceStamps) SET s = $stamps
"""
"""Store it as a base and what follows. Without `base_version` a process of an older version that is still
connected finds nothing to write to, and the small access part has a format that it refuses."""

IN_OLD_FORM: Final = """
MATCH (m:AceMemoryState) WHERE m.content_base IS NULL AND m.epoch IS NOT NULL
RETURN m.user_id AS uid LIMIT 100
"""


async def upgrade(run: Runner, learner: str) -> None:
    """Upgrade a state in the old form. The caller holds the lock."""
    rows = await fetch(run, OLD_FORM, uid=learner)
    if not rows:
        return  # another process was faster
    (row,) = rows
    n, access = int(str(row["version"])), str(row["access_json"])
    checkpoints = cast("list[tuple[int, str]]", row["checkpoints"])
    etag, mark, held = token_hex(16), token_hex(8), dict[int, StoredBase]()
    for version, text in [*checkpoints, (n, str(row["memory_json"] or "{}"))]:
        content, name = upgraded_content(text), etag if version == n else ""
        held[version] = StoredBase(version, name, base_checksum(version, name, content), content)
    stamps = upgraded_stamps(access)
    state = {
        "etag": etag,
        "access_json": upgraded_access(access),
        "access_mark": mark,
        "history_base": row["base"],
        "history_next": row["next"],
        "content_base": n,
        "base_bytes": len(held[n].text.encode("utf-8", "surrogatepass")),
        "effects_bytes": 0,
        "stamps_bytes": len(stamps),
        "touches_bytes": 0,
    }
    await fetch(
        run,
        UPGRADE,
        uid=learner,
        state=state,
        bases=[base_properties(learner, base) for base in held.values()],
        stamps=stamps_properties(learner, StoredStamps(mark, stamps_checksum(mark, stamps), stamps)),
    )


async def upgrade_locked(run: Runner, learner: str) -> None:
    """Take the lock and upgrade a state in the old form."""
    await fetch(run, TAKE, uid=learner)
    await upgrade(run, learner)
