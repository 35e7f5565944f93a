"""The catalogue of named playbooks in SQLite, their versions, and reading them beside a learner's memory.

Statements on the catalogue are the same in both namespaces. Where no owner is, the column holds ''.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from ace_graph.errors import PlaybookExists
from ace_graph.memory.catalogue.attaching import AttachedPlaybook, Loaded, Wanted
from ace_graph.memory.catalogue.entry import PlaybookEntry, Scope
from ace_graph.memory.catalogue.label import stored_label
from ace_graph.memory.catalogue.name import PlaybookRef
from ace_graph.memory.delta.effect import apply
from ace_graph.memory.playbook import Playbook
from ace_graph.memory.serialization import load_effect
from ace_graph.memory.sharing.asked import Asked, not_found
from ace_graph.memory.sharing.grant import Grant
from ace_graph.memory.sharing.proposal import Proposal
from ace_graph.memory.sharing.right import Right
from ace_graph.memory.snapshot import Snapshot, Version
from ace_graph.memory.stores.base_and_tail import base_checksum
from ace_graph.memory.stores.playbooks import StoredVersion
from ace_graph.memory.stores.records import ENTRY_COLUMNS, VERSION_COLUMNS, entry_of, stored_version_of
from ace_graph.memory.stores.sqlite.sharing import add_grants, add_proposal, list_shared_ids, read_grants
from ace_graph.memory.stores.sqlite.state import drop_effects, read_base, read_head, read_snapshot
from ace_graph.memory.stores.sqlite.tables import Tables
from ace_graph.memory.stores.stored_form import dump_base

__all__ = [
    "add_entry",
    "check_right",
    "delete_entries",
    "find_entry",
    "keep_contents",
    "list_entries",
    "list_owners",
    "list_shared",
    "put_grant",
    "put_proposal",
    "read_attached",
    "read_content_at",
    "read_entries",
    "read_entry",
    "read_versions",
    "set_fields",
]

_ENTRY = f"""
SELECT {ENTRY_COLUMNS}
FROM ace_named_catalogue c JOIN ace_named_states s ON s.user_id = c.playbook_id
"""  # noqa: S608  constants

_VERSION = """
SELECT c.playbook_id, c.name, s.epoch, s.version, s.etag, s.major, s.minor
FROM ace_named_catalogue c JOIN ace_named_states s ON s.user_id = c.playbook_id
WHERE c.owner = ? AND c.name_key = ?
"""

_OWN = """
SELECT 'default', user_id, 'default', created_at, updated_at, '', 'agent', 'private',
epoch, version, etag, major, minor FROM ace_learners WHERE user_id = ?
"""


def add_entry(tables: Tables, entry: PlaybookEntry) -> None:
    """Add the entry. Raises PlaybookExists."""
    try:
        tables.execute(
            "INSERT INTO ace_named_catalogue (playbook_id, owner, name, name_key, description, scope, "
            "visibility) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                entry.playbook_id,
                entry.owner or "",
                entry.name,
                entry.name_key,
                entry.description,
                entry.scope,
                entry.visibility,
            ),
        )
    except sqlite3.IntegrityError as error:
        raise PlaybookExists(f"there is a playbook {entry.name} already: choose another name") from error


def list_owners(tables: Tables, limit: int, after: str) -> tuple[str, ...]:
    """Return the learners who own named playbooks, in order."""
    rows = tables.execute(
        "SELECT DISTINCT owner FROM ace_named_catalogue WHERE owner > ? ORDER BY owner LIMIT ?",
        (after, limit),
    )
    return tuple(owner for (owner,) in rows)


def set_fields(tables: Tables, playbook_id: str, description: str | None, scope: Scope | None) -> bool:
    """Replace the description and the scope of an entry; False where there is none."""
    done = tables.execute(
        "UPDATE ace_named_catalogue SET description = coalesce(?, description), scope = coalesce(?, scope) "
        "WHERE playbook_id = ?",
        (description, scope, playbook_id),
    )
    return done.rowcount > 0


def find_entry(tables: Tables, ref: PlaybookRef) -> PlaybookEntry | None:
    """Return the entry of an owner and a name; `default` is the owner's memory."""
    if ref.is_default:
        row = tables.of("learners").execute(_OWN, (ref.owner,)).fetchone()
        return None if row is None else entry_of(row)
    found = tables.execute(f"{_ENTRY} WHERE c.owner = ? AND c.name_key = ?", (ref.owner or "", ref.key))
    row = found.fetchone()
    return None if row is None else entry_of(row)


def read_entry(tables: Tables, playbook_id: str) -> PlaybookEntry | None:
    """Return the entry with an id."""
    row = tables.execute(f"{_ENTRY} WHERE c.playbook_id = ?", (playbook_id,)).fetchone()
    return None if row is None else entry_of(row)


def read_entries(tables: Tables, owner: str) -> tuple[PlaybookEntry, ...]:
    """Return all entries of a learner."""
    return list_entries(tables, owner, -1, "")


def list_entries(tables: Tables, owner: str | None, limit: int, after: str) -> tuple[PlaybookEntry, ...]:
    """Return entries of an owner in the order of their name keys; a negative limit means all."""
    rows = tables.execute(
        f"{_ENTRY} WHERE c.owner = ? AND c.name_key > ? ORDER BY c.name_key LIMIT ?",
        (owner or "", after, limit),
    )
    return tuple(map(entry_of, rows))


def list_shared(
    tables: Tables, subjects: Sequence[str], limit: int, after: str
) -> tuple[tuple[PlaybookEntry, tuple[Grant, ...]], ...]:
    """Return playbooks with a grant to one of the subjects, in the order of their ids, with these grants."""
    ids = list_shared_ids(tables, subjects, limit, after)
    found = ((read_entry(tables, each), read_grants(tables, each, subjects)) for each in ids)
    return tuple((entry, grants) for entry, grants in found if entry is not None)


def put_grant(tables: Tables, grant: Grant) -> None:
    """Store a grant on a playbook. Raises PlaybookNotFound where there is none."""
    if read_entry(tables, grant.playbook_id) is None:
        raise not_found(grant.playbook_id)
    add_grants(tables, (grant,))


def put_proposal(tables: Tables, proposal: Proposal) -> None:
    """Store a proposal for a playbook. Raises PlaybookNotFound where there is none."""
    if read_entry(tables, proposal.playbook_id) is None:
        raise not_found(proposal.playbook_id)
    add_proposal(tables, proposal)


def check_right(tables: Tables, asked: Asked, needed: Right) -> None:
    """Check the caller's right as it is stored now; run it in the transaction of what it allows.

    Raises PlaybookNotFound, PlaybookForbidden.
    """
    entry = read_entry(tables, asked.playbook_id)
    asked.check(needed, entry, read_grants(tables, asked.playbook_id, asked.caller.subjects))


def delete_entries(tables: Tables, key: str) -> tuple[str, ...]:
    """Delete the entries of a learner, or the entry of a playbook; return the ids of the playbooks."""
    column = "owner" if tables.namespace == "learners" else "playbook_id"
    rows = tables.execute(
        f"DELETE FROM ace_named_catalogue WHERE {column} = ? RETURNING playbook_id",  # noqa: S608  constants
        (key,),
    ).fetchall()
    return tuple(playbook_id for (playbook_id,) in rows)


def read_attached(tables: Tables, learner: str, known: Snapshot | None, wanted: Sequence[Wanted]) -> Loaded:
    """Return a learner's snapshot and the playbooks; run it in one read transaction."""
    named = tables.of("playbooks")
    return Loaded(read_snapshot(tables, learner, known), tuple(_attached(named, each) for each in wanted))


def _attached(tables: Tables, wanted: Wanted) -> AttachedPlaybook | None:
    row = tables.execute(_VERSION, (wanted.ref.owner or "", wanted.ref.key)).fetchone()
    if row is None:
        return None
    playbook_id, name, epoch, n, etag, major, minor = row
    version = Version(epoch, n, etag, stored_label(n, major, minor))
    grants = read_grants(tables, playbook_id, wanted.subjects)
    known = version.same_content(wanted.known)
    content = None if known else read_snapshot(tables, playbook_id, None).playbook
    return AttachedPlaybook(playbook_id, name, version, content, wanted.ref.owner, grants)


def read_versions(tables: Tables, key: str) -> tuple[StoredVersion, ...]:
    """Return all versions, the oldest first; run it in one read transaction."""
    kept = _kept(tables, key)
    base = read_head(tables, key).marks.base
    rows = tables.execute(
        f"SELECT {VERSION_COLUMNS} FROM ace_deltas "  # noqa: S608  constants
        "WHERE user_id = ? AND content_changed ORDER BY version",
        (key,),
    )
    return tuple(stored_version_of(row, base=base, kept=kept) for row in rows)


def read_content_at(tables: Tables, key: str, n: int) -> Playbook | None:
    """Return the content of a version; None where it is not kept. Run it in one read transaction."""
    head = read_head(tables, key)
    if not 0 <= n <= head.version.n:
        return None
    start = n if n in _kept(tables, key) else head.marks.base
    if n < start:
        return None
    content = read_base(tables, key, start)
    rows = tables.execute(
        "SELECT effect_json FROM ace_deltas WHERE user_id = ? AND content_changed AND version > ? "
        "AND version <= ? ORDER BY version",
        (key, start, n),
    )
    return apply(content, *(load_effect(text) for (text,) in rows))


def keep_contents(tables: Tables, key: str, base: int, contents: Mapping[int, Playbook]) -> None:
    """Keep the versions from `base` on and those of `contents`; the caller holds the write lock."""
    head = read_head(tables, key)
    if not head.marks.base <= base <= head.version.n:
        return
    of_state = max(head.base_n, base)
    held = _kept(tables, key)
    for n in held - contents.keys() - {of_state}:
        tables.execute("DELETE FROM ace_base_contents WHERE user_id = ? AND version = ?", (key, n))
    for n in contents.keys() - held:
        _add_base(tables, key, n, dump_base(contents[n]))
    drop_effects(tables, key, base)
    tables.execute(
        "UPDATE ace_learners SET base_version = ?2, next_base_version = NULL, content_base = ?3, "
        "base_bytes = coalesce((SELECT length(CAST(memory_json AS BLOB)) FROM ace_base_contents "
        "WHERE user_id = ?1 AND version = ?3), 0), "
        "effects_bytes = (SELECT coalesce(sum(effect_bytes), 0) FROM ace_deltas "
        "WHERE user_id = ?1 AND content_changed AND version > ?3) WHERE user_id = ?1",
        (key, base, of_state),
    )


def _add_base(tables: Tables, key: str, n: int, text: str) -> None:
    """Store the content of a version; versions of before the etags of effects were stored have none."""
    row = tables.execute(
        "SELECT coalesce(etag, '') FROM ace_deltas WHERE user_id = ? AND version = ? AND content_changed",
        (key, n),
    ).fetchone()
    etag = "" if row is None else row[0]
    tables.execute(
        "INSERT INTO ace_base_contents (user_id, version, etag, checksum, memory_json) "
        "VALUES (?, ?, ?, ?, ?)",
        (key, n, etag, base_checksum(n, etag, text), text),
    )


def _kept(tables: Tables, key: str) -> set[int]:
    return {n for (n,) in tables.execute("SELECT version FROM ace_base_contents WHERE user_id = ?", (key,))}
