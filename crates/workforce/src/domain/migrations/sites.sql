-- Money is whole kopecks; times are milliseconds since 1970; hours of a day are minutes since midnight by the site's own
-- clock, and an end that is not after its beginning is on the next day. What is deleted stays, so that it can come back.
CREATE TABLE sites (
  id {id},
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  address TEXT NOT NULL,
  latitude DOUBLE PRECISION CHECK (latitude BETWEEN -90 AND 90),
  longitude DOUBLE PRECISION CHECK (longitude BETWEEN -180 AND 180),
  -- A name of the IANA database.
  time_zone TEXT NOT NULL,
  opens_minute BIGINT NOT NULL CHECK (opens_minute BETWEEN 0 AND 1439),
  closes_minute BIGINT NOT NULL CHECK (closes_minute BETWEEN 0 AND 1439),
  -- Monday is the lowest of seven bits.
  working_days BIGINT NOT NULL DEFAULT 31 CHECK (working_days BETWEEN 0 AND 127),
  rate_kopecks BIGINT NOT NULL CHECK (rate_kopecks >= 0),
  max_distance_m BIGINT NOT NULL DEFAULT 500 CHECK (max_distance_m > 0),
  auto_close_minutes BIGINT NOT NULL DEFAULT 60 CHECK (auto_close_minutes > 0),
  late_threshold_minutes BIGINT NOT NULL DEFAULT 0 CHECK (late_threshold_minutes >= 0),
  -- What a minute costs: a price, so not below zero. The penalty that comes of it is.
  late_minute_kopecks BIGINT NOT NULL DEFAULT 0 CHECK (late_minute_kopecks >= 0),
  -- The last year for which slots were made by the working days.
  filled_year BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  deleted_at BIGINT,
  -- Raised by every change: who edits an older one is told.
  version BIGINT NOT NULL DEFAULT 1,
  CHECK ((latitude IS NULL) = (longitude IS NULL))
);
CREATE INDEX sites_by_name ON sites (name, id) WHERE deleted_at IS NULL;

CREATE TABLE time_slots (
  id {id},
  site_id BIGINT NOT NULL REFERENCES sites (id),
  -- Such as the post that is to be filled; slots of one time differ by it.
  title TEXT NOT NULL DEFAULT '',
  -- The day by the site's clock, as 2026-01-31, and the hours; the instants follow from them.
  day TEXT NOT NULL,
  starts_minute BIGINT NOT NULL CHECK (starts_minute BETWEEN 0 AND 1439),
  ends_minute BIGINT NOT NULL CHECK (ends_minute BETWEEN 0 AND 1439),
  starts_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  rate_kopecks BIGINT CHECK (rate_kopecks >= 0),
  capacity BIGINT NOT NULL DEFAULT 1 CHECK (capacity > 0),
  -- How many places have a plan that was not cancelled.
  taken BIGINT NOT NULL DEFAULT 0,
  penalises_lateness BOOLEAN NOT NULL DEFAULT TRUE,
  ignores_site_tasks BOOLEAN NOT NULL DEFAULT FALSE,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  deleted_at BIGINT,
  version BIGINT NOT NULL DEFAULT 1,
  CHECK (ends_at > starts_at),
  CONSTRAINT time_slots_capacity CHECK (taken BETWEEN 0 AND capacity)
);
CREATE UNIQUE INDEX time_slots_once ON time_slots (site_id, starts_at, ends_at, title) WHERE deleted_at IS NULL;
CREATE INDEX time_slots_by_start ON time_slots (starts_at) WHERE deleted_at IS NULL;
CREATE INDEX time_slots_deleted ON time_slots (site_id, deleted_at) WHERE deleted_at IS NOT NULL;

-- What is to be done in a shift: of the site, or of one slot alone.
CREATE TABLE site_tasks (
  id {id},
  site_id BIGINT NOT NULL REFERENCES sites (id),
  slot_id BIGINT REFERENCES time_slots (id),
  place BIGINT NOT NULL,
  text TEXT NOT NULL CHECK (length(text) BETWEEN 1 AND 300),
  -- Above zero a bonus, below zero a penalty.
  amount_kopecks BIGINT NOT NULL,
  is_mandatory BOOLEAN NOT NULL DEFAULT FALSE,
  needs_media BOOLEAN NOT NULL DEFAULT FALSE,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  deleted_at BIGINT,
  version BIGINT NOT NULL DEFAULT 1
);
CREATE INDEX site_tasks_by_site ON site_tasks (site_id, place) WHERE deleted_at IS NULL;
CREATE INDEX site_tasks_by_slot ON site_tasks (slot_id, place) WHERE deleted_at IS NULL AND slot_id IS NOT NULL;
-- Those that are deleted too.
CREATE INDEX site_tasks_of_site ON site_tasks (site_id, place) WHERE slot_id IS NULL;
CREATE INDEX site_tasks_of_slot ON site_tasks (slot_id, place) WHERE slot_id IS NOT NULL;

CREATE TABLE contracts (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  status TEXT NOT NULL CHECK (status IN ('draft', 'active', 'suspended', 'terminated')),
  -- Goes before the slot's and the site's.
  rate_kopecks BIGINT CHECK (rate_kopecks >= 0),
  -- Whether shifts may be opened without a plan.
  allows_spontaneous BOOLEAN NOT NULL DEFAULT FALSE,
  -- The first and the last day by the clock of each site, as 2026-01-31. Null: without a bound.
  valid_from TEXT,
  valid_until TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  deleted_at BIGINT,
  version BIGINT NOT NULL DEFAULT 1,
  CHECK (valid_from <= valid_until)
);
CREATE INDEX contracts_by_user ON contracts (user_id) WHERE deleted_at IS NULL;
CREATE INDEX contracts_of_user ON contracts (user_id, id);

CREATE TABLE contract_sites (
  contract_id BIGINT NOT NULL REFERENCES contracts (id) ON DELETE CASCADE,
  site_id BIGINT NOT NULL REFERENCES sites (id),
  -- Copies from the contract, so that the database can refuse a second active contract of a person for a site. Active
  -- means: the status is active, and the contract is not deleted. Days are counted from 1 January of the year 1.
  user_id BIGINT NOT NULL,
  is_active BOOLEAN NOT NULL,
  first_day BIGINT NOT NULL DEFAULT 0,
  last_day BIGINT NOT NULL DEFAULT 9999999,
  --postgres: CONSTRAINT contract_sites_overlap EXCLUDE USING gist (
  --postgres:   int8range(user_id, user_id, '[]') WITH &&, int8range(site_id, site_id, '[]') WITH &&,
  --postgres:   int8range(first_day, last_day, '[]') WITH &&) WHERE (is_active),
  PRIMARY KEY (contract_id, site_id)
);
CREATE INDEX contract_sites_by_site ON contract_sites (site_id, contract_id);
CREATE INDEX contract_sites_by_user ON contract_sites (user_id, site_id) WHERE is_active;

--sqlite: CREATE TRIGGER contract_sites_overlap_of_new BEFORE INSERT ON contract_sites
--sqlite: WHEN NEW.is_active AND EXISTS (SELECT 1 FROM contract_sites AS other
--sqlite:   WHERE other.user_id = NEW.user_id AND other.site_id = NEW.site_id AND other.is_active
--sqlite:   AND other.first_day <= NEW.last_day AND NEW.first_day <= other.last_day)
--sqlite: BEGIN SELECT RAISE(ABORT, 'contract_sites_overlap'); END;

-- What a manager may do at a site.
CREATE TABLE manager_permissions (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  site_id BIGINT NOT NULL REFERENCES sites (id),
  permission TEXT NOT NULL
    CHECK (permission IN ('view', 'edit', 'delete', 'employees', 'finances', 'rates', 'schedule')),
  UNIQUE (user_id, site_id, permission)
);

-- Messages of staff to the people of a site. The bot sends them in the background.
CREATE TABLE site_broadcasts (
  id {id},
  site_id BIGINT NOT NULL REFERENCES sites (id),
  author_id BIGINT NOT NULL REFERENCES users (id),
  text TEXT NOT NULL CHECK (length(text) BETWEEN 1 AND 3500),
  created_at BIGINT NOT NULL,
  -- When staff stopped the rest of it.
  cancelled_at BIGINT
);
CREATE INDEX site_broadcasts_by_site ON site_broadcasts (site_id, id);

CREATE TABLE site_broadcast_recipients (
  broadcast_id BIGINT NOT NULL REFERENCES site_broadcasts (id),
  user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- Waiting ones are taken page by page (posting); the other states are results.
  state TEXT NOT NULL
    CHECK (state IN ('waiting', 'posting', 'sent', 'failed', 'blocked', 'unknown', 'cancelled', 'skipped')),
  PRIMARY KEY (broadcast_id, user_id)
);
CREATE INDEX site_broadcast_recipients_unsent ON site_broadcast_recipients (broadcast_id, user_id)
  WHERE state IN ('waiting', 'posting');
CREATE INDEX site_broadcast_recipients_by_user ON site_broadcast_recipients (user_id);
