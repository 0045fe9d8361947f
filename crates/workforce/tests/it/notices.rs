//! Notices: what people are told in the chat.

mod news_in_the_chat;
mod sent_after_response;
