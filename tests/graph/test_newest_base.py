"""A turn's commit starts from the newest state that this process knows, so that it is planned once."""

from __future__ import annotations

from ace_graph import ACEContext
from ace_graph.memory import Evidence
from ace_graph.memory.stores import SnapshotCache
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask


async def test_a_commit_starts_from_what_another_turn_stored_meanwhile(
    build: Build, store: CountingStore
) -> None:
    snapshots = SnapshotCache()
    await store.seed("alice")

    async def learn_elsewhere(_question: str, _answer: str, _context: ACEContext) -> Evidence | None:
        snapshots.put("alice", await store.seed("alice"))
        return None

    model = ScriptedModel(solver=["<final>5/6</final>"])
    graph = build(model, evaluator=learn_elsewhere, snapshots=snapshots)
    out = await graph.ainvoke(ask(), context=ACEContext(learner_id="alice", reflect_when="never"))
    assert out["learning"]["error"] is None
    (base,) = store.calls.bases
    assert base.access.access_clock == 2
    assert (await store.now("alice")).access.access_clock == 3
