"""The SQL of the SQLite store for states: reading one, and writing a plan onto it.

`stores.base_and_tail` says what a state is made of, and decides what is read and written. The caller begins
and ends the transactions.
"""

from __future__ import annotations

from uuid import uuid4

from ace_graph.errors import IncompleteState
from ace_graph.memory.commit import commit_key
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base_and_tail import (
    EMPTY_BASE,
    NO_STAMPS,
    Folding,
    StateHead,
    StoredBase,
    StoredEffect,
    StoredStamps,
    StoredState,
    StoredTouches,
    check_chain,
    check_touches,
    effects_from,
    follow,
    reads_less,
)
from ace_graph.memory.stores.serialized_plan import SerializedPlan
from ace_graph.memory.stores.sqlite.tables import Tables
from ace_graph.memory.stores.state_columns import (
    HEAD_COLUMNS,
    delta_row,
    head_of,
    state_row,
    touches_row,
    turn_row,
)
from ace_graph.memory.stores.stored_form import load_base
from ace_graph.memory.turn import TurnRecord

__all__ = ["drop_effects", "read_base", "read_head", "read_snapshot", "write"]


def read_head(tables: Tables, learner: str) -> StateHead:
    """Return the small part of a state; defaults for an absent learner."""
    return _read_head(tables, learner)[0]


def read_snapshot(tables: Tables, learner: str, known: Snapshot | None) -> Snapshot:
    """Return the newest snapshot; of content and stamps only what came after `known` is read.

    Run it in one transaction. Raises IncompleteState, CorruptPayload, NewerFormat.
    """
    head, access_json = _read_head(tables, learner)
    if head.version.epoch is None:
        return Snapshot()
    if known is not None:
        try:
            return _read_state(tables, learner, head, access_json, known).snapshot(known)
        except IncompleteState:  # what is known may be of another history: a backup was restored
            pass
    nothing = Snapshot() if known is None else Snapshot(known.playbook)
    return _read_state(tables, learner, head, access_json, Snapshot()).snapshot(nothing)


def _read_head(tables: Tables, learner: str) -> tuple[StateHead, str]:
    row = tables.execute(
        f"SELECT {HEAD_COLUMNS}, access_json FROM ace_learners WHERE user_id = ?",  # noqa: S608  constants
        (learner,),
    ).fetchone()
    return (StateHead(), "") if row is None else (head_of(row[:-1]), row[-1])


def _read_state(
    tables: Tables, learner: str, head: StateHead, access_json: str, known: Snapshot
) -> StoredState:
    """Read what is newer than `known`, or all where that is less or the rest does not follow it."""
    start = effects_from(known.version, head)
    if start is not None and not reads_less(_effect_bytes(tables, learner, start), head.content):
        start = None
    base = _read_base(tables, learner, head.base_n) if start is None else None
    effects = _read_effects(tables, learner, head.base_n if start is None else start)
    touches, stamps = _read_touches(tables, learner, known.access.access_clock), None
    if not follow(known, head, touches):
        touches, stamps = _read_touches(tables, learner, -1), _read_stamps(tables, learner)
    return StoredState(head.version, access_json, head.access_mark, base, effects, stamps, touches)


def read_base(tables: Tables, learner: str, n: int) -> Playbook:
    """Return the content of a version that is stored whole. Raises IncompleteState."""
    return load_base(_read_base(tables, learner, n).checked().text) if n else Playbook()


def _read_base(tables: Tables, learner: str, n: int) -> StoredBase:
    row = tables.execute(
        "SELECT version, etag, checksum, memory_json FROM ace_base_contents "
        "WHERE user_id = ? AND version = ?",
        (learner, n),
    ).fetchone()
    if row is None and n:
        raise IncompleteState(
            f"the stored content of version {n} is missing: restore the database from a backup"
        )
    return EMPTY_BASE if row is None else StoredBase(*row)


def _effect_bytes(tables: Tables, learner: str, after: int) -> int:
    (total,) = tables.execute(
        "SELECT coalesce(sum(effect_bytes), 0) FROM ace_deltas "
        "WHERE user_id = ? AND content_changed AND version > ?",
        (learner, after),
    ).fetchone()
    return int(total)


def _read_effects(tables: Tables, learner: str, after: int) -> tuple[StoredEffect, ...]:
    rows = tables.execute(
        "SELECT version, coalesce(parent, ''), coalesce(etag, ''), effect_json FROM ace_deltas "
        "WHERE user_id = ? AND content_changed AND version > ? ORDER BY version",
        (learner, after),
    )
    return tuple(StoredEffect(*row) for row in rows)


def _read_stamps(tables: Tables, learner: str) -> StoredStamps:
    row = tables.execute(
        "SELECT mark, checksum, stamps_json FROM ace_stamps WHERE user_id = ?", (learner,)
    ).fetchone()
    return NO_STAMPS if row is None else StoredStamps(*row)


def _read_touches(tables: Tables, learner: str, after: int) -> tuple[StoredTouches, ...]:
    rows = tables.execute(
        "SELECT parent, mark, touches_json FROM ace_touches WHERE user_id = ? AND clock > ? ORDER BY clock",
        (learner, after),
    )
    return tuple(StoredTouches(*row) for row in rows)


def write(tables: Tables, learner: str, serialized: SerializedPlan, head: StateHead) -> None:
    """Write a plan onto the state that it was made from, of which `head` is a part.

    Raises IncompleteState where a fold finds that the state is incomplete.
    """
    folds = serialized.folding(head)
    if folds.content:
        _fold_content(tables, learner, serialized, head, folds)
    if folds.access:
        _fold_access(tables, learner, serialized, head)
    elif serialized.plan.touches is not None:
        tables.insert("ace_touches", touches_row(learner, serialized))
    _write_head(tables, learner, serialized, head, folds)
    if serialized.record is not None:
        _write_turn(tables, learner, serialized, serialized.record)
    if serialized.in_history:
        _write_delta(tables, learner, serialized)
    if folds.marks.base != head.marks.base:
        drop_effects(tables, learner, folds.marks.base)


def _fold_content(
    tables: Tables, learner: str, serialized: SerializedPlan, head: StateHead, folds: Folding
) -> None:
    """Store the content as a base, and delete the bases that are not needed any more."""
    if head.version.epoch is not None:
        held = _read_base(tables, learner, head.base_n)
        links = tables.execute(
            "SELECT version, coalesce(parent, ''), coalesce(etag, ''), CASE WHEN effect_json IS NULL "
            "THEN NULL ELSE '' END FROM ace_deltas "
            "WHERE user_id = ? AND content_changed AND version > ? ORDER BY version",
            (learner, head.base_n),
        )
        check_chain((held.n, held.etag), (StoredEffect(*row) for row in links), head.version)
    tables.execute(
        "INSERT INTO ace_base_contents (user_id, version, etag, checksum, memory_json) "
        "VALUES (?, ?, ?, ?, ?)",
        (learner, *serialized.base),
    )
    if head.version.epoch is None:
        return
    marks, moved = folds.marks, folds.marks != head.marks
    tables.execute(
        "DELETE FROM ace_base_contents WHERE user_id = ?1 AND version NOT IN (?2, coalesce(?3, ?2), ?4) "
        "AND (version = ?5 OR (?6 AND version < ?2))",
        (learner, marks.base, marks.next, serialized.base.n, head.base_n, moved),
    )


def _fold_access(tables: Tables, learner: str, serialized: SerializedPlan, head: StateHead) -> None:
    """Store the stamps as they are after the commit, in place of the earlier ones and all touches."""
    touches = _read_touches(tables, learner, -1)
    check_touches(_read_stamps(tables, learner).mark, touches, head.access_mark)
    tables.execute(
        "INSERT INTO ace_stamps (user_id, mark, checksum, stamps_json) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (user_id) DO UPDATE "
        "SET mark = excluded.mark, checksum = excluded.checksum, stamps_json = excluded.stamps_json",
        (learner, *serialized.stamps),
    )
    tables.execute("DELETE FROM ace_touches WHERE user_id = ?", (learner,))


def _write_head(
    tables: Tables, learner: str, serialized: SerializedPlan, head: StateHead, folds: Folding
) -> None:
    columns = state_row(serialized, head, folds)
    changed = ", ".join(f"{name} = excluded.{name}" for name in columns)
    epoch, now = serialized.plan.snapshot.version.epoch, columns["updated_at"]
    begun = {"user_id": learner, "id": str(uuid4()), "epoch": epoch, "created_at": now, **columns}
    tables.insert("ace_learners", begun, f"ON CONFLICT (user_id) DO UPDATE SET {changed}")


def drop_effects(tables: Tables, learner: str, base: int) -> None:
    """Drop the effects up to the base of the history; their keys and reports stay."""
    tables.execute(
        "UPDATE ace_deltas SET effect_json = NULL, effect_bytes = 0 "
        "WHERE user_id = ? AND version <= ? AND content_changed AND effect_json IS NOT NULL",
        (learner, base),
    )


def _write_delta(tables: Tables, learner: str, serialized: SerializedPlan) -> None:
    columns = delta_row(learner, serialized)
    tables.insert("ace_deltas", {"key": commit_key(learner, serialized.plan.effect.op_id), **columns})


def _write_turn(tables: Tables, learner: str, serialized: SerializedPlan, record: TurnRecord) -> None:
    columns = turn_row(learner, serialized, record)
    tables.insert("ace_turns", {"key": commit_key(learner, serialized.plan.effect.op_id), **columns})
