-- News for people, written in the commit of what they tell of, and sent after it.
CREATE TABLE notices (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- What has happened, and what is put into the sentence.
  body TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  is_told BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE INDEX notices_untold ON notices (user_id, id) WHERE NOT is_told;

-- The quiet hours that people have chosen; the others have those of the business.
CREATE TABLE quiet_hours (
  user_id BIGINT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  hours TEXT NOT NULL
);

-- Who gets a summary of the day, at which hour, and the last day that needs none any more.
CREATE TABLE daily_summaries (
  user_id BIGINT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  hour BIGINT NOT NULL CHECK (hour BETWEEN 0 AND 23),
  sent_on TEXT NOT NULL
);
