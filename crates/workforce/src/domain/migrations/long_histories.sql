-- By which pages find what they show, however long a firm's history is.
CREATE INDEX shift_plans_by_time ON shift_plans (starts_at, site_id);
CREATE INDEX time_slots_deleted ON time_slots (site_id, deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX contracts_of_user ON contracts (user_id, id);
CREATE INDEX site_tasks_of_site ON site_tasks (site_id, place) WHERE slot_id IS NULL;
CREATE INDEX site_tasks_of_slot ON site_tasks (slot_id, place) WHERE slot_id IS NOT NULL;
CREATE INDEX payroll_entries_by_total ON payroll_entries (period, total_kopecks DESC, user_id);
CREATE INDEX payroll_entries_overpaid ON payroll_entries (user_id) WHERE paid_kopecks > total_kopecks;
-- Sums by day, and by person over some days, are read from the index alone.
DROP INDEX adjustments_by_day;
CREATE INDEX adjustments_by_day ON adjustments (day, user_id, kind, amount_kopecks, hours_hundredths)
  WHERE deleted_at IS NULL;
