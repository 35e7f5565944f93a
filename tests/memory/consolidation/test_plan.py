"""The plan of a consolidation: groups, what is protected, numbers that add up, retrieval that is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ace_graph.base import UsageError
from ace_graph.memory import (
    Bullet,
    ConsolidationPlan,
    Figures,
    MemoryType,
    Options,
    Outlook,
    Playbook,
    Policy,
    Question,
    Snapshot,
    dump_playbook,
    make_plan,
    similar_groups,
    touched,
)
from ace_graph.memory.delta import Delta, apply
from ace_graph.memory.delta.resolve import resolve
from tests.memory.delta.generated_deltas import bullets as generated

NOW = datetime(2026, 1, 2, tzinfo=UTC)
PARAPHRASES = (
    "Check the rate limit before you call the API",
    "Before you call the API, check the rate limit",
    "Always check the rate limit before you call the API.",
)
ASKED = Question("How do I check the rate limit?", None, ("gen-00001", "gen-00002"))
OTHERS = ("Draw a bar for every fraction", "Never store a password in a log")


def _memory(*texts: str, **fields: object) -> Snapshot:
    numbers = count(1)
    made = [
        Bullet.model_validate(
            {"id": f"gen-{next(numbers):05d}", "section": "general", "content": text, **fields}
        )
        for text in texts
    ]
    return Snapshot(Playbook.of(made))


def _plan(
    snapshot: Snapshot,
    options: Options | None = None,
    *,
    asking: Sequence[Question] = (),
    kept: Snapshot | None = None,
) -> ConsolidationPlan:
    originals = (kept or snapshot).playbook.get_bullet
    outlook = Outlook(snapshot, Policy(), NOW, originals, tuple(asking))
    return make_plan(outlook, options or Options())


def _after(snapshot: Snapshot, plan: ConsolidationPlan) -> Snapshot:
    operations = tuple(group.operation for group in plan.groups)
    effect = resolve(snapshot, Delta(op_id="run", now=NOW, operations=operations), Policy())
    assert effect.report.rejected == ()
    return Snapshot(apply(snapshot.playbook, effect), touched(snapshot.access, effect))


def test_three_paraphrases_are_one_group() -> None:
    snapshot = _memory(*PARAPHRASES, *OTHERS)
    assert [set(ids) for ids in similar_groups(snapshot.playbook)] == [
        {"gen-00001", "gen-00002", "gen-00003"}
    ]
    plan = _plan(snapshot)
    (group,) = plan.groups
    assert (plan.merged, len(plan.preserved), plan.untouched, plan.total) == (3, 0, 2, 5)
    after = _after(snapshot, plan)
    assert len(after.playbook) == 3
    saved = len(dump_playbook(snapshot.playbook).encode()) - len(dump_playbook(after.playbook).encode())
    assert plan.space_saved_bytes == saved
    assert group.text in PARAPHRASES


@pytest.mark.parametrize(
    "fields",
    [{"importance": 0.8}, {"pinned": True}, {"section": "profile"}, {"status": "quarantined"}],
)
def test_what_is_protected_is_in_no_group(fields: dict[str, object]) -> None:
    plan = _plan(_memory(*PARAPHRASES, **fields))
    assert plan.groups == ()
    assert len(plan.preserved) == plan.total == 3


def test_only_what_is_selected_is_merged() -> None:
    snapshot = _memory(*PARAPHRASES, topic="calls", memory_type="procedural")
    for other in (Options(topic="other"), Options(kind="fact"), Options(section="other"), Options(below=0.4)):
        assert _plan(snapshot, other).merged == 0
    matching = Options(topic="Calls", kind="strategy", section="general", below=0.5)
    assert _plan(snapshot, matching).merged == 3


def test_memory_types_and_tags_select() -> None:
    snapshot = _memory(*PARAPHRASES, tags=("http", "retry"), memory_type="procedural")
    episodic: frozenset[MemoryType] = frozenset({"episodic"})
    for other in (Options(memory_types=episodic), Options(tags=("http", "other"))):
        assert _plan(snapshot, other).merged == 0
    either: frozenset[MemoryType] = frozenset({"episodic", "procedural"})
    matching = Options(memory_types=either, tags=("HTTP", "retry"))
    assert _plan(snapshot, matching).merged == 3


def test_without_preservation_no_importance_protects() -> None:
    snapshot = _memory(*PARAPHRASES, importance=1.0)
    assert _plan(snapshot, Options(below=1.0, keep_above=1.0)).merged == 0
    plan = _plan(snapshot, Options(below=1.0, keep_above=None))
    assert (plan.merged, dict(plan.preserved)) == (3, {})
    assert _plan(snapshot, Options(keep_above=None)).merged == 0, "below selects as it did"
    pinned = _memory(*PARAPHRASES, pinned=True, importance=1.0)
    assert _plan(pinned, Options(below=1.0, keep_above=None)).merged == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Options(below=0.9),
        lambda: Options(below=-0.1),
        lambda: Options(keep_above=1.1),
        lambda: Options(below=float("nan")),
        lambda: Options(batch=0),
        lambda: Options(most=0),
    ],
)
def test_options_out_of_range_are_refused(make: Callable[[], Options]) -> None:
    with pytest.raises(UsageError):
        make()


def test_batches_and_the_cap_bound_a_pass() -> None:
    texts = [text for n in range(30) for text in (f"Error {n} means to wait", f"error {n} means to wait.")]
    snapshot = _memory(*texts)
    plan = _plan(snapshot, Options(batch=20))
    assert [len(batch) for batch in plan.batches] == [10, 10, 10]
    plan = _plan(snapshot, Options(batch=20, most=4))
    assert [len(batch) for batch in plan.batches] == [4, 4, 4]
    assert plan.left == 18


def test_a_group_above_the_cap_is_alone_in_its_batch() -> None:
    pairs = [text for n in range(2) for text in (f"Error {n} means to wait", f"error {n} means to wait.")]
    for texts, sizes, left in (
        ((*PARAPHRASES, *pairs), [3], 2),
        ((*pairs, *PARAPHRASES), [2], 2),
        ((*OTHERS, *PARAPHRASES), [3], 0),
    ):
        plan = _plan(_memory(*texts), Options(most=1))
        assert [len(group.group.bullets) for (group,) in plan.batches] == sizes
        assert plan.left == left
        assert len(plan.for_model) == 0
    plan = _plan(_memory(*PARAPHRASES, *pairs), Options(most=3))
    assert [[len(group.group.bullets) for group in batch] for batch in plan.batches] == [[3, 2]]
    assert plan.left == 1


def test_a_group_is_in_the_batch_of_its_first_member() -> None:
    pair = ("Error 5 means to wait", "error 5 means to wait.")
    texts = (PARAPHRASES[0], *OTHERS, PARAPHRASES[1], *pair)
    plan = _plan(_memory(*texts), Options(batch=4))
    assert [[sorted(group.group.ids) for group in batch] for batch in plan.batches] == [
        [["gen-00001", "gen-00004"]],
        [["gen-00005", "gen-00006"]],
    ]


@pytest.mark.parametrize(("batch", "cap"), [(1, 50), (200, 50), (207, 51), (1_000, 250)])
def test_the_cap_of_a_batch_is_a_share_of_it(batch: int, cap: int) -> None:
    assert Options(batch=batch).cap == cap
    assert Options(batch=batch, most=7).cap == 7


def test_a_plan_names_what_its_questions_find() -> None:
    plan = _plan(_memory(*PARAPHRASES), asking=[ASKED])
    (group,) = plan.groups
    assert plan.figures == group.figures == Figures(2, 2, 2)


def test_a_plan_that_lowers_retrieval_is_refused_with_figures() -> None:
    contexts = ("Sending invoices", "Deleting accounts", "Uploading photographs")
    bullets = _memory(*PARAPHRASES).playbook.bullets()
    named = [b.model_copy(update={"context": c}) for b, c in zip(bullets, contexts, strict=True)]
    asked = [
        Question(f"How do I go about {c.lower()}?", None, (b.id,))
        for b, c in zip(named, contexts, strict=True)
    ]
    plan = _plan(Snapshot(Playbook.of(named)), asking=asked)
    assert plan.groups == ()
    (refused,) = plan.refused
    assert refused.why == "its questions would find less: found 3 of 3 before, 1 after"


def test_a_plan_that_hides_a_bullet_of_no_group_is_refused_as_a_whole() -> None:
    pair = ("Error 5 means to wait", "error 5 means to wait.")
    fillers = ("Water the plants on Monday", "Paint the fence in spring", "Sharpen the knife weekly")
    texts = (*PARAPHRASES, *OTHERS, *fillers, *pair, "Draw a bar", "Never draw a bar")
    snapshot = _memory(*texts)
    asked = Question("rate limit api store", None, ("gen-00005",))
    plan = _plan(snapshot, asking=[asked])
    assert (plan.batches, plan.left, plan.space_saved_bytes, plan.merged) == ((), 0, 0, 0)
    assert str(plan.figures) == "found 1 of 1 before, 0 after"
    free = _plan(snapshot)
    assert free.space_saved_bytes > 0
    lowered = {
        (group.ids, f"the plan lowers retrieval: {plan.figures}")
        for group in (each.group for each in free.groups)
    }
    assert len(lowered) == 2
    assert set(plan.refused) == {*free.refused, *lowered}
    assert plan.for_model == free.for_model


def test_a_second_plan_finds_nothing() -> None:
    snapshot = _memory(*PARAPHRASES, *OTHERS)
    after = _after(snapshot, _plan(snapshot))
    assert _plan(after, kept=snapshot).groups == ()


@given(st.lists(generated(), max_size=8, unique_by=lambda bullet: bullet.id))
def test_a_plan_adds_up_and_can_be_done(given_bullets: list[Bullet]) -> None:
    snapshot = Snapshot(Playbook.of(given_bullets))
    plan = _plan(snapshot)
    assert plan.merged + len(plan.preserved) + plan.untouched == plan.total == len(given_bullets)
    ids = [name for group in plan.groups for name in group.group.ids]
    assert len(ids) == len(set(ids))
    after = _after(snapshot, plan)
    assert all(after.playbook.entries[name] == snapshot.playbook.entries[name] for name in plan.preserved)
    assert _plan(after, kept=snapshot).groups == ()
    reordered = Snapshot(Playbook.of(reversed(given_bullets)))
    assert {frozenset(g.group.ids) for g in _plan(reordered).groups} == {
        frozenset(g.group.ids) for g in plan.groups
    }
