-- What staff did. It outlives those whom it names, so it refers to nobody.
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
