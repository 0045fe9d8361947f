-- Random words that stand for a person: one-time links of the bot, and browsers in which the person has signed in before. Only
-- their hashes are kept: a reader of this table can sign in nowhere.
CREATE TABLE sign_in_tokens (
  token_hash TEXT PRIMARY KEY,
  purpose TEXT NOT NULL,
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sign_in_tokens_by_user ON sign_in_tokens (user_id);
