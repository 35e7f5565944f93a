-- What PostgreSQL has in statements of its own, each behind its name; the tables of checkpoints are LangGraph's.

-- NAMED_TABLES
-- Those of two tables that there are.
SELECT relname::text FROM pg_class WHERE relname IN (?, ?) AND pg_table_is_visible(oid)

-- DELETE_THREAD
DELETE FROM checkpoint_writes WHERE thread_id = ?;
DELETE FROM checkpoint_blobs WHERE thread_id = ?;
DELETE FROM checkpoints WHERE thread_id = ?

-- PRUNE_THREAD
-- All checkpoints of a thread but the last one of a run, then the values that only those used.
DELETE FROM checkpoint_writes WHERE thread_id = ? AND checkpoint_id <>
    (SELECT MAX(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND metadata->>'ace_run' = ?);
DELETE FROM checkpoints WHERE thread_id = ? AND checkpoint_id <>
    (SELECT MAX(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND metadata->>'ace_run' = ?);
DELETE FROM checkpoint_blobs b WHERE b.thread_id = ? AND NOT EXISTS (
    SELECT 1 FROM checkpoints c, jsonb_each_text(c.checkpoint->'channel_versions') v
    WHERE c.thread_id = ? AND c.checkpoint_ns = b.checkpoint_ns AND v.key = b.channel AND v.value = b.version
)

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
