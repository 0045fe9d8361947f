-- What people sent in Telegram, by the id that Telegram has for it: whether it is being fetched, is there, or could not be.
CREATE TABLE attachments (
  telegram_file TEXT PRIMARY KEY,
  -- The name of its file, once it is kept; and what it really is.
  name TEXT UNIQUE,
  media_type TEXT,
  size_bytes BIGINT,
  sha256 TEXT,
  -- Null: nobody has asked Telegram for it yet.
  asked_at BIGINT,
  failed_at BIGINT,
  is_too_large BOOLEAN NOT NULL DEFAULT FALSE,
  CHECK (name IS NULL OR (media_type IS NOT NULL AND size_bytes IS NOT NULL AND sha256 IS NOT NULL AND failed_at IS NULL))
);
CREATE INDEX attachments_awaited ON attachments (asked_at) WHERE name IS NULL AND failed_at IS NULL;

-- What was sent before files were kept is fetched by the job.
INSERT INTO attachments (telegram_file) SELECT DISTINCT telegram_file FROM task_media;
INSERT INTO attachments (telegram_file)
  SELECT DISTINCT photo_file FROM plan_cancellations
  WHERE photo_file IS NOT NULL AND photo_file NOT IN (SELECT telegram_file FROM attachments);
