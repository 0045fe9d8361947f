//! Texts, keyboards, shared contacts and locations, and a sending limit.

use std::sync::Arc;

use teloxide::prelude::*;
use teloxide::types::{
    ButtonRequest, ChatAction, Contact, InlineKeyboardButton, InlineKeyboardMarkup, KeyboardButton, KeyboardMarkup,
    KeyboardRemove, Location, Me, ParseMode, ReactionType, ReplyParameters,
};
use teloxide::RequestError;

use crate::{Done, Given};

pub async fn start(bot: Bot, me: Me, message: Message) -> Done {
    bot.send_chat_action(message.chat.id, ChatAction::Typing).await?;
    let choice =
        ["Yes", "No"].map(|word| InlineKeyboardButton::callback(word, format!("choice:{}", word.to_lowercase())));
    let site = InlineKeyboardButton::url("Site", "https://example.org/".parse()?);
    let keyboard = InlineKeyboardMarkup::new([choice.to_vec(), vec![site]]);
    let name = message.from.as_ref().map_or("?", |user| &user.first_name);
    let hello = format!("Hello, {name}! I am @{}", me.username());
    bot.send_message(message.chat.id, hello).reply_markup(keyboard).await?;
    Ok(())
}

pub async fn choose(bot: Bot, query: CallbackQuery) -> Done {
    let choice = query
        .data
        .as_deref()
        .and_then(|data| data.strip_prefix("choice:"))
        .ok_or("another button")?;
    bot.answer_callback_query(query.id.clone())
        .text(format!("You chose {choice}"))
        .show_alert(true)
        .await?;
    let message = query.regular_message().ok_or("a message out of reach")?;
    bot.edit_message_text(message.chat.id, message.id, format!("Chosen: {choice}"))
        .await?;
    Ok(())
}

pub async fn ask_contact(bot: Bot, message: Message) -> Done {
    let phone = KeyboardButton::new("My phone").request(ButtonRequest::Contact);
    let place = KeyboardButton::new("My place").request(ButtonRequest::Location);
    let keyboard = KeyboardMarkup::new([[phone], [place]])
        .resize_keyboard()
        .one_time_keyboard()
        .input_field_placeholder("Phone".to_owned());
    bot.send_message(message.chat.id, "Share your phone")
        .reply_markup(keyboard)
        .await?;
    Ok(())
}

pub async fn take_contact(bot: Bot, message: Message, contact: Contact) -> Done {
    let own = contact.user_id.is_some() && contact.user_id == message.from.as_ref().map(|user| user.id);
    let text = format!("contact {} {} own={own}", contact.phone_number, contact.first_name);
    bot.send_message(message.chat.id, text)
        .reply_markup(KeyboardRemove::new())
        .await?;
    Ok(())
}

pub async fn take_location(bot: Bot, message: Message, place: Location) -> Done {
    let text = format!("location {:.4} {:.4}", place.latitude, place.longitude);
    bot.send_message(message.chat.id, text).await?;
    bot.send_location(message.chat.id, place.latitude, place.longitude)
        .await?;
    Ok(())
}

pub async fn limit(bot: Bot, message: Message) -> Done {
    match bot.send_message(message.chat.id, "no limit reached").await {
        Err(RequestError::RetryAfter(wait)) => {
            tokio::time::sleep(wait.duration()).await;
            bot.send_message(message.chat.id, format!("waited {} s", wait.seconds()))
                .await?;
            Ok(())
        }
        other => Ok(other.map(drop)?),
    }
}

pub async fn html(bot: Bot, message: Message, given: Arc<Given>) -> Done {
    let sent = bot
        .send_message(message.chat.id, &given.html)
        .parse_mode(ParseMode::Html)
        .await?;
    bot.send_message(message.chat.id, listed(&sent)?).await?;
    Ok(())
}

pub async fn markdown(bot: Bot, message: Message, given: Arc<Given>) -> Done {
    let sent = bot
        .send_message(message.chat.id, &given.markdown)
        .parse_mode(ParseMode::MarkdownV2)
        .await?;
    bot.send_message(message.chat.id, listed(&sent)?).await?;
    Ok(())
}

pub async fn edited(bot: Bot, message: Message) -> Done {
    let reaction = ReactionType::Emoji {
        emoji: "👌".to_owned()
    };
    bot.set_message_reaction(message.chat.id, message.id)
        .reaction([reaction])
        .await?;
    let text = format!("edited: {}", message.text().unwrap_or_default());
    bot.send_message(message.chat.id, text)
        .reply_parameters(ReplyParameters::new(message.id))
        .await?;
    Ok(())
}

pub async fn any_text(bot: Bot, message: Message) -> Done {
    bot.send_message(message.chat.id, listed(&message)?).await?;
    Ok(())
}

/// The entities of a message with their positions in UTF-16 and what each spans.
fn listed(message: &Message) -> Result<String, serde_json::Error> {
    let spans = message.parse_entities().unwrap_or_default();
    let mut lines = Vec::new();
    for (entity, span) in message.entities().unwrap_or_default().iter().zip(spans) {
        let kind = serde_json::to_value(&entity.kind)?;
        let kind = kind["type"].as_str().unwrap_or("unnamed");
        lines.push(format!("{kind} {} {} {}", entity.offset, entity.length, span.text()));
    }
    Ok(if lines.is_empty() {
        "none".to_owned()
    } else {
        lines.join("\n")
    })
}
