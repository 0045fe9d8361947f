-- How often somebody has asked for PINs and tried them: by a hash of the address or the name, the time at which it would be
-- idle again.
CREATE TABLE sign_in_limits (
  asker TEXT PRIMARY KEY,
  idle_at BIGINT NOT NULL
);
CREATE INDEX sign_in_limits_by_end ON sign_in_limits (idle_at);
