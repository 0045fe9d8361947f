-- Late starts are few, and counted for charts: they are found without the others.
CREATE INDEX shifts_late ON shifts (started_at)
  WHERE penalises_lateness AND started_at - planned_start >= (late_threshold_minutes + 1) * 60000;
