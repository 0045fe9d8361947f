//! The dialogue in which a dispatcher creates an order: one question after another, a summary in which every answer can
//! be changed, and one commit at the end.
//!
//! The states have the names of the aiogram bot that it replaces. Every state has the whole draft. If saving fails, the
//! library keeps the draft and offers to try again.

use std::time::Duration;

use opora::prelude::*;

use self::draft::{DraftFile, Field, is_too_large};
pub use self::draft::{OrderDraft, request_files};
use super::dispatcher;
use crate::application::App;
use crate::attachments;
use crate::front::navigation::{self, BACK};
use crate::front::{self, reply};
use crate::orders::{FileKind, MAX_FILES};
use crate::texts::MENU;
use crate::{key, text};

mod draft;
mod known_client;
mod questions;
mod summary;

pub const BEGIN: &str = "orders:new";
const SKIP: &str = "draft:skip";
const KEEP: &str = "draft:keep";
const TYPE: &str = "draft:type:";
const WHEN: &str = "draft:when:";
const USE_NAME: &str = "draft:name";
const USE_ADDRESS: &str = "draft:address:";
const GO_ON: &str = "draft:go";
const EDIT: &str = "draft:edit:";
const YES: &str = "draft:yes";
const CONTINUE: &str = "draft:continue";
const DISCARD: &str = "draft:discard";

/// How long a draft waits for the next answer.
const EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);

type AskResult = Result<(), BoxError>;

/// The states of the dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "CreateOrderStates")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum CreateOrderStates {
    EquipmentType(OrderDraft),
    Description(OrderDraft),
    ClientName(OrderDraft),
    ClientAddress(OrderDraft),
    ClientPhone(OrderDraft),
    /// The phone belongs to a client of earlier orders.
    KnownClient(OrderDraft),
    Notes(OrderDraft),
    ScheduledTime(OrderDraft),
    Confirm(OrderDraft),
    /// The dispatcher has left the questions for something else.
    Paused(OrderDraft),
}

impl CreateOrderStates {
    fn field(&self) -> Option<Field> {
        Field::of_name(States::name(self))
    }

    fn draft_mut(&mut self) -> &mut OrderDraft {
        match self {
            Self::EquipmentType(draft)
            | Self::Description(draft)
            | Self::ClientName(draft)
            | Self::ClientAddress(draft)
            | Self::ClientPhone(draft)
            | Self::KnownClient(draft)
            | Self::Notes(draft)
            | Self::ScheduledTime(draft)
            | Self::Confirm(draft)
            | Self::Paused(draft) => draft,
        }
    }

    fn into_draft(mut self) -> OrderDraft {
        std::mem::take(self.draft_mut())
    }
}

pub fn dialogue() -> Dialogue<CreateOrderStates> {
    let dialogue = Dialogue::new()
        .start(button(BEGIN), begin)
        .ask(CreateOrderStates::EQUIPMENT_TYPE, questions::ask_equipment)
        .on(CreateOrderStates::EQUIPMENT_TYPE, button(TYPE), questions::equipment)
        .ask(CreateOrderStates::DESCRIPTION, questions::ask_description)
        .ask(CreateOrderStates::CLIENT_NAME, questions::ask_name)
        .ask(CreateOrderStates::CLIENT_ADDRESS, questions::ask_address)
        .on(CreateOrderStates::CLIENT_ADDRESS, location(), questions::position)
        .ask(CreateOrderStates::CLIENT_PHONE, questions::ask_phone)
        .on(CreateOrderStates::CLIENT_PHONE, contact(), questions::contact)
        .ask(CreateOrderStates::KNOWN_CLIENT, known_client::ask)
        .on(CreateOrderStates::KNOWN_CLIENT, button(USE_NAME), known_client::use_name)
        .on(CreateOrderStates::KNOWN_CLIENT, button(USE_ADDRESS), known_client::use_address)
        .on(CreateOrderStates::KNOWN_CLIENT, button(GO_ON), known_client::go_on)
        .ask(CreateOrderStates::NOTES, questions::ask_notes)
        .ask(CreateOrderStates::SCHEDULED_TIME, questions::ask_time)
        .on(CreateOrderStates::SCHEDULED_TIME, button(WHEN), questions::chosen_time)
        .ask(CreateOrderStates::CONFIRM, summary::ask)
        .on(CreateOrderStates::CONFIRM, button(EDIT), summary::edit)
        .on(CreateOrderStates::CONFIRM, button(YES), summary::yes)
        .ask(CreateOrderStates::PAUSED, ask_paused)
        .on(CreateOrderStates::PAUSED, button(CONTINUE), resume)
        .on(CreateOrderStates::PAUSED, button(MENU), show_menu);
    attachments::handle_downloads(files(dialogue))
        .on_any_state(text(), questions::typed)
        .on_any_state(button(SKIP), questions::skip)
        .on_any_state(button(KEEP), questions::keep)
        .on_any_state(button(BACK), back)
        .on_any_state(button(BEGIN), pause)
        .on_any_state(button(MENU), pause)
        .on_any_state(button(DISCARD), discard)
        .fallback(questions::otherwise)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
        .on_cancel(cancelled)
}

/// Photos, videos, files and voice messages are added at every question.
fn files(dialogue: Dialogue<CreateOrderStates>) -> Dialogue<CreateOrderStates> {
    dialogue
        .on_any_state(photo(), photo_sent)
        .on_any_state(document(), document_sent)
        .on_any_state(media(), media_sent)
        .on_any_state(album(), album_sent)
}

async fn begin(turn: &mut Turn, _: Press) -> Step<CreateOrderStates> {
    let Some(_) = dispatcher(turn).await? else { return Ok(Next::Stay) };
    Ok(Next::Go(CreateOrderStates::EquipmentType(OrderDraft::default())))
}

/// Leaves the questions; the draft stays.
async fn pause(_: &mut Turn, state: CreateOrderStates, _: Press) -> Step<CreateOrderStates> {
    Ok(Next::Go(CreateOrderStates::Paused(state.into_draft())))
}

async fn ask_paused(turn: &mut Turn, draft: OrderDraft) -> AskResult {
    let Some(person) = dispatcher(turn).await? else { return Ok(()) };
    let language = person.language;
    let equipment = draft.equipment_type.unwrap_or_else(|| "–".to_owned());
    let text = text!(language, "orders-draft-paused", equipment = equipment);
    let go_on = Button::new(text!(language, "orders-draft-continue-button"), CONTINUE);
    let discard = Button::new(text!(language, "orders-draft-discard-button"), DISCARD);
    reply::show(turn, text, vec![vec![go_on], vec![discard], vec![navigation::menu_of_question(language)]]);
    Ok(())
}

async fn resume(_: &mut Turn, draft: OrderDraft, _: Press) -> Step<CreateOrderStates> {
    // The first question without an answer, or the summary.
    Ok(Next::Go(draft.after(Field::EquipmentType)))
}

async fn show_menu(turn: &mut Turn, _: OrderDraft, _: Press) -> Step<CreateOrderStates> {
    front::show_menu(turn).await?;
    Ok(Next::Stay)
}

/// One step back. From a question that is asked again, back to the summary.
async fn back(turn: &mut Turn, state: CreateOrderStates, press: Press) -> Step<CreateOrderStates> {
    let field = state.field();
    let before = match &state {
        CreateOrderStates::KnownClient(_) => Some(Field::ClientPhone),
        CreateOrderStates::Confirm(_) => Some(Field::ScheduledTime),
        CreateOrderStates::Paused(_) => return Ok(Next::AskAgain),
        _ => field.and_then(Field::before),
    };
    let mut draft = state.into_draft();
    if field.is_some() && draft.is_complete {
        return Ok(Next::Go(CreateOrderStates::Confirm(draft)));
    }
    draft.is_complete = false;
    match before {
        Some(field) => Ok(Next::Go(field.state(draft))),
        None => navigation::back_to_menu(turn, press).await,
    }
}

async fn discard(turn: &mut Turn, _: CreateOrderStates, _: Press) -> Step<CreateOrderStates> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    navigation::show_final(turn, text!(language, "orders-new-stopped"), language);
    Ok(Next::End)
}

async fn cancelled(turn: &mut Turn, _: CreateOrderStates) -> AskResult {
    navigation::say_cancelled(turn, key!("orders-new-stopped")).await
}

async fn timed_out(turn: &mut Turn, _: CreateOrderStates) -> Step<CreateOrderStates> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let again = Button::raw(text!(language, "orders-new-button"), BEGIN);
    let text = text!(language, "orders-new-timed-out");
    turn.say(navigation::final_message_with(text, [again], language));
    Ok(Next::End)
}

async fn photo_sent(turn: &mut Turn, state: CreateOrderStates, photo: Photo) -> Step<CreateOrderStates> {
    add_files(turn, state, vec![Item::Photo(photo)]).await
}

async fn document_sent(turn: &mut Turn, state: CreateOrderStates, file: Document) -> Step<CreateOrderStates> {
    add_files(turn, state, vec![Item::Document(file)]).await
}

async fn media_sent(turn: &mut Turn, state: CreateOrderStates, media: Media) -> Step<CreateOrderStates> {
    add_files(turn, state, vec![Item::Media(media)]).await
}

async fn album_sent(turn: &mut Turn, state: CreateOrderStates, album: Album) -> Step<CreateOrderStates> {
    add_files(turn, state, album.items).await
}

async fn add_files(turn: &mut Turn, mut state: CreateOrderStates, sent: Vec<Item>) -> Step<CreateOrderStates> {
    let Some(person) = dispatcher(turn).await? else { return Ok(Next::End) };
    let language = person.language;
    let sent: Vec<_> = sent.into_iter().map(file_of).collect();
    if sent.iter().any(Option::is_none) {
        turn.say(text!(language, "orders-file-unknown"));
    }
    let (large, small): (Vec<_>, Vec<_>) = sent.into_iter().flatten().partition(is_too_large);
    if !large.is_empty() {
        turn.say(text!(language, "orders-file-too-large", most = attachments::MAX_FILE_BYTES / 1_000_000));
    }
    let draft = state.draft_mut();
    if !draft.add_files(small) {
        turn.say(text!(language, "orders-files-full", most = MAX_FILES));
    }
    turn.say(text!(language, "orders-files-added", count = draft.files.len()));
    Ok(Next::Go(state))
}

/// What was sent; none for stickers and the like.
pub fn file_of(item: Item) -> Option<DraftFile> {
    Some(match item {
        Item::Photo(photo) => DraftFile {
            kind: FileKind::Photo,
            telegram_file: photo.file_id,
            unique_id: photo.unique_id,
            size: photo.size,
        },
        Item::Document(file) => DraftFile {
            kind: FileKind::Document,
            telegram_file: file.file_id,
            unique_id: file.unique_id,
            size: file.size,
        },
        Item::Media(media) => {
            let kind = match media.kind {
                "video" => FileKind::Video,
                "voice" => FileKind::Voice,
                _ => return None,
            };
            DraftFile { kind, telegram_file: media.file_id, unique_id: media.unique_id, size: media.size }
        }
    })
}
