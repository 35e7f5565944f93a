-- The statements that state.py is made of, each behind its name. {x} and {0} are filled in there.

-- STATES
-- `start` is the known version where its effects lead on and are no longer than the base with those after it,
-- else NULL; `follows` says the same of the touches after the known access part. CROSS JOIN: SQLite keeps this
-- order.
{name}_states AS MATERIALIZED (
    SELECT w.place, w.clock AS known_clock, l.*,
        CASE WHEN w.epoch = l.epoch AND w.n BETWEEN l.base_version AND l.version AND (
            SELECT coalesce(sum(d.effect_bytes), 0) FROM ace_deltas d
            WHERE d.user_id = l.user_id AND d.content_changed AND d.version > w.n
        ) <= l.base_bytes + l.effects_bytes THEN w.n END AS start,
        coalesce(w.epoch = l.epoch AND w.mark = coalesce((
            SELECT t.parent FROM ace_touches t
            WHERE t.user_id = l.user_id AND t.clock > w.clock ORDER BY t.clock LIMIT 1
        ), l.access_mark), FALSE) AS follows
    FROM {name}_wanted w CROSS JOIN ace_learners l WHERE l.user_id = w.key
)

-- PARTS
SELECT h.place, 'head' AS kind, h.version AS n, h.content_base AS checksum, h.epoch AS one, h.etag AS two,
    h.access_json AS three, h.access_mark AS four,
    CAST(h.major AS text) || '.' || CAST(h.minor AS text) AS five
FROM {name}_states h
UNION ALL
SELECT h.place, 'base', b.version, b.checksum, b.etag, b.memory_json, NULL, NULL, NULL
FROM {name}_states h CROSS JOIN ace_bases b
WHERE b.user_id = h.user_id AND b.version = h.content_base AND h.start IS NULL
UNION ALL
SELECT h.place, 'effect', d.version, 0, d.parent, d.etag, d.effect_json, NULL, NULL
FROM {name}_states h CROSS JOIN ace_deltas d
WHERE d.user_id = h.user_id AND d.content_changed AND d.version > coalesce(h.start, h.content_base)
UNION ALL
SELECT h.place, 'stamps', 0, s.checksum, s.mark, s.stamps_json, NULL, NULL, NULL
FROM {name}_states h CROSS JOIN ace_stamps s WHERE s.user_id = h.user_id AND NOT h.follows
UNION ALL
SELECT h.place, 'touch', t.clock, 0, t.parent, t.mark, t.touches_json, NULL, NULL
FROM {name}_states h CROSS JOIN ace_touches t
WHERE t.user_id = h.user_id AND t.clock > CASE WHEN h.follows THEN h.known_clock ELSE -1 END

-- OWN
own_wanted AS (
    SELECT -1 AS place, CAST(:key AS text) AS key, CAST(:epoch AS text) AS epoch, CAST(:n AS bigint) AS n,
        CAST(:clock AS bigint) AS clock, CAST(:mark AS text) AS mark
)

-- ASKED
-- A playbook whose content is known is looked up, but not read.
({0}, CAST(:owner_{0} AS text), CAST(:name_{0} AS text), CAST(:epoch_{0} AS text), CAST(:etag_{0} AS text))

-- NAMED
asked (place, owner, name_key, epoch, etag) AS (VALUES {asked}), found AS MATERIALIZED (
    SELECT w.place, c.playbook_id, c.name, s.epoch, s.version, s.etag, s.major, s.minor,
        coalesce(w.epoch = s.epoch AND w.etag = s.etag, FALSE) AS known
    FROM asked w CROSS JOIN ace_named_catalogue c CROSS JOIN ace_named_states s
    WHERE c.owner = w.owner AND c.name_key = w.name_key AND s.user_id = c.playbook_id
), named_wanted AS (
    SELECT place, playbook_id AS key, CAST(NULL AS text) AS epoch, 0 AS n, -1 AS clock,
        CAST(NULL AS text) AS mark
    FROM found WHERE NOT known
)

-- ENTRIES
SELECT f.place, 'entry', f.version, 0, f.playbook_id, f.name, f.epoch, f.etag,
    CAST(f.major AS text) || '.' || CAST(f.minor AS text) FROM found f

-- GRANTED
SELECT f.place, 'grant', 0, 0, g.playbook_id, g.subject, g.relation, g.granted_by, g.at
FROM found f CROSS JOIN ace_grants g
WHERE f.place = {0} AND g.playbook_id = f.playbook_id AND g.subject = ANY(:subjects_{0})
