-- Files that are being kept for a registration. Its commit takes these rows away, and so does the cleanup before it removes
-- an old file: whoever finds a row gone knows that the other was first.
CREATE TABLE files_under_way (
  id TEXT PRIMARY KEY,
  since BIGINT NOT NULL
);

-- By which this database and the storage of its files know each other, see files/installation.rs.
CREATE TABLE installation (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  mark TEXT NOT NULL
);
