"""What a shared playbook was worth: its owner sees the use by all who may read it, others see their own."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ace_graph import playbooks
from ace_graph.base import InvalidGrant, PlaybookNotFound
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


async def test_who_shows_their_use_is_named_to_the_owners_alone(store: Store) -> None:
    await _shared(store)
    await _used(store, "bob", "success", "failure", minute=10)
    await _used(store, "cyd", "success", minute=20)
    assert (await _figures(store, "ada")).readers == ()
    for user in ("bob", "cyd", "dan"):
        await playbooks.show_use(store, f"ada/{NAME}", owner=user)
    bob, cyd = (await _figures(store, "ada")).readers
    assert (bob.learner, bob.usage_count, bob.success_rate) == ("bob", 2, 0.5)
    assert bob.last_used_at == record(11).completed_at
    assert (cyd.learner, cyd.usage_count) == ("cyd", 1), "also by a team; who did not use it is not named"
    assert (await _figures(store, "bob")).readers == (), "no owner"
    await playbooks.grant(store, NAME, "user:zoe", "owner", owner="ada")
    assert [each.learner for each in (await _figures(store, "zoe")).readers] == ["bob", "cyd"]


async def test_a_name_is_shown_until_it_is_taken_back(store: Store) -> None:
    await _shared(store)
    for user in ("bob", "cyd", "dan"):
        await _used(store, user, "success")
        await playbooks.show_use(store, f"ada/{NAME}", owner=user)
    [entry] = await playbooks.shared_with(store, "bob")
    assert entry.shows_use
    await playbooks.show_use(store, f"ada/{NAME}", owner="bob", shown=False)
    await playbooks.remove_from_team(store, "ops", ["cyd"])
    assert [each.learner for each in (await _figures(store, "ada")).readers] == ["dan"]
    [entry] = await playbooks.shared_with(store, "bob")
    assert not entry.shows_use
    await playbooks.leave(store, f"ada/{NAME}", owner="dan")
    await playbooks.grant(store, NAME, "user:dan", owner="ada")
    found = await _figures(store, "ada")
    assert (found.readers, found.used_by) == ((), 2), "who left is asked anew"


async def test_only_a_reader_shows_their_own_use(store: Store) -> None:
    await _shared(store)
    with pytest.raises(PlaybookNotFound):
        await playbooks.show_use(store, f"ada/{NAME}", owner="eve")
    with pytest.raises(InvalidGrant, match="your own"):
        await playbooks.show_use(store, NAME, owner="ada")
    with pytest.raises(InvalidGrant, match="user:NAME"):
        await playbooks.grant(store, NAME, "reader:bob", owner="ada")
    with pytest.raises(InvalidGrant, match="unknown relation"):
        await playbooks.grant(store, NAME, "user:bob", "shows", owner="ada")
    with pytest.raises(InvalidGrant, match="user:NAME"):
        await playbooks.revoke(store, NAME, "reader:bob", owner="ada")


async def test_who_is_forgotten_shows_nothing_any_more(store: Store) -> None:
    await _shared(store)
    await _used(store, "bob", "success")
    await playbooks.show_use(store, f"ada/{NAME}", owner="bob")
    held = [each.relation for each in (await store.export("bob")).sharing.grants]
    assert held == ["shows", "viewer"]
    await store.forget("bob")
    subjects = [str(each.subject) for each in await playbooks.grants(store, NAME, owner="ada")]
    assert subjects == ["team:ops"]


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
