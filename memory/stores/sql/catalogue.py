"""The catalogue of named playbooks, and their versions.

Statements on the catalogue are the same in both namespaces. Where no owner is, the column holds ''.
"""

from __future__ import annotations

from collections.abc import Sequence

from ace_graph.base.errors import PlaybookExists
from ace_graph.memory.catalogue import PlaybookEntry, PlaybookRef, Scope
from ace_graph.memory.rights import PlaybookAccess, Right, not_found
from ace_graph.memory.sharing import Grant, Proposal
from ace_graph.memory.stores.records import ENTRY_COLUMNS, entry_of
from ace_graph.memory.stores.sql.database import Tables
from ace_graph.memory.stores.sql.sharing import add_grants, add_proposal, list_shared_ids, read_grants

_ENTRY = f"""
SELECT {ENTRY_COLUMNS}
FROM ace_named_catalogue c JOIN ace_named_states s ON s.user_id = c.playbook_id
"""  # noqa: S608  constants

_OWN = """
SELECT 'default', user_id, 'default', created_at, updated_at, '', 'agent', 'private',
epoch, version, etag, major, minor FROM ace_learners WHERE user_id = ?
"""


async def add_entry(tables: Tables, entry: PlaybookEntry) -> None:
    """Add the entry. Raises PlaybookExists."""
    columns = {
        "owner": entry.owner or "",
        "name_key": entry.name_key,
        "playbook_id": entry.playbook_id,
        "name": entry.name,
        "description": entry.description,
        "scope": entry.scope,
        "visibility": entry.visibility,
    }
    if not await tables.insert("ace_named_catalogue", columns, "ON CONFLICT DO NOTHING"):
        raise PlaybookExists(f"there is a playbook {entry.name} already: choose another name")


async def list_owners(tables: Tables, limit: int, after: str) -> tuple[str, ...]:
    """Return the learners who own named playbooks, in order."""
    rows = await tables.rows(
        "SELECT DISTINCT owner FROM ace_named_catalogue WHERE owner > ? ORDER BY owner LIMIT ?",
        (after, limit),
    )
    return tuple(owner for (owner,) in rows)


async def set_fields(tables: Tables, playbook_id: str, description: str | None, scope: Scope | None) -> bool:
    """Replace the description and the scope of an entry; False where there is none."""
    done = await tables.change(
        "UPDATE ace_named_catalogue SET description = coalesce(?, description), "
        "scope = coalesce(?, scope) WHERE playbook_id = ?",
        (description, scope, playbook_id),
    )
    return done > 0


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
    for each in await list_shared_ids(tables, subjects, limit, after):
        entry = await read_entry(tables, each)
        if entry is not None:
            found.append((entry, await read_grants(tables, each, subjects)))
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
