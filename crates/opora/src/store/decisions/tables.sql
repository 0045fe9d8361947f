-- Rows are indexed by hour, so that most updates leave the index unchanged.
CREATE TABLE opora_fences (bot BIGINT PRIMARY KEY, epoch BIGINT NOT NULL, generation TEXT NOT NULL);
CREATE TABLE opora_decisions (
    key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    bot BIGINT NOT NULL,
    to_version BIGINT NOT NULL,
    body TEXT NOT NULL,
    hour BIGINT NOT NULL,
    has_secrets BIGINT NOT NULL
--sqlite:);
--postgres:) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX opora_decisions_age ON opora_decisions (bot, hour);
CREATE INDEX opora_decisions_secrets ON opora_decisions (bot) WHERE has_secrets <> 0;
CREATE TABLE opora_decided_inputs (
    bot BIGINT NOT NULL,
    input TEXT COLLATE "C" NOT NULL,
    hour BIGINT NOT NULL,
    PRIMARY KEY (bot, input)
--sqlite:) WITHOUT ROWID;
--postgres:) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX opora_decided_inputs_age ON opora_decided_inputs (bot, hour);
