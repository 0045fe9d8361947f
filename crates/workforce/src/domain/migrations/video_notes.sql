-- A video in a circle is shown again only as one. What a column may hold cannot be changed everywhere, so a new one takes over.
ALTER TABLE task_media ADD COLUMN sent_as TEXT NOT NULL DEFAULT 'document'
  CHECK (sent_as IN ('photo', 'video', 'video_note', 'document'));
UPDATE task_media SET sent_as = kind;
ALTER TABLE task_media DROP COLUMN kind;
ALTER TABLE task_media RENAME COLUMN sent_as TO kind;
