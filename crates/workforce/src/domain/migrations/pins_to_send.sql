-- PINs that a page of an instance that does not lead has asked for: the one that leads sends them within seconds, and takes
-- them away.
CREATE TABLE pins_to_send (
  once TEXT PRIMARY KEY,
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  pin TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);
