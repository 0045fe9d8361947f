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
-- nowhere here, so that the million of PINs cannot be tried against it. An unknown name gets a PIN too, which no input fits,
-- so an attacker cannot tell the difference.
CREATE TABLE pins (
  name TEXT PRIMARY KEY,
  pin_hash TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  tries BIGINT NOT NULL DEFAULT 0,
  locked_until BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX pins_by_end ON pins (expires_at);

-- PINs that a page of an instance that does not lead has asked for: the one that leads sends them within seconds, and takes
-- them away.
CREATE TABLE pins_to_send (
  once TEXT PRIMARY KEY,
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  pin TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);

-- How often PINs were requested and tried: by a hash of the address or the name, the time at which it would be idle again.
CREATE TABLE sign_in_limits (
  asker TEXT PRIMARY KEY,
  idle_at BIGINT NOT NULL
);
CREATE INDEX sign_in_limits_by_end ON sign_in_limits (idle_at);

-- Random words that stand for a person: one-time links of the bot, and browsers in which the person has signed in before. Only
-- their hashes are kept: a reader of this table can sign in nowhere.
CREATE TABLE sign_in_tokens (
  token_hash TEXT PRIMARY KEY,
  purpose TEXT NOT NULL,
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sign_in_tokens_by_user ON sign_in_tokens (user_id);
