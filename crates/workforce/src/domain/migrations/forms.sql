-- Forms that were carried out, by a hash of what was sent: the same form sent twice makes one thing.
CREATE TABLE sent_forms (
  key TEXT PRIMARY KEY,
  sent_at BIGINT NOT NULL
);
CREATE INDEX sent_forms_by_time ON sent_forms (sent_at);
