"""Cleaning the Neo4j store, a batch at a time; its list of learners, and how much is stored.

Does not: decide what may go. `memory.retention` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import LiteralString, NamedTuple, cast

from neo4j import AsyncSession, AsyncTransaction

from ace_graph.memory.payload import load_record
from ace_graph.memory.retention import Cleaned, Cutoffs, Fate, Place, References, fate, named_turns
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores import neo4j_cleaning_queries as cypher
from ace_graph.memory.stores.base import LearnerSummary, StoreSizes
from ace_graph.memory.stores.neo4j_commit import lock
from ace_graph.memory.stores.neo4j_connection import Link, Neo4jConnection, Row, fetch
from ace_graph.memory.stores.neo4j_rows import native, turn_properties
from ace_graph.memory.trajectory import without_steps
from ace_graph.memory.turn import TurnRecord

__all__ = ["Batch", "begin_duty", "clean_batch", "list_learners", "read_sizes"]

_EVER = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Batch:
    """One call of clean."""

    learner: str
    cutoffs: Cutoffs
    place: Place
    most: int
    dry_run: bool

    @property
    def before(self) -> datetime | None:
        """What is older than this is looked at."""
        return self.cutoffs.steps if self.place.part == "steps" else self.cutoffs.records

    @property
    def query(self) -> LiteralString:
        """The statement that finds this part's old rows."""
        return {
            "steps": cypher.OLD_STEPS,
            "turns": cypher.OLD_TURNS,
            "deltas": cypher.COUNT_DELTAS,
        }[self.place.part]

    @property
    def following(self) -> Place | None:
        """Where the next part begins."""
        return {"steps": Place("turns"), "turns": Place("deltas"), "deltas": None}[self.place.part]

    def parameters(self) -> dict[str, object]:
        """What the statements ask for."""
        return {
            "uid": self.learner,
            "before": self.before,
            "at": self.place.at or _EVER,
            "seq": self.place.seq,
            "failures": self.cutoffs.keep_failures,
            "most": self.most,
        }


class _Old(NamedTuple):
    key: str
    turn: TurnRecord
    fate: Fate
    at: datetime
    seq: int


async def clean_batch(connection: Neo4jConnection, link: Link, batch: Batch) -> Cleaned:
    """Look at one batch of rows and take away what may go. Where there are none, no lock is taken."""
    if batch.before is None:
        return Cleaned(next=batch.following)
    found = await connection.rows(link, batch.query, **batch.parameters())
    if batch.place.part == "deltas":
        count = _number(found)
        if batch.dry_run or not count:
            return Cleaned(deltas=count)
        async with connection.transaction(link) as transaction:
            return await _delete_deltas(transaction, batch)
    if not found:
        return Cleaned(next=batch.following)
    async with connection.transaction(link) as transaction:
        return await _clean_turns(transaction, batch)


async def _clean_turns(run: AsyncTransaction, batch: Batch) -> Cleaned:
    state = await lock(run, batch.learner)
    snapshot = (state and state.snapshot(Snapshot())) or Snapshot()
    if snapshot.absent:
        return Cleaned(next=batch.following)
    rows = await fetch(run, batch.query, **batch.parameters())
    named = named_turns(snapshot)
    old = [_judged(row, named, batch.cutoffs) for row in rows]
    if not batch.dry_run:
        await _drop(run, batch, old)
    ends = [each.fate for each in old]
    following = batch.following
    if len(old) == batch.most:
        following = Place(batch.place.part, old[-1].at, old[-1].seq)
    if batch.place.part == "turns":
        return Cleaned(turns=ends.count("goes"), next=following)
    return Cleaned(steps=ends.count("loses steps"), unreflected=ends.count("unreflected"), next=following)


def _judged(row: Row, named: frozenset[str], cutoffs: Cutoffs) -> _Old:
    turn = load_record(str(row["record_json"]))
    ids = frozenset((turn.turn_id,))
    references = References(ids if row["waits"] else frozenset(), ids if row["has_parts"] else named)
    # The driver's own name for UTC is another zone to the server, where two moments are compared.
    at = cast("datetime", native(row["at"])).astimezone(UTC)
    return _Old(str(row["key"]), turn, fate(turn, references, cutoffs), at, int(str(row["seq"])))


async def _drop(run: AsyncTransaction, batch: Batch, old: list[_Old]) -> None:
    if batch.place.part == "turns":
        going = [each.key for each in old if each.fate == "goes"]
        if going:
            await fetch(run, cypher.DELETE_TURNS, keys=going)
            await _mark_keys(run, batch)
        return
    # Nodes from before `has_steps` was kept say that they have steps.
    emptied = [
        {"key": each.key, "turn": turn_properties(without_steps(each.turn, "retention"))}
        for each in old
        if each.fate == "loses steps"
    ]
    emptied += [{"key": each.key, "turn": turn_properties(each.turn)} for each in old if not each.turn.steps]
    if emptied:
        await fetch(run, cypher.EMPTY_TURNS, turns=emptied)


async def _delete_deltas(run: AsyncTransaction, batch: Batch) -> Cleaned:
    state = await lock(run, batch.learner)
    if state is None or state.epoch is None:
        return Cleaned()
    deleted = _number(await fetch(run, cypher.DELETE_DELTAS, **batch.parameters()))
    if deleted:
        await _mark_keys(run, batch)
    return Cleaned(deltas=deleted, next=batch.place if deleted == batch.most else None)


async def _mark_keys(run: AsyncTransaction, batch: Batch) -> None:
    if batch.cutoffs.records is not None:
        moment = batch.cutoffs.records.timestamp()
        await fetch(run, cypher.MARK_KEYS, uid=batch.learner, keys_from=moment)


def _number(rows: list[Row]) -> int:
    return int(str(rows[0]["deltas"])) if rows else 0


async def begin_duty(connection: Neo4jConnection, link: Link, now: datetime, every: float) -> bool:
    """Whether a cleaning is due; if so it begins now. A clock that went back holds nobody up."""
    return bool(await connection.rows(link, cypher.BEGIN, now=now.timestamp(), every=every))


async def list_learners(run: AsyncSession, limit: int, after: str) -> tuple[LearnerSummary, ...]:
    """Return learners in the order of their ids."""
    rows = await fetch(run, cypher.LEARNERS, limit=limit, after=after)
    return tuple(
        LearnerSummary(
            str(row["learner_id"]),
            int(str(row["version"])),
            cast("datetime", native(row["created_at"])),
            cast("datetime", native(row["changed_at"])),
            cast("datetime | None", native(row["last_turn"])),
        )
        for row in rows
    )


async def read_sizes(run: AsyncSession) -> StoreSizes:
    """Return how many nodes there are; the server keeps these counts."""
    (row,) = await fetch(run, cypher.SIZES)
    return StoreSizes(*(int(str(row[name])) for name in ("learners", "turns", "deltas", "pending")))
