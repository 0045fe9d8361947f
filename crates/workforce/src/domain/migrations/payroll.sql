-- A month of pay. A closed one stays as it is until an owner opens it again: the triggers below hold everybody to it.
CREATE TABLE payroll_periods (
  -- Such as 2026-01.
  id TEXT PRIMARY KEY,
  status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'closed')),
  closed_at BIGINT,
  closed_by BIGINT,
  CHECK ((status = 'closed') = (closed_at IS NOT NULL))
);

-- Amounts with their signs, in kopecks. Shifts, tasks, plans and orders are other rooms': nothing refers to their tables.
CREATE TABLE adjustments (
  id {id},
  user_id BIGINT NOT NULL REFERENCES users (id),
  period TEXT NOT NULL REFERENCES payroll_periods (id),
  -- The day that it belongs to, by the clock of its place: 2026-01-31.
  day TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('shift_base', 'late_start', 'task_bonus', 'task_completed', 'task_penalty',
    'order_share', 'cancelled_late', 'cancelled_invalid', 'manual_bonus', 'manual_deduction', 'correction')),
  amount_kopecks BIGINT NOT NULL,
  hours_hundredths BIGINT NOT NULL DEFAULT 0,
  shift_id BIGINT,
  task_id BIGINT,
  plan_id BIGINT,
  order_id BIGINT,
  -- Where it was earned.
  site_id BIGINT,
  -- What it corrects, in a period that was closed.
  corrects_id BIGINT REFERENCES adjustments (id),
  -- How it came about, as JSON.
  basis TEXT NOT NULL,
  -- The reason that staff gave.
  reason TEXT,
  created_at BIGINT NOT NULL,
  created_by BIGINT,
  -- Removed; it can be brought back while its period is open.
  deleted_at BIGINT,
  version BIGINT NOT NULL DEFAULT 1,
  CHECK (kind NOT IN ('shift_base', 'task_bonus', 'order_share', 'manual_bonus') OR amount_kopecks >= 0),
  CHECK (kind NOT IN ('late_start', 'task_penalty', 'cancelled_late', 'cancelled_invalid', 'manual_deduction')
    OR amount_kopecks <= 0),
  CHECK (kind <> 'task_completed' OR amount_kopecks = 0),
  CHECK (kind NOT IN ('manual_bonus', 'manual_deduction', 'correction')
    OR (reason IS NOT NULL AND created_by IS NOT NULL)),
  CHECK ((kind = 'correction') = (corrects_id IS NOT NULL))
);
CREATE UNIQUE INDEX adjustments_once_by_shift ON adjustments (shift_id, kind, coalesce(task_id, 0))
  WHERE shift_id IS NOT NULL;
-- A fine that was taken back stays, removed; the reason may be rejected again.
CREATE UNIQUE INDEX adjustments_once_by_plan ON adjustments (plan_id, kind) WHERE plan_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX adjustments_by_plan ON adjustments (plan_id) WHERE plan_id IS NOT NULL;
CREATE UNIQUE INDEX adjustments_once_by_order ON adjustments (order_id, kind) WHERE order_id IS NOT NULL;
CREATE INDEX adjustments_by_person ON adjustments (user_id, period, day, id);
CREATE INDEX adjustments_by_period ON adjustments (period, user_id);
-- Sums by day, and by person over some days, are read from the index alone.
CREATE INDEX adjustments_by_day ON adjustments (day, user_id, kind, amount_kopecks, hours_hundredths)
  WHERE deleted_at IS NULL;
CREATE INDEX adjustments_by_site ON adjustments (site_id, period, user_id) WHERE site_id IS NOT NULL;
CREATE INDEX adjustments_by_corrected ON adjustments (corrects_id) WHERE corrects_id IS NOT NULL;

-- Every change of a manual adjustment: its values after the change.
CREATE TABLE adjustment_changes (
  id {id},
  adjustment_id BIGINT NOT NULL REFERENCES adjustments (id),
  at BIGINT NOT NULL,
  by_id BIGINT NOT NULL,
  deed TEXT NOT NULL CHECK (deed IN ('added', 'changed', 'removed', 'restored')),
  amount_kopecks BIGINT NOT NULL,
  reason TEXT NOT NULL
);
CREATE INDEX adjustment_changes_by_adjustment ON adjustment_changes (adjustment_id, id);

-- A person's pay of a period: the sums of the adjustments, written in the commit that changes one of them.
CREATE TABLE payroll_entries (
  period TEXT NOT NULL REFERENCES payroll_periods (id),
  user_id BIGINT NOT NULL REFERENCES users (id),
  hours_hundredths BIGINT NOT NULL,
  earned_kopecks BIGINT NOT NULL,
  bonus_kopecks BIGINT NOT NULL,
  deduction_kopecks BIGINT NOT NULL,
  total_kopecks BIGINT NOT NULL,
  paid_kopecks BIGINT NOT NULL DEFAULT 0,
  version BIGINT NOT NULL DEFAULT 1,
  PRIMARY KEY (period, user_id),
  CHECK (total_kopecks = earned_kopecks + bonus_kopecks + deduction_kopecks)
);
CREATE INDEX payroll_entries_by_person ON payroll_entries (user_id, period);
CREATE INDEX payroll_entries_by_total ON payroll_entries (period, total_kopecks DESC, user_id);
CREATE INDEX payroll_entries_overpaid ON payroll_entries (user_id) WHERE paid_kopecks > total_kopecks;

-- Payments to people. A payment that was noted by mistake is taken back and stays visible.
CREATE TABLE payments (
  id {id},
  period TEXT NOT NULL,
  user_id BIGINT NOT NULL,
  amount_kopecks BIGINT NOT NULL CHECK (amount_kopecks > 0),
  paid_at BIGINT NOT NULL,
  paid_by BIGINT NOT NULL,
  taken_back_at BIGINT,
  taken_back_by BIGINT,
  FOREIGN KEY (period, user_id) REFERENCES payroll_entries (period, user_id)
);
CREATE INDEX payments_by_entry ON payments (period, user_id, id);

--sqlite: CREATE TRIGGER adjustments_stay_insert BEFORE INSERT ON adjustments
--sqlite: WHEN EXISTS (SELECT 1 FROM payroll_periods WHERE id = NEW.period AND status = 'closed')
--sqlite: BEGIN SELECT RAISE(ABORT, 'this period is closed'); END;
--sqlite: CREATE TRIGGER adjustments_stay_update BEFORE UPDATE ON adjustments
--sqlite: WHEN EXISTS (SELECT 1 FROM payroll_periods WHERE id IN (OLD.period, NEW.period) AND status = 'closed')
--sqlite: BEGIN SELECT RAISE(ABORT, 'this period is closed'); END;
--sqlite: CREATE TRIGGER adjustments_stay_delete BEFORE DELETE ON adjustments
--sqlite: WHEN EXISTS (SELECT 1 FROM payroll_periods WHERE id = OLD.period AND status = 'closed')
--sqlite: BEGIN SELECT RAISE(ABORT, 'this period is closed'); END;
--sqlite: CREATE TRIGGER periods_stay_closed BEFORE UPDATE ON payroll_periods
--sqlite: WHEN OLD.status = 'closed' AND (NEW.status <> 'open' OR NEW.id <> OLD.id)
--sqlite: BEGIN SELECT RAISE(ABORT, 'this period is closed'); END;
--sqlite: CREATE TRIGGER periods_stay BEFORE DELETE ON payroll_periods WHEN OLD.status = 'closed'
--sqlite: BEGIN SELECT RAISE(ABORT, 'this period is closed'); END;
-- The sums of a closed month stay as its rows do: none comes, goes or changes. Only what was paid is marked afterwards, and
-- with it the version rises.
--sqlite: CREATE TRIGGER entries_stay_insert BEFORE INSERT ON payroll_entries
--sqlite: WHEN EXISTS (SELECT 1 FROM payroll_periods WHERE id = NEW.period AND status = 'closed')
--sqlite: BEGIN SELECT RAISE(ABORT, 'this period is closed'); END;
--sqlite: CREATE TRIGGER entries_stay_update BEFORE UPDATE OF period, user_id, hours_hundredths, earned_kopecks, bonus_kopecks,
--sqlite:   deduction_kopecks, total_kopecks ON payroll_entries
--sqlite: WHEN EXISTS (SELECT 1 FROM payroll_periods WHERE id IN (OLD.period, NEW.period) AND status = 'closed')
--sqlite: BEGIN SELECT RAISE(ABORT, 'this period is closed'); END;
--sqlite: CREATE TRIGGER entries_stay_delete BEFORE DELETE ON payroll_entries
--sqlite: WHEN EXISTS (SELECT 1 FROM payroll_periods WHERE id = OLD.period AND status = 'closed')
--sqlite: BEGIN SELECT RAISE(ABORT, 'this period is closed'); END;

-- A write into a period locks its row for sharing, so the period cannot be closed meanwhile.
--postgres: CREATE FUNCTION payroll_period_is_open() RETURNS trigger LANGUAGE plpgsql AS $$
--postgres: BEGIN
--postgres:   IF TG_OP <> 'INSERT' THEN
--postgres:     PERFORM 1 FROM payroll_periods WHERE id = OLD.period AND status = 'open' FOR SHARE;
--postgres:     IF NOT FOUND THEN RAISE EXCEPTION 'this period is closed'; END IF;
--postgres:   END IF;
--postgres:   IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
--postgres:   PERFORM 1 FROM payroll_periods WHERE id = NEW.period AND status = 'open' FOR SHARE;
--postgres:   IF NOT FOUND THEN RAISE EXCEPTION 'this period is closed'; END IF;
--postgres:   RETURN NEW;
--postgres: END $$;
--postgres: CREATE TRIGGER adjustments_stay BEFORE INSERT OR UPDATE OR DELETE ON adjustments
--postgres:   FOR EACH ROW EXECUTE FUNCTION payroll_period_is_open();
--postgres: CREATE TRIGGER entries_stay BEFORE INSERT OR DELETE OR UPDATE OF period, user_id, hours_hundredths, earned_kopecks,
--postgres:   bonus_kopecks, deduction_kopecks, total_kopecks ON payroll_entries
--postgres:   FOR EACH ROW EXECUTE FUNCTION payroll_period_is_open();
--postgres: CREATE FUNCTION payroll_period_stays() RETURNS trigger LANGUAGE plpgsql AS $$
--postgres: BEGIN RAISE EXCEPTION 'this period is closed'; END $$;
--postgres: CREATE TRIGGER periods_stay_closed BEFORE UPDATE ON payroll_periods
--postgres:   FOR EACH ROW WHEN (OLD.status = 'closed' AND (NEW.status <> 'open' OR NEW.id <> OLD.id))
--postgres:   EXECUTE FUNCTION payroll_period_stays();
--postgres: CREATE TRIGGER periods_stay BEFORE DELETE ON payroll_periods
--postgres:   FOR EACH ROW WHEN (OLD.status = 'closed') EXECUTE FUNCTION payroll_period_stays();
