-- From when on somebody is awaited who was told of the hours of a plan when these had begun: the slot was moved, or came back.
ALTER TABLE shift_plans ADD COLUMN awaited_from BIGINT;
