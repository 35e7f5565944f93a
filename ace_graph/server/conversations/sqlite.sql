-- What SQLite has in statements of its own, each behind its name; the tables of checkpoints are LangGraph's, and our
-- threads have one namespace.

-- NAMED_TABLES
-- Those of two tables that there are.
SELECT name FROM sqlite_master WHERE name IN (?, ?)

-- DELETE_THREAD
DELETE FROM writes WHERE thread_id = ?;
DELETE FROM checkpoints WHERE thread_id = ?

-- PRUNE_THREAD
-- All checkpoints of a thread but the last one of a run.
DELETE FROM writes WHERE checkpoint_id <> (SELECT MAX(checkpoint_id) FROM checkpoints
    WHERE thread_id = ? AND json_extract(CAST(metadata AS TEXT), '$.ace_run') = ?) AND thread_id = ?;
DELETE FROM checkpoints WHERE checkpoint_id <> (SELECT MAX(checkpoint_id) FROM checkpoints
    WHERE thread_id = ? AND json_extract(CAST(metadata AS TEXT), '$.ace_run') = ?) AND thread_id = ?

-- NEWEST
-- The kind and the bytes of what holds the messages of a thread's newest checkpoint.
SELECT type, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''
ORDER BY checkpoint_id DESC LIMIT 1

-- SIZE
SELECT page_count * page_size FROM pragma_page_count, pragma_page_size
