"""What a record is in Neo4j beside its JSON: values that a node may have."""

from __future__ import annotations

from ace_graph.memory import TurnRecord
from ace_graph.memory.stores.neo4j.queries import turn_properties
from ace_graph.testing.conformance import NOON


def test_a_record_that_says_where_lessons_went_has_no_nested_properties() -> None:
    record = TurnRecord(
        turn_id="t",
        attempt_id="t",
        task="x",
        mode="cot",
        status="success",
        started_at=NOON,
        learned_into={
            "playbook": "ada/api",
            "how": "written",
            "count": 1,
            "kept": 0,
            "why": None,
            "bullet_ids": ["les-00001"],
            "proposal_id": None,
        },
    )
    assert not any(isinstance(value, dict) for value in turn_properties(record).values())
