-- The tables of the SQL store, as PostgreSQL spells them.
--
-- Those with a row, or rows, for each learner begin with user_id. They and their indexes are made a second time for
-- playbooks, under other names (database.py). Texts are compared byte by byte, whatever the database's language: keys,
-- names, and times in ISO format.

CREATE TABLE ace_learners (
    user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    epoch TEXT NOT NULL,
    version BIGINT NOT NULL,
    etag TEXT NOT NULL,
    major BIGINT NOT NULL,
    minor BIGINT NOT NULL,
    access_json TEXT NOT NULL,
    access_clock BIGINT NOT NULL,
    access_mark TEXT NOT NULL,
    seq BIGINT NOT NULL,
    base_version BIGINT NOT NULL,
    next_base_version BIGINT,
    content_base BIGINT NOT NULL,
    base_bytes BIGINT NOT NULL,
    effects_bytes BIGINT NOT NULL,
    stamps_bytes BIGINT NOT NULL,
    touches_bytes BIGINT NOT NULL,
    keys_from DOUBLE PRECISION,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

-- Bases are never changed: a new one is added, and an old one deleted when nothing needs it any more. Bases,
-- stamps and touches have tables of their own, as a row is rewritten whole, and every turn moves the state.
CREATE TABLE ace_bases (
    user_id TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    etag TEXT NOT NULL,
    checksum BIGINT NOT NULL,
    memory_json TEXT NOT NULL,
    PRIMARY KEY (user_id, version)
);

CREATE TABLE ace_stamps (
    user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    mark TEXT NOT NULL,
    checksum BIGINT NOT NULL,
    stamps_json TEXT NOT NULL
);

CREATE TABLE ace_touches (
    user_id TEXT COLLATE "C" NOT NULL,
    clock BIGINT NOT NULL,
    parent TEXT NOT NULL,
    mark TEXT NOT NULL,
    touches_json TEXT NOT NULL,
    PRIMARY KEY (user_id, clock)
);

CREATE TABLE ace_deltas (
    user_id TEXT COLLATE "C" NOT NULL,
    op_id TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    version BIGINT NOT NULL,
    content_changed BOOLEAN NOT NULL,
    at TEXT COLLATE "C" NOT NULL,
    author TEXT NOT NULL,
    reason TEXT NOT NULL,
    source TEXT NOT NULL,
    report_json TEXT NOT NULL,
    effect_json TEXT,
    effect_bytes BIGINT NOT NULL,
    parent TEXT NOT NULL,
    etag TEXT NOT NULL,
    major BIGINT NOT NULL,
    minor BIGINT NOT NULL,
    PRIMARY KEY (user_id, op_id)
);

CREATE TABLE ace_turns (
    user_id TEXT COLLATE "C" NOT NULL,
    op_id TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    conversation_id TEXT,
    mode TEXT NOT NULL,
    topic TEXT,
    started_at TEXT COLLATE "C" NOT NULL,
    completed_at TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL,
    verdict TEXT NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    task_type TEXT COLLATE "C",
    parent_id TEXT COLLATE "C",
    deleted BOOLEAN NOT NULL,
    has_steps BOOLEAN NOT NULL,
    report_json TEXT NOT NULL,
    record_json TEXT NOT NULL,
    PRIMARY KEY (user_id, op_id)
);

CREATE TABLE ace_pending (
    user_id TEXT COLLATE "C" NOT NULL,
    pending_id TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    body TEXT NOT NULL,
    priority DOUBLE PRECISION NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    attempts BIGINT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    free_at DOUBLE PRECISION NOT NULL,
    lease TEXT,
    owner TEXT,
    error TEXT,
    PRIMARY KEY (user_id, pending_id)
);

CREATE TABLE ace_vectors (
    user_id TEXT COLLATE "C" NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    vector BYTEA NOT NULL,
    PRIMARY KEY (user_id, model, name)
);

CREATE INDEX ace_deltas_by_version ON ace_deltas (user_id, version) WHERE content_changed;
CREATE INDEX ace_deltas_by_age ON ace_deltas (user_id, at);
CREATE INDEX ace_turns_in_order ON ace_turns (user_id, seq);
CREATE INDEX ace_turns_by_turn ON ace_turns (user_id, turn_id, seq);
CREATE INDEX ace_turns_by_status ON ace_turns (user_id, status, seq);
CREATE INDEX ace_turns_by_agent ON ace_turns (user_id, agent, seq);
CREATE INDEX ace_turns_by_type ON ace_turns (user_id, task_type, seq);
CREATE INDEX ace_turns_by_parent ON ace_turns (user_id, parent_id, seq);
CREATE INDEX ace_turns_by_completion ON ace_turns (user_id, completed_at);
CREATE INDEX ace_turns_with_steps ON ace_turns (user_id, completed_at) WHERE has_steps;
CREATE INDEX ace_turns_by_start ON ace_turns (user_id, started_at);
CREATE INDEX ace_pending_by_learner ON ace_pending (user_id, state, priority DESC, seq);
CREATE INDEX ace_pending_by_turn ON ace_pending (user_id, turn_id);
CREATE INDEX ace_pending_in_order ON ace_pending (state, priority DESC, created_at, user_id, seq, free_at);

CREATE TABLE ace_memory_duties (name TEXT PRIMARY KEY, began_at DOUBLE PRECISION NOT NULL);

CREATE TABLE ace_named_catalogue (
    owner TEXT COLLATE "C" NOT NULL,
    name_key TEXT COLLATE "C" NOT NULL,
    playbook_id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    scope TEXT NOT NULL,
    visibility TEXT NOT NULL,
    lessons TEXT NOT NULL,
    PRIMARY KEY (owner, name_key)
);

CREATE TABLE ace_grants (
    playbook_id TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    relation TEXT NOT NULL,
    granted_by TEXT COLLATE "C" NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (playbook_id, subject)
);

CREATE TABLE ace_proposals (
    playbook_id TEXT COLLATE "C" NOT NULL,
    proposal_id TEXT COLLATE "C" NOT NULL,
    proposer TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    proposal_json TEXT NOT NULL,
    PRIMARY KEY (playbook_id, proposal_id)
);

-- team_key is the form in which names of teams must differ, see memory/sharing.py.
CREATE TABLE ace_team_members (
    team_id TEXT COLLATE "C" NOT NULL,
    member TEXT COLLATE "C" NOT NULL,
    team_key TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (team_id, member)
);

CREATE INDEX ace_named_catalogue_by_id ON ace_named_catalogue (playbook_id);
CREATE INDEX ace_grants_by_subject ON ace_grants (subject, playbook_id);
CREATE INDEX ace_grants_by_giver ON ace_grants (granted_by);
CREATE INDEX ace_team_members_by_member ON ace_team_members (member, team_id);
CREATE INDEX ace_team_members_by_key ON ace_team_members (team_key, team_id);
CREATE INDEX ace_proposals_by_proposer ON ace_proposals (proposer);

CREATE TABLE ace_memory_schema (name TEXT PRIMARY KEY, made_at TEXT NOT NULL);
