//! Sends texts, locations, contacts and dice. Also the steps that all sending methods share.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::bot_api::call::Call;
use crate::bot_api::chats::{self, ChatRef};
use crate::bot_api::error::ApiError;
use crate::bot_api::texts::{self, TextInput};
use crate::bot_api::{
    MethodResult,
    parameters::{Ignored, QuickMarkup},
};
use crate::text::{GivenEntity, utf16_len};
use crate::world::content::{self, Content};
use crate::world::keyboard::GivenMarkup;
use crate::world::message::{Extra, Quote};
use crate::world::render::Audience;
use crate::world::{NewMessage, World};

/// Where a message goes.
#[derive(Debug, Deserialize)]
pub struct Target {
    pub business_connection_id: Option<String>,
    pub chat_id: ChatRef,
    pub message_thread_id: Option<i32>,
    #[allow(dead_code, reason = "known to Telegram, without effect here")]
    pub direct_messages_topic_id: Option<Ignored>,
}

/// Parameters that all sending methods share.
#[allow(dead_code, reason = "some are known to Telegram and without effect here")]
#[derive(Debug, Default, Deserialize)]
pub struct Options {
    pub disable_notification: Option<bool>,
    pub protect_content: Option<bool>,
    pub allow_paid_broadcast: Option<Ignored>,
    pub message_effect_id: Option<Box<str>>,
    pub suggested_post_parameters: Option<Ignored>,
    pub reply_parameters: Option<ReplyParameters>,
    pub reply_markup: Option<QuickMarkup<GivenMarkup>>,
}

impl Options {
    /// The options of a call, under their new or their old names.
    pub fn read(call: &Call) -> Result<Self, ApiError> {
        call.parameters.read::<Self>()?.with_former_names(call)
    }

    pub fn with_former_names(mut self, call: &Call) -> Result<Self, ApiError> {
        if self.reply_parameters.is_none() {
            let former: FormerReply = call.parameters.read()?;
            // Old bots send 0 for "no reply".
            let message_id = former.reply_to_message_id.filter(|id| *id > 0);
            self.reply_parameters = message_id.map(|message_id| ReplyParameters {
                message_id,
                chat_id: None,
                allow_sending_without_reply: former.allow_sending_without_reply.unwrap_or(false),
                quote: None,
            });
        }
        Ok(self)
    }
}

/// The old parameters for `reply_parameters`.
#[derive(Debug, Deserialize)]
struct FormerReply {
    reply_to_message_id: Option<i32>,
    allow_sending_without_reply: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub struct ReplyParameters {
    message_id: i32,
    chat_id: Option<ChatRef>,
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

/// The old parameter for `link_preview_options`.
#[derive(Debug, Deserialize)]
struct FormerPreview {
    disable_web_page_preview: Option<bool>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
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
    /// The preview options of a call, under their new or their old name.
    pub fn read(call: &Call) -> Result<Self, ApiError> {
        let mut preview: Self = call.parameters.read()?;
        if preview.link_preview_options.is_none() {
            let former: FormerPreview = call.parameters.read()?;
            let disabled = former.disable_web_page_preview.filter(|disabled| *disabled);
            preview.link_preview_options =
                disabled.map(|_| LinkPreview { is_disabled: Some(true), ..LinkPreview::default() });
        }
        Ok(preview)
    }

    /// The options as JSON for a message; none if the call has none.
    pub fn to_json(&self) -> Option<Box<RawValue>> {
        let json = serde_json::value::to_raw_value(self.link_preview_options.as_ref()?).ok();
        json.filter(|json| json.get() != "{}")
    }
}

pub fn message(world: &mut World, call: &Call) -> MethodResult {
    let target: Target = call.parameters.read()?;
    let chat_id = open(world, &target)?;
    let text: Text = call.parameters.read()?;
    let given = TextInput { text: &text.text, parse_mode: text.parse_mode.as_deref(), entities: text.entities };
    let content = Content::Text(texts::message_text(given)?);
    let preview = Preview::read(call)?;
    let mut envelope = envelope(world, chat_id, &target, Options::read(call)?)?;
    if let Some(options) = preview.to_json() {
        envelope.extra.get_or_insert_default().link_preview = Some(options);
    }
    post_and_render(world, chat_id, envelope, content)
}

/// Everything of a message except its content.
#[derive(Debug)]
pub struct Envelope {
    pub markup: Option<crate::world::keyboard::Markup>,
    pub extra: Option<Box<Extra>>,
}

const REPLY_ELSEWHERE: &str = "Not Implemented: replies to messages of another chat are not emulated yet";

/// The chat of a call, if the bot may write there.
pub fn open(world: &World, target: &Target) -> Result<i64, ApiError> {
    if target.business_connection_id.is_some() {
        return Err(ApiError::bad_request("business connection not found"));
    }
    Ok(chats::open(world, &target.chat_id)?.id)
}

/// Checks everything of a message except its content.
pub fn envelope(world: &World, chat_id: i64, target: &Target, options: Options) -> Result<Envelope, ApiError> {
    let chat = chats::find(world, &ChatRef::Id(chat_id))?;
    let mut extra = Extra {
        protected: options.protect_content.unwrap_or(false),
        effect_id: options.message_effect_id,
        ..Extra::default()
    };
    if let Some(thread) = target.message_thread_id {
        let topics = chat.group.as_ref().map(|group| &group.topics[..]).unwrap_or_default();
        if !topics.iter().any(|topic| topic.thread == thread) {
            return Err(ApiError::bad_request("message thread not found"));
        }
        extra.thread = Some(thread);
    }
    if let Some(reply) = options.reply_parameters {
        if let Some(other) = &reply.chat_id
            && chats::find(world, other)?.id != chat_id
        {
            return Err(ApiError::new(501, REPLY_ELSEWHERE));
        }
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
    let markup = options.reply_markup.map(|given| given.0.check(chat.is_private())).transpose()?.flatten();
    let plain = !extra.protected
        && extra.effect_id.is_none()
        && extra.thread.is_none()
        && extra.reply_to.is_none()
        && extra.quote.is_none();
    Ok(Envelope { markup, extra: (!plain).then(|| Box::new(extra)) })
}

fn quoted(message: &crate::world::message::Message, quote: String) -> Result<Quote, ApiError> {
    let text = message.content.text().map(|content| &*content.text).unwrap_or_default();
    let at = text.find(&quote).ok_or_else(|| ApiError::bad_request("QUOTE_TEXT_INVALID"))?;
    Ok(Quote { position: utf16_len(&text[..at]) as u32, text: quote.into() })
}

/// Posts the message and returns it as JSON.
pub fn post_and_render(world: &mut World, chat_id: i64, envelope: Envelope, content: Content) -> MethodResult {
    let id = post(world, chat_id, envelope, content)?;
    render_message(world, chat_id, id)
}

pub fn post(world: &mut World, chat_id: i64, envelope: Envelope, content: Content) -> Result<i32, ApiError> {
    let draft = NewMessage { from: world.me.id, content, markup: envelope.markup, extra: envelope.extra };
    world.post(chat_id, draft).ok_or_else(|| ApiError::bad_request("chat not found"))
}

/// A message as JSON, as the bot sees it.
pub fn render_message(world: &World, chat_id: i64, id: i32) -> MethodResult {
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

/// Reads target and options of a call, and posts the content.
fn simple(world: &mut World, call: &Call, content: Content) -> MethodResult {
    let target: Target = call.parameters.read()?;
    let chat_id = open(world, &target)?;
    let envelope = envelope(world, chat_id, &target, Options::read(call)?)?;
    post_and_render(world, chat_id, envelope, content)
}

pub fn location(world: &mut World, call: &Call) -> MethodResult {
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

pub fn venue(world: &mut World, call: &Call) -> MethodResult {
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

pub fn contact(world: &mut World, call: &Call) -> MethodResult {
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

pub fn dice(world: &mut World, call: &Call) -> MethodResult {
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
