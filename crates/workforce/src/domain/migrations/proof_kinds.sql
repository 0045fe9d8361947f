-- As what the proof of a reason was sent: by its id Telegram shows it again only as that. Unknown for those of before.
ALTER TABLE plan_cancellations ADD COLUMN photo_kind TEXT CHECK (photo_kind IN ('photo', 'document'));
