"""The schema of the Neo4j store: numbered migrations, whose names are recorded in the database.

Every migration is idempotent, so any number of processes can start at once. None deletes or renames data.
There is no constraint and no index on `User`: those nodes may belong to the host application.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, LiteralString, NamedTuple

from ace_graph.errors import NewerFormat

__all__ = ["APPLIED", "MIGRATIONS", "RECORD", "UPGRADING", "Migration", "missing_migrations"]


class Migration(NamedTuple):
    """`statements` run one at a time, each in a transaction of its own, as schema changes must."""

    name: LiteralString
    statements: tuple[LiteralString, ...]


UPGRADING: Final = "0010_base_and_effects"
"""Before this one is recorded, the states that are there are upgraded (upgrade.py)."""

MIGRATIONS: Final[tuple[Migration, ...]] = (
    Migration(
        "0001_keys",
        (
            "CREATE CONSTRAINT ace_migration_name IF NOT EXISTS"
            " FOR (n:AceMigration) REQUIRE n.name IS UNIQUE",
            "CREATE CONSTRAINT ace_state_user IF NOT EXISTS"
            " FOR (n:AceMemoryState) REQUIRE n.user_id IS UNIQUE",
            "CREATE CONSTRAINT ace_lock_user IF NOT EXISTS FOR (n:AceLock) REQUIRE n.user_id IS UNIQUE",
            "CREATE CONSTRAINT ace_delta_key IF NOT EXISTS FOR (n:AceDelta) REQUIRE n.key IS UNIQUE",
            "CREATE CONSTRAINT ace_turn_key IF NOT EXISTS FOR (n:AceTurn) REQUIRE n.key IS UNIQUE",
        ),
    ),
    Migration(
        "0002_turns",
        (
            "CREATE INDEX ace_turn_order IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.seq)",
            "CREATE INDEX ace_turn_completed IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.completed_at)",
            "CREATE INDEX ace_turn_status IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.status)",
            "CREATE INDEX ace_turn_mode IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.mode)",
            "CREATE INDEX ace_turn_id IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.turn_id)",
        ),
    ),
    Migration(
        "0003_bullets",
        (
            "CREATE CONSTRAINT ace_bullet_key IF NOT EXISTS FOR (n:AceBullet) REQUIRE n.key IS UNIQUE",
            "CREATE CONSTRAINT ace_bullet_hash IF NOT EXISTS FOR (n:AceBullet) REQUIRE n.hash_key IS UNIQUE",
        ),
    ),
    Migration(
        "0004_pending",
        (
            "CREATE CONSTRAINT ace_pending_key IF NOT EXISTS FOR (n:AcePending) REQUIRE n.key IS UNIQUE",
            "CREATE INDEX ace_pending_free IF NOT EXISTS FOR (n:AcePending) ON (n.state, n.free_at)",
            "CREATE INDEX ace_pending_learner IF NOT EXISTS FOR (n:AcePending) ON (n.user_id, n.state)",
        ),
    ),
    Migration(
        "0005_trajectories",
        (
            "CREATE INDEX ace_turn_agent IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.agent)",
            "CREATE INDEX ace_turn_type IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.task_type)",
            "CREATE INDEX ace_turn_parent IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.parent_id)",
        ),
    ),
    Migration(
        "0006_cleaning",
        (
            "CREATE CONSTRAINT ace_duty_name IF NOT EXISTS FOR (n:AceDuty) REQUIRE n.name IS UNIQUE",
            "CREATE INDEX ace_turn_started IF NOT EXISTS FOR (n:AceTurn) ON (n.user_id, n.started_at)",
            "CREATE INDEX ace_delta_age IF NOT EXISTS FOR (n:AceDelta) ON (n.user_id, n.at)",
            "CREATE INDEX ace_pending_turn IF NOT EXISTS FOR (n:AcePending) ON (n.user_id, n.turn_id)",
        ),
    ),
    Migration(
        "0007_playbooks",
        (
            "CREATE CONSTRAINT ace_playbook_id IF NOT EXISTS FOR (n:AcePlaybook) REQUIRE n.user_id IS UNIQUE",
            "CREATE CONSTRAINT ace_playbook_owner_name IF NOT EXISTS"
            " FOR (n:AcePlaybook) REQUIRE n.owner_name IS UNIQUE",
            "CREATE INDEX ace_playbook_owner IF NOT EXISTS FOR (n:AcePlaybook) ON (n.owner, n.name_key)",
            "CREATE CONSTRAINT ace_playbook_lock IF NOT EXISTS"
            " FOR (n:AcePlaybookLock) REQUIRE n.user_id IS UNIQUE",
            "CREATE CONSTRAINT ace_playbook_delta IF NOT EXISTS"
            " FOR (n:AcePlaybookDelta) REQUIRE n.key IS UNIQUE",
            "CREATE CONSTRAINT ace_playbook_turn IF NOT EXISTS"
            " FOR (n:AcePlaybookTurn) REQUIRE n.key IS UNIQUE",
            "CREATE CONSTRAINT ace_playbook_pending IF NOT EXISTS"
            " FOR (n:AcePlaybookPending) REQUIRE n.key IS UNIQUE",
            "CREATE CONSTRAINT ace_playbook_duty IF NOT EXISTS"
            " FOR (n:AcePlaybookDuty) REQUIRE n.name IS UNIQUE",
        ),
    ),
    Migration(
        "0008_sharing",
        (
            "CREATE CONSTRAINT ace_playbook_grant IF NOT EXISTS"
            " FOR (n:AcePlaybookGrant) REQUIRE (n.playbook_id, n.subject) IS UNIQUE",
            "CREATE INDEX ace_playbook_grant_subject IF NOT EXISTS"
            " FOR (n:AcePlaybookGrant) ON (n.subject, n.playbook_id)",
            "CREATE INDEX ace_playbook_grant_giver IF NOT EXISTS FOR (n:AcePlaybookGrant) ON (n.granted_by)",
            "CREATE CONSTRAINT ace_team_member IF NOT EXISTS"
            " FOR (n:AceTeamMember) REQUIRE (n.team_id, n.member) IS UNIQUE",
            "CREATE INDEX ace_team_member_user IF NOT EXISTS FOR (n:AceTeamMember) ON (n.member)",
            "CREATE INDEX ace_team_member_key IF NOT EXISTS FOR (n:AceTeamMember) ON (n.team_key)",
        ),
    ),
    Migration(
        "0009_proposals",
        (
            "CREATE CONSTRAINT ace_playbook_proposal IF NOT EXISTS"
            " FOR (n:AcePlaybookProposal) REQUIRE n.proposal_id IS UNIQUE",
            "CREATE INDEX ace_playbook_proposal_playbook IF NOT EXISTS"
            " FOR (n:AcePlaybookProposal) ON (n.playbook_id, n.proposal_id)",
            "CREATE INDEX ace_playbook_proposal_proposer IF NOT EXISTS"
            " FOR (n:AcePlaybookProposal) ON (n.proposer)",
        ),
    ),
    Migration(
        UPGRADING,
        (
            "CREATE CONSTRAINT ace_delta_content IF NOT EXISTS"
            " FOR (n:AceDelta) REQUIRE (n.user_id, n.content_version) IS UNIQUE",
            "CREATE CONSTRAINT ace_playbook_delta_content IF NOT EXISTS"
            " FOR (n:AcePlaybookDelta) REQUIRE (n.user_id, n.content_version) IS UNIQUE",
            "CREATE CONSTRAINT ace_touch_clock IF NOT EXISTS"
            " FOR (n:AceTouch) REQUIRE (n.user_id, n.clock) IS UNIQUE",
            "CREATE CONSTRAINT ace_playbook_touch_clock IF NOT EXISTS"
            " FOR (n:AcePlaybookTouch) REQUIRE (n.user_id, n.clock) IS UNIQUE",
        ),
    ),
    Migration(
        "0011_vectors",
        (
            "CREATE CONSTRAINT ace_vector_name IF NOT EXISTS"
            " FOR (n:AceVector) REQUIRE (n.user_id, n.model, n.name) IS UNIQUE",
            "CREATE CONSTRAINT ace_playbook_vector_name IF NOT EXISTS"
            " FOR (n:AcePlaybookVector) REQUIRE (n.user_id, n.model, n.name) IS UNIQUE",
        ),
    ),
)

APPLIED: Final = "MATCH (n:AceMigration) RETURN collect(n.name) AS names"

RECORD: Final = """
MERGE (n:AceMigration {name: $name}) ON CREATE SET n.applied_at = datetime()
"""


def missing_migrations(applied: Collection[str]) -> list[Migration]:
    """Return the migrations that the database lacks, in order.

    Raises NewerFormat for a database with migrations that are unknown here.
    """
    unknown = sorted(set(applied) - {migration.name for migration in MIGRATIONS})
    if unknown:
        raise NewerFormat(f"the database has the migration {unknown[-1]}, unknown here: upgrade ace-graph")
    return [migration for migration in MIGRATIONS if migration.name not in applied]
