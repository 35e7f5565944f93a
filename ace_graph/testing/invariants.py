"""Checks what must be true of a stored learner after crashes, restarts and any number of writers.

Every problem found is a sentence; nothing is repaired.
"""

from __future__ import annotations

from collections.abc import Iterator

from ace_graph.memory.bullet import Bullet
from ace_graph.memory.commit import History
from ace_graph.memory.consolidation import is_run
from ace_graph.memory.delta.effect import Effect, Put, apply
from ace_graph.memory.foreign import is_foreign
from ace_graph.memory.playbook import Playbook, id_number
from ace_graph.memory.serialization import dump_playbook
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.base import LearnerExport
from ace_graph.memory.stores.store import KeyedStore


async def check(store: KeyedStore, learner_id: str) -> list[str]:
    """Read everything stored about the learner at one moment and return what is wrong with it, if anything.

    Raises what the store raises when something can't be read at all.
    """
    return problems(await store.export(learner_id))


def problems(exported: LearnerExport) -> list[str]:
    """Return what is wrong with what was read of one learner; an empty list when all is well."""
    snapshot, history = exported.snapshot, exported.history
    if snapshot.absent:
        entries, turns, items = len(exported.history.entries), len(exported.turns), len(exported.pending)
        left = f"no state, but {entries} deltas, {turns} turns and {items} pending"
        return [left] if entries or turns or items else []
    found = [*_gaps(history, snapshot.version.n), *_doubled(exported), *_loose_ends(snapshot)]
    found += _loose_work(exported)
    if not found:
        found += _differences(history, snapshot)
    return found


def _gaps(history: History, n: int) -> Iterator[str]:
    counted = [entry.n for entry in history.entries if entry.effect is None or entry.effect.changes]
    first = counted[0] if counted else history.base_n + 1
    if counted != list(range(first, n + 1)):
        yield f"the versions up to {n} are {counted}"
    if first > history.base_n + 1:
        yield f"the history begins at version {first}, its base is version {history.base_n}"
    if any(entry.effect is None and entry.n > history.base_n for entry in history.entries):
        yield f"an effect after the base {history.base_n} is gone"


def _doubled(exported: LearnerExport) -> Iterator[str]:
    op_ids = [entry.op_id for entry in exported.history.entries]
    if len(set(op_ids)) != len(op_ids):
        yield "an op id was applied twice"
    attempts = [(turn.turn_id, turn.attempt_id) for turn in exported.turns]
    if len(set(attempts)) != len(attempts):
        yield "an attempt at a turn was recorded twice"


def _loose_work(exported: LearnerExport) -> Iterator[str]:
    applied = {entry.op_id for entry in exported.history.entries}
    turns = {turn.turn_id for turn in exported.turns}
    for item in exported.pending:
        if item.pending_id in applied:
            yield f"the work {item.pending_id} is done and still pending"
        if item.turn_id not in turns and not is_run(item):
            yield f"work is pending for the turn {item.turn_id}, which is not there"


def _loose_ends(snapshot: Snapshot) -> Iterator[str]:
    playbook, access = snapshot.playbook, snapshot.access
    for key, bullet in playbook.entries.items():
        if id_number(key) >= playbook.next_id:
            yield f"{key} has a number that will be given again"
        if min(bullet.helpful, bullet.harmful, bullet.neutral) < 0:
            yield f"{key} has a negative counter"
    for key, stamp in access.stamps.items():
        if stamp > access.access_clock:
            yield f"{key} is stamped {stamp}, the clock is at {access.access_clock}"
        if key not in playbook.entries and not is_foreign(key):
            yield f"{key} is stamped and not in the playbook"
    for key in {*playbook.aliases, *playbook.tombstones} & playbook.entries.keys():
        yield f"{key} is in the playbook, and an alias or a tombstone"


def _differences(history: History, snapshot: Snapshot) -> Iterator[str]:
    folded = history.base
    _ = folded.index, folded.hashes  # derived once here, then carried over by every apply
    for effect in (entry.effect for entry in history.entries if entry.effect is not None):
        yield from _unexplained(folded, effect)
        folded = apply(folded, effect)
    if dump_playbook(folded) != dump_playbook(snapshot.playbook):
        yield "the history does not fold to the state"
        return
    rebuilt = Playbook(entries=snapshot.playbook.entries)
    if folded.index != rebuilt.index:
        yield "the index that was carried over differs from one built from the state"
    if folded.hashes != rebuilt.hashes:
        yield "the hash table that was carried over differs from one built from the state"


def _unexplained(before: Playbook, effect: Effect) -> Iterator[str]:
    """Counters that moved although the report names no reason for it."""
    report = effect.report
    named = {*report.tagged, *report.updated, *report.reinforced, *report.restored}
    named.update(pair.kept for pair in report.merged)
    for bullet in (change.bullet for change in effect.changes if isinstance(change, Put)):
        old = before.get_bullet(bullet.id)
        if old is not None and bullet.id not in named and _counters(old) != _counters(bullet):
            yield f"{effect.op_id} moved the counters of {bullet.id} without a word"


def _counters(bullet: Bullet) -> tuple[int, int, int]:
    return bullet.helpful, bullet.harmful, bullet.neutral
