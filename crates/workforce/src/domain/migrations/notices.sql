-- News for people, written in the commit of what they tell of, and sent after it.
CREATE TABLE notices (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- What has happened, and what is put into the sentence.
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  is_told BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE INDEX notices_untold ON notices (id) WHERE NOT is_told;
