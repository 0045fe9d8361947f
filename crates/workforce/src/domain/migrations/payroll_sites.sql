-- Where an amount was earned, so that those who see the finances of a site see what was earned there. Rows that were there
-- before get it by their shift or plan. Months that are closed get it too: no amount changes, so what guards them stands aside.
ALTER TABLE adjustments ADD COLUMN site_id BIGINT;
--sqlite: DROP TRIGGER adjustments_stay_update;
--postgres: ALTER TABLE adjustments DISABLE TRIGGER adjustments_stay;
UPDATE adjustments SET site_id = coalesce(
  (SELECT shifts.site_id FROM shifts WHERE shifts.id = adjustments.shift_id),
  (SELECT shift_plans.site_id FROM shift_plans WHERE shift_plans.id = adjustments.plan_id))
  WHERE shift_id IS NOT NULL OR plan_id IS NOT NULL;
--postgres: ALTER TABLE adjustments ENABLE TRIGGER adjustments_stay;
--sqlite: CREATE TRIGGER adjustments_stay_update BEFORE UPDATE ON adjustments
--sqlite: WHEN EXISTS (SELECT 1 FROM payroll_periods WHERE id IN (OLD.period, NEW.period) AND status = 'closed')
--sqlite: BEGIN SELECT RAISE(ABORT, 'this period is closed'); END;
CREATE INDEX adjustments_by_site ON adjustments (site_id, period, user_id) WHERE site_id IS NOT NULL;
