"""What the cases write: deltas, records and learner ids that no other case uses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from ace_graph.memory.commit import Commit
from ace_graph.memory.delta.operations import Add, Delta, Operation, Touch
from ace_graph.memory.evidence import Evidence
from ace_graph.memory.snapshot import Snapshot
from ace_graph.memory.stores.store import KeyedStore
from ace_graph.memory.turn import TurnRecord, answer_hash

NOON = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def new_learner(prefix: str = "learner") -> str:
    """Return a learner id that nobody used before."""
    return f"{prefix}-{uuid4()}"


def rewriting(*operations: Operation, op_id: str | None = None, minute: int = 0) -> Delta:
    """Return a delta of these operations, at `minute` past noon, under a new op id unless one is given."""
    return Delta(
        op_id=op_id or str(uuid4()),
        now=NOON + timedelta(minutes=minute),
        operations=operations,
        author="conformance",
        reason="a case of the suite",
        source="suite",
    )


def adding(*texts: str, op_id: str | None = None, minute: int = 0) -> Delta:
    """Return a delta that adds one bullet per text."""
    return rewriting(*(Add(content=text) for text in texts), op_id=op_id, minute=minute)


def touching(*bullet_ids: str, op_id: str | None = None) -> Delta:
    """Return a delta that changes no content: it says which bullets were used, if any."""
    return rewriting(Touch(bullet_ids=bullet_ids), op_id=op_id)


def record(number: int = 1, *, turn_id: str | None = None, answer: str = "5/6") -> TurnRecord:
    """Return the record of a turn that began `number` minutes past noon."""
    started = NOON + timedelta(minutes=number)
    return TurnRecord(
        turn_id=turn_id or str(uuid4()),
        attempt_id=str(uuid4()),
        conversation_id="conversation",
        task=f"What is 1/2 + 1/3? Question {number}",
        answer=answer,
        answer_hash=answer_hash(answer),
        mode="cot",
        topic="fraction_addition",
        status="success",
        verdict="success",
        calls=1,
        input_tokens=120,
        output_tokens=40,
        duration_ms=12.5,
        evidence=(Evidence(source="tool", verdict="success", score=1.0, text="checked", by="calculator"),),
        started_at=started,
        completed_at=started + timedelta(seconds=2),
    )


async def write(store: KeyedStore, learner_id: str, delta: Delta, made: TurnRecord | None = None) -> Commit:
    """Load, then commit `delta` on what was loaded: one turn."""
    return await store.commit(learner_id, delta, await store.load(learner_id), made)


def contents(snapshot: Snapshot) -> list[str]:
    """Return the texts of the bullets, sorted."""
    return sorted(bullet.content for bullet in snapshot.playbook.bullets())
