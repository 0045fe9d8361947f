-- The days {from}..{to} since 1970: slots, plans, shifts, tasks, openings and amounts. A day has {per_day} slots: one at
-- every site in the morning, the rest in the evening. No person works twice a day. Days before {today} are over; today
-- people are at work; later days are planned.
CREATE TEMPORARY TABLE work ON COMMIT DROP AS
SELECT id, d, k, site_id, user_id, starts_minute, ends_minute, starts_at, ends_at, late_ms, day, substr(day, 1, 7) AS period,
  CASE WHEN d < {today} THEN 'completed' WHEN d = {today} AND k % 5 < 3 THEN 'in_progress' ELSE 'planned' END AS status,
  starts_at + late_ms AS began_at, ends_at + (k % 7) * 60000 AS over_at
FROM (SELECT (d - 15000) * 1000 + k AS id, d, k, 1 + k % {sites} AS site_id,
    10000 + {owners} + {managers} + (d * {per_day} + k) % ({people} - {owners} - {managers}) AS user_id,
    starts_minute, ends_minute, to_char(date '1970-01-01' + d::int, 'YYYY-MM-DD') AS day,
    d * 86400000 + (starts_minute - 180) * 60000 AS starts_at, d * 86400000 + (ends_minute - 180) * 60000 AS ends_at,
    CASE WHEN (d + k) % 10 = 0 THEN (6 + k % 9) * 60000 ELSE 0 END AS late_ms
  FROM (SELECT d::bigint AS d, k::bigint AS k, CASE WHEN k < {sites} THEN 480 ELSE 960 END AS starts_minute,
      CASE WHEN k < {sites} THEN 960 ELSE 1380 END AS ends_minute
    FROM generate_series({from}, {to} - 1) AS d, generate_series(0, {per_day} - 1) AS k) AS slots) AS placed;
CREATE INDEX ON work (id);
ANALYZE work;

INSERT INTO time_slots (id, site_id, day, starts_minute, ends_minute, starts_at, ends_at, capacity, taken, created_at, updated_at)
SELECT id, site_id, day, starts_minute, ends_minute, starts_at, ends_at, 2, 1, starts_at, starts_at FROM work;

INSERT INTO site_tasks (id, site_id, slot_id, place, text, amount_kopecks, created_at, updated_at)
SELECT id, site_id, id, 1, 'Принять поставку', 20000, starts_at, starts_at FROM work WHERE k % 20 = 1;

INSERT INTO shift_plans (id, user_id, slot_id, site_id, starts_at, ends_at, status, created_at, updated_at)
SELECT id, user_id, id, site_id, starts_at, ends_at, status, starts_at, starts_at FROM work;

-- People with future plans get a contract: a calendar marks those without one.
INSERT INTO contract_sites (contract_id, site_id, user_id, is_active)
SELECT DISTINCT user_id, site_id, user_id, TRUE FROM work WHERE status = 'planned' ON CONFLICT DO NOTHING;

-- Cancelled plans. The reasons of the last days are not judged yet.
INSERT INTO shift_plans (id, user_id, slot_id, site_id, starts_at, ends_at, status, created_at, updated_at)
SELECT id + 500, user_id, id, site_id, starts_at, ends_at, 'cancelled', starts_at, starts_at FROM work WHERE k % 50 = 0;
INSERT INTO plan_cancellations (plan_id, user_id, reason, words, is_short_notice, cancelled_at, status, decided_by, decided_at)
SELECT id + 500, user_id, 'illness', 'Заболела собака', TRUE, starts_at,
  CASE WHEN d < {today} - 2 THEN 'accepted' ELSE 'pending' END, CASE WHEN d < {today} - 2 THEN 10000 END,
  CASE WHEN d < {today} - 2 THEN starts_at END
FROM work WHERE k % 50 = 0;

INSERT INTO shifts (id, user_id, site_id, slot_id, plan_id, contract_id, status, planned_start, planned_end, started_at,
  ended_at, rate_kopecks, penalises_lateness, late_threshold_minutes, late_minute_kopecks, opened_latitude, opened_longitude,
  closed_latitude, closed_longitude, closed_by)
SELECT id, user_id, site_id, id, id, user_id, CASE WHEN d < {today} THEN 'completed' ELSE 'active' END, starts_at, ends_at,
  began_at, CASE WHEN d < {today} THEN over_at END, 28000, TRUE, 5, 1000, 55.75, 37.6, 55.75, 37.6,
  CASE WHEN d < {today} THEN 'person' END
FROM work WHERE status <> 'planned';

INSERT INTO shift_tasks (id, shift_id, task_id, source, place, text, amount_kopecks, is_mandatory, needs_media, media_count,
  done_at)
SELECT work.id * 4 + place, work.id, task.id, 'site', place, text, amount_kopecks, is_mandatory, needs_media, 1,
  CASE WHEN (k + place) % 3 <> 0 THEN began_at + 3600000 END
FROM work JOIN site_tasks AS task USING (site_id) WHERE slot_id IS NULL AND status <> 'planned';
INSERT INTO task_media (shift_task_id, kind, telegram_file, unique_id, created_at)
SELECT id * 4 + 1, 'photo', 'AgACAgIAAxkBAAIBY2' || id, 'AQADy' || id, began_at + 3600000 FROM work WHERE status <> 'planned';

INSERT INTO site_openings (site_id, opened_by, opened_at, closed_by, closed_at)
SELECT site_id, user_id, began_at, CASE WHEN d < {today} THEN user_id END, CASE WHEN d < {today} THEN over_at END
FROM work WHERE k < {sites} AND status <> 'planned';

INSERT INTO payroll_periods (id) SELECT DISTINCT period FROM work ON CONFLICT DO NOTHING;
INSERT INTO adjustments (user_id, period, day, kind, amount_kopecks, hours_hundredths, shift_id, task_id, site_id, basis,
  created_at)
SELECT user_id, period, day, 'shift_base', 280 * hours, hours, id, NULL::bigint, site_id,
  '{"by":"hours","seconds":' || 36 * hours || ',"hours":' || hours || ',"rate":28000}', over_at
FROM (SELECT *, (over_at - began_at) / 36000 AS hours FROM work WHERE status = 'completed') AS worked
UNION ALL
SELECT user_id, period, day, 'late_start', -1000 * (late_ms / 60000 - 5), 0, id, NULL, site_id,
  '{"by":"lateness","minutes":' || late_ms / 60000 - 5 || ',"threshold_minutes":5,"penalty_per_minute":1000}', over_at
FROM work WHERE status = 'completed' AND late_ms > 0
UNION ALL
SELECT user_id, period, day, 'task_bonus', 15000, 0, id, id * 4 + 1, site_id,
  '{"by":"task","text":"Помыть кофемашину","price":15000,"is_done":true}', over_at
FROM work WHERE status = 'completed' AND (k + 1) % 3 <> 0
UNION ALL
SELECT user_id, period, day, CASE WHEN (k + 2) % 3 = 0 THEN 'task_penalty' ELSE 'task_completed' END,
  CASE WHEN (k + 2) % 3 = 0 THEN -20000 ELSE 0 END, 0, id, id * 4 + 2, site_id,
  '{"by":"task","text":"Пересчитать кассу","price":-20000,"is_done":' || ((k + 2) % 3 <> 0) || '}', over_at
FROM work WHERE status = 'completed';
INSERT INTO adjustments (user_id, period, day, kind, amount_kopecks, basis, reason, created_at, created_by)
SELECT user_id, period, day, 'manual_bonus', 50000, '{"by":"hand"}', 'Довольный гость', over_at, 10000
FROM work WHERE status = 'completed' AND k % 40 = 0;
INSERT INTO adjustment_changes (adjustment_id, at, by_id, deed, amount_kopecks, reason)
SELECT id, created_at, 10000, 'added', amount_kopecks, reason FROM adjustments
WHERE kind = 'manual_bonus' AND day IN (SELECT day FROM work);

INSERT INTO payroll_entries (period, user_id, hours_hundredths, earned_kopecks, bonus_kopecks, deduction_kopecks, total_kopecks)
SELECT period, user_id, hours, earned, bonus, deduction, earned + bonus + deduction
FROM (SELECT period, user_id, SUM(hours_hundredths) AS hours,
    SUM(amount_kopecks) FILTER (WHERE kind = 'shift_base') AS earned,
    COALESCE(SUM(amount_kopecks) FILTER (WHERE kind <> 'shift_base' AND amount_kopecks >= 0), 0) AS bonus,
    COALESCE(SUM(amount_kopecks) FILTER (WHERE amount_kopecks < 0), 0) AS deduction
  FROM adjustments WHERE period IN (SELECT DISTINCT period FROM work) GROUP BY period, user_id) AS sums
ON CONFLICT (period, user_id) DO UPDATE SET hours_hundredths = excluded.hours_hundredths,
  earned_kopecks = excluded.earned_kopecks, bonus_kopecks = excluded.bonus_kopecks,
  deduction_kopecks = excluded.deduction_kopecks, total_kopecks = excluded.total_kopecks;
INSERT INTO payments (period, user_id, amount_kopecks, paid_at, paid_by)
SELECT period, user_id, total_kopecks, {now}, 10000 FROM payroll_entries
WHERE total_kopecks > 0 AND paid_kopecks = 0 AND period < to_char(date '1970-01-01' + {today}, 'YYYY-MM');
UPDATE payroll_entries SET paid_kopecks = total_kopecks
WHERE total_kopecks > 0 AND paid_kopecks = 0 AND period < to_char(date '1970-01-01' + {today}, 'YYYY-MM');

-- Every day an owner changes a permission of the first manager, and a setting.
INSERT INTO audit (at, actor, action, subject_kind, subject_id, detail)
SELECT starts_at, 10000, 'permissions given', 'manager', 10000 + {owners},
  '{"site": 1, "place": "Кофейня № 1", "before": ["view"], "allowed": ["view", "edit"]}' FROM work WHERE k = 0;
INSERT INTO settings_history (name, old_value, new_value, changed_at, changed_by)
SELECT 'cancel_notice_hours', '12', '24', starts_at, 10000 FROM work WHERE k = 0;
