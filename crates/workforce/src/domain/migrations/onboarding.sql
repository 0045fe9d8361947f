-- A session keeps the questionnaire as it was when it began: a later one does not break it.
CREATE TABLE onboarding_sessions (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  questionnaire TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'completed', 'declined')),
  began_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE UNIQUE INDEX onboarding_sessions_under_way ON onboarding_sessions (user_id)
  WHERE status IN ('active', 'paused');
CREATE INDEX onboarding_sessions_by_user ON onboarding_sessions (user_id, id);

CREATE TABLE onboarding_answers (
  session_id BIGINT NOT NULL REFERENCES onboarding_sessions (id) ON DELETE CASCADE,
  question TEXT NOT NULL,
  -- Null: it was skipped.
  answer TEXT,
  answered_at BIGINT NOT NULL,
  PRIMARY KEY (session_id, question)
);

-- Questions to whoever is in charge, and the answers.
CREATE TABLE chat_messages (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- Null: the person wrote it.
  answered_by BIGINT,
  text TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX chat_messages_by_user ON chat_messages (user_id, id);
