"""States in rows: reading one, locking one, and writing a plan onto it.

`snapshot_and_log` says what a state is made of. A database that reads a state in one statement decides there
what to read, because all of a state must come from one moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ace_graph.base.errors import IncompleteState
from ace_graph.base.off_loop import off_loop
from ace_graph.memory.catalogue import AttachedPlaybook, Loaded, WantedPlaybook
from ace_graph.memory.serialization import load_report
from ace_graph.memory.snapshot import Label, Snapshot, Version
from ace_graph.memory.stores.backend import OF_A_KEY, Locked, Row, Rows, Where
from ace_graph.memory.stores.catalogue import find_entry, read_grants
from ace_graph.memory.stores.records import columns, delta_columns, turn_columns
from ace_graph.memory.stores.snapshot_and_log import (
    EMPTY_BASE,
    NO_STAMPS,
    CompactionMarks,
    Folding,
    Sizes,
    StateHead,
    StoredBase,
    StoredEffect,
    StoredStamps,
    StoredState,
    StoredTouches,
    check_chain,
    check_touches,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ace_graph.memory.delta.effect import Report
    from ace_graph.memory.stores.commit_queue import SerializedPlan
    from ace_graph.memory.turn import TurnRecord

HEAD_COLUMNS = (
    "epoch, version, etag, major, minor, access_clock, access_mark, base_version, next_base_version, "
    "content_base, base_bytes, effects_bytes, stamps_bytes, touches_bytes, keys_from"
)
BASE_COLUMNS = "version, etag, checksum, memory_json"
EFFECT_COLUMNS = "version, parent, etag, effect_json"
STAMPS_COLUMNS = "mark, checksum, stamps_json"
TOUCHES_COLUMNS = "clock, parent, mark, touches_json"
CHANGES: Where = ("content_changed", "=", True)


def of(key: str) -> Where:
    """Return the condition on what is under a key."""
    return "user_id", "=", key


def head_of(row: Row) -> StateHead:
    """Return the small part of a state in the columns `HEAD_COLUMNS`."""
    epoch, n, etag, major, minor, clock, mark, base, next_base, base_n, *sizes, keys_from = row
    version, marks = Version(epoch, n, etag, Label(major, minor)), CompactionMarks(base, next_base)
    return StateHead(version, clock, mark, marks, base_n, Sizes(*sizes[:2]), Sizes(*sizes[2:]), keys_from)


def head_row(head: StateHead) -> Row:
    """Return the columns `HEAD_COLUMNS` of a state."""
    version, marks = head.version, head.marks
    state = (version.epoch, version.n, version.etag, *version.label, head.access_clock, head.access_mark)
    return (*state, marks.base, marks.next, head.base_n, *head.content, *head.access, head.keys_from)


def moved_columns(serialized: SerializedPlan) -> dict[str, object]:
    """Return the columns of a state that every commit changes, whatever it folds."""
    snapshot = serialized.plan.snapshot
    version = snapshot.version
    return {
        "access_json": serialized.access_json,
        "access_clock": snapshot.access.access_clock,
        "access_mark": snapshot.access.mark,
        "version": version.n,
        "etag": version.etag,
        "major": version.label.major,
        "minor": version.label.minor,
        "updated_at": serialized.plan.effect.now.isoformat(),
    }


def touches_row(learner: str, touched: StoredTouches) -> dict[str, object]:
    """Return the columns of the touches of a commit."""
    return {"user_id": learner, **columns(TOUCHES_COLUMNS, touched)}


def delta_row(learner: str, serialized: SerializedPlan) -> dict[str, object]:
    """Return the columns of the delta of a commit."""
    return {"user_id": learner, **delta_columns(serialized.delta)}


def turn_row(learner: str, serialized: SerializedPlan, record: TurnRecord) -> dict[str, object]:
    """Return the columns of the turn of a commit."""
    return {
        "user_id": learner,
        "op_id": serialized.plan.effect.op_id,
        "report_json": serialized.report_json,
        **turn_columns(record),
        **serialized.record_columns,
    }


async def lock_state(rows: Rows, key: str, op_id: str, known: Snapshot) -> Locked:
    """Lock a key until the transaction ends, and read its state as far as one read gives it."""
    held = await rows.lock_at_once(key, op_id, known)
    if held is not None:
        return held
    await rows.lock(key)
    row = await rows.row("states", f"{HEAD_COLUMNS}, seq", of(key))
    return (
        Locked() if row is None else Locked(head_of(row[:-1]), row[-1], await read_report(rows, key, op_id))
    )


async def read_report(rows: Rows, key: str, op_id: str) -> Report | None:
    """Return the report of an operation if it was applied before."""
    for table in ("deltas", "turns"):
        found = await rows.row(table, "report_json", of(key), ("op_id", "=", op_id))
        if found is not None:
            return load_report(found[0])
    return None


async def read_head(rows: Rows, key: str) -> StateHead:
    """Return the small part of a state; defaults for an absent learner."""
    row = await rows.row("states", HEAD_COLUMNS, of(key))
    return StateHead() if row is None else head_of(row)


async def read_base(rows: Rows, key: str, n: int) -> StoredBase:
    """Return the content of a version that is stored whole. Raises IncompleteState."""
    row = await rows.row("bases", BASE_COLUMNS, of(key), ("version", "=", n))
    if row is None and n:
        raise missing_content(n)
    return EMPTY_BASE if row is None else StoredBase(*row)


def missing_content(n: int) -> IncompleteState:
    """Return the error for content that is not there."""
    return IncompleteState(
        f"the stored content of version {n} is missing: restore the database from a backup"
    )


async def load(rows: Rows, key: str, known: Snapshot, wanted: Sequence[WantedPlaybook] = ()) -> Loaded:
    """Return the newest snapshot and named playbooks, inside of a transaction, or in one statement.

    Raises IncompleteState, CorruptPayload, NewerFormat.
    """
    found = await rows.load_at_once(key, known, wanted)
    if found is not None:
        return found
    attached = [await _attached(rows.of("playbooks"), playbook) for playbook in wanted]
    return Loaded(await _read(rows, key, known), tuple(attached))


async def _read(rows: Rows, key: str, known: Snapshot) -> Snapshot:
    row = await rows.row("states", f"access_json, {HEAD_COLUMNS}", of(key))
    if row is None:
        return Snapshot()
    head = head_of(row[1:])
    base, effects = None, list[Row]()
    if (head.version.epoch, head.version.etag) != (known.version.epoch, known.version.etag):
        base = await read_base(rows, key, head.base_n)
        since: Where = ("version", ">", head.base_n)
        effects = await rows.select("deltas", EFFECT_COLUMNS, of(key), CHANGES, since, order="version")
    stamps = await rows.row("stamps", STAMPS_COLUMNS, of(key))
    touches = await rows.select("touches", TOUCHES_COLUMNS, of(key), order="clock")
    return StoredState(
        head.version,
        row[0],
        head.access_mark,
        base,
        tuple(StoredEffect(*effect) for effect in effects),
        NO_STAMPS if stamps is None else StoredStamps(*stamps),
        tuple(StoredTouches(*touched) for touched in touches),
    ).snapshot(known)


async def _attached(rows: Rows, wanted: WantedPlaybook) -> AttachedPlaybook | None:
    entry = await find_entry(rows, wanted.ref)
    if entry is None:
        return None
    key, version = entry.playbook_id, entry.version
    known = (version.epoch, version.etag) == (wanted.known.epoch, wanted.known.etag)
    content = None if known else (await _read(rows, key, Snapshot())).playbook
    grants = await read_grants(rows, key, wanted.subjects)
    return AttachedPlaybook(key, entry.name, version, content, entry.owner, grants)


async def write(rows: Rows, learner: str, serialized: SerializedPlan, locked: Locked) -> bool:
    """Write a plan; False where the learner was absent and another transaction was faster to begin it.

    Raises IncompleteState where a fold finds that the state is incomplete.
    """
    head, seq = locked.head, locked.seq + 1
    if rows.locks_rows:
        await off_loop(serialized.prepare, head)
    folds = serialized.folding(head)
    if not folds.content and not folds.access and await rows.write_at_once(learner, serialized, locked):
        return True
    content, access = serialized.sizes_after(head, folds)
    state: dict[str, object] = {
        **moved_columns(serialized),
        "base_version": folds.marks.base,
        "next_base_version": folds.marks.next,
        "content_base": serialized.plan.snapshot.version.n if folds.content else head.base_n,
        "base_bytes": content.base,
        "effects_bytes": content.tail,
        "stamps_bytes": access.base,
        "touches_bytes": access.tail,
        "seq": seq,
    }
    if head.version.epoch is None:
        epoch, now = serialized.plan.snapshot.version.epoch, state["updated_at"]
        if not await rows.add("states", {"user_id": learner, "epoch": epoch, "created_at": now, **state}):
            return False
    else:
        await rows.update("states", state, of(learner))
    if folds.content:
        await _fold_content(rows, learner, serialized, head, folds)
    if folds.access:
        # Store the stamps as they are after the commit, in place of the earlier ones and all touches
        held = await rows.row("stamps", "mark", of(learner))
        touches = await rows.select("touches", "clock, parent, mark", of(learner), order="clock")
        start = NO_STAMPS.mark if held is None else held[0]
        check_touches(
            start,
            (StoredTouches(clock, parent, mark, "") for clock, parent, mark in touches),
            head.access_mark,
        )
        await rows.put("stamps", {"user_id": learner, **columns(STAMPS_COLUMNS, serialized.stamps)})
        await rows.delete("touches", of(learner))
    elif serialized.touched is not None:
        await rows.add("touches", touches_row(learner, serialized.touched))
    if serialized.record is not None:
        await rows.add("turns", {**turn_row(learner, serialized, serialized.record), "seq": seq})
    if serialized.in_history:
        await rows.add("deltas", {**delta_row(learner, serialized), "seq": seq})
    if folds.marks.base != head.marks.base:
        await drop_effects(rows, learner, folds.marks.base)
    return True


async def _fold_content(
    rows: Rows, learner: str, serialized: SerializedPlan, head: StateHead, folds: Folding
) -> None:
    """Store the content as a base, and delete the bases that are not needed any more."""
    base = serialized.base
    if head.version.epoch is None:
        await put_base(rows, learner, base)
        return
    bases: dict[int, str] = dict(await rows.select("bases", "version, etag", of(learner)))
    links = await rows.select(
        "deltas",
        "version, parent, etag, effect_bytes",
        of(learner),
        CHANGES,
        ("version", ">", head.base_n),
        order="version",
    )
    start = (head.base_n, bases[head.base_n]) if head.base_n in bases else (EMPTY_BASE.n, EMPTY_BASE.etag)
    check_chain(
        start,
        (StoredEffect(n, parent, etag, "" if size else None) for n, parent, etag, size in links),
        head.version,
    )
    await put_base(rows, learner, base)
    marks = folds.marks
    needed = {marks.base, marks.next, base.n}
    # Named playbooks keep bases of versions between the two marks, which only `keep_contents` deletes.
    moved = marks != head.marks
    gone = [n for n in bases if n not in needed and (n == head.base_n or (moved and n < marks.base))]
    await rows.delete("bases", of(learner), ("version", "in", gone))


async def put_base(rows: Rows, key: str, base: StoredBase) -> None:
    """Store the content of a version whole."""
    await rows.add("bases", {"user_id": key, **columns(BASE_COLUMNS, base)})


async def drop_effects(rows: Rows, learner: str, base: int) -> None:
    """Drop the effects up to the base of the history; their keys and reports stay."""
    values = {"effect_json": None, "effect_bytes": 0}
    held: tuple[Where, ...] = (("version", "<=", base), ("effect_bytes", ">", 0))
    await rows.update("deltas", values, of(learner), CHANGES, *held)


async def delete_rows(rows: Rows, key: str) -> bool:
    """Delete all rows of a learner, or of a playbook; False when there were none."""
    return bool(sum([await rows.delete(table, of(key)) for table in reversed(OF_A_KEY)]))
