"""Cleaning the Neo4j store in batches; the list of learners, and the sizes. The Cypher is in cleaning.cypher.

`memory.retention` decides what is deleted. Every transaction that deletes holds the learner's lock.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, LiteralString

from ace_graph.memory.record_retention import Cleaned, named_turns
from ace_graph.memory.stores.cleaning import Batch, OldTurn
from ace_graph.memory.stores.neo4j.commit_retry import lock, read_locked
from ace_graph.memory.stores.neo4j.connection import (
    Neo4jConnection,
    Neo4jLink,
    Row,
    Runner,
    fetch,
    fetch_rows,
)
from ace_graph.memory.stores.neo4j.queries import statement, turn_properties
from ace_graph.memory.stores.records import moment
from ace_graph.memory.trajectory import without_steps

OLD_STEPS: Final = statement("cleaning.OLD_STEPS")
OLD_TURNS: Final = statement("cleaning.OLD_TURNS")
EMPTY_TURNS: Final = "UNWIND $turns AS each MATCH (t:AceTurn {key: each.key}) SET t += each.turn"
DELETE_TURNS: Final = "UNWIND $keys AS key MATCH (t:AceTurn {key: key}) DETACH DELETE t"
MARK_KEYS: Final = statement("cleaning.MARK_KEYS")
COUNT_DELTAS: Final = statement("cleaning.COUNT_DELTAS")
DELETE_DELTAS: Final = statement("cleaning.DELETE_DELTAS")
BEGIN: Final = statement("cleaning.BEGIN")
LEARNERS: Final = statement("cleaning.LEARNERS")
SIZES: Final = statement("cleaning.SIZES")
_BEGINNING_OF_TIME = datetime(1, 1, 1, tzinfo=UTC)


_QUERIES: Final[dict[str, LiteralString]] = {"steps": OLD_STEPS, "turns": OLD_TURNS, "deltas": COUNT_DELTAS}
"""The statements that find the old rows of each part."""


def _parameters(batch: Batch) -> dict[str, object]:
    return {
        "uid": batch.learner,
        "before": batch.before,
        "at": batch.place.at or _BEGINNING_OF_TIME,
        "seq": batch.place.seq,
        "failures": batch.cutoffs.keep_failures,
        "most": batch.most,
    }


async def clean_batch(
    connection: Neo4jConnection, link: Neo4jLink, batch: Batch, *, dry_run: bool
) -> Cleaned:
    """Read one batch of rows and delete what is too old. Without any rows, no lock is taken."""
    if batch.before is None:
        return Cleaned(next=batch.following)
    found = await connection.rows(link, _QUERIES[batch.place.part], **_parameters(batch))
    if batch.place.part == "deltas":
        count = _number(found)
        if dry_run or not count:
            return Cleaned(deltas=count)
        async with connection.transaction(link) as transaction:
            state = await lock(transaction, batch.learner)
            if state is None or state.epoch is None:
                return Cleaned()
            deleted = _number(await fetch(transaction, DELETE_DELTAS, **_parameters(batch)))
            if deleted:
                await _mark_keys(transaction, batch)
            return Cleaned(deltas=deleted, next=batch.place if deleted == batch.most else None)
    if not found:
        return Cleaned(next=batch.following)
    async with connection.transaction(link) as transaction:
        snapshot = await read_locked(transaction, batch.learner)
        if snapshot.absent:
            return Cleaned(next=batch.following)
        rows = await fetch_rows(transaction, _QUERIES[batch.place.part], **_parameters(batch))
        # The server would compare the driver's own UTC zone as a different zone.
        in_utc = ((*row, moment(at).astimezone(UTC)) for *row, at in rows)
        old = batch.with_fates(in_utc, named_turns(snapshot))
        if not dry_run:
            await _delete_or_empty(transaction, batch, old)
        return batch.cleaned(old)


async def _delete_or_empty(run: Runner, batch: Batch, old: list[OldTurn]) -> None:
    if batch.place.part == "turns":
        going = [row.key for row in old if row.fate == "goes"]
        if going:
            await fetch(run, DELETE_TURNS, keys=going)
            await _mark_keys(run, batch)
        return
    # Nodes from before `has_steps` was stored seem to have steps.
    emptied = [
        {"key": row.key, "turn": turn_properties(without_steps(row.turn, "retention"))}
        for row in old
        if row.fate == "loses steps"
    ]
    emptied += [{"key": row.key, "turn": turn_properties(row.turn)} for row in old if not row.turn.steps]
    if emptied:
        await fetch(run, EMPTY_TURNS, turns=emptied)


async def _mark_keys(run: Runner, batch: Batch) -> None:
    if batch.cutoffs.records is not None:
        moment = batch.cutoffs.records.timestamp()
        await fetch(run, MARK_KEYS, uid=batch.learner, keys_from=moment)


def _number(rows: list[Row]) -> int:
    return int(str(rows[0]["deltas"])) if rows else 0
