-- Reads what a group is decided by: exceptions only, such as a missing row or another version. `{name}` stands for the
-- rows of a lookup. A line for one database only is marked: PostgreSQL plans an array as one search of an index.
SELECT CAST(1 AS BIGINT), bot, epoch, holder, CAST(NULL AS TEXT) FROM opora_leases
UNION ALL
SELECT 2, asked.update_id, asked.bot, asked.identity, NULL FROM {marks} AS asked
JOIN opora_inbox AS i ON i.bot = asked.bot AND i.update_id = asked.update_id AND i.identity = asked.identity
UNION ALL
SELECT 2, asked.update_id, asked.bot, asked.identity, NULL FROM {marks} AS asked
JOIN opora_marks AS m ON m.bot = asked.bot AND m.update_id = asked.update_id AND m.identity = asked.identity
UNION ALL
SELECT 3, asked.seq, NULL, NULL, NULL FROM {inputs} AS asked
WHERE NOT EXISTS (SELECT 1 FROM opora_inbox AS found WHERE found.seq = asked.seq)
UNION ALL
SELECT 4, coalesce(c.version, (SELECT floor FROM opora_version_floor)), NULL, asked.key, NULL
FROM {versions} AS asked LEFT JOIN opora_conversations AS c ON c.key = asked.key
WHERE coalesce(c.version, (SELECT floor FROM opora_version_floor)) <> asked.version
UNION ALL
--sqlite:SELECT 5, t.id, NULL, t.key, t.name FROM {timers} AS asked JOIN opora_timers AS t ON t.id = asked.id
--postgres:SELECT 5, t.id, NULL, t.key, t.name FROM opora_timers AS t
--postgres:WHERE t.id = ANY (ARRAY(SELECT asked.id FROM {timers} AS asked))
UNION ALL
SELECT 6, asked.id, NULL, NULL, NULL FROM {parked} AS asked
WHERE NOT EXISTS (SELECT 1 FROM opora_parked AS found WHERE found.id = asked.id)
UNION ALL
SELECT 7, asked.id, NULL, NULL, NULL FROM {effects} AS asked
WHERE NOT EXISTS (SELECT 1 FROM opora_effects AS found WHERE found.id = asked.id)
UNION ALL
--sqlite:SELECT 8, p.bot, NULL, p.once, NULL FROM {posts} AS asked JOIN opora_posts AS p ON p.once = asked.once
--postgres:SELECT 8, p.bot, NULL, p.once, NULL FROM opora_posts AS p
--postgres:WHERE p.once = ANY (ARRAY(SELECT asked.once FROM {posts} AS asked))
UNION ALL
SELECT 9, m.update_id, m.bot, m.identity, NULL FROM {direct} AS asked
JOIN opora_marks AS m ON m.bot = asked.bot AND m.update_id = asked.update_id AND m.identity = asked.identity
UNION ALL
SELECT 10, 0, NULL, asked.key, NULL FROM {queues} AS asked
WHERE EXISTS (SELECT 1 FROM opora_inbox AS i WHERE i.key = asked.key)
UNION ALL
--sqlite:SELECT 12, last, NULL, NULL, NULL FROM opora_inbox_places
--postgres:SELECT 11, nextval('opora_inbox_places'), NULL, NULL, NULL FROM generate_series(1::bigint, $10)
