"""Feedback on a stored trajectory: votes at once, and learning again when its score moved."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from ace_graph.base import Settings, TrajectoryNotFound, UsageError
from ace_graph.learning import (
    Completion,
    RetryPolicy,
    build_worker,
    complete_trajectory,
    get_trajectory,
    give_feedback,
    learning_resources,
    reflect_on,
    start_trajectory,
)
from ace_graph.memory.delta import Add
from ace_graph.memory.stores.sql import SQLiteStore
from ace_graph.testing import ScriptedModel
from ace_graph.testing.conformance import rewriting, write

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOTHING = json.dumps({"reasoning": "r", "lessons": []})
BETTER = json.dumps({"reasoning": "r", "lessons": [{"content": "Fractions need a common denominator first"}]})


@pytest.fixture
def store() -> SQLiteStore:
    return SQLiteStore()


async def _done(store: SQLiteStore, name: str, score: float | None, cited: tuple[str, ...] = ()) -> None:
    await start_trajectory(store, "bot", f"Add fractions {name}", trajectory_id=name, clock=lambda: NOON)
    completion = Completion(score=score, cited=cited, learns=False)
    await complete_trajectory(store, "bot", name, "success", completion, clock=lambda: NOON)


async def test_a_correction_moves_the_counter_and_reaches_the_next_reflection(store: SQLiteStore) -> None:
    await write(store, "bot", rewriting(Add(content="Add tops and bottoms of fractions", section="m")))
    (bullet,) = (await store.load("bot")).playbook.bullets()
    await _done(store, "t1", 1.0, (bullet.id,))
    version = (await store.load("bot")).version.n
    given = await give_feedback(store, "bot", "t1", "failure", "it is 5/6, not 2/5", clock=lambda: NOON)
    entry = (await store.load("bot")).playbook.entries[bullet.id]
    assert (entry.helpful, entry.harmful) == (0, 1)
    assert (given.before, given.after) == (1.0, 0.5)
    model = ScriptedModel(reflector=[BETTER])
    await build_worker(model=model, store=store, settings=Settings(), clock=lambda: NOON).drain()
    prompt = "\n".join(message.text for message in model.calls_of("reflector")[0].messages)
    assert "it is 5/6, not 2/5" in prompt
    assert (await store.load("bot")).version.n > version
    (said,) = (await get_trajectory(store, "bot", "t1")).feedback
    assert (said.kind, said.verdict, said.text) == ("human", "failure", "it is 5/6, not 2/5")


async def test_a_small_move_is_a_vote_and_no_reason_to_learn_again(store: SQLiteStore) -> None:
    await _done(store, "t1", 0.9)
    given = await give_feedback(store, "bot", "t1", "success", clock=lambda: NOON)
    assert given.pending_id is None
    assert await store.list_pending("bot") == ()


@pytest.mark.parametrize(
    ("own", "given", "again"),
    [(1.0, 0.7, True), (1.0, 0.701, False), (0.1, 0.4, True), (0.1, 0.399, False), (None, 0.2, True)],
)
async def test_a_score_that_moves_by_three_tenths_is_learned_from_again(
    store: SQLiteStore, own: float | None, given: float, again: bool
) -> None:
    await _done(store, "t1", own)
    done = await give_feedback(
        store, "bot", "t1", "partial", score=given, rule="latest", clock=lambda: NOON + timedelta(seconds=1)
    )
    assert (done.before, done.after) == (own, given)
    assert [item.turn_id for item in await store.list_pending("bot")] == ["t1"] * again
    assert (done.pending_id is not None) == again


async def test_what_moved_most_is_learned_from_first_and_a_failing_one_stays(store: SQLiteStore) -> None:
    for name, score in (("little", 0.6), ("much", 1.0), ("middle", 0.8)):
        await _done(store, name, score)
        await give_feedback(
            store, "bot", name, "failure", f"wrong: {name}", rule="latest", clock=lambda: NOON
        )
    assert [item.turn_id for item in await store.list_pending("bot")] == ["much", "middle", "little"]
    model = ScriptedModel(reflector=[NOTHING, ValueError("down"), NOTHING])
    terms = RetryPolicy(max_attempts=1)
    await build_worker(
        model=model, store=store, settings=Settings(), clock=lambda: NOON, concurrency=1, terms=terms
    ).drain()
    order = [call.messages[0].text for call in model.calls_of("reflector")]
    assert [next(n for n in ("much", "middle", "little") if f"wrong: {n}" in text) for text in order] == [
        "much",
        "middle",
        "little",
    ]
    (left,) = await store.list_pending("bot")
    assert (left.turn_id, left.state) == ("middle", "dead")
    assert "down" in (left.error or "")


@pytest.mark.parametrize("kind", ["monitoring", "ab_test", "production"])
async def test_a_system_is_a_stronger_source_than_the_learner(store: SQLiteStore, kind: str) -> None:
    await write(store, "bot", rewriting(Add(content="Add the tops of fractions", section="math")))
    (bullet,) = (await store.load("bot")).playbook.bullets()
    await _done(store, "t1", 1.0, (bullet.id,))
    await give_feedback(store, "bot", "t1", "failure", kind=kind)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # of a table
    await give_feedback(store, "bot", "t1", "success")
    entry = (await store.load("bot")).playbook.entries[bullet.id]
    assert (entry.helpful, entry.harmful) == (0, 1)


async def test_wrong_feedback_is_refused(store: SQLiteStore) -> None:
    with pytest.raises(TrajectoryNotFound):
        await give_feedback(store, "bot", "nowhere", "success")
    await _done(store, "t1", 1.0)
    with pytest.raises(UsageError, match="verdict"):
        await give_feedback(store, "bot", "t1", "unknown")
    for score in (1.1, -0.1, float("nan")):
        with pytest.raises(UsageError, match="from 0 to 1"):
            await give_feedback(store, "bot", "t1", "success", score=score)


async def test_a_trajectory_without_a_score_can_be_reflected_on(store: SQLiteStore) -> None:
    await start_trajectory(store, "bot", "Half done", trajectory_id="t1")
    resources, opened = learning_resources(
        model=ScriptedModel(reflector=[BETTER]), store=store, settings=Settings()
    )
    with pytest.raises(UsageError, match="in progress"):
        await reflect_on("bot", "t1", resources, opened)
    await complete_trajectory(store, "bot", "t1", "partial", Completion(learns=False))
    done = await reflect_on("bot", "t1", resources, opened)
    assert done.status == "done"
    turn = await get_trajectory(store, "bot", "t1")
    assert turn.score is None
    assert turn.reflections[0].turn_id == "t1"
    assert turn.reflections[0].at >= NOON - timedelta(days=1)


async def test_a_trajectory_that_is_reflected_on_again_is_analysed_once(store: SQLiteStore) -> None:
    for name in ("t1", "t2"):
        await _done(store, name, None)
    resources, opened = learning_resources(
        model=ScriptedModel(reflector=[BETTER, BETTER, NOTHING]), store=store, settings=Settings()
    )
    for name, count in (("t1", 1), ("t1", 1), ("t2", 2)):
        await reflect_on("bot", name, resources, opened)
        assert (await store.load("bot")).access.analyzed == count
    (lesson,) = (await store.load("bot")).playbook.bullets()
    assert (lesson.examples, lesson.evidence_count) == (("t1",), 1), "the same run is no second evidence"
