//! Notices: what people are told in the chat.

mod chat_notices;
mod sent_after_response;
