-- What PostgreSQL has in statements of its own, each behind its name; the tables of checkpoints are LangGraph's.

-- NAMED_TABLES
-- Those of two tables that there are.
SELECT relname::text FROM pg_class WHERE relname IN (?, ?) AND pg_table_is_visible(oid)

-- DELETE_THREAD
DELETE FROM checkpoint_writes WHERE thread_id = ?;
DELETE FROM checkpoint_blobs WHERE thread_id = ?;
DELETE FROM checkpoints WHERE thread_id = ?

-- PRUNE_THREAD
-- All checkpoints of a thread but the last one of a run, and the values that it does not use.
WITH kept AS (
    SELECT checkpoint_id AS id, checkpoint FROM checkpoints WHERE thread_id = ? AND metadata->>'ace_run' = ?
    ORDER BY checkpoint_id DESC LIMIT 1
), writes AS (
    DELETE FROM checkpoint_writes w USING kept WHERE w.thread_id = ? AND w.checkpoint_id <> kept.id
), others AS (
    DELETE FROM checkpoints c USING kept WHERE c.thread_id = ? AND c.checkpoint_id <> kept.id
)
DELETE FROM checkpoint_blobs b USING kept WHERE b.thread_id = ?
    AND b.version IS DISTINCT FROM kept.checkpoint->'channel_versions'->>b.channel

-- NEWEST
-- The kind and the bytes of what holds the messages of a thread's newest checkpoint.
SELECT b.type, b.blob FROM (
    SELECT thread_id, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''
    ORDER BY checkpoint_id DESC LIMIT 1
) c
JOIN checkpoint_blobs b ON b.thread_id = c.thread_id AND b.checkpoint_ns = ''
    AND b.channel = 'messages' AND b.version = c.checkpoint->'channel_versions'->>'messages'

-- SIZE
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
WHERE c.relkind = 'r' AND pg_table_is_visible(c.oid) AND c.relname IN ('checkpoints', 'checkpoint_blobs',
    'checkpoint_writes', 'ace_conversations', 'ace_runs', 'ace_unsaved')
