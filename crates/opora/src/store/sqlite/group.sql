-- What a connection writes a group with: each column is a JSON array of rows, and NULL where there are none.
CREATE TEMP VIEW opora_group (
    -- What the group was decided by: epochs that are held, updates that were not taken, inputs that are there,
    -- conversations with their versions, parked turns that are there.
    expected_epochs, expected_fresh, expected_inputs, expected_versions, expected_parked,
    -- What it writes.
    renewed, inputs_gone, marks, inputs, delivered, last_place, fresh_gone, changed, kept, expiry, outbox, posts,
    sending, not_sent, failed, unsent_gone, labels, moved, timers_gone, timers_cancelled, timers, effects_gone, effects, transitions,
    parked_gone, parked
) AS SELECT 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0;

-- What is replaced goes before what replaces it.
CREATE TEMP TRIGGER opora_group_written INSTEAD OF INSERT ON opora_group
BEGIN
    SELECT RAISE(ABORT, 'not as expected') WHERE
        EXISTS (SELECT 1 FROM jsonb_each(NEW.expected_epochs) AS asked
                WHERE NOT EXISTS (SELECT 1 FROM opora_leases AS l
                                  WHERE l.epoch = asked.value AND l.holder IS NOT NULL))
        OR EXISTS (SELECT 1 FROM jsonb_each(NEW.expected_fresh) AS asked JOIN opora_marks AS m
                   ON m.bot = asked.value->>0 AND m.update_id = asked.value->>1 AND m.identity = asked.value->>2)
        OR EXISTS (SELECT 1 FROM jsonb_each(NEW.expected_inputs) AS asked
                   WHERE NOT EXISTS (SELECT 1 FROM opora_inbox AS i WHERE i.seq = asked.value))
        OR EXISTS (SELECT 1
                   FROM jsonb_each(NEW.expected_versions) AS asked
                   LEFT JOIN opora_conversations AS c ON c.key = asked.value->>0
                   WHERE coalesce(c.version, (SELECT floor FROM opora_version_floor)) <> asked.value->>1)
        OR EXISTS (SELECT 1 FROM jsonb_each(NEW.expected_parked) AS asked
                   WHERE NOT EXISTS (SELECT 1 FROM opora_parked AS p WHERE p.id = asked.value));
    UPDATE opora_leases SET renewals = renewals + 1 WHERE bot IN (SELECT value FROM jsonb_each(NEW.renewed));
    DELETE FROM opora_inbox WHERE seq IN (SELECT value FROM jsonb_each(NEW.inputs_gone));
    INSERT OR IGNORE INTO opora_marks (bot, update_id, identity, taken_at)
    SELECT value->>0, value->>1, value->>2, value->>3 FROM jsonb_each(NEW.marks);
    INSERT INTO opora_inbox (seq, bot, key, update_id, identity, effect, body, at)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7
    FROM (SELECT value FROM jsonb_each(NEW.inputs) UNION ALL SELECT value FROM jsonb_each(NEW.delivered));
    UPDATE opora_inbox_places SET last = (SELECT value FROM jsonb_each(NEW.last_place))
    WHERE NEW.last_place IS NOT NULL;
    DELETE FROM opora_inbox
    WHERE update_id IS NOT NULL
      AND (bot, update_id, identity) IN (SELECT value->>0, value->>1, value->>2 FROM jsonb_each(NEW.fresh_gone));
    INSERT INTO opora_conversations (key, bot, chat, user, thread, business, version, value, places, dialogue, state,
                                     expires_at, updated_at)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9,
           value->>10, value->>11, value->>12
    FROM jsonb_each(NEW.changed) WHERE true
    ON CONFLICT (key) DO UPDATE SET
        version = excluded.version, value = excluded.value, places = excluded.places, dialogue = excluded.dialogue,
        state = excluded.state, expires_at = excluded.expires_at, updated_at = excluded.updated_at;
    INSERT INTO opora_conversations (key, bot, chat, user, thread, business, version, places, updated_at)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, '[]', value->>7
    FROM jsonb_each(NEW.kept) WHERE true
    ON CONFLICT (key) DO UPDATE SET version = excluded.version, updated_at = excluded.updated_at;
    -- Most turns stay within the minute, and then the index stays as it is.
    UPDATE opora_conversations SET expires_minute = said.minute
    FROM (SELECT value->>0 AS key, value->>1 AS minute FROM jsonb_each(NEW.expiry)) AS said
    WHERE opora_conversations.key = said.key AND opora_conversations.expires_minute IS NOT said.minute;
    INSERT INTO opora_outbox (id, bot, key, chat, method, body, rest, at)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7
    FROM jsonb_each(NEW.outbox);
    INSERT INTO opora_posts (once, bot, at) SELECT value->>0, value->>1, value->>2 FROM jsonb_each(NEW.posts);
    UPDATE opora_outbox SET sending = 1 WHERE id IN (SELECT value FROM jsonb_each(NEW.sending));
    UPDATE opora_outbox SET sending = 0 WHERE id IN (SELECT value FROM jsonb_each(NEW.not_sent));
    INSERT OR IGNORE INTO opora_failed (id, bot, key, chat, method, body, rest, reason, at)
    SELECT o.id, o.bot, o.key, o.chat, o.method, CASE WHEN o.rest->>'secret' THEN '{}' ELSE o.body END, o.rest,
           said.value->>1, o.at
    FROM jsonb_each(NEW.failed) AS said JOIN opora_outbox AS o ON o.id = said.value->>0;
    DELETE FROM opora_outbox WHERE id IN (SELECT value FROM jsonb_each(NEW.unsent_gone));
    INSERT INTO opora_labels (bot, chat, label, message, at)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4 FROM jsonb_each(NEW.labels) WHERE true
    ON CONFLICT DO UPDATE SET message = excluded.message, at = excluded.at;
    -- The call itself names the chat too, where it names one.
    UPDATE opora_outbox
    SET chat = moved.to_chat,
        body = CASE WHEN json_valid(body) THEN json_replace(body, '$.chat_id', moved.to_chat) ELSE body END,
        sending = CASE WHEN id = moved.first THEN 0 ELSE sending END
    FROM (SELECT value->>0 AS of_bot, value->>1 AS first, value->>2 AS from_chat, value->>3 AS to_chat
          FROM jsonb_each(NEW.moved)) AS moved
    WHERE id >= moved.first AND bot = moved.of_bot AND chat = moved.from_chat;
    DELETE FROM opora_timers WHERE id IN (SELECT value FROM jsonb_each(NEW.timers_gone));
    DELETE FROM opora_timers
    WHERE (key, name) IN (SELECT value->>0, value->>1 FROM jsonb_each(NEW.timers_cancelled));
    INSERT OR REPLACE INTO opora_timers (id, bot, key, name, due_at, body)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM jsonb_each(NEW.timers);
    DELETE FROM opora_effects WHERE id IN (SELECT value FROM jsonb_each(NEW.effects_gone));
    INSERT INTO opora_effects (id, bot, key, kind, body, at)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM jsonb_each(NEW.effects);
    INSERT INTO opora_transitions (id, bot, key, version, at, from_place, to_place, cause, took_us)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8
    FROM jsonb_each(NEW.transitions);
    DELETE FROM opora_parked WHERE id IN (SELECT value FROM jsonb_each(NEW.parked_gone));
    INSERT INTO opora_parked (id, bot, key, kind, body, reason, attempts, at, retry)
    SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8
    FROM jsonb_each(NEW.parked);
END;