"""Named playbooks: the catalogue, grants, proposals, and teams.

Their statements are the same in both namespaces. Where no owner is, the column holds ''.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ace_graph.base.errors import PlaybookExists
from ace_graph.memory.catalogue import PlaybookEntry, PlaybookRef
from ace_graph.memory.rights import PlaybookAccess, Right, not_found
from ace_graph.memory.sharing import Grant, Proposal, ProposalState, subjects_naming
from ace_graph.memory.stores.base import SharingExport
from ace_graph.memory.stores.records import (
    ENTRY_COLUMNS,
    GRANT_COLUMNS,
    entry_columns,
    entry_of,
    grant_of,
    grant_row,
    proposal_columns,
)
from ace_graph.memory.stores.sql.database import ALL, Tables

_GRANT = f"SELECT {GRANT_COLUMNS} FROM ace_grants"  # noqa: S608  constants


async def read_grants(tables: Tables, playbook_id: str, subjects: Sequence[str]) -> tuple[Grant, ...]:
    """Return the grants of a playbook to these subjects."""
    if not subjects:
        return ()
    rows = await tables.rows(
        f"{_GRANT} WHERE playbook_id = ? AND subject = ANY(?)",
        (playbook_id, list(subjects)),
    )
    return tuple(map(grant_of, rows))


async def list_grants(tables: Tables, playbook_id: str, limit: int, after: str) -> tuple[Grant, ...]:
    """Return grants of a playbook in the order of their subjects."""
    rows = await tables.rows(
        f"{_GRANT} WHERE playbook_id = ? AND subject > ? ORDER BY subject LIMIT ?",
        (playbook_id, after, limit),
    )
    return tuple(map(grant_of, rows))


async def add_grants(tables: Tables, grants: Iterable[Grant]) -> None:
    """Store grants; one that a subject has on the same playbook is replaced."""
    await tables.change_each(
        f"INSERT INTO ace_grants ({GRANT_COLUMNS}) VALUES (?, ?, ?, ?, ?) "  # noqa: S608  constants
        "ON CONFLICT (playbook_id, subject) DO UPDATE SET relation = excluded.relation, "
        "granted_by = excluded.granted_by, at = excluded.at",
        map(grant_row, grants),
    )


async def delete_sharing(tables: Tables, playbook_id: str) -> None:
    """Delete all grants of a playbook, and the proposals for it."""
    await tables.change("DELETE FROM ace_grants WHERE playbook_id = ?", (playbook_id,))
    await tables.change("DELETE FROM ace_proposals WHERE playbook_id = ?", (playbook_id,))


async def read_sharing(tables: Tables, user: str) -> SharingExport:
    """Return a user's teams, grants and proposals, with the grants on the user's own playbooks."""
    grants = await tables.rows(
        f"{_GRANT} WHERE subject = ANY(?) OR playbook_id IN "  # noqa: S608  constants
        "(SELECT playbook_id FROM ace_named_catalogue WHERE owner = ?) ORDER BY playbook_id, subject",
        (list(subjects_naming(user)), user),
    )
    made = await proposals_by(tables, user, ALL, "")
    return SharingExport(await teams_of(tables, user), tuple(map(grant_of, grants)), made)


async def proposals_by(tables: Tables, user: str, limit: int, after: str) -> tuple[Proposal, ...]:
    """Return proposals that a user made, in the order of their ids."""
    rows = await tables.rows(
        "SELECT proposal_json FROM ace_proposals WHERE proposer = ? AND proposal_id > ? "
        "ORDER BY proposal_id LIMIT ?",
        (user, after, limit),
    )
    return tuple(Proposal.model_validate_json(text) for (text,) in rows)


async def add_proposal(tables: Tables, proposal: Proposal) -> None:
    """Store a new proposal."""
    await tables.insert("ace_proposals", proposal_columns(proposal))


async def list_proposals(
    tables: Tables, playbook_id: str, state: ProposalState | None, limit: int, after: str
) -> tuple[Proposal, ...]:
    """Return proposals for a playbook, in the order of their ids."""
    rows = await tables.rows(
        "SELECT proposal_json FROM ace_proposals WHERE playbook_id = ? AND proposal_id > ? "
        "AND state = coalesce(?, state) ORDER BY proposal_id LIMIT ?",
        (playbook_id, after, state, limit),
    )
    return tuple(Proposal.model_validate_json(text) for (text,) in rows)


async def list_shared_ids(tables: Tables, subjects: Sequence[str], limit: int, after: str) -> tuple[str, ...]:
    """Return the ids of playbooks with a grant to one of the subjects, in order."""
    rows = await tables.rows(
        "SELECT DISTINCT playbook_id FROM ace_grants "
        "WHERE subject = ANY(?) AND playbook_id > ? ORDER BY playbook_id LIMIT ?",
        (list(subjects), after, limit),
    )
    return tuple(playbook_id for (playbook_id,) in rows)


async def teams_of(tables: Tables, user: str) -> tuple[str, ...]:
    """Return the teams that a user is in, in order."""
    rows = await tables.rows(
        "SELECT team_id FROM ace_team_members WHERE member = ? ORDER BY team_id", (user,)
    )
    return tuple(team for (team,) in rows)


async def forget_member(tables: Tables, user: str) -> bool:
    """Delete a user's memberships and proposals, the grants to the user, and the name in grants to others."""
    gone = await tables.change("DELETE FROM ace_team_members WHERE member = ?", (user,))
    gone += await tables.change(
        "DELETE FROM ace_grants WHERE subject = ANY(?)", (list(subjects_naming(user)),)
    )
    gone += await tables.change("DELETE FROM ace_proposals WHERE proposer = ?", (user,))
    await tables.change("UPDATE ace_grants SET granted_by = '' WHERE granted_by = ?", (user,))
    return gone > 0


# The catalogue.


_ENTRY = f"""
SELECT {ENTRY_COLUMNS}
FROM ace_named_catalogue c JOIN ace_named_states s ON s.user_id = c.playbook_id
"""  # noqa: S608  constants

_OWN = """
SELECT 'default', user_id, 'default', created_at, updated_at, '', 'agent', 'private', 'written',
epoch, version, etag, major, minor FROM ace_learners WHERE user_id = ?
"""


async def add_entry(tables: Tables, entry: PlaybookEntry) -> None:
    """Add the entry. Raises PlaybookExists."""
    columns = {"playbook_id": entry.playbook_id, **entry_columns(entry)}
    if not await tables.insert("ace_named_catalogue", columns, "ON CONFLICT DO NOTHING"):
        raise PlaybookExists(f"there is a playbook {entry.name} already: choose another name")


async def find_entry(tables: Tables, ref: PlaybookRef) -> PlaybookEntry | None:
    """Return the entry of an owner and a name; `default` is the owner's memory."""
    if ref.is_default:
        row = await tables.of("learners").row(_OWN, (ref.owner,))
    else:
        row = await tables.row(f"{_ENTRY} WHERE c.owner = ? AND c.name_key = ?", (ref.owner or "", ref.key))
    return None if row is None else entry_of(row)


async def read_entry(tables: Tables, playbook_id: str) -> PlaybookEntry | None:
    """Return the entry with an id."""
    row = await tables.row(f"{_ENTRY} WHERE c.playbook_id = ?", (playbook_id,))
    return None if row is None else entry_of(row)


async def list_entries(
    tables: Tables, owner: str | None, limit: int, after: str
) -> tuple[PlaybookEntry, ...]:
    """Return entries of an owner in the order of their name keys."""
    rows = await tables.rows(
        f"{_ENTRY} WHERE c.owner = ? AND c.name_key > ? ORDER BY c.name_key LIMIT ?",
        (owner or "", after, limit),
    )
    return tuple(map(entry_of, rows))


async def list_shared(
    tables: Tables, subjects: Sequence[str], limit: int, after: str
) -> tuple[tuple[PlaybookEntry, tuple[Grant, ...]], ...]:
    """Return playbooks with a grant to one of the subjects, in the order of their ids, with these grants."""
    found: list[tuple[PlaybookEntry, tuple[Grant, ...]]] = []
    for playbook_id in await list_shared_ids(tables, subjects, limit, after):
        entry = await read_entry(tables, playbook_id)
        if entry is not None:
            found.append((entry, await read_grants(tables, playbook_id, subjects)))
    return tuple(found)


async def put_grant(tables: Tables, grant: Grant) -> None:
    """Store a grant on a playbook. Raises PlaybookNotFound where there is none."""
    if await read_entry(tables, grant.playbook_id) is None:
        raise not_found(grant.playbook_id)
    await add_grants(tables, (grant,))


async def put_proposal(tables: Tables, proposal: Proposal) -> None:
    """Store a proposal for a playbook. Raises PlaybookNotFound where there is none."""
    if await read_entry(tables, proposal.playbook_id) is None:
        raise not_found(proposal.playbook_id)
    await add_proposal(tables, proposal)


async def check_right(tables: Tables, asked: PlaybookAccess, needed: Right) -> None:
    """Check the caller's right as it is stored now; run it in the transaction of what it allows.

    Raises PlaybookNotFound, PlaybookForbidden.
    """
    entry = await read_entry(tables, asked.playbook_id)
    asked.check(needed, entry, await read_grants(tables, asked.playbook_id, asked.caller.subjects))


async def owned_ids(tables: Tables, key: str) -> tuple[str, ...]:
    """Return the ids of a learner's playbooks in order, or that of the playbook itself."""
    column = "owner" if tables.namespace == "learners" else "playbook_id"
    rows = await tables.rows(
        f"SELECT playbook_id FROM ace_named_catalogue WHERE {column} = ? ORDER BY playbook_id",  # noqa: S608  constants
        (key,),
    )
    return tuple(playbook_id for (playbook_id,) in rows)
