"""Playbooks of others in a run: read by grant in the one load, without what is the owner's own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ace_graph import ACEContext, playbooks
from ace_graph.base import PlaybookNotFound
from ace_graph.memory import Loaded, Snapshot, WantedPlaybook
from ace_graph.memory.delta import Add
from ace_graph.testing import ScriptedModel
from tests.graph.conftest import Build, CountingStore, ask

RULE = "Adding fractions needs a common denominator first"
OWN = "Learner says: I add fractions with bars"
QUESTION = "adding fractions 1/2 + 1/3"
REPLY = "<final>5/6</final>"


class LoadingStore(CountingStore):
    """Counts loads, and how often teams are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked_for_teams = 0

    async def load_attached(
        self, learner_id: str, wanted: Sequence[WantedPlaybook], known: Snapshot | None = None
    ) -> Loaded:
        self.calls.loads += 1
        return await super().load_attached(learner_id, wanted, known)

    async def teams_of(self, user: str) -> tuple[str, ...]:
        self.asked_for_teams += 1
        return await super().teams_of(user)


@pytest.fixture
async def store() -> LoadingStore:
    made = LoadingStore()
    bullets = [Add(content=RULE), Add(content=OWN, section="profile")]
    await playbooks.create(made, "maths", bullets, owner="ada")
    return made


def as_learner(learner: str, *teams: str, names: tuple[str, ...] = ("ada/maths",)) -> ACEContext:
    return ACEContext(learner_id=learner, playbooks=names, learning="off", teams=teams or None)


async def test_a_reader_sees_what_leaves_the_owner(build: Build, store: LoadingStore) -> None:
    await playbooks.grant(store, "maths", "user:bob", owner="ada")
    model = ScriptedModel([REPLY] * 3)
    graph = build(model)
    for context in (as_learner("ada", names=("maths",)), as_learner("bob"), as_learner("ada")):
        await graph.ainvoke(ask(QUESTION), context=context)
    first, bobs, again = (call.prompt for call in model.calls)
    assert all(RULE in prompt for prompt in (first, bobs, again))
    assert [OWN in prompt for prompt in (first, bobs, again)] == [True, False, True]
    assert store.calls.loads == 3


async def test_a_revocation_holds_from_the_next_run(build: Build, store: LoadingStore) -> None:
    await playbooks.grant(store, "maths", "user:bob", owner="ada")
    graph = build(ScriptedModel([REPLY] * 2))
    await graph.ainvoke(ask(QUESTION), context=as_learner("bob"))
    await playbooks.revoke(store, "maths", "user:bob", owner="ada")
    with pytest.raises(PlaybookNotFound):
        await graph.ainvoke(ask(QUESTION), context=as_learner("bob"))
    await graph.ainvoke(ask(QUESTION), context=as_learner("ada"))


async def test_leaving_a_team_holds_from_the_next_run(build: Build, store: LoadingStore) -> None:
    await playbooks.grant(store, "maths", "team:ops", owner="ada")
    await playbooks.add_to_team(store, "ops", ["bob"])
    graph = build(ScriptedModel([REPLY]))
    await graph.ainvoke(ask(QUESTION), context=as_learner("bob"))
    await playbooks.remove_from_team(store, "ops", ["bob"])
    with pytest.raises(PlaybookNotFound):
        await graph.ainvoke(ask(QUESTION), context=as_learner("bob"))
    assert store.asked_for_teams == 2


async def test_the_context_names_teams_instead_of_the_table(build: Build, store: LoadingStore) -> None:
    await playbooks.grant(store, "maths", "team:ops", owner="ada")
    await playbooks.add_to_team(store, "ops", ["eve"])
    graph = build(ScriptedModel([REPLY]))
    await graph.ainvoke(ask(QUESTION), context=as_learner("bob", "staff", "ops"))
    for stranger in (as_learner("eve", "staff"), as_learner("bob", "op")):
        with pytest.raises(PlaybookNotFound):
            await graph.ainvoke(ask(QUESTION), context=stranger)
    assert store.asked_for_teams == 0


async def test_a_run_of_an_agent_reads_what_is_shared_with_it(build: Build, store: LoadingStore) -> None:
    await playbooks.grant(store, "maths", "agent:tutor", owner="ada")
    model = ScriptedModel([REPLY] * 2)
    graph = build(model)
    for teams in (None, ("ops",)):
        context = as_learner("bob").model_copy(update={"agent": "tutor", "teams": teams})
        await graph.ainvoke(ask(QUESTION), context=context)
    assert all(RULE in call.prompt for call in model.calls)
    for stranger in (as_learner("bob"), as_learner("tutor"), as_learner("bob", "tutor")):
        with pytest.raises(PlaybookNotFound):
            await graph.ainvoke(ask(QUESTION), context=stranger)


class StaffList:
    """A host's own directory."""

    async def teams_of(self, user: str) -> list[str]:
        return {"bob": ["ops"]}.get(user, [])


async def test_the_hosts_directory_is_asked_instead_of_the_table(build: Build, store: LoadingStore) -> None:
    await playbooks.grant(store, "maths", "team:ops", owner="ada")
    await playbooks.add_to_team(store, "ops", ["eve"])
    model = ScriptedModel([REPLY])
    graph = build(model, directory=StaffList())
    await graph.ainvoke(ask(QUESTION), context=as_learner("bob"))
    with pytest.raises(PlaybookNotFound):
        await graph.ainvoke(ask(QUESTION), context=as_learner("eve"))
    assert RULE in model.calls[0].prompt
    assert store.asked_for_teams == 0


async def test_own_playbooks_ask_for_no_team(build: Build, store: LoadingStore) -> None:
    await build(ScriptedModel([REPLY])).ainvoke(ask(QUESTION), context=as_learner("ada", names=("maths",)))
    assert (store.asked_for_teams, store.calls.loads) == (0, 1)
