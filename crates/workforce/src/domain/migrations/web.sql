-- A signed-in browser. Only a hash of its cookie is kept: who reads this table can sign in nowhere.
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  csrf TEXT NOT NULL,
  agent TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- One PIN for each person at a time; it goes with its use.
CREATE TABLE pins (
  telegram_id BIGINT PRIMARY KEY,
  pin_hash TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  wrong_tries BIGINT NOT NULL DEFAULT 0
);
