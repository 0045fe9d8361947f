-- The view and trigger that write a group: each column is a JSON array of rows, or NULL. `{part}` stands for the rows
-- of a part as a table, `{part columns}` for its column names.
CREATE TEMP VIEW opora_group ({names}) AS SELECT {nothing};

-- Deletions come before the rows that replace them.
CREATE TEMP TRIGGER opora_group_written INSTEAD OF INSERT ON opora_group
BEGIN
    SELECT RAISE(ABORT, 'not as expected') WHERE
        EXISTS (SELECT 1 FROM {expected_epochs} AS asked
                WHERE NOT EXISTS (SELECT 1 FROM opora_leases AS l
                                  WHERE l.epoch = asked.epoch AND l.holder IS NOT NULL))
        OR EXISTS (SELECT 1 FROM {expected_direct} AS asked JOIN opora_marks AS m
                   ON m.bot = asked.bot AND m.update_id = asked.update_id AND m.identity = asked.identity)
        OR EXISTS (SELECT 1 FROM {expected_inputs} AS asked
                   WHERE NOT EXISTS (SELECT 1 FROM opora_inbox AS i WHERE i.seq = asked.seq))
        OR EXISTS (SELECT 1
                   FROM {expected_versions} AS asked
                   LEFT JOIN opora_conversations AS c ON c.key = asked.key
                   WHERE coalesce(c.version, (SELECT floor FROM opora_version_floor)) <> asked.version)
        OR EXISTS (SELECT 1 FROM {expected_parked} AS asked
                   WHERE NOT EXISTS (SELECT 1 FROM opora_parked AS p WHERE p.id = asked.id));
    UPDATE opora_leases SET renewals = renewals + 1 WHERE bot IN {renewed};
    DELETE FROM opora_inbox WHERE seq IN {inputs_gone};
    INSERT OR IGNORE INTO opora_marks ({marks columns}) SELECT {marks columns} FROM {marks};
    INSERT INTO opora_inbox ({inputs columns})
    SELECT {inputs columns} FROM {inputs} UNION ALL SELECT {delivered columns} FROM {delivered};
    UPDATE opora_inbox_places SET last = {last_place} WHERE NEW.last_place IS NOT NULL;
    DELETE FROM opora_inbox WHERE update_id IS NOT NULL AND (bot, update_id, identity) IN {direct_gone};
    INSERT INTO opora_conversations (key, bot, chat, user, thread, business, version, value, states, dialogue, state,
                                     expires_at, updated_at)
    SELECT key, bot, chat, user, thread, business, version, value, states, dialogue, state, expires_at, updated_at
    FROM {changed} WHERE true
    ON CONFLICT (key) DO UPDATE SET
        version = excluded.version, value = excluded.value, states = excluded.states, dialogue = excluded.dialogue,
        state = excluded.state, expires_at = excluded.expires_at, updated_at = excluded.updated_at;
    INSERT INTO opora_conversations (key, bot, chat, user, thread, business, version, states, updated_at)
    SELECT key, bot, chat, user, thread, business, version, '[]', updated_at
    FROM {kept} WHERE true
    ON CONFLICT (key) DO UPDATE SET version = excluded.version, updated_at = excluded.updated_at;
    -- Most turns keep the minute, and then the index does not change.
    UPDATE opora_conversations SET expires_minute = said.expires_minute
    FROM {expiry} AS said
    WHERE opora_conversations.key = said.key AND opora_conversations.expires_minute IS NOT said.expires_minute;
    INSERT INTO opora_outbox ({outbox columns}) SELECT {outbox columns} FROM {outbox};
    INSERT INTO opora_posts ({posts columns}) SELECT {posts columns} FROM {posts};
    UPDATE opora_outbox SET sending = 1 WHERE id IN {sending};
    UPDATE opora_outbox SET sending = 0 WHERE id IN {not_sent};
    INSERT OR IGNORE INTO opora_failed (id, bot, key, chat, method, body, rest, reason, at)
    SELECT o.id, o.bot, o.key, o.chat, o.method, CASE WHEN o.rest->>'secret' THEN '{}' ELSE o.body END, o.rest,
           said.reason, o.at
    FROM {failed} AS said JOIN opora_outbox AS o ON o.id = said.id;
    DELETE FROM opora_outbox WHERE id IN {unsent_gone};
    INSERT INTO opora_labels ({labels columns}) SELECT {labels columns} FROM {labels} WHERE true
    ON CONFLICT DO UPDATE SET message = excluded.message, at = excluded.at;
    -- The body may name the chat too.
    UPDATE opora_outbox
    SET chat = moved.to_chat,
        body = CASE WHEN json_valid(body) THEN json_replace(body, '$.chat_id', moved.to_chat) ELSE body END,
        sending = CASE WHEN id = moved.first THEN 0 ELSE sending END
    FROM {moved} AS moved
    WHERE id >= moved.first AND opora_outbox.bot = moved.bot AND chat = moved.from_chat;
    DELETE FROM opora_timers WHERE id IN {timers_gone};
    DELETE FROM opora_timers WHERE (key, name) IN {timers_cancelled};
    INSERT OR REPLACE INTO opora_timers ({timers columns}) SELECT {timers columns} FROM {timers};
    DELETE FROM opora_effects WHERE id IN {effects_gone};
    INSERT INTO opora_effects ({effects columns}) SELECT {effects columns} FROM {effects};
    INSERT INTO opora_transitions ({transitions columns}) SELECT {transitions columns} FROM {transitions};
    DELETE FROM opora_parked WHERE id IN {parked_gone};
    INSERT INTO opora_parked ({parked columns}) SELECT {parked columns} FROM {parked};
END;
