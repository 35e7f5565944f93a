"""What a shared playbook was worth: its owner sees the use by all who may read it, others see their own."""

from __future__ import annotations

from datetime import timedelta

from ace_graph import playbooks
from ace_graph.memory.stores import Store
from ace_graph.playbooks import Change, PlaybookFigures, figures_of, open_playbook, read_worth
from ace_graph.testing.conformance import NOON, record, touching, write

NAME = "api_client"


async def _used(store: Store, learner: str, *verdicts: str, minute: int = 1) -> None:
    for n, verdict in enumerate(verdicts):
        shown = {"injected": (f"ada/{NAME}:gen-00001",), "verdict": verdict}
        turn = record(minute + n, turn_id=f"{learner}-{n}").model_copy(update=shown)
        await write(store, learner, touching(), turn)


async def _figures(store: Store, user: str) -> PlaybookFigures:
    target = await open_playbook(store, f"ada/{NAME}", user)
    return figures_of(await read_worth(store, target, user), NOON)


async def _shared(store: Store) -> None:
    before = Change(now=NOON - timedelta(days=1))
    await playbooks.create(store, NAME, ["Use /v1"], owner="ada", change=before)
    await playbooks.grant(store, NAME, "user:bob", owner="ada")
    await playbooks.add_to_team(store, "ops", ["cyd", "dan"])
    await playbooks.grant(store, NAME, "team:ops", owner="ada")


async def test_the_use_by_others_counts_for_the_owner(store: Store) -> None:
    await _shared(store)
    await _used(store, "ada", "success")
    await _used(store, "bob", "success", "failure", minute=10)
    await _used(store, "cyd", "unknown", minute=20)
    await _used(store, "eve", "failure")
    found = await _figures(store, "ada")
    assert (found.usage_count, found.used_by, found.success_rate) == (4, 3, 2 / 3)
    assert found.last_used_at == record(20).completed_at
    own = await _figures(store, "bob")
    assert (own.usage_count, own.used_by, own.success_rate) == (2, 1, 0.5)


async def test_who_may_not_read_it_any_more_is_not_counted(store: Store) -> None:
    await _shared(store)
    await _used(store, "bob", "success")
    await _used(store, "cyd", "success")
    await playbooks.revoke(store, NAME, "user:bob", owner="ada")
    assert (await _figures(store, "ada")).used_by == 1
    await playbooks.remove_from_team(store, "ops", ["cyd"])
    assert (await _figures(store, "ada")).usage_count == 0


async def test_the_use_of_an_earlier_playbook_of_that_name_is_not_counted(store: Store) -> None:
    await _used(store, "bob", "success")
    await playbooks.create(store, NAME, ["Use /v1"], owner="ada", change=Change(now=NOON + timedelta(days=1)))
    await playbooks.grant(store, NAME, "user:bob", owner="ada")
    assert (await _figures(store, "ada")).usage_count == 0
