"""Cleaning in batches, under the learner's lock.

`memory.record_retention` decides what is deleted. The learner's memory, which that needs, is read before the
lock is taken; under it only what came after is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ace_graph.base.retention import Cutoffs
from ace_graph.memory.record_retention import (
    FAILED,
    Cleaned,
    CleaningPlace,
    Fate,
    References,
    fate,
    named_turns,
)
from ace_graph.memory.serialization import load_record
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.backend import Row, Rows, Where
from ace_graph.memory.stores.records import moment, record_columns
from ace_graph.memory.stores.states import CHANGES, load, of, read_head
from ace_graph.memory.trajectory import without_steps
from ace_graph.memory.turn import TurnRecord

OldTurn = tuple[str, TurnRecord, Fate]
"""A row of the batch: its op id, the record, and its fate."""


@dataclass(frozen=True)
class Batch:
    """One call of clean."""

    learner: str
    cutoffs: Cutoffs
    place: CleaningPlace
    most: int
    dry_run: bool

    @property
    def before(self) -> str | None:
        """Only older rows are read; None: none."""
        before = self.cutoffs.steps if self.place.part == "steps" else self.cutoffs.records
        return None if before is None else before.isoformat()

    @property
    def following(self) -> CleaningPlace | None:
        """Where the next part begins."""
        parts = {"steps": CleaningPlace("turns"), "turns": CleaningPlace("deltas"), "deltas": None}
        return parts[self.place.part]


async def clean_batch(rows: Rows, batch: Batch) -> Cleaned:
    """Read one batch and delete what is too old; in a dry run count it. Without any, no lock is taken."""
    if batch.before is None or not await _is_anything_old(rows, batch):
        return Cleaned(next=batch.following)
    known = Snapshot()
    if batch.place.part != "deltas":
        async with rows.reading(batch.learner):
            known = (await load(rows, batch.learner, known)).snapshot
    if batch.dry_run:
        async with rows.reading(batch.learner):
            return await _cleaned(rows, batch, known)
    async with rows.writing():
        await rows.lock(batch.learner)
        done = await _cleaned(rows, batch, known)
        records = batch.cutoffs.records
        if records is not None and (done.turns or done.deltas):
            keys_from = (await read_head(rows, batch.learner)).keys_from
            if keys_from is None or keys_from < records.timestamp():
                await rows.update("states", {"keys_from": records.timestamp()}, of(batch.learner))
    return done


async def _cleaned(rows: Rows, batch: Batch, known: Snapshot) -> Cleaned:
    if batch.place.part == "deltas":
        return await _clean_deltas(rows, batch)
    page = await _old_rows(rows, batch, batch.most)
    following = batch.following
    if len(page) == batch.most:
        following = CleaningPlace(batch.place.part, moment(page[-1][2]), page[-1][1])
    old = await _with_fates(rows, batch, page, known)
    fates = [end for _, _, end in old]
    if batch.place.part == "turns":
        gone = [op_id for op_id, _, end in old if end == "goes"]
        if gone and not batch.dry_run:
            await rows.delete("turns", of(batch.learner), ("op_id", "in", gone))
        return Cleaned(turns=len(gone), next=following)
    for op_id, turn, end in old:
        if end == "loses steps" and not batch.dry_run:
            values = record_columns(without_steps(turn, "retention"))
            await rows.update("turns", values, of(batch.learner), ("op_id", "=", op_id))
    # Turns that go as a whole are counted by the part for them.
    steps, unreflected = fates.count("loses steps"), fates.count("unreflected")
    return Cleaned(steps=steps, unreflected=unreflected, next=following)


# Turns.


async def _old_rows(rows: Rows, batch: Batch, most: int) -> list[Row]:
    """Return op id, number and time of old turns behind the place, the oldest first."""
    column = "completed_at" if batch.place.part == "steps" else "started_at"
    where: list[Where] = [of(batch.learner), (column, "<", batch.before)]
    if batch.place.part == "steps":
        where.append(("has_steps", "=", True))
    columns, order = f"op_id, seq, {column}, status, deleted", f"{column}, seq"
    if batch.place.at is None:
        return await rows.select("turns", columns, *where, order=order, limit=most)
    at = batch.place.at.isoformat()
    at_once: tuple[Where, ...] = ((column, "=", at), ("seq", ">", batch.place.seq))
    found = await rows.select("turns", columns, *where, *at_once, order=order, limit=most)
    later: Where = (column, ">", at)
    return found + await rows.select("turns", columns, *where, later, order=order, limit=most - len(found))


async def _with_fates(
    rows: Rows, batch: Batch, page: Sequence[Row], known: Snapshot
) -> list[tuple[str, TurnRecord, Fate]]:
    """Return the turns of a page with their op ids and fates; what is kept as a failure is not read."""
    kept = batch.cutoffs.keep_failures
    keys = [op_id for op_id, _, _, status, gone in page if gone or not (kept and status in FAILED)]
    if not keys:
        return []
    texts: dict[str, str] = dict(
        await rows.select("turns", "op_id, record_json", of(batch.learner), ("op_id", "in", keys))
    )
    turns = {op_id: load_record(texts[op_id]) for op_id in keys}
    ids = sorted({turn.turn_id for turn in turns.values()})
    waiting = await rows.select(
        "pending", "turn_id", of(batch.learner), ("turn_id", "in", ids), distinct=True
    )
    parents = await rows.select(
        "turns", "parent_id", of(batch.learner), ("parent_id", "in", ids), distinct=True
    )
    named = named_turns((await load(rows, batch.learner, known)).snapshot)
    references = References({name for (name,) in waiting}, named | {name for (name,) in parents})
    return [(op_id, turn, fate(turn, references, batch.cutoffs)) for op_id, turn in turns.items()]


# Deltas.


async def _old_deltas(rows: Rows, batch: Batch) -> tuple[tuple[Where, ...], ...]:
    """Return the conditions on what goes: the oldest versions, without a gap and never past the base of the
    history, and commits that changed nothing.
    """
    oldest_kept = (await read_head(rows, batch.learner)).marks.base + 1
    young: Where = ("at", ">=", batch.before)
    first_young = await rows.row("deltas", "version", of(batch.learner), CHANGES, young, order="version")
    if first_young is not None:
        oldest_kept = min(oldest_kept, first_young[0])
    quiet: Where = ("content_changed", "=", False)
    return (
        (of(batch.learner), CHANGES, ("version", "<", oldest_kept)),
        (of(batch.learner), quiet, ("at", "<", batch.before)),
    )


async def _clean_deltas(rows: Rows, batch: Batch) -> Cleaned:
    parts, deleted = await _old_deltas(rows, batch), 0
    if batch.dry_run:
        return Cleaned(deltas=sum([await rows.count("deltas", *where) for where in parts]))
    for where in parts:
        most = batch.most - deleted
        found = await rows.select("deltas", "op_id", *where, order="version, seq", limit=most)
        names: Where = ("op_id", "in", [op_id for (op_id,) in found])
        deleted += await rows.delete("deltas", of(batch.learner), names)
    return Cleaned(deltas=deleted, next=batch.place if deleted == batch.most else None)


async def _is_anything_old(rows: Rows, batch: Batch) -> bool:
    if batch.place.part != "deltas":
        return bool(await _old_rows(rows, batch, 1))
    parts = await _old_deltas(rows, batch)
    return any([await rows.row("deltas", "op_id", *where) is not None for where in parts])
