"""What the cases about sharing begin with: shared playbooks, callers, and the errors that they get.

Does not: hold a case.
"""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import timedelta
from uuid import uuid4

from ace_graph.base.errors import AceError
from ace_graph.memory.catalogue import PlaybookRef, checked_entry
from ace_graph.memory.delta.operations import Add, Delta, Reset
from ace_graph.memory.rights import Caller, PlaybookAccess
from ace_graph.memory.sharing import Grant, Proposal, Relation, Subject, Trust
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.store import PlaybookStore, Store
from ace_graph.testing.conformance.writing import NOON, adding, rewriting


async def created(store: Store, owner: str, *texts: str, grants: tuple[Grant, ...] = ()) -> str:
    """Create a playbook of an owner, and return its id."""
    entry = checked_entry(str(uuid4()), PlaybookRef(owner, "api_client"), NOON)
    granted = tuple(Grant(each.subject, each.relation, entry.playbook_id, owner, NOON) for each in grants)
    first: Delta = rewriting(Reset(), *(Add(content=text) for text in texts))
    await store.playbooks.create(entry, first, granted)
    return entry.playbook_id


def grant_of(playbook_id: str, to: str, relation: Relation = "viewer", by: str = "owner") -> Grant:
    """Return a grant on a playbook."""
    return Grant(Subject.parse(to), relation, playbook_id, by, NOON)


def proposal_of(playbook_id: str, proposal_id: str, by: str = "bob") -> Proposal:
    """Return a pending proposal for a playbook."""
    return Proposal(
        proposal_id=proposal_id,
        playbook_id=playbook_id,
        delta=adding("Draw a bar"),
        lineage=("bob/gen-00001",),
        trust=Trust.PROVEN,
        by=by,
        at=NOON,
        expires=NOON + timedelta(days=30),
    )


def asked_by(playbook_id: str, user: str, *teams: str) -> PlaybookAccess:
    """Return a caller who asks for a playbook."""
    return PlaybookAccess(playbook_id, Caller(user, frozenset(teams)), "theirs/api_client")


def seen_by(store: Store, playbook_id: str, user: str, *teams: str) -> PlaybookStore:
    """Return the playbooks as a caller may use one of them."""
    return store.playbooks.asked(asked_by(playbook_id, user, *teams))


async def error_of(call: Awaitable[object]) -> AceError | None:
    """Return the error that a call raises, None where it raises none."""
    try:
        await call
    except AceError as error:
        return error
    return None


def unread(version: Version) -> Snapshot:
    """Return a base that says nothing but which playbook it is of."""
    return Snapshot(version=Version(epoch=version.epoch))
