"""States in SQL: reading all of one, or of several, in one statement.

`stores.snapshot_and_log` says what a state is made of. What it decides about reading is decided in the
statement here, because all of a state must come from one snapshot of the database.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache

from ace_graph.base.errors import IncompleteState
from ace_graph.base.tables import named_texts
from ace_graph.memory.catalogue import AttachedPlaybook, Loaded, WantedPlaybook
from ace_graph.memory.snapshot import Label, Snapshot, Version
from ace_graph.memory.stores.backend import Row
from ace_graph.memory.stores.records import grant_of
from ace_graph.memory.stores.snapshot_and_log import (
    EMPTY_BASE,
    NO_STAMPS,
    StoredBase,
    StoredEffect,
    StoredStamps,
    StoredState,
    StoredTouches,
)
from ace_graph.memory.stores.states import missing_content

Fetch = Callable[[str, Mapping[str, object]], Awaitable[list[Row]]]
_OF_BOTH = re.compile(r"\bace_(bases|stamps|touches|deltas|turns|pending|vectors|memory_duties)")


@cache
def of_playbooks(statement: str) -> str:
    """Return a statement on the tables of learners as one on those of playbooks."""
    return _OF_BOTH.sub(r"ace_named_\1", statement.replace("ace_learners", "ace_named_states"))


_TEXTS = named_texts("ace_graph.memory.stores.sql", "state.sql")


@cache
def _statement(places: int) -> str:
    """Return the statement that reads a learner's state and so many named playbooks."""
    states, parts = _TEXTS["STATES"], _TEXTS["PARTS"]
    own, own_parts = f"{_TEXTS['OWN']}, {states.format(name='own')}", parts.format(name="own")
    if not places:
        return f"WITH {own} {own_parts}"
    named = _TEXTS["NAMED"].format(asked=", ".join(map(_TEXTS["ASKED"].format, range(places))))
    granted = map(_TEXTS["GRANTED"].format, range(places))
    return (
        f"WITH {own}, {named}, {of_playbooks(states.format(name='named'))} "
        f"{own_parts} UNION ALL {of_playbooks(parts.format(name='named'))} "
        f"UNION ALL {' UNION ALL '.join((_TEXTS['ENTRIES'], *granted))}"
    )


async def load_attached(fetch: Fetch, key: str, known: Snapshot, wanted: Sequence[WantedPlaybook]) -> Loaded:
    """Return the newest snapshot and named playbooks; of content and stamps only what came after `known`.

    One statement, unless what is known is of another history. Raises IncompleteState, CorruptPayload,
    NewerFormat.
    """
    parts = await _read_parts(fetch, key, known, wanted)
    attached = tuple(_attached(parts[place], asked) for place, asked in enumerate(wanted))
    try:
        return Loaded(_snapshot(parts[-1], known), attached)
    except IncompleteState:  # what is known may be of another history: a backup was restored
        if known.absent:
            raise
    again = await _read_parts(fetch, key, Snapshot(), ())
    return Loaded(_snapshot(again[-1], Snapshot(known.playbook)), attached)


_Parts = defaultdict[str, list[Row]]
"""The rows of one state, as they were read, by what they hold: a number, a checksum, and five texts."""


async def _read_parts(
    fetch: Fetch, key: str, known: Snapshot, wanted: Sequence[WantedPlaybook]
) -> defaultdict[int, _Parts]:
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
    parts = defaultdict[int, _Parts](lambda: defaultdict(list))
    for place, kind, *row in await fetch(_statement(len(wanted)), values):
        parts[place][kind].append(tuple(row))
    return parts


def _snapshot(parts: _Parts, known: Snapshot) -> Snapshot:
    if not parts["head"]:
        return Snapshot()
    ((n, base_n, epoch, etag, access_json, mark, label),) = parts["head"]
    version = _version(epoch, n, etag, label)
    effects = tuple(sorted(StoredEffect(at, *texts[:3]) for at, _, *texts in parts["effect"]))
    touches = tuple(sorted(StoredTouches(clock, *texts[:3]) for clock, _, *texts in parts["touch"]))
    bases = [StoredBase(at, of, checksum, text) for at, checksum, of, text, *_ in parts["base"]]
    held = [StoredStamps(of, checksum, text) for _, checksum, of, text, *_ in parts["stamps"]]
    base, stamps = next(iter(bases), None), next(iter(held), None)
    same = known.version.epoch == epoch
    if base is None and not (same and (effects[0].n - 1 if effects else n) == known.version.n):
        if base_n:
            raise missing_content(base_n)
        base = EMPTY_BASE
    if stamps is None and not (same and (touches[0].parent if touches else mark) == known.access.mark):
        stamps = NO_STAMPS
    return StoredState(version, access_json, mark, base, effects, stamps, touches).snapshot(known)


def _version(epoch: str, n: int, etag: str, label: str) -> Version:
    major, minor = map(int, label.split("."))
    return Version(epoch, n, etag, Label(major, minor))


def _attached(parts: _Parts, wanted: WantedPlaybook) -> AttachedPlaybook | None:
    if not parts["entry"]:
        return None
    ((n, _, playbook_id, name, epoch, etag, label),) = parts["entry"]
    version = _version(epoch, n, etag, label)
    content = _snapshot(parts, Snapshot()).playbook if parts["head"] else None
    grants = tuple(grant_of(tuple(texts)) for _, _, *texts in parts["grant"])
    return AttachedPlaybook(playbook_id, name, version, content, wanted.ref.owner, grants)
