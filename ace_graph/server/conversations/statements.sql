-- The statements on conversations, turns and replies, each behind its name, the same on SQLite and PostgreSQL.

-- CONVERSATIONS_OF_LEARNER
SELECT id, thread_id, created_at, used_at, title FROM ace_conversations WHERE learner_id = ?
ORDER BY created_at, id

-- PAGE_OF_CONVERSATIONS
SELECT id, thread_id, created_at, used_at, title FROM ace_conversations
WHERE learner_id = ? AND (used_at < ? OR (used_at = ? AND id > ?)) ORDER BY used_at DESC, id LIMIT ?

-- ONE_CONVERSATION
SELECT id, thread_id, created_at, used_at, title FROM ace_conversations WHERE learner_id = ? AND id = ?

-- USE_CONVERSATION
-- A new conversation has the thread that was given, any other one keeps its own.
INSERT INTO ace_conversations (learner_id, id, thread_id, title, created_at, used_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (learner_id, id) DO UPDATE SET used_at = excluded.used_at
RETURNING thread_id, (SELECT count(*) FROM ace_paused p WHERE p.learner_id = ace_conversations.learner_id)

-- RENAME
UPDATE ace_conversations SET title = ? WHERE learner_id = ? AND id = ? AND thread_id = ? AND title = ?
RETURNING id

-- DELETE_UNLESS_BUSY
DELETE FROM ace_conversations WHERE learner_id = ? AND id = ? AND NOT EXISTS (
    SELECT 1 FROM ace_runs r WHERE r.thread_id = ace_conversations.thread_id
) RETURNING thread_id

-- DELETE_UNLESS_USED
DELETE FROM ace_conversations WHERE learner_id = ? AND id = ? AND thread_id = ? AND used_at = ? AND NOT EXISTS (
    SELECT 1 FROM ace_runs r WHERE r.thread_id = ace_conversations.thread_id
) RETURNING thread_id

-- DELETE_OF_LEARNER
DELETE FROM ace_conversations WHERE learner_id = ? RETURNING thread_id

-- DELETE_WORK_OF_LEARNER
DELETE FROM ace_runs WHERE learner_id = ?;
DELETE FROM ace_unsaved WHERE learner_id = ?;
DELETE FROM ace_given_up WHERE learner_id = ?;
DELETE FROM ace_paused WHERE learner_id = ?;
DELETE FROM ace_replies WHERE learner_id = ?;
DELETE FROM ace_webhooks WHERE learner_id = ?

-- PAUSE
INSERT INTO ace_paused (learner_id) VALUES (?) ON CONFLICT (learner_id) DO NOTHING

-- IDLE
SELECT learner_id, id, thread_id, used_at FROM ace_conversations
WHERE used_at < ? AND (used_at, thread_id) > (?, ?) ORDER BY used_at, thread_id LIMIT ?

-- LEARNERS_WITH_TOO_MANY
SELECT learner_id FROM ace_conversations WHERE learner_id > ?
GROUP BY learner_id HAVING count(*) > ? ORDER BY learner_id LIMIT ?

-- TOO_MANY
SELECT learner_id, id, thread_id, used_at FROM ace_conversations WHERE learner_id = ?
ORDER BY used_at DESC, created_at DESC, id DESC LIMIT 1000000 OFFSET ?

-- BEGIN_CLEANING
INSERT INTO ace_duties (name, began_at) VALUES ('cleaning', ?) ON CONFLICT (name) DO UPDATE
SET began_at = excluded.began_at WHERE abs(excluded.began_at - ace_duties.began_at) >= ? RETURNING name

-- BEGIN_RUN
INSERT INTO ace_runs (thread_id, run_id, learner_id, conversation_id, asked_json, owner, lease_until, tries)
VALUES (?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (thread_id) DO NOTHING RETURNING run_id

-- RENEW_RUN
UPDATE ace_runs SET lease_until = ? WHERE thread_id = ? AND run_id = ? AND owner = ? RETURNING run_id

-- END_RUN
-- And whether the conversation is still there.
DELETE FROM ace_runs WHERE thread_id = ? AND run_id = ? AND owner = ?
RETURNING (SELECT count(*) FROM ace_conversations c WHERE c.thread_id = ace_runs.thread_id)

-- RELEASE_RUN
UPDATE ace_runs SET lease_until = 0, tries = tries - 1 WHERE thread_id = ? AND run_id = ? AND owner = ?

-- CLAIM_RUN
UPDATE ace_runs SET owner = ?, lease_until = ?, tries = tries + 1
WHERE thread_id = ? AND run_id = ? AND owner = ? AND lease_until = ? RETURNING run_id

-- GIVE_UP_RUN
DELETE FROM ace_runs WHERE thread_id = ? AND run_id = ? AND owner = ? AND lease_until = ? RETURNING run_id

-- OLDEST_LEASES
SELECT thread_id, run_id, learner_id, asked_json, owner, lease_until, tries, conversation_id FROM ace_runs
ORDER BY lease_until LIMIT 200

-- NOTE_GIVEN_UP
INSERT INTO ace_given_up (run_id, conversation_id, learner_id, reason, at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (run_id) DO NOTHING

-- GIVEN_UP_OF_LEARNER
SELECT run_id, conversation_id, learner_id, reason, at FROM ace_given_up WHERE learner_id = ? ORDER BY at, run_id

-- NOTE_UNSAVED
INSERT INTO ace_unsaved (turn_id, learner_id, unsaved_json) VALUES (?, ?, ?) ON CONFLICT (turn_id) DO NOTHING

-- NOTE_REQUEST
-- A request that was begun so long ago that its server has stopped is taken over.
INSERT INTO ace_replies (learner_id, idempotency_key, request, at) VALUES (?, ?, ?, ?)
ON CONFLICT (learner_id, idempotency_key) DO UPDATE SET at = CASE
    WHEN ace_replies.status IS NULL AND ace_replies.request = excluded.request AND ace_replies.at < ?
    THEN excluded.at ELSE ace_replies.at
END
RETURNING request, at, status, headers_json, body

-- KEEP_REPLY
UPDATE ace_replies SET status = ?, headers_json = ?, body = ?
WHERE learner_id = ? AND idempotency_key = ? AND request = ?

-- DROP_REQUEST
DELETE FROM ace_replies WHERE learner_id = ? AND idempotency_key = ? AND status IS NULL

-- NOTE_EVENT
INSERT INTO ace_webhooks (target, id, learner_id, body, began_at, due_at, tries) VALUES (?, ?, ?, ?, ?, ?, 0)
ON CONFLICT (target, id) DO NOTHING

-- CLAIM_EVENTS
-- Until the lease ends no other server has them; the outer condition on the time is for one that waited here.
UPDATE ace_webhooks SET due_at = ?, tries = tries + 1 WHERE target = ? AND due_at <= ? AND id IN (
    SELECT id FROM ace_webhooks WHERE target = ? AND due_at <= ? ORDER BY due_at, id LIMIT ?
) RETURNING id, body, began_at, tries

-- PUT_OFF_EVENT
UPDATE ace_webhooks SET due_at = ? WHERE target = ? AND id = ?

-- DROP_EVENT
DELETE FROM ace_webhooks WHERE target = ? AND id = ?

-- NOTE_FAILURE
-- Since when a target has failed without a success.
INSERT INTO ace_duties (name, began_at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE
SET began_at = ace_duties.began_at RETURNING began_at

-- COPIED_PAGE
SELECT learner_id, id, thread_id, created_at, used_at, title FROM ace_conversations
WHERE (learner_id, id) > (?, ?) ORDER BY learner_id, id LIMIT ?

-- COPIED_ROW
SELECT learner_id, id, thread_id, created_at, used_at, title FROM ace_conversations WHERE learner_id = ? AND id = ?

-- PUT_COPIED
INSERT INTO ace_conversations (learner_id, id, thread_id, created_at, used_at, title) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (learner_id, id) DO UPDATE SET used_at = excluded.used_at, title = excluded.title
