-- By which this database and the storage of its files know each other, see files/installation.rs.
CREATE TABLE installation (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  mark TEXT NOT NULL
);
