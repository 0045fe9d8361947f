-- A signed-in browser. Only a hash of its cookie is kept: who reads this table can sign in nowhere.
CREATE TABLE sessions (
  id {id},
  token_hash TEXT NOT NULL UNIQUE,
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  agent TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- One PIN for each name at a time; it goes with its use. The hash covers the cookie of the browser that asked, which is
-- nowhere here, so that the million of PINs cannot be tried against it. Names that nobody has get one too, which no PIN
-- fits: whoever tries cannot tell.
CREATE TABLE pins (
  name TEXT PRIMARY KEY,
  pin_hash TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  tries BIGINT NOT NULL DEFAULT 0,
  locked_until BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX pins_by_end ON pins (expires_at);
