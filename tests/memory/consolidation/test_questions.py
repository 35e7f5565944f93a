"""The questions that bullets came from or were cited for, under the names that the bullets have now."""

from __future__ import annotations

from dataclasses import replace

from ace_graph.memory import Figures, Playbook, Policy, Question, Snapshot, TurnRecord, questions_of
from ace_graph.memory.consolidation import measure
from ace_graph.memory.delta import Merge
from ace_graph.testing.conformance import NOON
from tests.memory.store_scenario import Life, bullet


def _turn(turn_id: str, task: str = "What is 1/2 + 1/3?", **fields: object) -> TurnRecord:
    given = {"attempt_id": "1", "mode": "cot", "status": "success", "started_at": NOON, "topic": "fractions"}
    return TurnRecord.model_validate({"turn_id": turn_id, "task": task, **given, **fields})


def test_a_question_belongs_to_what_it_taught_and_to_what_it_cited() -> None:
    playbook = Playbook.of([bullet(1, examples=("t1",)), bullet(2), bullet(3, examples=("t2",))])
    turns = [_turn("t1", cited=("gen-00002", "gen-00001", "gone")), _turn("t3"), _turn("t2", "")]
    assert questions_of(turns, playbook) == (
        Question("What is 1/2 + 1/3?", "fractions", ("gen-00001", "gen-00002"), "t1"),
    )


def test_a_merged_bullet_is_named_by_its_survivor_and_a_deleted_turn_asks_nothing() -> None:
    life = Life(bullet(1, helpful=1), bullet(2))
    life.does(Merge(bullet_ids=("gen-00001", "gen-00002"), force=True))
    asked = questions_of([_turn("t1", cited=("gen-00002",))], life.playbook)
    assert [question.bullet_ids for question in asked] == [("gen-00001",)]
    assert questions_of([_turn("t1", cited=("gen-00001",), deleted=True)], life.playbook) == ()


def test_a_bullet_that_another_one_took_up_is_found_by_that_before_and_after() -> None:
    playbook = replace(Playbook.of([bullet(2)]), aliases={"gen-00001": "gen-00002"})
    asked = Question(playbook.entries["gen-00002"].content, None, ("gen-00001",))
    state = Snapshot(playbook)
    assert measure([asked], state, state, Policy(), NOON) == Figures(1, 1, 1)
