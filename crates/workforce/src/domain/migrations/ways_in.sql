-- One-time links that the bot gives. Only a hash of the link is kept: a reader of this table can sign in nowhere.
CREATE TABLE sign_in_links (
  token_hash TEXT PRIMARY KEY,
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sign_in_links_by_user ON sign_in_links (user_id);
-- Browsers in which a person has signed in before. Their PINs are counted apart from those that strangers ask for.
CREATE TABLE known_devices (
  token_hash TEXT PRIMARY KEY,
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  expires_at BIGINT NOT NULL
);
CREATE INDEX known_devices_by_user ON known_devices (user_id);
