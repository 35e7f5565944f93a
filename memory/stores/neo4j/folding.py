"""Folding on Neo4j: a base, or stamps, in place of what came after the earlier ones. With the Cypher for it.

A commit is one statement in one round trip, so it does not know whether a fold is due until it is done. The
fold is a transaction of its own after it, under the lock, which first checks the chain. If it fails, or the
process ends before it, the next commit finds it due.
"""

from __future__ import annotations

from typing import Final

from ace_graph.memory.snapshot import Version
from ace_graph.memory.stores.base_and_tail import (
    EMPTY_BASE,
    NO_STAMPS,
    Folding,
    StoredEffect,
    check_chain,
    check_touches,
)
from ace_graph.memory.stores.neo4j.queries import STATE
from ace_graph.memory.stores.neo4j.rows import Parts, Reply, base_properties, stamps_properties
from ace_graph.memory.stores.neo4j.runner import Runner, fetch
from ace_graph.memory.stores.serialized_plan import SerializedPlan

__all__ = ["FOLD_ACCESS", "FOLD_CONTENT", "LINKS", "due", "fold"]

LINKS: Final = f"""
MATCH (l:AceLock {{user_id: $uid}})
SET l.seq = l.seq + 1
WITH l
MATCH (m:AceMemoryState {{user_id: $uid}}) WHERE l.seq IS NOT NULL
RETURN l.seq AS seq, {STATE}, {{
  follows: false,
  base: head(COLLECT {{
    MATCH (m)-[:HAS_BASE]->(b:AceBase) WHERE b.version = m.content_base RETURN [b.version, b.etag, 0, '']
  }}),
  effects: COLLECT {{
    MATCH (d:AceDelta) WHERE d.user_id = m.user_id AND d.content_version > m.content_base
    RETURN [d.content_version, d.parent, d.etag, CASE WHEN d.effect_json IS NULL THEN null ELSE '' END]
    ORDER BY d.content_version
  }},
  used: false,
  stamps: head(COLLECT {{ MATCH (m)-[:HAS_STAMPS]->(s:AceStamps) RETURN [s.mark, 0, ''] }}),
  touches: COLLECT {{
    MATCH (t:AceTouch) WHERE t.user_id = m.user_id AND t.clock >= 0
    RETURN [t.parent, t.mark, ''] ORDER BY t.clock
  }}
}} AS parts
"""
"""Take the lock, and read how the parts of the state follow each other, without their texts."""

FOLD_CONTENT: Final = """
MATCH (m:AceMemoryState {user_id: $uid})
CREATE (m)-[:HAS_BASE]->(new:AceBase) SET new = $base
SET m.history_base = $history_base, m.history_next = $history_next, m.base_bytes = $base_bytes,
  m.effects_bytes = reduce(total = 0, each IN COLLECT {
    MATCH (d:AceDelta) WHERE d.user_id = m.user_id AND d.content_version > $base.version
    RETURN d.effect_bytes
  } | total + each)
WITH m, m.content_base AS before
SET m.content_base = $base.version
WITH m, before
CALL (m, before) {
  MATCH (m)-[:HAS_BASE]->(old:AceBase)
  WHERE NOT old.version IN [$history_base, coalesce($history_next, -1), m.content_base]
    AND (old.version = before OR ($moved AND old.version < $history_base))
  DETACH DELETE old
}
CALL (m) {
  MATCH (m)-[:HAS_DELTA]->(d:AceDelta)
  WHERE $moved AND d.content AND d.version <= $history_base AND d.effect_json IS NOT NULL
  REMOVE d.effect_json
}
"""
"""Store a base, move the marks of the history, and delete what nothing needs any more. Keys and reports
are kept. The caller holds the lock."""

FOLD_ACCESS: Final = """
MATCH (m:AceMemoryState {user_id: $uid})
CALL (m) {
  MATCH (m)-[:HAS_STAMPS]->(old:AceStamps) DETACH DELETE old
}
CALL (m) {
  MATCH (m)-[:HAS_TOUCH]->(t:AceTouch) WHERE t.clock <= $clock DETACH DELETE t
}
CREATE (m)-[:HAS_STAMPS]->(new:AceStamps) SET new = $stamps
SET m.stamps_bytes = $stamps_bytes, m.touches_bytes = reduce(total = 0, each IN COLLECT {
  MATCH (m)-[:HAS_TOUCH]->(t:AceTouch) RETURN t.touches_bytes
} | total + each)
"""
"""Store the stamps at a commit in place of the earlier ones and the touches up to it, under the lock."""


def due(serialized: SerializedPlan, reply: Reply) -> Folding:
    """Return what to fold after the commit of a plan, of which `reply` is the state."""
    folds = serialized.folding_after(reply.head())
    return Folding(
        folds.marks,
        content=folds.content and serialized.plan.snapshot.version.n > (reply.content_base or 0),
        access=folds.access and serialized.plan.touches is not None,
    )


async def fold(run: Runner, learner: str, serialized: SerializedPlan) -> None:
    """Fold what is due still, now that the lock is held. Raises IncompleteState."""
    rows = await fetch(run, LINKS, uid=learner)
    if not rows:
        return
    reply = Reply.model_validate(rows[0])
    head, parts, snapshot = reply.head(), reply.parts or Parts(), serialized.plan.snapshot
    folds = due(serialized, reply)
    if head.version.epoch != snapshot.version.epoch or not (folds.content or folds.access):
        return
    if folds.content:
        base = EMPTY_BASE if parts.base is None else parts.base
        links = parts.effects
        check_chain((base.n, base.etag), links, head.version)
        check_chain((base.n, base.etag), _up_to(links, snapshot.version), snapshot.version)
        await fetch(
            run,
            FOLD_CONTENT,
            uid=learner,
            base=base_properties(learner, serialized.base),
            base_bytes=serialized.base_bytes,
            history_base=folds.marks.base,
            history_next=folds.marks.next,
            moved=folds.marks != head.marks,
        )
    if folds.access:
        mark = (NO_STAMPS if parts.stamps is None else parts.stamps).mark
        check_touches(mark, parts.touches, head.access_mark)
        if not any(each.mark == snapshot.access.mark for each in parts.touches):
            return
        await fetch(
            run,
            FOLD_ACCESS,
            uid=learner,
            clock=snapshot.access.access_clock,
            stamps=stamps_properties(learner, serialized.stamps),
            stamps_bytes=serialized.stamps_bytes,
        )


def _up_to(links: tuple[StoredEffect, ...], version: Version) -> list[StoredEffect]:
    return [each for each in links if each.n <= version.n]
