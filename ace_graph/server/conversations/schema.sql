-- The tables of the conversations, the same on SQLite and PostgreSQL. Times are in ISO format.

-- TABLES
CREATE TABLE ace_conversation_schema (name TEXT PRIMARY KEY, made_at TEXT NOT NULL);
CREATE TABLE ace_conversations (
    learner_id TEXT NOT NULL,
    id TEXT NOT NULL,
    thread_id TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    used_at TEXT NOT NULL DEFAULT '',
    title TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (learner_id, id)
);
CREATE INDEX ace_conversations_by_use ON ace_conversations (used_at, thread_id);
CREATE INDEX ace_conversations_of_learner ON ace_conversations (learner_id, used_at);
CREATE TABLE ace_runs (
    thread_id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    learner_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    asked_json TEXT NOT NULL,
    owner TEXT NOT NULL,
    lease_until DOUBLE PRECISION NOT NULL,
    tries INTEGER NOT NULL
);
CREATE INDEX ace_runs_by_learner ON ace_runs (learner_id);
CREATE TABLE ace_unsaved (turn_id TEXT PRIMARY KEY, learner_id TEXT NOT NULL, unsaved_json TEXT NOT NULL);
CREATE TABLE ace_paused (learner_id TEXT PRIMARY KEY);
CREATE TABLE ace_duties (name TEXT PRIMARY KEY, began_at DOUBLE PRECISION NOT NULL);
CREATE TABLE ace_given_up (
    run_id TEXT PRIMARY KEY,
    learner_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE INDEX ace_given_up_by_learner ON ace_given_up (learner_id);
CREATE TABLE ace_replies (
    learner_id TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    request TEXT NOT NULL,
    at TEXT NOT NULL,
    status INTEGER,
    headers_json TEXT,
    body TEXT,
    PRIMARY KEY (learner_id, idempotency_key)
);
CREATE INDEX ace_replies_by_time ON ace_replies (at);
CREATE TABLE ace_webhooks (
    target TEXT NOT NULL,
    id TEXT NOT NULL,
    learner_id TEXT NOT NULL,
    body TEXT NOT NULL,
    began_at DOUBLE PRECISION NOT NULL,
    due_at DOUBLE PRECISION NOT NULL,
    tries INTEGER NOT NULL,
    PRIMARY KEY (target, id)
);
CREATE INDEX ace_webhooks_by_time ON ace_webhooks (target, due_at);
CREATE INDEX ace_webhooks_of_learner ON ace_webhooks (learner_id);
