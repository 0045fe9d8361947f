//! Saying things: texts, places, contacts, dice; and the way every message goes out.

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::bot_api::call::Call;
use crate::bot_api::chats::{self, ChatRef};
use crate::bot_api::error::ApiError;
use crate::bot_api::speech::{self, Given};
use crate::bot_api::{Outcome, parameters::Ignored};
use crate::text::{GivenEntity, utf16_len};
use crate::world::callback::Answer;
use crate::world::content::{self, Content};
use crate::world::keyboard::GivenMarkup;
use crate::world::message::{Extra, Quote};
use crate::world::render::Audience;
use crate::world::{Draft, World};

/// Where a message goes.
#[derive(Debug, Deserialize)]
pub struct Target {
    pub business_connection_id: Option<String>,
    pub chat_id: ChatRef,
    pub message_thread_id: Option<i32>,
    #[allow(dead_code, reason = "known to Telegram, without effect here")]
    pub direct_messages_topic_id: Option<Ignored>,
}

/// What every sending method takes besides.
#[allow(dead_code, reason = "some are known to Telegram and without effect here")]
#[derive(Debug, Default, Deserialize)]
pub struct Options {
    pub disable_notification: Option<bool>,
    pub protect_content: Option<bool>,
    pub allow_paid_broadcast: Option<Ignored>,
    pub message_effect_id: Option<Box<str>>,
    pub suggested_post_parameters: Option<Ignored>,
    pub reply_parameters: Option<ReplyParameters>,
    pub reply_markup: Option<GivenMarkup>,
}

#[derive(Debug, Deserialize)]
pub struct ReplyParameters {
    message_id: i32,
    #[serde(default)]
    allow_sending_without_reply: bool,
    quote: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Text {
    text: String,
    parse_mode: Option<String>,
    entities: Option<Vec<GivenEntity>>,
}

#[derive(Debug, Deserialize)]
pub struct Preview {
    link_preview_options: Option<LinkPreview>,
}

#[derive(Debug, Deserialize, Serialize)]
struct LinkPreview {
    #[serde(skip_serializing_if = "Option::is_none")]
    is_disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefer_small_media: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefer_large_media: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    show_above_text: Option<bool>,
}

impl Preview {
    /// The options as a message shows them; none where none were given.
    pub fn shown(&self) -> Option<Box<RawValue>> {
        let shown = serde_json::value::to_raw_value(self.link_preview_options.as_ref()?).ok();
        shown.filter(|shown| shown.get() != "{}")
    }
}

pub fn message(world: &mut World, call: &Call) -> Outcome {
    let target: Target = call.parameters.read()?;
    let chat_id = open(world, &target)?;
    let text: Text = call.parameters.read()?;
    let given = Given { text: &text.text, parse_mode: text.parse_mode.as_deref(), entities: text.entities };
    let content = Content::Text(speech::message_text(given)?);
    let mut options: Options = call.parameters.read()?;
    let preview: Preview = call.parameters.read()?;
    let mut envelope = envelope(world, chat_id, &target, &mut options)?;
    if let Some(options) = preview.shown() {
        envelope.extra.get_or_insert_default().link_preview = Some(options);
    }
    said(world, chat_id, envelope, content)
}

/// What surrounds a message's content.
#[derive(Debug)]
pub struct Envelope {
    pub markup: Option<crate::world::keyboard::Markup>,
    pub extra: Option<Box<Extra>>,
}

/// The chat that a call may write to.
pub fn open(world: &World, target: &Target) -> Result<i64, ApiError> {
    if target.business_connection_id.is_some() {
        return Err(ApiError::bad_request("business connection not found"));
    }
    Ok(chats::open(world, &target.chat_id)?.id)
}

/// Checks everything about a message but its content.
pub fn envelope(world: &World, chat_id: i64, target: &Target, options: &mut Options) -> Result<Envelope, ApiError> {
    let chat = chats::find(world, &ChatRef::Id(chat_id))?;
    let mut extra = Extra {
        protected: options.protect_content.unwrap_or(false),
        effect_id: options.message_effect_id.take(),
        ..Extra::default()
    };
    if let Some(thread) = target.message_thread_id {
        let topics = chat.group.as_ref().map(|group| &group.topics[..]).unwrap_or_default();
        if !topics.iter().any(|topic| topic.thread == thread) {
            return Err(ApiError::bad_request("message thread not found"));
        }
        extra.thread = Some(thread);
    }
    if let Some(reply) = options.reply_parameters.take() {
        match chat.message(reply.message_id) {
            Some(replied) => {
                extra.reply_to = Some(replied.id);
                extra.thread = extra.thread.or(replied.thread());
                extra.quote = reply.quote.map(|quote| quoted(replied, quote)).transpose()?;
            }
            None if reply.allow_sending_without_reply => {}
            None => return Err(ApiError::bad_request("message to be replied not found")),
        }
    }
    let markup = options.reply_markup.take().map(|given| given.check(chat.is_private())).transpose()?.flatten();
    let plain = !extra.protected
        && extra.effect_id.is_none()
        && extra.thread.is_none()
        && extra.reply_to.is_none()
        && extra.quote.is_none();
    Ok(Envelope { markup, extra: (!plain).then(|| Box::new(extra)) })
}

fn quoted(message: &crate::world::message::Message, quote: String) -> Result<Quote, ApiError> {
    let words = message.content.words().map(|words| &*words.text).unwrap_or_default();
    let at = words.find(&quote).ok_or_else(|| ApiError::bad_request("QUOTE_TEXT_INVALID"))?;
    Ok(Quote { position: utf16_len(&words[..at]) as u32, text: quote.into() })
}

/// Says the message and answers with it.
pub fn said(world: &mut World, chat_id: i64, envelope: Envelope, content: Content) -> Outcome {
    let id = post(world, chat_id, envelope, content)?;
    shown(world, chat_id, id)
}

pub fn post(world: &mut World, chat_id: i64, envelope: Envelope, content: Content) -> Result<i32, ApiError> {
    let draft = Draft { from: world.me.id, content, markup: envelope.markup, extra: envelope.extra };
    world.post(chat_id, draft).ok_or_else(|| ApiError::bad_request("chat not found"))
}

/// A message as the bot sees it.
pub fn shown(world: &World, chat_id: i64, id: i32) -> Outcome {
    world.rendered(chat_id, id, Audience::Bot).ok_or_else(|| ApiError::bad_request("message not found"))
}

#[derive(Debug, Deserialize)]
pub struct Location {
    latitude: f64,
    longitude: f64,
    horizontal_accuracy: Option<f64>,
    live_period: Option<u32>,
    heading: Option<u16>,
    proximity_alert_radius: Option<u32>,
}

fn place(latitude: f64, longitude: f64) -> Result<(f64, f64), ApiError> {
    let valid = (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude);
    if valid {
        Ok((latitude, longitude))
    } else {
        Err(ApiError::bad_request("wrong geolocation coordinates specified"))
    }
}

/// Reads where to and with what, and says it.
fn simple(world: &mut World, call: &Call, content: Content) -> Outcome {
    let target: Target = call.parameters.read()?;
    let chat_id = open(world, &target)?;
    let envelope = envelope(world, chat_id, &target, &mut call.parameters.read()?)?;
    said(world, chat_id, envelope, content)
}

pub fn location(world: &mut World, call: &Call) -> Outcome {
    open(world, &call.parameters.read()?)?;
    let given: Location = call.parameters.read()?;
    let (latitude, longitude) = place(given.latitude, given.longitude)?;
    let location = content::Location {
        latitude,
        longitude,
        horizontal_accuracy: given.horizontal_accuracy,
        live_period: given.live_period,
        heading: given.heading,
        proximity_alert_radius: given.proximity_alert_radius,
    };
    simple(world, call, Content::Location(Box::new(location)))
}

#[derive(Debug, Deserialize)]
pub struct Venue {
    latitude: f64,
    longitude: f64,
    title: String,
    address: String,
    foursquare_id: Option<String>,
    foursquare_type: Option<String>,
    google_place_id: Option<String>,
    google_place_type: Option<String>,
}

pub fn venue(world: &mut World, call: &Call) -> Outcome {
    open(world, &call.parameters.read()?)?;
    let given: Venue = call.parameters.read()?;
    let (latitude, longitude) = place(given.latitude, given.longitude)?;
    let location = content::Location {
        latitude,
        longitude,
        horizontal_accuracy: None,
        live_period: None,
        heading: None,
        proximity_alert_radius: None,
    };
    let venue = content::Venue {
        location,
        title: given.title,
        address: given.address,
        foursquare_id: given.foursquare_id,
        foursquare_type: given.foursquare_type,
        google_place_id: given.google_place_id,
        google_place_type: given.google_place_type,
    };
    simple(world, call, Content::Venue(Box::new(venue)))
}

#[derive(Debug, Deserialize)]
pub struct Contact {
    phone_number: String,
    first_name: String,
    last_name: Option<String>,
    vcard: Option<String>,
}

pub fn contact(world: &mut World, call: &Call) -> Outcome {
    open(world, &call.parameters.read()?)?;
    let given: Contact = call.parameters.read()?;
    let contact = content::Contact {
        phone_number: given.phone_number,
        first_name: given.first_name,
        last_name: given.last_name,
        user_id: None,
        vcard: given.vcard,
    };
    simple(world, call, Content::Contact(Box::new(contact)))
}

#[derive(Debug, Deserialize)]
pub struct Dice {
    emoji: Option<String>,
}

pub fn dice(world: &mut World, call: &Call) -> Outcome {
    open(world, &call.parameters.read()?)?;
    let given: Dice = call.parameters.read()?;
    let emoji = given.emoji.unwrap_or_else(|| "🎲".to_owned());
    let sides = match emoji.trim_end_matches('\u{fe0f}') {
        "🎲" | "🎯" | "🎳" => 6,
        "🏀" | "⚽" => 5,
        "🎰" => 64,
        _ => return Err(ApiError::bad_request("DICE_EMOTICON_INVALID")),
    };
    simple(world, call, Content::Dice(Box::new(content::Dice { emoji, value: fastrand::u8(1..=sides) })))
}

#[derive(Debug, Deserialize)]
pub struct Action {
    #[allow(dead_code, reason = "known to Telegram, without effect here")]
    business_connection_id: Option<Ignored>,
    chat_id: ChatRef,
    message_thread_id: Option<i32>,
    action: String,
}

const ACTIONS: [&str; 11] = [
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
];

pub fn chat_action(world: &mut World, call: &Call) -> Outcome {
    let given: Action = call.parameters.read()?;
    let chat_id = chats::open(world, &given.chat_id)?.id;
    if !ACTIONS.contains(&given.action.as_str()) {
        return Err(ApiError::bad_request("wrong parameter action in request"));
    }
    world.events.tell(
        "chat_action",
        || json!({"chat_id": chat_id, "message_thread_id": given.message_thread_id, "action": given.action}),
    );
    Ok(b"true".to_vec())
}

#[derive(Debug, Deserialize)]
pub struct CallbackAnswer {
    callback_query_id: String,
    text: Option<String>,
    show_alert: Option<bool>,
    url: Option<String>,
    cache_time: Option<u32>,
}

const MAX_CALLBACK_TEXT: usize = 200;

pub fn answer_callback_query(world: &mut World, call: &Call) -> Outcome {
    let given: CallbackAnswer = call.parameters.read()?;
    if given.text.as_ref().is_some_and(|text| text.chars().count() > MAX_CALLBACK_TEXT) {
        return Err(ApiError::bad_request("MESSAGE_TOO_LONG"));
    }
    let answer = Answer {
        text: given.text,
        show_alert: given.show_alert.unwrap_or(false),
        url: given.url,
        cache_time: given.cache_time.unwrap_or(0),
    };
    let now_ms = world.clock.now_ms();
    let press = world
        .presses
        .answer(&given.callback_query_id, &answer, now_ms)
        .ok_or_else(|| ApiError::bad_request("query is too old and response timeout expired or query ID is invalid"))?;
    world.events.tell("callback_answer", || {
        json!({
            "callback_query_id": given.callback_query_id, "user_id": press.user, "chat_id": press.chat,
            "message_id": press.message, "text": answer.text, "show_alert": answer.show_alert, "url": answer.url,
        })
    });
    Ok(b"true".to_vec())
}
