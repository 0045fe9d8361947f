-- The tables of an SQL store, in the types of PostgreSQL. A line for one database only is marked.
--
-- Inbox and outbox have no index by bot: their rows are read in order of ids, and few databases are shared by several
-- bots. Failed messages have a table of their own, so that reading unsent messages does not skip over them.
--
-- SQLite: the cost of a turn is about the number of pages it changes. So no large index holds a value that changes with
-- every turn: states are counted by triggers, and expiries are indexed by the minute, which turns of an active
-- conversation rarely change. Transitions are indexed by ranges of ids, so that the turns of a group write to the same
-- index pages.
--
-- PostgreSQL: texts are compared byte by byte, like in the library. No index, and no index condition, holds a column
-- that changes with every turn, so that a turn updates a row within its page; the end of a conversation has its own
-- column. Each writer counts states in rows of its own, to avoid lock waits. Tables with short-lived rows are vacuumed
-- early. Indexes for cleaning start with the age: if they started with the bot, the planner might use them for other
-- queries while a table is new. A generation identifies the tables.
CREATE TABLE opora_leases (
    bot BIGINT PRIMARY KEY,
    epoch BIGINT NOT NULL UNIQUE,
    holder TEXT,
    renewals BIGINT NOT NULL,
    numbers BIGINT NOT NULL
--sqlite:);
--postgres:) WITH (fillfactor = 50);
CREATE TABLE opora_conversations (
    key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    bot BIGINT NOT NULL,
    chat BIGINT NOT NULL,
    "user" BIGINT NOT NULL,
    thread BIGINT NOT NULL,
    business TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    value TEXT,
    states TEXT NOT NULL,
    dialogue TEXT COLLATE "C",
    state TEXT COLLATE "C",
    expires_at BIGINT,
    expires_minute BIGINT,
    --sqlite:updated_at BIGINT NOT NULL
    --postgres:updated_at BIGINT NOT NULL,
    --postgres:ended_at BIGINT
--sqlite:);
--postgres:) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX opora_conversations_order ON opora_conversations (bot, chat, "user", thread, business);
CREATE INDEX opora_conversations_user ON opora_conversations ("user");
CREATE INDEX opora_conversations_expiry ON opora_conversations (bot, expires_minute) WHERE expires_minute IS NOT NULL;
--sqlite:CREATE INDEX opora_conversations_ended ON opora_conversations (bot, updated_at) WHERE value IS NULL;
--postgres:CREATE INDEX opora_conversations_ended ON opora_conversations (bot, ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE opora_state_counts (
    --postgres:slot BIGINT NOT NULL,
    bot BIGINT NOT NULL,
    dialogue TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    conversations BIGINT NOT NULL,
    --sqlite:PRIMARY KEY (bot, dialogue, state)
    --postgres:PRIMARY KEY (slot, bot, dialogue, state)
--sqlite:) WITHOUT ROWID;
--postgres:) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
--sqlite:CREATE TRIGGER opora_state_entered AFTER INSERT ON opora_conversations WHEN new.value IS NOT NULL
--sqlite:BEGIN
--sqlite:    INSERT INTO opora_state_counts VALUES (new.bot, coalesce(new.dialogue, ''), coalesce(new.state, ''), 1)
--sqlite:    ON CONFLICT DO UPDATE SET conversations = conversations + 1;
--sqlite:END;
--sqlite:CREATE TRIGGER opora_state_changed AFTER UPDATE OF value, dialogue, state ON opora_conversations
--sqlite:WHEN (old.value IS NULL) <> (new.value IS NULL) OR old.dialogue IS NOT new.dialogue OR old.state IS NOT new.state
--sqlite:BEGIN
--sqlite:    UPDATE opora_state_counts SET conversations = conversations - 1
--sqlite:    WHERE old.value IS NOT NULL
--sqlite:      AND bot = old.bot AND dialogue = coalesce(old.dialogue, '') AND state = coalesce(old.state, '');
--sqlite:    INSERT INTO opora_state_counts
--sqlite:    SELECT new.bot, coalesce(new.dialogue, ''), coalesce(new.state, ''), 1 WHERE new.value IS NOT NULL
--sqlite:    ON CONFLICT DO UPDATE SET conversations = conversations + 1;
--sqlite:END;
--sqlite:CREATE TRIGGER opora_state_left AFTER DELETE ON opora_conversations WHEN old.value IS NOT NULL
--sqlite:BEGIN
--sqlite:    UPDATE opora_state_counts SET conversations = conversations - 1
--sqlite:    WHERE bot = old.bot AND dialogue = coalesce(old.dialogue, '') AND state = coalesce(old.state, '');
--sqlite:END;
CREATE TABLE opora_version_floor (floor BIGINT NOT NULL);
INSERT INTO opora_version_floor VALUES (0);
CREATE TABLE opora_marks (
    bot BIGINT NOT NULL,
    update_id BIGINT NOT NULL,
    identity TEXT COLLATE "C" NOT NULL,
    taken_at BIGINT NOT NULL,
    PRIMARY KEY (bot, update_id, identity)
--sqlite:) WITHOUT ROWID;
--postgres:) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
--sqlite:CREATE INDEX opora_marks_age ON opora_marks (bot, taken_at);
--postgres:CREATE INDEX opora_marks_age ON opora_marks (taken_at);
CREATE TABLE opora_inbox (
    seq BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    update_id BIGINT,
    identity TEXT COLLATE "C",
    effect BIGINT,
    body TEXT NOT NULL,
    at BIGINT NOT NULL
--sqlite:);
--postgres:) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE UNIQUE INDEX opora_inbox_mark ON opora_inbox (bot, update_id, identity) WHERE update_id IS NOT NULL;
--sqlite:CREATE INDEX opora_inbox_key ON opora_inbox (key);
--postgres:CREATE INDEX opora_inbox_key ON opora_inbox (key, seq);
--sqlite:CREATE TABLE opora_inbox_places (last BIGINT NOT NULL);
--sqlite:INSERT INTO opora_inbox_places VALUES (0);
--postgres:CREATE SEQUENCE opora_inbox_places;
CREATE TABLE opora_outbox (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    chat BIGINT,
    method TEXT NOT NULL,
    body TEXT NOT NULL,
    rest TEXT,
    --sqlite:sending BOOLEAN NOT NULL DEFAULT 0,
    --postgres:sending BOOLEAN NOT NULL DEFAULT false,
    at BIGINT NOT NULL
--sqlite:);
--postgres:) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE TABLE opora_failed (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    chat BIGINT,
    method TEXT NOT NULL,
    body TEXT NOT NULL,
    rest TEXT,
    reason TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX opora_failed_age ON opora_failed (bot, at);
CREATE TABLE opora_posts (
    bot BIGINT NOT NULL,
    once TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (once, bot)
--sqlite:) WITHOUT ROWID;
--postgres:);
--postgres:CREATE INDEX opora_posts_age ON opora_posts (at);
CREATE TABLE opora_labels (
    bot BIGINT NOT NULL,
    chat BIGINT NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    message BIGINT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (bot, chat, label)
--sqlite:) WITHOUT ROWID;
--postgres:);
--sqlite:CREATE INDEX opora_labels_age ON opora_labels (bot, at);
--postgres:CREATE INDEX opora_labels_age ON opora_labels (at);
CREATE TABLE opora_timers (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    due_at BIGINT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (key, name)
--sqlite:);
--postgres:) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);
--sqlite:CREATE INDEX opora_timers_due ON opora_timers (bot, due_at);
--postgres:CREATE INDEX opora_timers_due ON opora_timers (bot, due_at, id);
CREATE TABLE opora_effects (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    at BIGINT NOT NULL
--sqlite:);
--postgres:) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
CREATE TABLE opora_jobs (
    --sqlite:id BIGINT PRIMARY KEY AUTOINCREMENT,
    --postgres:id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    bot BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    queue TEXT COLLATE "C" NOT NULL,
    args TEXT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    priority BIGINT NOT NULL,
    run_at BIGINT NOT NULL,
    scheduled_at BIGINT NOT NULL,
    attempt BIGINT NOT NULL DEFAULT 0,
    max_attempts BIGINT NOT NULL,
    epoch BIGINT NOT NULL DEFAULT 0,
    cancel_requested BIGINT NOT NULL DEFAULT 0,
    unique_key TEXT COLLATE "C",
    enqueued_at BIGINT NOT NULL,
    started_at BIGINT,
    finished_at BIGINT,
    errors TEXT NOT NULL DEFAULT '[]',
    result TEXT
--sqlite:);
--postgres:) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);
CREATE INDEX opora_jobs_available ON opora_jobs (bot, queue, priority, run_at, id) WHERE state = 'available';
CREATE INDEX opora_jobs_scheduled ON opora_jobs (bot, run_at, id) WHERE state = 'scheduled';
CREATE INDEX opora_jobs_running ON opora_jobs (bot, id) WHERE state = 'running';
CREATE INDEX opora_jobs_finished ON opora_jobs (bot, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX opora_jobs_results ON opora_jobs (bot, finished_at) WHERE result IS NOT NULL;
CREATE INDEX opora_jobs_unique ON opora_jobs (bot, unique_key, state, id) WHERE unique_key IS NOT NULL;
CREATE TABLE opora_paused_queues (
    bot BIGINT NOT NULL,
    queue TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (bot, queue)
--sqlite:) WITHOUT ROWID;
--postgres:);
CREATE TABLE opora_job_ticks (
    bot BIGINT NOT NULL,
    schedule TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (bot, schedule)
--sqlite:) WITHOUT ROWID;
--postgres:);
CREATE TABLE opora_transitions (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    at BIGINT NOT NULL,
    from_state TEXT,
    to_state TEXT,
    cause TEXT NOT NULL,
    took_us BIGINT NOT NULL
);
--sqlite:CREATE INDEX opora_transitions_age ON opora_transitions (bot, at);
--postgres:CREATE INDEX opora_transitions_age ON opora_transitions (at);
--sqlite:CREATE INDEX opora_transitions_key ON opora_transitions (id >> 12, key);
--postgres:CREATE INDEX opora_transitions_key ON opora_transitions ((id >> 12), key, id);
CREATE TABLE opora_parked (
    id BIGINT PRIMARY KEY,
    bot BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    reason TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    at BIGINT NOT NULL,
    retry BOOLEAN NOT NULL
);
--sqlite:CREATE INDEX opora_parked_bot ON opora_parked (bot);
--postgres:CREATE INDEX opora_parked_bot ON opora_parked (bot, id);
--sqlite:CREATE INDEX opora_parked_retry ON opora_parked (bot) WHERE retry;
--postgres:CREATE INDEX opora_parked_retry ON opora_parked (bot, id) WHERE retry;
--postgres:CREATE TABLE opora_generation (generation TEXT NOT NULL);
--postgres:INSERT INTO opora_generation VALUES (gen_random_uuid());
