-- Who means to come. What stands here of the slot moves along when the slot does.
CREATE TABLE shift_plans (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  slot_id BIGINT NOT NULL REFERENCES time_slots (id),
  site_id BIGINT NOT NULL REFERENCES sites (id),
  starts_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  status TEXT NOT NULL DEFAULT 'planned' CHECK (status IN ('planned', 'in_progress', 'completed', 'cancelled')),
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  -- When the person was reminded, and when staff were told that the person did not come.
  reminded_at BIGINT,
  missed_at BIGINT,
  -- From when on a person is awaited who was told of the hours after they had begun: the slot was moved, or came back.
  awaited_from BIGINT,
  -- The person was blocked, and the place was given back: an unblock may restore it.
  given_back_at BIGINT,
  version BIGINT NOT NULL DEFAULT 1,
  --postgres: CONSTRAINT shift_plans_overlap EXCLUDE USING gist (
  --postgres:   int8range(user_id, user_id, '[]') WITH &&, int8range(starts_at, ends_at) WITH &&)
  --postgres:   WHERE (status IN ('planned', 'in_progress')),
  CHECK (ends_at > starts_at)
);
CREATE INDEX shift_plans_by_user ON shift_plans (user_id, starts_at);
CREATE INDEX shift_plans_by_slot ON shift_plans (slot_id);
CREATE INDEX shift_plans_by_start ON shift_plans (starts_at) WHERE status = 'planned';
CREATE INDEX shift_plans_given_back ON shift_plans (user_id) WHERE given_back_at IS NOT NULL;
CREATE INDEX shift_plans_by_time ON shift_plans (starts_at, site_id);

--sqlite: CREATE TRIGGER shift_plans_overlap_of_new BEFORE INSERT ON shift_plans
--sqlite: WHEN NEW.status IN ('planned', 'in_progress') AND EXISTS (SELECT 1 FROM shift_plans AS other
--sqlite:   WHERE other.user_id = NEW.user_id AND other.status IN ('planned', 'in_progress')
--sqlite:   AND other.starts_at < NEW.ends_at AND NEW.starts_at < other.ends_at)
--sqlite: BEGIN SELECT RAISE(ABORT, 'shift_plans_overlap'); END;
--sqlite: CREATE TRIGGER shift_plans_overlap_of_changed BEFORE UPDATE OF user_id, starts_at, ends_at, status ON shift_plans
--sqlite: WHEN NEW.status IN ('planned', 'in_progress') AND EXISTS (SELECT 1 FROM shift_plans AS other
--sqlite:   WHERE other.user_id = NEW.user_id AND other.status IN ('planned', 'in_progress') AND other.id <> NEW.id
--sqlite:   AND other.starts_at < NEW.ends_at AND NEW.starts_at < other.ends_at)
--sqlite: BEGIN SELECT RAISE(ABORT, 'shift_plans_overlap'); END;

-- Why a person gave up a plan. The place is free at once; a moderator judges the reason.
CREATE TABLE plan_cancellations (
  id {id},
  plan_id BIGINT NOT NULL UNIQUE REFERENCES shift_plans (id) ON DELETE CASCADE,
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  reason TEXT NOT NULL CHECK (reason IN ('illness', 'family', 'transport', 'other', 'by_staff')),
  -- In the person's own words, and the number of a paper that proves it.
  words TEXT,
  document TEXT,
  -- The proof at Telegram, and as what it was sent: Telegram shows it again only as that.
  photo_file TEXT,
  photo_kind TEXT CHECK (photo_kind IN ('photo', 'document')),
  -- How many hours of notice were asked for when it was cancelled: the setting may be another one when it is judged.
  -- Null: by staff.
  notice_hours BIGINT,
  is_short_notice BOOLEAN NOT NULL,
  cancelled_at BIGINT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'accepted', 'rejected')),
  decided_by BIGINT,
  decided_at BIGINT,
  -- Who took back the decision before, and when.
  reversed_by BIGINT,
  reversed_at BIGINT,
  CHECK ((status = 'pending') = (decided_at IS NULL)),
  CHECK ((photo_file IS NULL) = (photo_kind IS NULL))
);
CREATE INDEX plan_cancellations_pending ON plan_cancellations (id) WHERE status = 'pending';
CREATE INDEX plan_cancellations_decided ON plan_cancellations (decided_at, id)
  WHERE decided_at IS NOT NULL AND reason <> 'by_staff';
CREATE INDEX plan_cancellations_by_user ON plan_cancellations (user_id, id);
CREATE INDEX plan_cancellations_by_photo ON plan_cancellations (photo_file) WHERE photo_file IS NOT NULL;

-- Everything that its pay depends on is kept as it was when it was opened.
CREATE TABLE shifts (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  site_id BIGINT NOT NULL REFERENCES sites (id),
  slot_id BIGINT REFERENCES time_slots (id),
  -- A plan is used once.
  plan_id BIGINT UNIQUE REFERENCES shift_plans (id) ON DELETE SET NULL,
  contract_id BIGINT REFERENCES contracts (id) ON DELETE SET NULL,
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'completed')),
  planned_start BIGINT,
  planned_end BIGINT,
  started_at BIGINT NOT NULL,
  ended_at BIGINT,
  rate_kopecks BIGINT NOT NULL CHECK (rate_kopecks >= 0),
  penalises_lateness BOOLEAN NOT NULL,
  late_threshold_minutes BIGINT NOT NULL,
  late_minute_kopecks BIGINT NOT NULL CHECK (late_minute_kopecks >= 0),
  -- Where it was opened and closed, if anybody said.
  opened_latitude DOUBLE PRECISION,
  opened_longitude DOUBLE PRECISION,
  closed_latitude DOUBLE PRECISION,
  closed_longitude DOUBLE PRECISION,
  closed_by TEXT CHECK (closed_by IN ('person', 'staff', 'time')),
  version BIGINT NOT NULL DEFAULT 1,
  CHECK ((status = 'active') = (ended_at IS NULL)),
  CHECK (ended_at >= started_at)
);
CREATE UNIQUE INDEX shifts_one_active ON shifts (user_id) WHERE status = 'active';
CREATE INDEX shifts_by_user ON shifts (user_id, started_at);
CREATE INDEX shifts_by_site ON shifts (site_id, started_at);
CREATE INDEX shifts_by_start ON shifts (started_at);
CREATE INDEX shifts_active_by_site ON shifts (site_id) WHERE status = 'active';
CREATE INDEX shifts_completed ON shifts (id) WHERE status = 'completed';
-- Late starts are few, and counted for charts: they are found without the others.
CREATE INDEX shifts_late ON shifts (started_at)
  WHERE penalises_lateness AND started_at - planned_start >= (late_threshold_minutes + 1) * 60000;

-- Tasks as they were when the shift was opened. Edits change later shifts only.
CREATE TABLE shift_tasks (
  id {id},
  shift_id BIGINT NOT NULL REFERENCES shifts (id) ON DELETE CASCADE,
  -- Where it came from.
  task_id BIGINT REFERENCES site_tasks (id),
  source TEXT NOT NULL CHECK (source IN ('slot', 'site')),
  place BIGINT NOT NULL,
  text TEXT NOT NULL,
  amount_kopecks BIGINT NOT NULL,
  is_mandatory BOOLEAN NOT NULL,
  needs_media BOOLEAN NOT NULL,
  media_count BIGINT NOT NULL DEFAULT 0 CHECK (media_count >= 0),
  done_at BIGINT,
  UNIQUE (shift_id, place),
  CONSTRAINT shift_tasks_media CHECK (done_at IS NULL OR NOT needs_media OR media_count > 0)
);

CREATE TABLE task_media (
  id {id},
  shift_task_id BIGINT NOT NULL REFERENCES shift_tasks (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('photo', 'video', 'video_note', 'document')),
  -- By which Telegram shows it again, and what is the same for the same picture.
  telegram_file TEXT NOT NULL,
  unique_id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  UNIQUE (shift_task_id, unique_id)
);
CREATE INDEX task_media_by_file ON task_media (telegram_file);

CREATE TABLE site_openings (
  id {id},
  site_id BIGINT NOT NULL REFERENCES sites (id),
  opened_by BIGINT NOT NULL,
  opened_at BIGINT NOT NULL,
  -- Null: it was closed because the last person had left.
  closed_by BIGINT,
  closed_at BIGINT,
  CHECK (closed_at >= opened_at),
  CHECK (closed_at IS NOT NULL OR closed_by IS NULL)
);
CREATE UNIQUE INDEX site_openings_one_active ON site_openings (site_id) WHERE closed_at IS NULL;
CREATE INDEX site_openings_by_site ON site_openings (site_id, opened_at);
