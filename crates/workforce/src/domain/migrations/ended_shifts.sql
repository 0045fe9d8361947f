-- What has ended lately is looked after every few minutes, however long the history is.
CREATE INDEX shifts_ended ON shifts (ended_at);
