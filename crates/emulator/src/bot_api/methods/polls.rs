//! Polls: sent, voted on by people, stopped by the bot.

use serde::Deserialize;
use serde_json::json;

use super::send::{Options, ReplyParameters, Target, envelope, open, post_and_render};
use crate::bot_api::MethodResult;
use crate::bot_api::call::Call;
use crate::bot_api::chats::{self, ChatRef};
use crate::bot_api::error::ApiError;
use crate::bot_api::parameters::{Ignored, QuickMarkup, TextOr};
use crate::bot_api::texts::{self, TextInput};
use crate::text::{GivenEntity, utf16_len};
use crate::world::World;
use crate::world::content::{self, Content, PollOption, TextWithEntities};
use crate::world::keyboard::GivenMarkup;
use crate::world::queue::Lane;
use crate::world::render::PollView;
use crate::world::update::UpdateKind;

const MAX_QUESTION: usize = 300;
const MAX_OPTION: usize = 100;
const MAX_EXPLANATION: usize = 200;
const OPTIONS: std::ops::RangeInclusive<usize> = 1..=12;

#[derive(Debug, Deserialize)]
pub struct PollTarget {
    business_connection_id: Option<String>,
    chat_id: ChatRef,
    message_thread_id: Option<i32>,
}

#[allow(dead_code, reason = "some are known to Telegram and without effect here")]
#[derive(Debug, Deserialize)]
pub struct Poll {
    question: String,
    question_parse_mode: Option<String>,
    question_entities: Option<Vec<GivenEntity>>,
    options: Vec<TextOr<GivenOption>>,
    is_anonymous: Option<bool>,
    r#type: Option<String>,
    allows_multiple_answers: Option<bool>,
    allows_revoting: Option<bool>,
    shuffle_options: Option<Ignored>,
    allow_adding_options: Option<Ignored>,
    hide_results_until_closes: Option<Ignored>,
    members_only: Option<bool>,
    country_codes: Option<Ignored>,
    correct_option_ids: Option<Vec<usize>>,
    explanation: Option<String>,
    explanation_parse_mode: Option<String>,
    explanation_entities: Option<Vec<GivenEntity>>,
    explanation_media: Option<Ignored>,
    open_period: Option<u32>,
    close_date: Option<i64>,
    is_closed: Option<bool>,
    description: Option<String>,
    description_parse_mode: Option<String>,
    description_entities: Option<Vec<GivenEntity>>,
    media: Option<Ignored>,
    disable_notification: Option<bool>,
    protect_content: Option<bool>,
    allow_paid_broadcast: Option<Ignored>,
    message_effect_id: Option<Box<str>>,
    reply_parameters: Option<ReplyParameters>,
    reply_markup: Option<QuickMarkup<GivenMarkup>>,
}

#[derive(Debug, Deserialize)]
struct GivenOption {
    text: String,
    text_parse_mode: Option<String>,
    text_entities: Option<Vec<GivenEntity>>,
}

pub fn send(world: &mut World, call: &Call) -> MethodResult {
    let to: PollTarget = call.parameters.read()?;
    let target = Target {
        business_connection_id: to.business_connection_id,
        chat_id: to.chat_id,
        message_thread_id: to.message_thread_id,
        direct_messages_topic_id: None,
    };
    let chat_id = open(world, &target)?;
    let mut given: Poll = call.parameters.read()?;
    let options = Options {
        protect_content: given.protect_content,
        message_effect_id: given.message_effect_id.take(),
        reply_parameters: given.reply_parameters.take(),
        reply_markup: given.reply_markup.take(),
        ..Options::default()
    };
    let envelope = envelope(world, chat_id, &target, options.with_former_names(call)?)?;
    let poll = poll(given, world.clock.now())?;
    post_and_render(world, chat_id, envelope, Content::Poll(Box::new(poll)))
}

fn poll(given: Poll, now: i64) -> Result<content::Poll, ApiError> {
    let quiz = match given.r#type.as_deref() {
        None | Some("regular") => false,
        Some("quiz") => true,
        Some(_) => return Err(ApiError::bad_request("unsupported poll type specified")),
    };
    let question = parse_text(Some(given.question), given.question_parse_mode, given.question_entities)?;
    let question = question.filter(|text| !text.text.is_empty());
    let question = question.ok_or_else(|| ApiError::bad_request("poll question must be non-empty"))?;
    at_most(&question, MAX_QUESTION, "poll question length must not exceed 300")?;
    if !OPTIONS.contains(&given.options.len()) {
        return Err(ApiError::bad_request("poll must have at least 1 and at most 12 answer options"));
    }
    let options = given.options.into_iter().enumerate().map(option).collect::<Result<Vec<_>, _>>()?;
    let correct = given.correct_option_ids.unwrap_or_default();
    if quiz && (correct.is_empty() || correct.iter().any(|id| *id >= options.len())) {
        return Err(ApiError::bad_request("wrong correct option ID specified"));
    }
    let explanation = parse_text(given.explanation, given.explanation_parse_mode, given.explanation_entities)?;
    if let Some(text) = &explanation {
        at_most(text, MAX_EXPLANATION, "explanation is too long")?;
    }
    Ok(content::Poll {
        id: content::Poll::new_id(),
        question,
        options,
        closed: given.is_closed.unwrap_or(false),
        anonymous: given.is_anonymous.unwrap_or(true),
        quiz,
        several_answers: given.allows_multiple_answers.unwrap_or(false),
        revoting: given.allows_revoting.unwrap_or(!quiz),
        members_only: given.members_only.unwrap_or(false),
        correct,
        explanation,
        description: parse_text(given.description, given.description_parse_mode, given.description_entities)?,
        open_period: given.open_period,
        close_date: content::closing(given.open_period, now).or(given.close_date),
    })
}

fn option((place, given): (usize, TextOr<GivenOption>)) -> Result<PollOption, ApiError> {
    let (text, mode, entities) = match given {
        TextOr::Text(text) => (text, None, None),
        TextOr::Full(full) => (full.text, full.text_parse_mode, full.text_entities),
    };
    let text = parse_text(Some(text), mode, entities)?.unwrap_or_default();
    if text.text.is_empty() {
        return Err(ApiError::bad_request("poll option must be non-empty"));
    }
    at_most(&text, MAX_OPTION, "poll options length must not exceed 100")?;
    Ok(PollOption { id: place.to_string(), text, voters: Vec::new() })
}

fn parse_text(
    text: Option<String>,
    parse_mode: Option<String>,
    entities: Option<Vec<GivenEntity>>,
) -> Result<Option<TextWithEntities>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    texts::parse(TextInput { text: &text, parse_mode: parse_mode.as_deref(), entities }).map(Some)
}

fn at_most(text: &TextWithEntities, most: usize, otherwise: &str) -> Result<(), ApiError> {
    if utf16_len(&text.text) <= most { Ok(()) } else { Err(ApiError::bad_request(otherwise)) }
}

#[derive(Debug, Deserialize)]
pub struct Stop {
    #[allow(dead_code, reason = "known to Telegram, without effect here")]
    business_connection_id: Option<Ignored>,
    chat_id: ChatRef,
    message_id: i32,
    reply_markup: Option<GivenMarkup>,
}

pub fn stop(world: &mut World, call: &Call) -> MethodResult {
    let given: Stop = call.parameters.read()?;
    let chat = chats::open(world, &given.chat_id)?;
    let chat_id = chat.id;
    let message = chat.message(given.message_id);
    let message = message.ok_or_else(|| ApiError::bad_request("message with poll to stop not found"))?;
    let Content::Poll(poll) = &message.content else {
        return Err(ApiError::bad_request("message with poll to stop not found"));
    };
    if message.from != world.me.id {
        return Err(ApiError::bad_request("poll can't be stopped"));
    }
    if poll.is_closed(world.clock.now()) {
        return Err(ApiError::bad_request("poll has already been closed"));
    }
    let markup = given.reply_markup.map(|given| given.check(chat.is_private())).transpose()?.flatten();
    world.change(chat_id, given.message_id, false, |message| {
        if let Content::Poll(poll) = &mut message.content {
            poll.closed = true;
        }
        message.markup = markup.map(Box::new);
    });
    let shown = match world.chat(chat_id).and_then(|chat| chat.message(given.message_id)).map(|it| &it.content) {
        Some(Content::Poll(poll)) => json!(PollView { world, poll, in_message: false }).to_string(),
        _ => return Err(ApiError::bad_request("message with poll to stop not found")),
    };
    world.queue_update(UpdateKind::Poll, Lane::Chat(chat_id), chat_id, shown.as_bytes());
    Ok(shown.into())
}
