-- Times are milliseconds since 1970. Who came by registration has documents, see registration.sql; the first owner is
-- granted his role instead.
CREATE TABLE users (
  id {id},
  telegram_id BIGINT NOT NULL UNIQUE,
  full_name TEXT NOT NULL,
  -- The name in small letters: SQLite itself knows those of English only.
  search_name TEXT NOT NULL DEFAULT '',
  phone TEXT,
  username TEXT,
  email TEXT,
  language TEXT NOT NULL CHECK (language IN ('ru', 'en')),
  status TEXT NOT NULL CHECK (status IN ('pending', 'verified', 'rejected', 'blocked')),
  enrolled_by TEXT NOT NULL CHECK (enrolled_by IN ('registration', 'grant')),
  is_test BOOLEAN NOT NULL DEFAULT FALSE,
  main_document_id TEXT,
  selfie_id TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  -- Raised by every change: who edits an older one is told.
  version BIGINT NOT NULL DEFAULT 1,
  --sqlite: FOREIGN KEY (main_document_id) REFERENCES documents (id),
  --sqlite: FOREIGN KEY (selfie_id) REFERENCES documents (id),
  CHECK (enrolled_by = 'grant' OR status NOT IN ('pending', 'verified')
    OR (main_document_id IS NOT NULL AND selfie_id IS NOT NULL))
);
CREATE INDEX users_by_name ON users (search_name, id);
CREATE INDEX users_by_phone ON users (phone);
CREATE INDEX users_by_username ON users (lower(username));
CREATE INDEX users_by_status ON users (status, created_at);

CREATE TABLE user_roles (
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  role TEXT NOT NULL
    CHECK (role IN ('applicant', 'employee', 'master', 'dispatcher', 'manager', 'owner', 'superadmin')),
  PRIMARY KEY (user_id, role)
);
CREATE INDEX user_roles_by_role ON user_roles (role, user_id);

-- Accounts of people who are forgotten and of whom the bot still keeps conversations: the instance that leads removes these,
-- and then the row.
CREATE TABLE people_to_forget (
  telegram_id BIGINT PRIMARY KEY,
  asked_at BIGINT NOT NULL
);
