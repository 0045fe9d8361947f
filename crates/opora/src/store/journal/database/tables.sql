-- What only a replay needs, beside the tables of the store.
CREATE TABLE opora_journal_outage (bot BIGINT PRIMARY KEY, token TEXT NOT NULL);
CREATE TABLE opora_journal_entries (
    --sqlite:id BIGINT PRIMARY KEY AUTOINCREMENT,
    --postgres:id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bot BIGINT NOT NULL, key TEXT COLLATE "C" NOT NULL, is_turn BOOLEAN NOT NULL, entry TEXT NOT NULL);
CREATE INDEX opora_journal_entries_key ON opora_journal_entries (key);
CREATE TABLE opora_journal_settled (id BIGINT PRIMARY KEY, bot BIGINT NOT NULL, outcome TEXT NOT NULL);
CREATE TABLE opora_journal_effects (
    id BIGINT PRIMARY KEY, bot BIGINT NOT NULL, entry BIGINT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX opora_journal_effects_entry ON opora_journal_effects (entry);
-- Sets the first epoch of a journal, so that its epochs and row ids never meet those of Redis.
INSERT INTO opora_leases (bot, epoch, holder, renewals, numbers) VALUES (-1, 4194304, NULL, 0, 0)
ON CONFLICT DO NOTHING;
