//! What Telegram refuses, and the error that each refusal becomes.

use std::fmt::Debug;
use std::future::IntoFuture;

use teloxide::payloads::{SendMessage, SendMessageSetters};
use teloxide::prelude::*;
use teloxide::requests::{JsonRequest, Payload};
use teloxide::types::{
    CallbackQueryId, FileId, InlineKeyboardButton, InlineKeyboardMarkup, InputFile, MessageId, ParseMode,
    ReplyParameters, True,
};
use teloxide::{ApiError, RequestError};

use crate::Done;

const NOWHERE: MessageId = MessageId(999_999);

#[derive(Clone, serde::Serialize)]
struct NoSuchMethod {}

impl Payload for NoSuchMethod {
    type Output = True;
    const NAME: &'static str = "noSuchMethod";
}

pub async fn provoke(bot: Bot, message: Message, blocked_by: i64) -> Done {
    let chat = message.chat.id;
    let sent = bot.send_message(chat, "the same").await?;
    let say = |text: &str| JsonRequest::new(bot.clone(), SendMessage::new(chat, text));
    let long = InlineKeyboardMarkup::new([[InlineKeyboardButton::callback("Long", "x".repeat(65))]]);
    let nonsense = InputFile::file_id(FileId("nonsense".to_owned()));
    let lines = [
        refused("no chat", bot.send_message(ChatId(404), "hello")).await,
        refused("not modified", bot.edit_message_text(chat, sent.id, "the same")).await,
        refused("blocked", bot.send_message(ChatId(blocked_by), "hello")).await,
        refused("entities", say("<b>open").parse_mode(ParseMode::Html)).await,
        refused("no message to edit", bot.edit_message_text(chat, NOWHERE, "new")).await,
        refused("no message to delete", bot.delete_message(chat, NOWHERE)).await,
        refused(
            "no message to reply to",
            say("hi").reply_parameters(ReplyParameters::new(NOWHERE)),
        )
        .await,
        refused("too long", say(&"x".repeat(4097))).await,
        refused("no file", bot.send_photo(chat, nonsense)).await,
        refused("button data", say("button").reply_markup(long)).await,
        refused("old query", bot.answer_callback_query(CallbackQueryId("1".to_owned()))).await,
        refused("revoked token", bot.get_my_commands()).await,
        refused("no method", JsonRequest::new(bot.clone(), NoSuchMethod {})).await,
    ];
    bot.send_message(chat, lines.join("\n")).await?;
    Ok(())
}

async fn refused<T: Debug>(name: &str, attempt: impl IntoFuture<Output = Result<T, RequestError>>) -> String {
    let kind = match attempt.await {
        Ok(_) => "none".to_owned(),
        Err(RequestError::Api(ApiError::CantParseEntities(_))) => "CantParseEntities".to_owned(),
        Err(RequestError::Api(ApiError::Unknown(_))) => "Unknown".to_owned(),
        Err(RequestError::Api(error)) => format!("{error:?}"),
        Err(other) => other.to_string(),
    };
    format!("{name}: {kind}")
}
