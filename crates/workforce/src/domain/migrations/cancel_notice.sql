-- How many hours of notice were asked for when it was cancelled: the setting may be another one when it is judged.
ALTER TABLE plan_cancellations ADD COLUMN notice_hours BIGINT;
