-- How often a file was asked for again: what failed is tried a few times, later and later.
ALTER TABLE attachments ADD COLUMN tries BIGINT NOT NULL DEFAULT 0;
CREATE INDEX attachments_failed ON attachments (failed_at) WHERE name IS NULL AND failed_at IS NOT NULL;

-- What an older instance has written down in the last days, beside this one, is found by these.
CREATE INDEX task_media_by_time ON task_media (created_at);
CREATE INDEX plan_cancellations_with_photo ON plan_cancellations (cancelled_at) WHERE photo_file IS NOT NULL;

-- Who may see a file is asked by the file.
CREATE INDEX task_media_by_file ON task_media (telegram_file);
CREATE INDEX plan_cancellations_by_photo ON plan_cancellations (photo_file) WHERE photo_file IS NOT NULL;
