"""The schema of the Neo4j store: constraints and indexes, made at the first call, and its name.

Every statement is idempotent, so any number of processes can start at once. A database with another schema is
refused as it is. There is no constraint and no index on `User`: those nodes may belong to the host
application.
"""

from __future__ import annotations

from typing import Final, LiteralString

from ace_graph.base.errors import OtherSchema
from ace_graph.memory.stores.base import other_schema
from ace_graph.memory.stores.neo4j.runner import Row

SCHEMA: Final = "1"

STATEMENTS: Final[tuple[LiteralString, ...]] = (
    "CREATE CONSTRAINT ace_schema_name IF NOT EXISTS FOR (n:AceSchema) REQUIRE n.name IS UNIQUE",
    "CREATE CONSTRAINT ace_state_user IF NOT EXISTS FOR (n:AceMemoryState) REQUIRE n.user_id IS UNIQUE",
    "CREATE CONSTRAINT ace_lock_user IF NOT EXISTS FOR (n:AceLock) REQUIRE n.user_id IS UNIQUE",
    "CREATE CONSTRAINT ace_delta_key IF NOT EXISTS FOR (n:AceDelta) REQUIRE n.key IS UNIQUE",
    "CREATE CONSTRAINT ace_turn_key IF NOT EXISTS FOR (n:AceTurn) REQUIRE n.key IS UNIQUE",
    "CREATE INDEX ace_turn_order IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.seq)",
    "CREATE INDEX ace_turn_completed IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.completed_at)",
    "CREATE INDEX ace_turn_status IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.status)",
    "CREATE INDEX ace_turn_mode IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.mode)",
    "CREATE INDEX ace_turn_id IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.turn_id)",
    "CREATE CONSTRAINT ace_bullet_key IF NOT EXISTS FOR (n:AceBullet) REQUIRE n.key IS UNIQUE",
    "CREATE CONSTRAINT ace_bullet_hash IF NOT EXISTS FOR (n:AceBullet) REQUIRE n.hash_key IS UNIQUE",
    "CREATE CONSTRAINT ace_pending_key IF NOT EXISTS FOR (n:AcePending) REQUIRE n.key IS UNIQUE",
    "CREATE INDEX ace_pending_free IF NOT EXISTS FOR (n:AcePending) ON (n.state, n.free_at)",
    "CREATE INDEX ace_pending_learner IF NOT EXISTS FOR (n:AcePending) ON (n.user_id, n.state)",
    "CREATE INDEX ace_turn_agent IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.agent)",
    "CREATE INDEX ace_turn_type IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.task_type)",
    "CREATE INDEX ace_turn_parent IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.parent_id)",
    "CREATE CONSTRAINT ace_duty_name IF NOT EXISTS FOR (n:AceDuty) REQUIRE n.name IS UNIQUE",
    "CREATE INDEX ace_turn_started IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.started_at)",
    "CREATE INDEX ace_delta_age IF NOT EXISTS FOR (n:AceDelta) ON (n.user_id, n.at)",
    "CREATE INDEX ace_pending_turn IF NOT EXISTS FOR (n:AcePending) ON (n.user_id, n.turn_id)",
    "CREATE CONSTRAINT ace_playbook_id IF NOT EXISTS FOR (n:AcePlaybook) REQUIRE n.user_id IS UNIQUE",
    "CREATE CONSTRAINT ace_playbook_owner_name IF NOT EXISTS"
    " FOR (n:AcePlaybook) REQUIRE n.owner_name IS UNIQUE",
    "CREATE INDEX ace_playbook_owner IF NOT EXISTS FOR (n:AcePlaybook) ON (n.owner, n.name_key)",
    "CREATE CONSTRAINT ace_playbook_lock IF NOT EXISTS FOR (n:AcePlaybookLock) REQUIRE n.user_id IS UNIQUE",
    "CREATE CONSTRAINT ace_playbook_delta IF NOT EXISTS FOR (n:AcePlaybookDelta) REQUIRE n.key IS UNIQUE",
    "CREATE CONSTRAINT ace_playbook_turn IF NOT EXISTS FOR (n:AcePlaybookTurn) REQUIRE n.key IS UNIQUE",
    "CREATE CONSTRAINT ace_playbook_pending IF NOT EXISTS FOR (n:AcePlaybookPending) REQUIRE n.key IS UNIQUE",
    "CREATE CONSTRAINT ace_playbook_duty IF NOT EXISTS FOR (n:AcePlaybookDuty) REQUIRE n.name IS UNIQUE",
    "CREATE CONSTRAINT ace_playbook_grant IF NOT EXISTS"
    " FOR (n:AcePlaybookGrant) REQUIRE (n.playbook_id, n.subject) IS UNIQUE",
    "CREATE INDEX ace_playbook_grant_subject IF NOT EXISTS"
    " FOR (n:AcePlaybookGrant) ON (n.subject, n.playbook_id)",
    "CREATE INDEX ace_playbook_grant_giver IF NOT EXISTS FOR (n:AcePlaybookGrant) ON (n.granted_by)",
    "CREATE CONSTRAINT ace_team_member IF NOT EXISTS"
    " FOR (n:AceTeamMember) REQUIRE (n.team_id, n.member) IS UNIQUE",
    "CREATE INDEX ace_team_member_user IF NOT EXISTS FOR (n:AceTeamMember) ON (n.member)",
    "CREATE INDEX ace_team_member_key IF NOT EXISTS FOR (n:AceTeamMember) ON (n.team_key)",
    "CREATE CONSTRAINT ace_playbook_proposal IF NOT EXISTS"
    " FOR (n:AcePlaybookProposal) REQUIRE n.proposal_id IS UNIQUE",
    "CREATE INDEX ace_playbook_proposal_playbook IF NOT EXISTS"
    " FOR (n:AcePlaybookProposal) ON (n.playbook_id, n.proposal_id)",
    "CREATE INDEX ace_playbook_proposal_proposer IF NOT EXISTS FOR (n:AcePlaybookProposal) ON (n.proposer)",
    "CREATE CONSTRAINT ace_delta_content IF NOT EXISTS"
    " FOR (n:AceDelta) REQUIRE (n.user_id, n.content_version) IS UNIQUE",
    "CREATE CONSTRAINT ace_playbook_delta_content IF NOT EXISTS"
    " FOR (n:AcePlaybookDelta) REQUIRE (n.user_id, n.content_version) IS UNIQUE",
    "CREATE CONSTRAINT ace_touch_clock IF NOT EXISTS FOR (n:AceTouch) REQUIRE (n.user_id, n.clock) IS UNIQUE",
    "CREATE CONSTRAINT ace_playbook_touch_clock IF NOT EXISTS"
    " FOR (n:AcePlaybookTouch) REQUIRE (n.user_id, n.clock) IS UNIQUE",
    "CREATE CONSTRAINT ace_vector_name IF NOT EXISTS"
    " FOR (n:AceVector) REQUIRE (n.user_id, n.model, n.name) IS UNIQUE",
    "CREATE CONSTRAINT ace_playbook_vector_name IF NOT EXISTS"
    " FOR (n:AcePlaybookVector) REQUIRE (n.user_id, n.model, n.name) IS UNIQUE",
)
"""They run one at a time, each in a transaction of its own, as schema changes must."""

HELD: Final = """
OPTIONAL MATCH (n:AceSchema)
WITH collect(n.name) AS names
OPTIONAL MATCH (older:AceMigration)
RETURN names, count(older) AS older
"""
"""The names of the schemas that the database has; schemas of before this one have steps."""

RECORD: Final = "MERGE (n:AceSchema {name: $name}) ON CREATE SET n.made_at = datetime()"


def is_made(held: Row) -> bool:
    """Whether the schema is there, by what `HELD` returned. Raises OtherSchema."""
    names = held["names"]
    if held["older"] or names not in ([], [SCHEMA]):
        raise OtherSchema(other_schema("older" if held["older"] else str(names), SCHEMA))
    return names == [SCHEMA]
