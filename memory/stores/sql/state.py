"""States in SQL: reading all of one, or of several, in one statement, and writing a plan onto one.

`stores.snapshot_and_log` says what a state is made of. What it decides about reading is decided in the
statement here, because all of a state must come from one snapshot of the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ace_graph.base.errors import IncompleteState
from ace_graph.base.off_loop import off_loop
from ace_graph.base.tables import named_texts
from ace_graph.memory.catalogue import AttachedPlaybook, Loaded, WantedPlaybook
from ace_graph.memory.sharing import Grant
from ace_graph.memory.snapshot import Label, Snapshot, Version
from ace_graph.memory.stores.commit_queue import SerializedPlan
from ace_graph.memory.stores.records import columns, delta_columns, grant_of, turn_columns
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
from ace_graph.memory.stores.sql.database import Row, Tables, of_playbooks
from ace_graph.memory.stores.sql.schema import OF_LEARNERS
from ace_graph.memory.stores.whole import WholeTouches
from ace_graph.memory.turn import TurnRecord

HEAD_COLUMNS = (
    "epoch, version, etag, major, minor, access_clock, access_mark, base_version, next_base_version, "
    "content_base, base_bytes, effects_bytes, stamps_bytes, touches_bytes, keys_from"
)
BASE_COLUMNS = "version, etag, checksum, memory_json"
STAMPS_COLUMNS = "mark, checksum, stamps_json"
TOUCHES_COLUMNS = "clock, parent, mark, touches_json"


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


def state_row(serialized: SerializedPlan, head: StateHead, folds: Folding) -> dict[str, object]:
    """Return the columns of a state that a commit onto this head changes."""
    content, access = serialized.sizes_after(head, folds)
    return {
        **moved_columns(serialized),
        "base_version": folds.marks.base,
        "next_base_version": folds.marks.next,
        "content_base": serialized.plan.snapshot.version.n if folds.content else head.base_n,
        "base_bytes": content.base,
        "effects_bytes": content.tail,
        "stamps_bytes": access.base,
        "touches_bytes": access.tail,
    }


def touches_row(learner: str, touched: WholeTouches) -> dict[str, object]:
    """Return the columns of the touches of a commit."""
    return {"user_id": learner, **columns(TOUCHES_COLUMNS, (touched.clock, *touched.touches))}


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


# Reading.


_TEXTS = named_texts("ace_graph.memory.stores.sql", "state.sql")
_STATES = _TEXTS["STATES"]
_PARTS = _TEXTS["PARTS"]
_OWN = _TEXTS["OWN"]
_LOAD = f"WITH {_OWN}, {_STATES.format(name='own')} {_PARTS.format(name='own')}"

_ASKED = _TEXTS["ASKED"]
_NAMED = _TEXTS["NAMED"]
_ENTRIES = _TEXTS["ENTRIES"]
_GRANTED = _TEXTS["GRANTED"]


def _load_attached(places: int) -> str:
    """Return the statement that reads a learner's state and so many named playbooks."""
    named = _NAMED.format(asked=", ".join(map(_ASKED.format, range(places))))
    return (
        f"WITH {_OWN}, {_STATES.format(name='own')}, {named}, {of_playbooks(_STATES.format(name='named'))} "
        f"{_PARTS.format(name='own')} UNION ALL {of_playbooks(_PARTS.format(name='named'))} "
        f"UNION ALL {' UNION ALL '.join((_ENTRIES, *map(_GRANTED.format, range(places))))}"
    )


class Locked(NamedTuple):
    """The small part of a state that is locked, and the number of its latest commit."""

    head: StateHead = StateHead()
    seq: int = 0


async def lock(tables: Tables, key: str) -> Locked:
    """Lock the row of a learner or a playbook until the transaction ends; defaults where there is none."""
    row = await tables.row(
        f"SELECT {HEAD_COLUMNS}, seq FROM ace_learners WHERE user_id = ? FOR UPDATE",  # noqa: S608  constants
        (key,),
    )
    return Locked() if row is None else Locked(head_of(row[:-1]), row[-1])


async def read_head(tables: Tables, key: str) -> StateHead:
    """Return the small part of a state; defaults for an absent learner."""
    row = await tables.row(f"SELECT {HEAD_COLUMNS} FROM ace_learners WHERE user_id = ?", (key,))  # noqa: S608  constants
    return StateHead() if row is None else head_of(row)


async def read_base(tables: Tables, key: str, n: int) -> StoredBase:
    """Return the content of a version that is stored whole. Raises IncompleteState."""
    row = await tables.row(
        f"SELECT {BASE_COLUMNS} FROM ace_bases WHERE user_id = ? AND version = ?",  # noqa: S608  constants
        (key, n),
    )
    if row is None and n:
        raise _missing(n)
    return EMPTY_BASE if row is None else StoredBase(*row)


def _missing(n: int) -> IncompleteState:
    return IncompleteState(
        f"the stored content of version {n} is missing: restore the database from a backup"
    )


async def read_snapshot(tables: Tables, key: str, known: Snapshot | None) -> Snapshot:
    """Return the newest snapshot; of content and stamps only what came after `known` is read.

    One statement, unless what is known is of another history. Raises IncompleteState, CorruptPayload,
    NewerFormat.
    """
    return (await read_attached(tables, key, known, ())).snapshot


async def read_attached(
    tables: Tables, key: str, known: Snapshot | None, wanted: Sequence[WantedPlaybook]
) -> Loaded:
    """Return a learner's snapshot and named playbooks, read in one statement; see `read_snapshot`."""
    parts = await _read_parts(tables, key, known or Snapshot(), wanted)
    attached = tuple(_attached(parts.get(place), asked) for place, asked in enumerate(wanted))
    try:
        return Loaded(_snapshot(parts.get(-1), known or Snapshot()), attached)
    except IncompleteState:  # what is known may be of another history: a backup was restored
        if known is None:
            raise
    again = await _read_parts(tables, key, Snapshot(), ())
    return Loaded(_snapshot(again.get(-1), Snapshot(known.playbook)), attached)


@dataclass
class _Parts:
    """The rows of one state, as they were read."""

    head: Row | None = None
    base: StoredBase | None = None
    stamps: StoredStamps | None = None
    effects: list[StoredEffect] = field(default_factory=list[StoredEffect])
    touches: list[tuple[int, StoredTouches]] = field(default_factory=list[tuple[int, StoredTouches]])
    entry: Row | None = None
    grants: list[Grant] = field(default_factory=list[Grant])

    def add(self, kind: str, n: int, checksum: int, texts: Row) -> None:
        """Add a row."""
        one, two, three, *_ = texts
        match kind:
            case "head":
                self.head = (n, checksum, *texts)
            case "base":
                self.base = StoredBase(n, one, checksum, two)
            case "stamps":
                self.stamps = StoredStamps(one, checksum, two)
            case "effect":
                self.effects.append(StoredEffect(n, one, two, three))
            case "touch":
                self.touches.append((n, StoredTouches(one, two, three)))
            case "entry":
                self.entry = (n, *texts)
            case _:
                self.grants.append(grant_of(texts))


async def _read_parts(
    tables: Tables, key: str, known: Snapshot, wanted: Sequence[WantedPlaybook]
) -> Mapping[int, _Parts]:
    """Return the parts of each state by its place in what is wanted, the learner's own at -1."""
    version, access = known.version, known.access
    values: dict[str, object] = {
        "key": key,
        "epoch": version.epoch,
        "n": version.n,
        "clock": access.access_clock if version.epoch is not None else -1,
        "mark": access.mark,
    }
    for place, asked in enumerate(wanted):
        values[f"owner_{place}"], values[f"name_{place}"] = asked.ref.owner or "", asked.ref.key
        values[f"epoch_{place}"], values[f"etag_{place}"] = asked.known.epoch, asked.known.etag
        values[f"subjects_{place}"] = list(asked.subjects)
    statement = _load_attached(len(wanted)) if wanted else _LOAD
    parts: dict[int, _Parts] = {}
    for place, kind, n, checksum, *texts in await tables.rows(statement, values):
        parts.setdefault(place, _Parts()).add(kind, n, checksum, tuple(texts))
    return parts


def _snapshot(parts: _Parts | None, known: Snapshot) -> Snapshot:
    if parts is None or parts.head is None:
        return Snapshot()
    n, base_n, epoch, etag, access_json, mark, label = parts.head
    version = _version(epoch, n, etag, label)
    effects = tuple(sorted(parts.effects, key=lambda effect: effect.n))
    touches = tuple(touched for _, touched in sorted(parts.touches, key=lambda moved: moved[0]))
    same = known.version.epoch == epoch
    base, stamps = parts.base, parts.stamps
    if base is None and not (same and (effects[0].n - 1 if effects else n) == known.version.n):
        if base_n:
            raise _missing(base_n)
        base = EMPTY_BASE
    if stamps is None and not (same and (touches[0].parent if touches else mark) == known.access.mark):
        stamps = NO_STAMPS
    return StoredState(version, access_json, mark, base, effects, stamps, touches).snapshot(known)


def _version(epoch: str, n: int, etag: str, label: str) -> Version:
    major, minor = map(int, label.split("."))
    return Version(epoch, n, etag, Label(major, minor))


def _attached(parts: _Parts | None, wanted: WantedPlaybook) -> AttachedPlaybook | None:
    if parts is None or parts.entry is None:
        return None
    n, playbook_id, name, epoch, etag, label = parts.entry
    version = _version(epoch, n, etag, label)
    content = None if parts.head is None else _snapshot(parts, Snapshot()).playbook
    return AttachedPlaybook(playbook_id, name, version, content, wanted.ref.owner, tuple(parts.grants))


async def write(tables: Tables, learner: str, serialized: SerializedPlan, locked: Locked) -> bool:
    """Write a plan; False where the learner was absent and another transaction was faster to begin it.

    Raises IncompleteState where a fold finds that the state is incomplete.
    """
    head, seq = locked.head, locked.seq + 1
    if tables.locks_rows:
        await off_loop(serialized.prepare, head)
    folds = serialized.folding(head)
    if not await _write_head(tables, learner, serialized, locked, folds):
        return False
    if folds.content:
        await _fold_content(tables, learner, serialized, head, folds)
    if folds.access:
        # Store the stamps as they are after the commit, in place of the earlier ones and all touches
        held = await tables.row("SELECT mark FROM ace_stamps WHERE user_id = ?", (learner,))
        touches = await tables.rows(
            "SELECT parent, mark, '' FROM ace_touches WHERE user_id = ? ORDER BY clock", (learner,)
        )
        mark = NO_STAMPS.mark if held is None else held[0]
        check_touches(mark, (StoredTouches(*row) for row in touches), head.access_mark)
        await tables.change(
            f"INSERT INTO ace_stamps (user_id, {STAMPS_COLUMNS}) VALUES (?, ?, ?, ?) "  # noqa: S608  constants
            "ON CONFLICT (user_id) DO UPDATE SET mark = excluded.mark, checksum = excluded.checksum, "
            "stamps_json = excluded.stamps_json",
            (learner, *serialized.stamps),
        )
        await tables.change("DELETE FROM ace_touches WHERE user_id = ?", (learner,))
    elif serialized.touched is not None:
        await tables.insert("ace_touches", touches_row(learner, serialized.touched))
    if serialized.record is not None:
        await tables.insert("ace_turns", {**turn_row(learner, serialized, serialized.record), "seq": seq})
    if serialized.in_history:
        await tables.insert("ace_deltas", {**delta_row(learner, serialized), "seq": seq})
    if folds.marks.base != head.marks.base:
        await drop_effects(tables, learner, folds.marks.base)
    return True


async def _write_head(
    tables: Tables, learner: str, serialized: SerializedPlan, locked: Locked, folds: Folding
) -> bool:
    columns = {**state_row(serialized, locked.head, folds), "seq": locked.seq + 1}
    if locked.head.version.epoch is None:
        epoch, now = serialized.plan.snapshot.version.epoch, columns["updated_at"]
        begun = {"user_id": learner, "epoch": epoch, "created_at": now, **columns}
        return await tables.insert("ace_learners", begun, "ON CONFLICT DO NOTHING") > 0
    assigned = ", ".join(f"{name} = ?" for name in columns)
    await tables.change(
        f"UPDATE ace_learners SET {assigned} WHERE user_id = ?",  # noqa: S608  names of ours
        (*columns.values(), learner),
    )
    return True


async def _fold_content(
    tables: Tables, learner: str, serialized: SerializedPlan, head: StateHead, folds: Folding
) -> None:
    """Store the content as a base, and delete the bases that are not needed any more."""
    base = serialized.base
    if head.version.epoch is None:
        await put_base(tables, learner, base)
        return
    held = await tables.row(
        "SELECT version, etag FROM ace_bases WHERE user_id = ? AND version = ?", (learner, head.base_n)
    )
    links = await tables.rows(
        "SELECT version, parent, etag, CASE WHEN effect_json IS NULL THEN NULL ELSE '' END FROM ace_deltas "
        "WHERE user_id = ? AND content_changed AND version > ? ORDER BY version",
        (learner, head.base_n),
    )
    start = (EMPTY_BASE.n, EMPTY_BASE.etag) if held is None else (held[0], held[1])
    check_chain(start, (StoredEffect(*row) for row in links), head.version)
    await put_base(tables, learner, base)
    marks = folds.marks
    needed = [n for n in (marks.base, marks.next, base.n) if n is not None]
    # Named playbooks keep bases of versions between the two marks, which only `keep_contents` deletes.
    await tables.change(
        "DELETE FROM ace_bases WHERE user_id = ? AND version <> ALL(?) "
        "AND (version = ? OR (? AND version < ?))",
        (learner, needed, head.base_n, marks != head.marks, marks.base),
    )


async def put_base(tables: Tables, key: str, base: StoredBase) -> None:
    """Store the content of a version whole."""
    await tables.change(
        f"INSERT INTO ace_bases (user_id, {BASE_COLUMNS}) VALUES (?, ?, ?, ?, ?)",  # noqa: S608  constants
        (key, *base),
    )


async def drop_effects(tables: Tables, learner: str, base: int) -> None:
    """Drop the effects up to the base of the history; their keys and reports stay."""
    await tables.change(
        "UPDATE ace_deltas SET effect_json = NULL, effect_bytes = 0 "
        "WHERE user_id = ? AND version <= ? AND content_changed AND effect_json IS NOT NULL",
        (learner, base),
    )


async def delete_rows(tables: Tables, key: str) -> bool:
    """Delete all rows of a learner, or of a playbook; False when there were none."""
    found = 0
    for name in OF_LEARNERS:
        found += await tables.change(f"DELETE FROM {name} WHERE user_id = ?", (key,))  # noqa: S608  constants
    return found > 0
