-- Files that are being kept for a registration. Its commit deletes these rows, and so does the cleanup before it removes an
-- old file. The one that finds a row missing came second.
CREATE TABLE files_under_way (
  id TEXT PRIMARY KEY,
  since BIGINT NOT NULL
);

-- By which this database and the storage of its files know each other, see files/installation.rs.
CREATE TABLE installation (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  mark TEXT NOT NULL
);
