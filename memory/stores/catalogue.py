"""Named playbooks in rows: the catalogue, grants, proposals, and teams. Without an owner the column is ''."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from ace_graph.base.errors import PlaybookExists
from ace_graph.memory.rights import PlaybookAccess, Right, not_found
from ace_graph.memory.sharing import Grant, Proposal, ProposalState, subjects_naming
from ace_graph.memory.stores.base import SharingExport
from ace_graph.memory.stores.records import (
    CATALOGUE_COLUMNS,
    ENTRY_COLUMNS,
    GRANT_COLUMNS,
    entry_columns,
    entry_of,
    grant_columns,
    grant_of,
    proposal_columns,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ace_graph.memory.catalogue import PlaybookEntry, PlaybookRef
    from ace_graph.memory.stores.backend import Row, Rows, Where


def on(playbook_id: str) -> Where:
    """Return the condition on what belongs to a playbook."""
    return "playbook_id", "=", playbook_id


async def read_grants(rows: Rows, playbook_id: str, subjects: Sequence[str]) -> tuple[Grant, ...]:
    """Return the grants of a playbook to these subjects."""
    if not subjects:
        return ()
    to: Where = ("subject", "in", list(subjects))
    return tuple(map(grant_of, await rows.select("grants", GRANT_COLUMNS, on(playbook_id), to)))


async def list_grants(
    rows: Rows, playbook_id: str, limit: int | None = None, after: str = ""
) -> tuple[Grant, ...]:
    """Return grants of a playbook in the order of their subjects."""
    where: tuple[Where, ...] = (on(playbook_id), ("subject", ">", after))
    found = await rows.select("grants", GRANT_COLUMNS, *where, order="subject", limit=limit)
    return tuple(map(grant_of, found))


async def put_grants(rows: Rows, grants: Iterable[Grant]) -> None:
    """Store grants; one that a subject has on the same playbook is replaced."""
    await rows.put("grants", *map(grant_columns, grants))


async def put_shared(rows: Rows, shared: Grant | Proposal) -> None:
    """Store a grant on a playbook, or a proposal for it. Raises PlaybookNotFound where there is none."""
    if await read_entry(rows, shared.playbook_id) is None:
        raise not_found(shared.playbook_id)
    if isinstance(shared, Grant):
        await put_grants(rows, (shared,))
    else:
        await rows.add("proposals", proposal_columns(shared))


async def list_proposals(
    rows: Rows, *where: Where, limit: int | None = None, after: str = ""
) -> tuple[Proposal, ...]:
    """Return proposals in the order of their ids, after an id."""
    later: Where = ("proposal_id", ">", after)
    found = await rows.select("proposals", "proposal_json", *where, later, order="proposal_id", limit=limit)
    return tuple(Proposal.model_validate_json(text) for (text,) in found)


async def decide(rows: Rows, proposal: Proposal, held: ProposalState) -> bool:
    """Store a proposal as it is now, if its stored state is `held`."""
    named: Where = ("proposal_id", "=", proposal.proposal_id)
    where: tuple[Where, ...] = (on(proposal.playbook_id), named, ("state", "=", held))
    return await rows.update("proposals", proposal_columns(proposal), *where) > 0


async def delete_sharing(rows: Rows, playbook_id: str) -> None:
    """Delete all grants of a playbook, the proposals for it, and its entry."""
    for table in ("grants", "proposals", "catalogue"):
        await rows.delete(table, on(playbook_id))


async def names(
    rows: Rows, table: str, column: str, *where: Where, limit: int | None = None
) -> tuple[str, ...]:
    """Return the different values of a column, in order."""
    found = await rows.select(table, column, *where, order=column, limit=limit, distinct=True)
    return tuple(name for (name,) in found)


async def read_sharing(rows: Rows, user: str, owned: Iterable[str]) -> SharingExport:
    """Return a user's teams, grants and proposals, with the grants on the playbooks `owned`."""
    about = set(map(grant_of, await _grants_naming(rows, user)))
    for playbook_id in owned:
        about |= set(await list_grants(rows, playbook_id))
    grants = sorted(about, key=lambda grant: (grant.playbook_id, str(grant.subject)))
    made = await list_proposals(rows, ("proposer", "=", user))
    teams = await names(rows, "members", "team_id", ("member", "=", user))
    return SharingExport(teams, tuple(grants), made)


async def _grants_naming(rows: Rows, user: str) -> list[Row]:
    return await rows.select("grants", GRANT_COLUMNS, ("subject", "in", list(subjects_naming(user))))


async def forget_member(rows: Rows, user: str) -> bool:
    """Delete a user's memberships and proposals, the grants to the user, and the name in grants to others.

    Grants change under the locks of their playbooks.
    """
    for playbook_id in sorted({row[0] for row in await _grants_naming(rows, user)}):
        await rows.of("playbooks").lock(playbook_id)
    gone = await rows.delete("members", ("member", "=", user))
    gone += await rows.delete("grants", ("subject", "in", list(subjects_naming(user))))
    gone += await rows.delete("proposals", ("proposer", "=", user))
    await rows.update("grants", {"granted_by": ""}, ("granted_by", "=", user))
    return gone > 0


# The catalogue.


async def add_entry(rows: Rows, entry: PlaybookEntry) -> None:
    """Add the entry. Raises PlaybookExists."""
    if not await rows.add("catalogue", {"playbook_id": entry.playbook_id, **entry_columns(entry)}):
        raise PlaybookExists(f"there is a playbook {entry.name} already: choose another name")


async def find_entry(rows: Rows, ref: PlaybookRef) -> PlaybookEntry | None:
    """Return the entry of an owner and a name; `default` is the owner's memory."""
    if ref.is_default:
        owner = ref.owner or ""
        state = await rows.of("learners").row("states", ENTRY_COLUMNS, ("user_id", "=", owner))
        default = ("default", owner, "default", "", "agent", "private", "written")
        return None if state is None else entry_of(default, state)
    found = await _entries(rows, ("owner", "=", ref.owner or ""), ("name_key", "=", ref.key))
    return found[0] if found else None


async def read_entry(rows: Rows, playbook_id: str) -> PlaybookEntry | None:
    """Return the entry with an id."""
    found = await _entries(rows, on(playbook_id))
    return found[0] if found else None


async def list_entries(
    rows: Rows, owner: str | None, limit: int | None = None, after: str = ""
) -> tuple[PlaybookEntry, ...]:
    """Return entries of an owner in the order of their name keys."""
    return await _entries(rows, ("owner", "=", owner or ""), ("name_key", ">", after), limit=limit)


async def _entries(rows: Rows, *where: Where, limit: int | None = None) -> tuple[PlaybookEntry, ...]:
    named = await rows.select("catalogue", CATALOGUE_COLUMNS, *where, order="name_key", limit=limit)
    if not named:
        return ()
    of_them: Where = ("user_id", "in", [row[0] for row in named])
    states = await rows.of("playbooks").select("states", f"user_id, {ENTRY_COLUMNS}", of_them)
    held = {key: state for key, *state in states}
    return tuple(entry_of(row, tuple(held[row[0]])) for row in named if row[0] in held)


async def list_shared(
    rows: Rows, subjects: Sequence[str], limit: int, after: str
) -> tuple[tuple[PlaybookEntry, tuple[Grant, ...]], ...]:
    """Return playbooks with a grant to one of the subjects, in the order of their ids, with these grants."""
    where: tuple[Where, ...] = (("subject", "in", list(subjects)), ("playbook_id", ">", after))
    most = limit * len(subjects)  # a subject has one grant on a playbook
    found = await rows.select("grants", GRANT_COLUMNS, *where, order="playbook_id, subject", limit=most)
    grants = [
        (playbook_id, tuple(map(grant_of, given)))
        for playbook_id, given in groupby(found, key=lambda row: str(row[0]))
    ][:limit]
    of_them: Where = ("playbook_id", "in", [playbook_id for playbook_id, _ in grants])
    entries = {entry.playbook_id: entry for entry in await _entries(rows, of_them)}
    return tuple((entries[name], given) for name, given in grants if name in entries)


async def check_right(rows: Rows, asked: PlaybookAccess, needed: Right) -> None:
    """Check the caller's right as it is stored now; run it in the transaction of what it allows.

    Raises PlaybookNotFound, PlaybookForbidden.
    """
    entry = await read_entry(rows, asked.playbook_id)
    asked.check(needed, entry, await read_grants(rows, asked.playbook_id, asked.caller.subjects))


async def owned_ids(rows: Rows, key: str) -> tuple[str, ...]:
    """Return the ids of a learner's playbooks in order."""
    return await names(rows, "catalogue", "playbook_id", ("owner", "=", key))
