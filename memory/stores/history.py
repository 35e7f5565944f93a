"""What is under a key beside its state: history, versions, turns, vectors.

What needs several statements runs in one transaction of the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC

from ace_graph.base.errors import TrajectoryNotFound
from ace_graph.memory.commit import Amend, History
from ace_graph.memory.delta.effect import apply
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import load_effect, load_record
from ace_graph.memory.stores.backend import Rows, Where
from ace_graph.memory.stores.base import LearnerSummary, StoredVersion, VectorChange
from ace_graph.memory.stores.records import (
    HISTORY_COLUMNS,
    SUMMARY_COLUMNS,
    VERSION_COLUMNS,
    history_entry_of,
    record_columns,
    stored_version_of,
    summary_of,
)
from ace_graph.memory.stores.snapshot_and_log import StoredBase, base_checksum, dump_base, load_base
from ace_graph.memory.stores.states import CHANGES, drop_effects, of, put_base, read_base, read_head
from ace_graph.memory.trajectory import TrajectoryFilter
from ace_graph.memory.turn import TurnRecord

PRESENT: Where = ("deleted", "=", False)


async def read_history(rows: Rows, learner: str, *, everything: bool = False) -> History:
    """Return the content changes whose effect is kept; with `everything` all commits without a turn too."""
    base = (await read_head(rows, learner)).marks.base
    content = await _content(rows, learner, base)
    where: tuple[Where, ...] = () if everything else (CHANGES, ("version", ">", base))
    entries = await rows.select("deltas", HISTORY_COLUMNS, of(learner), *where, order="seq")
    return History(base, content, tuple(map(history_entry_of, entries)))


async def read_versions(rows: Rows, key: str) -> tuple[StoredVersion, ...]:
    """Return all versions, the oldest first."""
    base, kept = (await read_head(rows, key)).marks.base, await _kept(rows, key)
    found = await rows.select("deltas", VERSION_COLUMNS, of(key), CHANGES, order="version")
    return tuple(stored_version_of(row, base=base, kept=kept) for row in found)


async def read_content_at(rows: Rows, key: str, n: int) -> Playbook | None:
    """Return the content of a version; None where it is not kept."""
    head = await read_head(rows, key)
    if not 0 <= n <= head.version.n:
        return None
    start = n if n in await _kept(rows, key) else head.marks.base
    if n < start:
        return None
    content = await _content(rows, key, start)
    between: tuple[Where, ...] = (("version", ">", start), ("version", "<=", n))
    effects = await rows.select("deltas", "effect_json", of(key), CHANGES, *between, order="version")
    return apply(content, *(load_effect(text) for (text,) in effects))


async def keep_contents(rows: Rows, key: str, base: int, contents: Mapping[int, Playbook]) -> None:
    """Keep the versions from `base` on and those of `contents`; the caller holds the lock."""
    head = await read_head(rows, key)
    if not head.marks.base <= base <= head.version.n:
        return
    of_state, held = max(head.base_n, base), await _kept(rows, key)
    gone, new = sorted(held - contents.keys() - {of_state}), sorted(contents.keys() - held)
    await rows.delete("bases", of(key), ("version", "in", gone))
    named: Where = ("version", "in", new)
    etags: dict[int, str] = dict(await rows.select("deltas", "version, etag", of(key), CHANGES, named))
    for n in new:
        etag, text = etags.get(n, ""), dump_base(contents[n])
        await put_base(rows, key, StoredBase(n, etag, base_checksum(n, etag, text), text))
    await drop_effects(rows, key, base)
    sizes = await rows.select("deltas", "effect_bytes", of(key), CHANGES, ("version", ">", of_state))
    state = {
        "base_version": base,
        "next_base_version": None,
        "content_base": of_state,
        "base_bytes": len((await read_base(rows, key, of_state)).text.encode()) if of_state else 0,
        "effects_bytes": sum(size for (size,) in sizes),
    }
    await rows.update("states", state, of(key))


async def _content(rows: Rows, key: str, n: int) -> Playbook:
    return load_base((await read_base(rows, key, n)).checked().text) if n else Playbook()


async def _kept(rows: Rows, key: str) -> set[int]:
    return {n for (n,) in await rows.select("bases", "version", of(key))}


async def put_vectors(rows: Rows, learner: str, epoch: str | None, change: VectorChange) -> bool:
    """Store and delete vectors, under the learner's lock; False where the state is not of that epoch."""
    if (await read_head(rows, learner)).version.epoch != epoch or epoch is None:
        return False
    model = change.model
    # Two ranges of the key: a comparison with != would read all rows of the learner.
    await rows.delete("vectors", of(learner), ("model", "<", model))
    await rows.delete("vectors", of(learner), ("model", ">", model))
    await rows.delete("vectors", of(learner), ("model", "=", model), ("name", "in", list(change.gone)))
    place = {"user_id": learner, "model": model}
    await rows.put("vectors", *({**place, "name": name, "vector": row} for name, row in change.rows.items()))
    return True


# Turns.


async def unknown_turns(rows: Rows, learner: str, trajectories: frozenset[str]) -> frozenset[str]:
    """Return those of the trajectories that the learner has no record of."""
    if not trajectories:
        return trajectories
    named: Where = ("turn_id", "in", sorted(trajectories))
    found = await rows.select("turns", "turn_id", of(learner), named, distinct=True)
    return trajectories - {name for (name,) in found}


async def amend_turn(rows: Rows, learner: str, amend: Amend) -> TurnRecord | None:
    """Change the record of the newest attempt at the turn. Raises TrajectoryNotFound."""
    named: Where = ("turn_id", "=", amend.turn_id)
    found = await rows.row("turns", "op_id, record_json", of(learner), named, order="seq DESC")
    if found is None:
        if amend.missing_ok:
            return None
        raise TrajectoryNotFound(f"there is no trajectory {amend.turn_id}: trajectory list shows the ids")
    changed = amend.change(load_record(found[1]))
    await rows.update("turns", record_columns(changed), of(learner), ("op_id", "=", found[0]))
    return changed


async def find_turns(
    rows: Rows, *where: Where, limit: int | None = None, skip: int = 0
) -> tuple[TurnRecord, ...]:
    """Return the records of the turns that match, the newest first."""
    found = await rows.select("turns", "record_json", *where, order="seq DESC", limit=limit, skip=skip)
    return tuple(load_record(text) for (text,) in found)


def turns_wanted(learner: str, wanted: TrajectoryFilter | None = None) -> tuple[Where, ...]:
    """Return the conditions of a filter, each of which has an index with the learner's id."""
    where = [of(learner), PRESENT]
    if wanted is None:
        return tuple(where)
    for name in ("turn_id", "agent", "task_type", "status", "parent_id"):
        if (value := getattr(wanted, name)) is not None:
            where.append((name, "=", value))
    # As text in UTC: texts with different offsets would not sort by time.
    if wanted.since is not None:
        where.append(("completed_at", ">=", wanted.since.astimezone(UTC).isoformat()))
    if wanted.until is not None:
        where.append(("completed_at", "<=", wanted.until.astimezone(UTC).isoformat()))
    if wanted.turn_ids is not None:
        where.append(("turn_id", "in", sorted(wanted.turn_ids)))
    return tuple(where)


async def list_learners(rows: Rows, limit: int, after: str) -> tuple[LearnerSummary, ...]:
    """Return learners in the order of their ids."""
    states = await rows.select(
        "states", SUMMARY_COLUMNS, ("user_id", ">", after), order="user_id", limit=limit
    )
    last = await _last_turns(rows, [state[0] for state in states])
    return tuple(summary_of((*state, last.get(state[0]))) for state in states)


async def _last_turns(rows: Rows, keys: Sequence[str]) -> Mapping[str, str | None]:
    """Return when the newest turn of each of these learners ended, or else began."""
    found = await rows.last_turns_at_once(keys)
    if found is not None:
        return found
    last = dict[str, str | None]()
    for key in keys:
        turn = await rows.row("turns", "completed_at, started_at", of(key), PRESENT, order="seq DESC")
        last[key] = None if turn is None else turn[0] or turn[1]
    return last
