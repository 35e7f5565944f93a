"""States in PostgreSQL: reading all of one, or of several, in one statement, and writing a plan onto it.

`stores.base_and_tail` says what a state is made of. What it decides about reading is decided in the statement
here, because all of a state must come from one snapshot of the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from ace_graph.errors import IncompleteState
from ace_graph.memory.catalogue.attaching import AttachedPlaybook, Loaded, Wanted
from ace_graph.memory.catalogue.label import stored_label
from ace_graph.memory.sharing.grant import Grant
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.base_and_tail import (
    EMPTY_BASE,
    NO_STAMPS,
    StateHead,
    StoredBase,
    StoredEffect,
    StoredStamps,
    StoredState,
    StoredTouches,
)
from ace_graph.memory.stores.namespaces import of_playbooks
from ace_graph.memory.stores.postgres.tables import Row, Tables
from ace_graph.memory.stores.records import grant_of
from ace_graph.memory.stores.state_columns import HEAD_COLUMNS, head_of

__all__ = ["Locked", "lock", "read_attached", "read_head", "read_snapshot"]

# `start` is the known version where its effects lead on (`effects_from`, `reads_less`), else NULL; `follows`
# says the same of the touches after the known access part (`follow`).
_STATES = """
{name}_states AS MATERIALIZED (
    SELECT w.place, w.clock AS known_clock, l.*,
        CASE WHEN w.epoch = l.epoch AND w.n BETWEEN l.base_version AND l.version AND (
            SELECT coalesce(sum(d.effect_bytes), 0) FROM ace_deltas d
            WHERE d.user_id = l.user_id AND d.content_changed AND d.version > w.n
        ) <= l.base_bytes + l.effects_bytes THEN w.n END AS start,
        coalesce(w.epoch = l.epoch AND w.mark = coalesce((
            SELECT t.parent FROM ace_touches t
            WHERE t.user_id = l.user_id AND t.clock > w.clock ORDER BY t.clock LIMIT 1
        ), l.access_mark), FALSE) AS follows
    FROM {name}_wanted w JOIN ace_learners l ON l.user_id = w.key
)
"""
_PARTS = f"""
SELECT h.place, 'head' AS kind, 0 AS n, 0 AS checksum,
    json_build_array({", ".join(f"h.{name}" for name in HEAD_COLUMNS.split(", "))})::text AS one,
    h.access_json AS two, NULL AS three, NULL AS four, NULL AS five
FROM {{name}}_states h
UNION ALL
SELECT h.place, 'base', b.version, b.checksum, b.etag, b.memory_json, NULL, NULL, NULL
FROM {{name}}_states h JOIN ace_bases b ON b.user_id = h.user_id AND b.version = h.content_base
WHERE h.start IS NULL
UNION ALL
SELECT h.place, 'effect', d.version, 0, d.parent, d.etag, d.effect_json, NULL, NULL
FROM {{name}}_states h JOIN ace_deltas d ON d.user_id = h.user_id
    AND d.content_changed AND d.version > coalesce(h.start, h.content_base)
UNION ALL
SELECT h.place, 'stamps', 0, s.checksum, s.mark, s.stamps_json, NULL, NULL, NULL
FROM {{name}}_states h JOIN ace_stamps s ON s.user_id = h.user_id WHERE NOT h.follows
UNION ALL
SELECT h.place, 'touch', t.clock, 0, t.parent, t.mark, t.touches_json, NULL, NULL
FROM {{name}}_states h JOIN ace_touches t ON t.user_id = h.user_id
    AND (t.clock > h.known_clock OR NOT h.follows)
"""  # noqa: S608  constants
_IN_ORDER = "ORDER BY place, kind, n"

_OWN = """
own_wanted AS (
    SELECT -1 AS place, %(key)s AS key, %(epoch)s AS epoch, %(n)s::bigint AS n, %(clock)s::bigint AS clock,
        %(mark)s AS mark
)
"""

# A playbook whose content is known is looked up, but not read.
_NAMED = """
asked AS (
    SELECT * FROM unnest(
        %(places)s::bigint[], %(owners)s::text[], %(names)s::text[], %(epochs)s::text[], %(etags)s::text[]
    ) AS w (place, owner, name_key, epoch, etag)
), found AS MATERIALIZED (
    SELECT w.place, c.playbook_id, c.name, s.epoch, s.version, s.etag, s.major, s.minor,
        coalesce(w.epoch = s.epoch AND w.etag = s.etag, FALSE) AS known
    FROM asked w JOIN ace_named_catalogue c ON c.owner = w.owner AND c.name_key = w.name_key
    JOIN ace_named_states s ON s.user_id = c.playbook_id
), named_wanted AS (
    SELECT place, playbook_id AS key, NULL::text AS epoch, 0::bigint AS n, -1::bigint AS clock,
        NULL::text AS mark
    FROM found WHERE NOT known
)
"""
_ENTRIES = """
SELECT f.place, 'entry', 0, 0, f.playbook_id, f.name,
    json_build_array(f.epoch, f.version, f.etag, f.major, f.minor)::text, NULL, NULL FROM found f
UNION ALL
SELECT f.place, 'grant', 0, 0, g.playbook_id, g.subject, g.relation, g.granted_by, g.at
FROM unnest(%(places_of_subjects)s::bigint[], %(subjects)s::text[]) AS q (place, subject)
JOIN found f ON f.place = q.place
JOIN ace_grants g ON g.playbook_id = f.playbook_id AND g.subject = q.subject
"""

_LOAD = f"WITH {_OWN}, {_STATES.format(name='own')} {_PARTS.format(name='own')} {_IN_ORDER}"
_LOAD_ATTACHED = (
    f"WITH {_OWN}, {_STATES.format(name='own')}, {_NAMED}, {of_playbooks(_STATES.format(name='named'))} "
    f"{_PARTS.format(name='own')} UNION ALL {of_playbooks(_PARTS.format(name='named'))} "
    f"UNION ALL {_ENTRIES} {_IN_ORDER}"
)


class Locked(NamedTuple):
    """The small part of a state that is locked, and the number of its latest commit."""

    head: StateHead = StateHead()
    seq: int = 0


async def lock(tables: Tables, key: str) -> Locked:
    """Lock the row of a learner or a playbook until the transaction ends; defaults where there is none."""
    row = await tables.row(
        f"SELECT {HEAD_COLUMNS}, seq FROM ace_learners WHERE user_id = %s FOR UPDATE",  # noqa: S608  constants
        (key,),
    )
    return Locked() if row is None else Locked(head_of(row[:-1]), row[-1])


async def read_head(tables: Tables, key: str) -> StateHead:
    """Return the small part of a state; defaults for an absent learner."""
    row = await tables.row(f"SELECT {HEAD_COLUMNS} FROM ace_learners WHERE user_id = %s", (key,))  # noqa: S608  constants
    return StateHead() if row is None else head_of(row)


async def read_snapshot(tables: Tables, key: str, known: Snapshot | None) -> Snapshot:
    """Return the newest snapshot; of content and stamps only what came after `known` is read.

    One statement, unless what is known is of another history. Raises IncompleteState, CorruptPayload,
    NewerFormat.
    """
    parts = _sorted(await tables.rows(_LOAD, _values(key, known or Snapshot())))
    try:
        return _snapshot(parts.get(-1), known or Snapshot())
    except IncompleteState:  # what is known may be of another history: a backup was restored
        if known is None:
            raise
    again = _sorted(await tables.rows(_LOAD, _values(key, Snapshot())))
    return _snapshot(again.get(-1), Snapshot(known.playbook))


async def read_attached(tables: Tables, key: str, known: Snapshot | None, wanted: Sequence[Wanted]) -> Loaded:
    """Return a learner's snapshot and named playbooks, read in one statement; see `read_snapshot`."""
    if not wanted:
        return Loaded(await read_snapshot(tables, key, known), ())
    rows = await tables.rows(_LOAD_ATTACHED, {**_values(key, known or Snapshot()), **_asked(wanted)})
    parts = _sorted(rows)
    attached = tuple(_attached(parts.get(place), each) for place, each in enumerate(wanted))
    try:
        return Loaded(_snapshot(parts.get(-1), known or Snapshot()), attached)
    except IncompleteState:
        if known is None:
            raise
    again = await tables.rows(_LOAD, _values(key, Snapshot()))
    whole = _snapshot(_sorted(again).get(-1), Snapshot(known.playbook))
    return Loaded(whole, attached)


def _values(key: str, known: Snapshot) -> dict[str, object]:
    version, access = known.version, known.access
    return {
        "key": key,
        "epoch": version.epoch,
        "n": version.n,
        "clock": access.access_clock if version.epoch is not None else -1,
        "mark": access.mark,
    }


def _asked(wanted: Sequence[Wanted]) -> dict[str, object]:
    subjects = [(place, subject) for place, each in enumerate(wanted) for subject in each.subjects]
    return {
        "places": list(range(len(wanted))),
        "owners": [each.ref.owner or "" for each in wanted],
        "names": [each.ref.key for each in wanted],
        "epochs": [each.known.epoch for each in wanted],
        "etags": [each.known.etag for each in wanted],
        "places_of_subjects": [place for place, _ in subjects],
        "subjects": [subject for _, subject in subjects],
    }


@dataclass
class _Parts:
    """The rows of one state, as they were read."""

    head: Row | None = None
    base: StoredBase | None = None
    stamps: StoredStamps | None = None
    effects: list[StoredEffect] = field(default_factory=list[StoredEffect])
    touches: list[StoredTouches] = field(default_factory=list[StoredTouches])
    entry: Row | None = None
    grants: list[Grant] = field(default_factory=list[Grant])

    def add(self, kind: str, n: int, checksum: int, texts: Row) -> None:
        """Add a row."""
        one, two, three, *_ = texts
        match kind:
            case "head":
                self.head = (one, two)
            case "base":
                self.base = StoredBase(n, one, checksum, two)
            case "stamps":
                self.stamps = StoredStamps(one, checksum, two)
            case "effect":
                self.effects.append(StoredEffect(n, one, two, three))
            case "touch":
                self.touches.append(StoredTouches(one, two, three))
            case "entry":
                self.entry = (one, two, three)
            case _:
                self.grants.append(grant_of(texts))


def _sorted(rows: Iterable[Row]) -> dict[int, _Parts]:
    """Return the parts of each state by its place in what was asked for, the learner's own at -1."""
    found: dict[int, _Parts] = {}
    for place, kind, n, checksum, *texts in rows:
        found.setdefault(place, _Parts()).add(kind, n, checksum, tuple(texts))
    return found


def _snapshot(parts: _Parts | None, known: Snapshot) -> Snapshot:
    if parts is None or parts.head is None:
        return Snapshot()
    head = head_of(json.loads(parts.head[0]))
    base, stamps = parts.base, parts.stamps
    if base is None and not _leads_on(known, head, parts.effects):
        if head.base_n:
            raise IncompleteState(
                f"the stored content of version {head.base_n} is missing: restore the database from a backup"
            )
        base = EMPTY_BASE
    if stamps is None and not _touches_lead_on(known, head, parts.touches):
        stamps = NO_STAMPS
    effects, touches = tuple(parts.effects), tuple(parts.touches)
    return StoredState(
        head.version, parts.head[1], head.access_mark, base, effects, stamps, touches
    ).snapshot(known)


def _leads_on(known: Snapshot, head: StateHead, effects: Sequence[StoredEffect]) -> bool:
    """Whether what was read of the content comes after the known version."""
    if known.version.epoch is None or known.version.epoch != head.version.epoch:
        return False
    return (effects[0].n - 1 if effects else head.version.n) == known.version.n


def _touches_lead_on(known: Snapshot, head: StateHead, touches: Sequence[StoredTouches]) -> bool:
    if known.version.epoch is None or known.version.epoch != head.version.epoch:
        return False
    return (touches[0].parent if touches else head.access_mark) == known.access.mark


def _attached(parts: _Parts | None, wanted: Wanted) -> AttachedPlaybook | None:
    if parts is None or parts.entry is None:
        return None
    playbook_id, name, text = parts.entry
    epoch, n, etag, major, minor = cast("list[object]", json.loads(text))
    version = Version(str(epoch), cast("int", n), str(etag), stored_label(n, major, minor))  # type: ignore[arg-type]
    content = None if parts.head is None else _snapshot(parts, Snapshot()).playbook
    return AttachedPlaybook(playbook_id, name, version, content, wanted.ref.owner, tuple(parts.grants))
