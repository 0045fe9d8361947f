-- A document's id is the name of its file. Documents are written first, without an owner; then the person, who must name
-- existing ones; then the documents get their owner. Every check is immediate: one that waited for the commit would fail
-- the turns of others that commit together with this one.
CREATE TABLE documents (
  id TEXT PRIMARY KEY,
  user_id BIGINT REFERENCES users (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('passport', 'driving_licence', 'selfie')),
  media_type TEXT NOT NULL,
  size_bytes BIGINT NOT NULL,
  sha256 TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'approved', 'rejected')),
  reason TEXT,
  -- By which it is shown again in Telegram, as a photo or as a file.
  telegram_file TEXT,
  is_photo BOOLEAN NOT NULL DEFAULT TRUE,
  -- The last day on which it is valid, as 2030-12-31, if the owner has noted it.
  valid_until TEXT,
  -- How many days before it people were told last, as 30 or 7.
  expiry_told_days BIGINT,
  created_at BIGINT NOT NULL
);
CREATE INDEX documents_by_user ON documents (user_id);
CREATE INDEX documents_by_validity ON documents (valid_until) WHERE valid_until IS NOT NULL;
--postgres: ALTER TABLE users ADD FOREIGN KEY (main_document_id) REFERENCES documents (id);
--postgres: ALTER TABLE users ADD FOREIGN KEY (selfie_id) REFERENCES documents (id);

-- Who decided on a registration, and why.
CREATE TABLE registration_decisions (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  is_approved BOOLEAN NOT NULL,
  reason TEXT,
  decided_by BIGINT NOT NULL,
  decided_at BIGINT NOT NULL
);
CREATE INDEX registration_decisions_by_user ON registration_decisions (user_id, id);

-- Every text that a person agreed to, under its hash.
CREATE TABLE consent_texts (
  version TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  stored_at BIGINT NOT NULL
);

-- Consents to the processing of personal data, one for each registration.
CREATE TABLE consents (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  version TEXT NOT NULL REFERENCES consent_texts (version),
  given_at BIGINT NOT NULL
);
CREATE INDEX consents_by_user ON consents (user_id, id);
