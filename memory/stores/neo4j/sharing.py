"""Grants on named playbooks, proposals for them, and teams, in Neo4j. With the Cypher for all of it.

Statements on grants run in the namespace of playbooks, so a grant is an `AcePlaybookGrant` there; those on
teams run in the namespace of learners. Grants change under the playbook's lock, as commits do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict

from ace_graph.memory.sharing import Grant, Proposal, ProposalState, Relation, Subject, team_key
from ace_graph.memory.stores.base import SharingExport
from ace_graph.memory.stores.neo4j.queries import native
from ace_graph.memory.stores.neo4j.runner import Row, Runner, fetch

_GRANT = """
g.playbook_id AS playbook_id, g.subject AS subject, g.relation AS relation,
g.granted_by AS granted_by, g.at AS at
"""
READ: Final = f"""
UNWIND $subjects AS subject
MATCH (g:AceGrant {{playbook_id: $uid, subject: subject}}) RETURN {_GRANT}
"""
LIST: Final = f"""
MATCH (g:AceGrant {{playbook_id: $uid}}) WHERE g.subject > $after
RETURN {_GRANT} ORDER BY g.subject LIMIT $limit
"""
PUT: Final = """
UNWIND $grants AS grant
MERGE (g:AceGrant {playbook_id: grant.playbook_id, subject: grant.subject}) SET g += grant
"""
DROP: Final = """
MATCH (g:AceGrant {playbook_id: $uid, subject: $subject}) DELETE g RETURN count(*) AS gone
"""
DROP_ALL: Final = "MATCH (g:AceGrant {playbook_id: $uid}) DELETE g"
DROP_PROPOSALS: Final = "MATCH (p:AceProposal {playbook_id: $uid}) DELETE p"
ABOUT: Final = f"""
MATCH (g:AceGrant) WHERE g.subject = $subject OR g.playbook_id IN $owned
RETURN {_GRANT} ORDER BY g.playbook_id, g.subject
"""
PROPOSED_BY: Final = """
MATCH (p:AceProposal {proposer: $user}) WHERE p.proposal_id > $after
RETURN p.proposal_json AS proposal_json ORDER BY p.proposal_id LIMIT $limit
"""
ADD_PROPOSAL: Final = "CREATE (p:AceProposal) SET p = $proposal"
PROPOSALS: Final = """
MATCH (p:AceProposal {playbook_id: $uid})
WHERE p.proposal_id > $after AND ($state IS NULL OR p.state = $state)
RETURN p.proposal_json AS proposal_json ORDER BY p.proposal_id LIMIT $limit
"""
DECIDE: Final = """
MATCH (p:AceProposal {proposal_id: $proposal.proposal_id})
WHERE p.playbook_id = $proposal.playbook_id AND p.state = $held
SET p = $proposal RETURN count(*) AS decided
"""
FORGET_PROPOSALS: Final = "MATCH (p:AceProposal {proposer: $user}) DELETE p RETURN count(*) AS gone"
SHARED: Final = """
UNWIND $subjects AS subject
MATCH (g:AceGrant {subject: subject}) WHERE g.playbook_id > $after
RETURN DISTINCT g.playbook_id AS playbook_id ORDER BY playbook_id LIMIT $limit
"""
FORGET_GRANTS: Final = """
OPTIONAL MATCH (own:AceGrant {subject: $subject})
WITH collect(own) AS gone
FOREACH (g IN gone | DELETE g)
WITH size(gone) AS gone
OPTIONAL MATCH (g:AceGrant {granted_by: $user})
SET g.granted_by = ''
RETURN DISTINCT gone
"""
TEAMS_OF: Final = """
MATCH (m:AceTeamMember {member: $user}) RETURN m.team_id AS name ORDER BY name
"""
TEAMS: Final = """
MATCH (m:AceTeamMember) WHERE m.team_id > $after RETURN DISTINCT m.team_id AS name ORDER BY name LIMIT $limit
"""
TEAMS_LIKE: Final = """
MATCH (m:AceTeamMember {team_key: $key}) WHERE m.team_id <> $team RETURN DISTINCT m.team_id AS name
"""
MEMBERS: Final = """
MATCH (m:AceTeamMember {team_id: $team}) WHERE m.member > $after
RETURN m.member AS name ORDER BY name LIMIT $limit
"""
ADD: Final = """
UNWIND $members AS member
MERGE (m:AceTeamMember {team_id: $team, member: member})
ON CREATE SET m.team_key = $key, m.added = true
WITH m, m.added AS added REMOVE m.added
RETURN count(added) AS moved
"""
REMOVE: Final = """
UNWIND $members AS member
MATCH (m:AceTeamMember {team_id: $team, member: member}) DELETE m RETURN count(*) AS moved
"""
LEAVE: Final = "MATCH (m:AceTeamMember {member: $user}) DELETE m RETURN count(*) AS gone"


async def read_grants(run: Runner, playbook_id: str, subjects: Sequence[str]) -> tuple[Grant, ...]:
    """Return the grants of a playbook to these subjects."""
    if not subjects:
        return ()
    return _grants(await fetch(run, READ, uid=playbook_id, subjects=list(subjects)))


async def list_grants(run: Runner, playbook_id: str, limit: int, after: str) -> tuple[Grant, ...]:
    """Return grants of a playbook in the order of their subjects."""
    return _grants(await fetch(run, LIST, uid=playbook_id, limit=limit, after=after))


async def put_grants(run: Runner, grants: Iterable[Grant]) -> None:
    """Store grants; one that a subject has on the same playbook is replaced."""
    await fetch(run, PUT, grants=grant_rows(grants))


async def drop_grant(run: Runner, playbook_id: str, subject: Subject) -> bool:
    """Delete a subject's grant; False where there was none."""
    (row,) = await fetch(run, DROP, uid=playbook_id, subject=str(subject))
    return row["gone"] != 0


async def delete_sharing(run: Runner, playbook_id: str) -> None:
    """Delete all grants of a playbook, and the proposals for it."""
    await fetch(run, DROP_ALL, uid=playbook_id)
    await fetch(run, DROP_PROPOSALS, uid=playbook_id)


async def read_sharing(run: Runner, user: str, owned: Sequence[str]) -> SharingExport:
    """Return a user's teams, grants and proposals, with the grants on the playbooks `owned`."""
    named, subject = run.of("playbooks"), str(Subject("user", user))
    grants = _grants(await fetch(named, ABOUT, subject=subject, owned=list(owned)))
    made = await proposals_by(named, user, 2**31, "")
    return SharingExport(await teams_of(run.of("learners"), user), grants, made)


async def proposals_by(run: Runner, user: str, limit: int, after: str) -> tuple[Proposal, ...]:
    """Return proposals that a user made, in the order of their ids; runs in the namespace of playbooks."""
    rows = await fetch(run, PROPOSED_BY, user=user, limit=limit, after=after)
    return tuple(Proposal.model_validate_json(str(row["proposal_json"])) for row in rows)


async def add_proposal(run: Runner, proposal: Proposal) -> None:
    """Store a new proposal."""
    await fetch(run, ADD_PROPOSAL, proposal=_proposal_row(proposal))


async def list_proposals(
    run: Runner, playbook_id: str, state: ProposalState | None, limit: int, after: str
) -> tuple[Proposal, ...]:
    """Return proposals for a playbook, in the order of their ids."""
    rows = await fetch(run, PROPOSALS, uid=playbook_id, state=state, limit=limit, after=after)
    return tuple(Proposal.model_validate_json(str(row["proposal_json"])) for row in rows)


async def decide_proposal(run: Runner, proposal: Proposal, held: ProposalState) -> bool:
    """Replace a proposal that is in the state `held`; run it under the playbook's lock."""
    (row,) = await fetch(run, DECIDE, proposal=_proposal_row(proposal), held=held)
    return row["decided"] != 0


async def list_shared_ids(run: Runner, subjects: Sequence[str], limit: int, after: str) -> tuple[str, ...]:
    """Return the ids of playbooks with a grant to one of the subjects, in order."""
    rows = await fetch(run, SHARED, subjects=list(subjects), limit=limit, after=after)
    return tuple(str(row["playbook_id"]) for row in rows)


async def teams_of(run: Runner, user: str) -> tuple[str, ...]:
    """Return the teams that a user is in, in order."""
    return _names(await fetch(run, TEAMS_OF, user=user))


async def teams_like(run: Runner, team: str) -> tuple[str, ...]:
    """Return the teams with another name that could be taken for this one."""
    return _names(await fetch(run, TEAMS_LIKE, key=team_key(team), team=team))


async def list_teams(run: Runner, limit: int, after: str) -> tuple[str, ...]:
    """Return teams, in order."""
    return _names(await fetch(run, TEAMS, limit=limit, after=after))


async def list_members(run: Runner, team: str, limit: int, after: str) -> tuple[str, ...]:
    """Return members of a team, in order."""
    return _names(await fetch(run, MEMBERS, team=team, limit=limit, after=after))


async def move_members(run: Runner, team: str, members: Collection[str], *, joining: bool) -> int:
    """Add members to a team, or remove them; return how many have moved."""
    rows = await fetch(
        run, ADD if joining else REMOVE, team=team, members=sorted(members), key=team_key(team)
    )
    return int(str(rows[0]["moved"])) if rows else 0


async def forget_member(run: Runner, user: str) -> bool:
    """Delete a user's memberships and proposals, the grants to the user, and the name in grants to others."""
    (left,) = await fetch(run.of("learners"), LEAVE, user=user)
    (row,) = await fetch(run.of("playbooks"), FORGET_GRANTS, user=user, subject=str(Subject("user", user)))
    (withdrawn,) = await fetch(run.of("playbooks"), FORGET_PROPOSALS, user=user)
    return any(each["gone"] != 0 for each in (left, row, withdrawn))


def grant_rows(grants: Iterable[Grant]) -> list[Row]:
    """Return grants as properties of nodes."""
    return [
        {
            "playbook_id": each.playbook_id,
            "subject": str(each.subject),
            "relation": each.relation,
            "granted_by": each.by,
            "at": each.at,
        }
        for each in grants
    ]


class GrantRow(BaseModel):
    """The properties of a grant."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    playbook_id: str
    subject: str
    relation: Relation
    granted_by: str
    at: Annotated[datetime, BeforeValidator(native)]

    def grant(self) -> Grant:
        """Return the grant."""
        kind, _, name = self.subject.partition(":")
        whom = Subject("team" if kind == "team" else "user", name)
        return Grant(whom, self.relation, self.playbook_id, self.granted_by, self.at)


def _grants(rows: list[Row]) -> tuple[Grant, ...]:
    return tuple(GrantRow.model_validate(row).grant() for row in rows)


def _proposal_row(proposal: Proposal) -> Row:
    return {
        "proposal_id": proposal.proposal_id,
        "playbook_id": proposal.playbook_id,
        "proposer": proposal.by,
        "state": proposal.state,
        "proposal_json": proposal.model_dump_json(),
    }


def _names(rows: list[Row]) -> tuple[str, ...]:
    return tuple(str(row["name"]) for row in rows)
