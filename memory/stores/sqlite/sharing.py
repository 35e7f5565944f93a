"""Grants on named playbooks, and teams, in SQLite. Statements name their tables in either namespace."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from ace_graph.memory.sharing.grant import Grant, Subject, team_key
from ace_graph.memory.sharing.proposal import Proposal, ProposalState
from ace_graph.memory.stores.base import SharingExport
from ace_graph.memory.stores.records import GRANT_COLUMNS, grant_of, grant_row
from ace_graph.memory.stores.sqlite.tables import Tables

__all__ = [
    "add_grants",
    "add_members",
    "add_proposal",
    "decide_proposal",
    "delete_sharing",
    "drop_grant",
    "forget_member",
    "list_grants",
    "list_members",
    "list_proposals",
    "list_shared_ids",
    "list_teams",
    "proposals_by",
    "read_grants",
    "read_sharing",
    "remove_members",
    "teams_like",
    "teams_of",
]

_GRANT = f"SELECT {GRANT_COLUMNS} FROM ace_grants"  # noqa: S608  constants


def read_grants(tables: Tables, playbook_id: str, subjects: Sequence[str]) -> tuple[Grant, ...]:
    """Return the grants of a playbook to these subjects."""
    if not subjects:
        return ()
    rows = tables.execute(
        f"{_GRANT} WHERE playbook_id = ? "  # noqa: S608  constants
        "AND subject IN (SELECT value FROM json_each(?))",
        (playbook_id, json.dumps(subjects)),
    )
    return tuple(map(grant_of, rows))


def list_grants(tables: Tables, playbook_id: str, limit: int, after: str) -> tuple[Grant, ...]:
    """Return grants of a playbook in the order of their subjects."""
    rows = tables.execute(
        f"{_GRANT} WHERE playbook_id = ? AND subject > ? ORDER BY subject LIMIT ?",
        (playbook_id, after, limit),
    )
    return tuple(map(grant_of, rows))


def add_grants(tables: Tables, grants: Iterable[Grant]) -> None:
    """Store grants; one that a subject has on the same playbook is replaced."""
    tables.executemany(
        f"INSERT INTO ace_grants ({GRANT_COLUMNS}) VALUES (?, ?, ?, ?, ?) "  # noqa: S608  constants
        "ON CONFLICT DO UPDATE SET relation = excluded.relation, granted_by = excluded.granted_by, "
        "at = excluded.at",
        map(grant_row, grants),
    )


def drop_grant(tables: Tables, playbook_id: str, subject: Subject) -> bool:
    """Delete a subject's grant; False where there was none."""
    done = tables.execute(
        "DELETE FROM ace_grants WHERE playbook_id = ? AND subject = ?", (playbook_id, str(subject))
    )
    return done.rowcount > 0


def delete_sharing(tables: Tables, playbook_id: str) -> None:
    """Delete all grants of a playbook, and the proposals for it."""
    tables.execute("DELETE FROM ace_grants WHERE playbook_id = ?", (playbook_id,))
    tables.execute("DELETE FROM ace_proposals WHERE playbook_id = ?", (playbook_id,))


def read_sharing(tables: Tables, user: str) -> SharingExport:
    """Return a user's teams, grants and proposals, with the grants on the user's own playbooks."""
    grants = tables.execute(
        f"{_GRANT} WHERE subject = ? OR playbook_id IN "  # noqa: S608  constants
        "(SELECT playbook_id FROM ace_named_catalogue WHERE owner = ?) ORDER BY playbook_id, subject",
        (str(Subject("user", user)), user),
    ).fetchall()
    made = proposals_by(tables, user, -1, "")
    return SharingExport(teams_of(tables, user), tuple(map(grant_of, grants)), made)


def proposals_by(tables: Tables, user: str, limit: int, after: str) -> tuple[Proposal, ...]:
    """Return proposals that a user made, in the order of their ids; a negative limit means all."""
    rows = tables.execute(
        "SELECT proposal_json FROM ace_proposals WHERE proposer = ? AND proposal_id > ? "
        "ORDER BY proposal_id LIMIT ?",
        (user, after, limit),
    )
    return tuple(Proposal.model_validate_json(text) for (text,) in rows)


def add_proposal(tables: Tables, proposal: Proposal) -> None:
    """Store a new proposal."""
    tables.execute(
        "INSERT INTO ace_proposals (proposal_id, playbook_id, proposer, state, proposal_json) "
        "VALUES (?, ?, ?, ?, ?)",
        (
            proposal.proposal_id,
            proposal.playbook_id,
            proposal.by,
            proposal.state,
            proposal.model_dump_json(),
        ),
    )


def list_proposals(
    tables: Tables, playbook_id: str, state: ProposalState | None, limit: int, after: str
) -> tuple[Proposal, ...]:
    """Return proposals for a playbook, in the order of their ids."""
    rows = tables.execute(
        "SELECT proposal_json FROM ace_proposals WHERE playbook_id = ?1 AND proposal_id > ?2 "
        "AND (?3 IS NULL OR state = ?3) ORDER BY proposal_id LIMIT ?4",
        (playbook_id, after, state, limit),
    )
    return tuple(Proposal.model_validate_json(text) for (text,) in rows)


def decide_proposal(tables: Tables, proposal: Proposal, held: ProposalState) -> bool:
    """Replace a proposal that is in the state `held`; False for one that is not."""
    done = tables.execute(
        "UPDATE ace_proposals SET state = ?, proposal_json = ? "
        "WHERE proposal_id = ? AND playbook_id = ? AND state = ?",
        (proposal.state, proposal.model_dump_json(), proposal.proposal_id, proposal.playbook_id, held),
    )
    return done.rowcount > 0


def list_shared_ids(tables: Tables, subjects: Sequence[str], limit: int, after: str) -> tuple[str, ...]:
    """Return the ids of playbooks with a grant to one of the subjects, in order."""
    rows = tables.execute(
        "SELECT DISTINCT playbook_id FROM ace_grants "
        "WHERE subject IN (SELECT value FROM json_each(?)) AND playbook_id > ? ORDER BY playbook_id LIMIT ?",
        (json.dumps(subjects), after, limit),
    )
    return tuple(str(playbook_id) for (playbook_id,) in rows)


def teams_of(tables: Tables, user: str) -> tuple[str, ...]:
    """Return the teams that a user is in, in order."""
    rows = tables.execute("SELECT team_id FROM ace_team_members WHERE member = ? ORDER BY team_id", (user,))
    return tuple(str(team) for (team,) in rows)


def teams_like(tables: Tables, team: str) -> tuple[str, ...]:
    """Return the teams with another name that could be taken for this one."""
    rows = tables.execute(
        "SELECT DISTINCT team_id FROM ace_team_members WHERE team_key = ? AND team_id <> ?",
        (team_key(team), team),
    )
    return tuple(str(other) for (other,) in rows)


def add_members(tables: Tables, team: str, members: Collection[str]) -> int:
    """Add members to a team; return how many were not in it."""
    before = tables.connection.total_changes
    tables.executemany(
        "INSERT INTO ace_team_members (team_id, member, team_key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(team, member, team_key(team)) for member in members],
    )
    return tables.connection.total_changes - before


def remove_members(tables: Tables, team: str, members: Collection[str]) -> int:
    """Remove members of a team; return how many were in it."""
    before = tables.connection.total_changes
    tables.executemany(
        "DELETE FROM ace_team_members WHERE team_id = ? AND member = ?",
        [(team, member) for member in members],
    )
    return tables.connection.total_changes - before


def list_members(tables: Tables, team: str, limit: int, after: str) -> tuple[str, ...]:
    """Return members of a team, in order."""
    rows = tables.execute(
        "SELECT member FROM ace_team_members WHERE team_id = ? AND member > ? ORDER BY member LIMIT ?",
        (team, after, limit),
    )
    return tuple(str(member) for (member,) in rows)


def list_teams(tables: Tables, limit: int, after: str) -> tuple[str, ...]:
    """Return teams, in order."""
    rows = tables.execute(
        "SELECT DISTINCT team_id FROM ace_team_members WHERE team_id > ? ORDER BY team_id LIMIT ?",
        (after, limit),
    )
    return tuple(str(team) for (team,) in rows)


def forget_member(tables: Tables, user: str) -> bool:
    """Delete a user's memberships and proposals, the grants to the user, and the name in grants to others."""
    gone = tables.execute("DELETE FROM ace_team_members WHERE member = ?", (user,)).rowcount
    gone += tables.execute("DELETE FROM ace_grants WHERE subject = ?", (str(Subject("user", user)),)).rowcount
    gone += tables.execute("DELETE FROM ace_proposals WHERE proposer = ?", (user,)).rowcount
    tables.execute("UPDATE ace_grants SET granted_by = '' WHERE granted_by = ?", (user,))
    return gone > 0
