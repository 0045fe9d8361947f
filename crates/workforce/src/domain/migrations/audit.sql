-- What staff did. A record outlives the people that it names, so it has no foreign key to them.
CREATE TABLE audit (
  id {id},
  at BIGINT NOT NULL,
  actor BIGINT,
  action TEXT NOT NULL,
  subject_kind TEXT NOT NULL,
  subject_id BIGINT NOT NULL,
  detail TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_by_subject ON audit (subject_kind, subject_id, id);
