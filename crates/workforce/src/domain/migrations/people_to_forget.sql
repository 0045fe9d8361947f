-- Accounts of people who are forgotten and of whom the bot still keeps conversations: the instance that leads removes these,
-- and then the row.
CREATE TABLE people_to_forget (
  telegram_id BIGINT PRIMARY KEY,
  asked_at BIGINT NOT NULL
);
