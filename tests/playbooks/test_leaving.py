"""Whoever was granted something can leave it."""

from __future__ import annotations

from datetime import timedelta

from ace_graph import playbooks
from ace_graph.base import InvalidGrant, PlaybookNotFound
from ace_graph.memory.stores import Store
from ace_graph.testing.conformance import NOON
from tests.playbooks.test_sharing import ADA, BOB, FULL, NAME, refused, shared


async def test_who_leaves_is_a_stranger_until_a_new_grant(store: Store) -> None:
    await shared(store, "Use /v1")
    await playbooks.grant(store, NAME, "team:ops", "editor", owner=ADA, now=NOON)
    await playbooks.add_to_team(store, "ops", [BOB])
    await playbooks.leave(store, FULL, owner=BOB, now=NOON + timedelta(days=1))
    assert (await refused(playbooks.get_playbook(store, FULL, BOB)))[0] is PlaybookNotFound
    assert await playbooks.shared_with(store, BOB) == ()
    assert not await playbooks.revoke(store, NAME, "user:bob", owner=ADA)
    assert (await refused(playbooks.leave(store, FULL, owner=BOB)))[0] is PlaybookNotFound
    assert (await refused(playbooks.leave(store, NAME, owner=ADA)))[0] is InvalidGrant
    listed = {str(each.subject): each.relation for each in await playbooks.grants(store, NAME, owner=ADA)}
    assert listed == {"team:ops": "editor", "user:bob": "declined"}
    await playbooks.grant(store, NAME, "team:ops", "viewer", owner=ADA, now=NOON + timedelta(days=2))
    (again,) = await playbooks.shared_with(store, BOB)
    assert again.right.name == "READ"
    await playbooks.grant(store, NAME, "user:bob", "editor", owner=ADA)
    assert [each.right.name for each in await playbooks.shared_with(store, BOB)] == ["WRITE"]


async def test_what_was_declined_leaves_no_gap_in_a_page(store: Store) -> None:
    ids = sorted([await playbooks.create(store, f"p{number}", owner=ADA) for number in range(4)])
    for number in range(4):
        await playbooks.grant(store, f"p{number}", "user:bob", owner=ADA)
    for declined in ids[:2]:
        entry = await store.playbooks.entry(declined)
        assert entry is not None
        await playbooks.leave(store, f"ada/{entry.name}", owner=BOB)
    page = await playbooks.shared_with(store, BOB, limit=2)
    assert [each.entry.playbook_id for each in page] == ids[2:]
