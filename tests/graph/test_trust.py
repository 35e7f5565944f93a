"""Trust in a whole turn: what is unproven is withheld on some turns, counted, and told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ace_graph import ACEContext
from ace_graph.memory import GRACE, Policy, Trial
from ace_graph.memory.delta import Add, Touch
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask

RULE = "Find the least common denominator before adding fractions"
TRUTH = ACEContext(learner_id="alice", ground_truth="5/6", reflect_when="never")


async def test_both_arms_occur_and_are_counted(build: Build) -> None:
    store = CountingStore()
    store.policy = Policy(holdout_rate=0.5)
    await store.seed("alice", Add(content=RULE, section="math", sources=("t0",)))
    for _ in range(GRACE):
        await store.seed("alice", Touch(bullet_ids=()))
    model = ScriptedModel(["<final>5/6</final>", "<final>2/5</final>"] * 12)
    graph = build(model, store=store, new_id=_counting())
    shown, right = list[bool](), list[bool]()
    for n in range(24):
        out = await graph.ainvoke(ask("how to add fractions 1/2 + 1/3"), context=TRUTH)
        assert out["result"]["withheld"] == (RULE not in model.calls_of("solver")[n].messages[0].text)
        assert bool(out["result"]["injected"]) != out["result"]["withheld"]
        shown.append(not out["result"]["withheld"])
        right.append(out["result"]["verdict"] == "success")
    assert 4 < sum(shown) < 20
    ends = Counter(zip(shown, right, strict=True))
    trial = (await store.now("alice")).access.trial
    assert trial == Trial(ends[True, True], ends[True, False], ends[False, True], ends[False, False])


async def test_what_the_host_gave_is_never_withheld(build: Build) -> None:
    store = CountingStore()
    store.policy = Policy(holdout_rate=0.5)
    await store.seed("alice", Add(content=RULE, section="math"))
    for _ in range(GRACE):
        await store.seed("alice", Touch(bullet_ids=()))
    graph = build(ScriptedModel(["<final>5/6</final>"] * 12), store=store)
    for _ in range(12):
        out = await graph.ainvoke(ask("how to add fractions 1/2 + 1/3"), context=TRUTH)
        assert out["result"]["withheld"] is False
        assert out["result"]["injected"] == ["mat-00001"]
    assert (await store.now("alice")).access.trial == Trial()


def _counting() -> Callable[[], str]:
    numbers = iter(range(1_000))
    return lambda: f"id-{next(numbers)}"
