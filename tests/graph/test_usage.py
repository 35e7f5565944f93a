"""What a playbook was worth over several runs: use, success, analysed runs, and the runs behind a lesson."""

from __future__ import annotations

from datetime import datetime, timedelta

from ace_graph import ACEContext
from ace_graph.memory import EvidenceIndex, effectiveness_of, metadata_of
from ace_graph.memory.delta import Add, Reset
from ace_graph.playbooks.consolidation import consolidate
from ace_graph.testing import ScriptedModel
from tests.consolidation.planted import OTHERS, PARAPHRASES, bullets
from tests.graph.conftest import Build, CountingStore, ask, base_moment
from tests.graph.test_learning import lessons

RULE = "Make the denominators equal before adding fractions"


def checked(truth: str) -> ACEContext:
    """A run whose answer is compared with `truth`."""
    return ACEContext(learner_id="alice", ground_truth=truth)


class Clock:
    """One minute later at every look."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def __call__(self) -> datetime:
        self._now += timedelta(minutes=1)
        return self._now


async def test_three_runs_are_counted_with_how_they_ended(build: Build, store: CountingStore) -> None:
    await store.seed("alice", Add(content=RULE, pinned=True))
    assert effectiveness_of(await store.now("alice")).usage_count == 0
    model = ScriptedModel(solver=["<final>5/6</final>"] * 3, reflector=[lessons()] * 3)
    graph, used = build(model, clock=Clock(base_moment())), list[datetime | None]()
    for truth in ("5/6", "5/6", "1"):
        loads, commits = store.calls.loads, len(store.calls.commits)
        await graph.ainvoke(ask(), context=checked(truth))
        assert (store.calls.loads - loads, len(store.calls.commits) - commits) == (1, 1)
        used.append(effectiveness_of(await store.now("alice")).last_used_at)
    worth = effectiveness_of(await store.now("alice"))
    assert (worth.usage_count, worth.success_rate) == (3, 2 / 3)
    assert worth.avg_improvement is None, "no run went without"
    assert None not in used
    assert sorted(set(used), key=str) == used, "it moves with every run"


async def test_runs_analysed_and_consolidations_are_counted(build: Build, store: CountingStore) -> None:
    await store.seed("alice", Add(content="Name the unit", ref="a"), Add(content="Name every unit", ref="b"))
    model = ScriptedModel(
        solver=["<final>5/6</final>"] * 4, reflector=[lessons(), lessons(RULE), lessons(), "no JSON"]
    )
    graph = build(model)
    for _ in range(4):
        await graph.ainvoke(ask(), context=checked("5/6"))
    known = metadata_of(await store.now("alice"))
    assert (known.total_trajectories_analyzed, known.consolidation_count) == (3, 0), "one reflection failed"
    await store.seed("alice", Reset(bullets=bullets(*PARAPHRASES, *OTHERS)))
    before = metadata_of(await store.now("alice"))
    assert (before.total_trajectories_analyzed, before.last_consolidated) == (3, None)
    at = base_moment() + timedelta(days=2)
    done = await consolidate(store, owner="alice", now=at)
    assert done.merged > 0
    known = metadata_of(await store.now("alice"))
    assert (known.total_trajectories_analyzed, known.consolidation_count) == (3, 1)
    assert known.last_consolidated == at
    await consolidate(store, owner="alice", now=at + timedelta(days=1))
    assert metadata_of(await store.now("alice")) == known, "there was nothing left to consolidate"


async def test_the_same_lesson_of_two_runs_names_both(build: Build, store: CountingStore) -> None:
    model = ScriptedModel(solver=["<final>5/6</final>"] * 2, reflector=[lessons(RULE)] * 2)
    graph = build(model)
    runs = [(await graph.ainvoke(ask(), context=checked("5/6")))["learning"]["turn_id"] for _ in range(2)]
    snapshot = await store.now("alice")
    (bullet,) = snapshot.playbook.bullets()
    assert set(bullet.examples) == set(runs)
    assert bullet.evidence_count == 2
    index = EvidenceIndex(snapshot, await store.turns("alice"))
    now = (await store.turns("alice"))[0].completed_at
    assert now is not None
    assert round(index.confidence(bullet, now), 2) == 0.75, "two runs of two went well"
