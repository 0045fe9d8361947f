//! Notices: what people are told in the chat.

pub mod chat_notices;
mod daily_summary;
mod order;
mod quiet_hours;
mod sent_after_response;
