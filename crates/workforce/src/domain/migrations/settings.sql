CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  changed_at BIGINT NOT NULL,
  changed_by BIGINT
);

CREATE TABLE settings_history (
  id {id},
  name TEXT NOT NULL,
  old_value TEXT,
  new_value TEXT NOT NULL,
  changed_at BIGINT NOT NULL,
  changed_by BIGINT
);
CREATE INDEX settings_history_by_name ON settings_history (name, id);
