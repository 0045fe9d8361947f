-- Questionnaires as they were in force, the newest last. A session keeps its own: a later one does not break it.
CREATE TABLE questionnaires (
  id {id},
  body TEXT NOT NULL,
  noted_at BIGINT NOT NULL
);

CREATE TABLE onboarding_sessions (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  questionnaire_id BIGINT NOT NULL REFERENCES questionnaires (id),
  status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'completed', 'declined')),
  began_at BIGINT NOT NULL,
  ended_at BIGINT,
  CHECK ((ended_at IS NULL) = (status IN ('active', 'paused')))
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

-- Conversations of people with the person in charge. That person may leave, so there is no foreign key.
CREATE TABLE chats (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  in_charge_id BIGINT NOT NULL,
  began_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE UNIQUE INDEX chats_open_by_user ON chats (user_id) WHERE ended_at IS NULL;
CREATE INDEX chats_open_by_charge ON chats (in_charge_id) WHERE ended_at IS NULL;

CREATE TABLE chat_messages (
  id {id},
  chat_id BIGINT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
  author_id BIGINT NOT NULL,
  text TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX chat_messages_by_chat ON chat_messages (chat_id, id);
