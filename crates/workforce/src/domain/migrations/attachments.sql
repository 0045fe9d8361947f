-- What people sent in Telegram, by the id that Telegram has for it: whether it is being fetched, is there, or could not be.
CREATE TABLE attachments (
  telegram_file TEXT PRIMARY KEY,
  -- The name of its file, once it is kept; and what it really is.
  name TEXT UNIQUE,
  media_type TEXT,
  size_bytes BIGINT,
  sha256 TEXT,
  -- Null: it was not requested from Telegram yet.
  asked_at BIGINT,
  failed_at BIGINT,
  -- How often it was asked for again: what failed is tried a few times, later and later.
  tries BIGINT NOT NULL DEFAULT 0,
  is_too_large BOOLEAN NOT NULL DEFAULT FALSE,
  CHECK (name IS NULL OR (media_type IS NOT NULL AND size_bytes IS NOT NULL AND sha256 IS NOT NULL AND failed_at IS NULL))
);
CREATE INDEX attachments_awaited ON attachments (asked_at) WHERE name IS NULL AND failed_at IS NULL;
CREATE INDEX attachments_failed ON attachments (failed_at) WHERE name IS NULL AND failed_at IS NOT NULL;
