//! The dialogue of a registration: its states and their handlers.

use std::path::PathBuf;
use std::time::Duration;

use opora::prelude::*;

use super::draft::DraftStep;
use super::{DocumentKind, Draft, consent, file_effects, questions, saving};
use crate::front::reply;
use crate::text;
use crate::texts::Language;

/// Expiry of a draft.
const EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);

pub const LANGUAGE: &str = "registration:language:";
/// With the version of the text that was shown.
pub const AGREE: &str = "registration:agree:";
pub const DISAGREE: &str = "registration:disagree";
pub const GO_ON: &str = "registration:continue";
pub const START_OVER: &str = "registration:over";
pub const SKIP: &str = "registration:skip";
pub const KIND: &str = "registration:kind:";
pub const AGAIN: &str = "registration:again";
pub const CANCEL: &str = "registration:cancel";
pub const BACK: &str = "registration:back";

/// The state of a registration. Each state has the whole draft, so it can be resumed at any step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "registration")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Registration {
    Language {
        draft: Draft,
    },
    /// An unfinished draft exists: continue, or start over?
    Resume {
        draft: Draft,
    },
    /// Nothing personal is asked before the consent.
    Consent {
        draft: Draft,
    },
    Name {
        draft: Draft,
    },
    Phone {
        draft: Draft,
    },
    Email {
        draft: Draft,
    },
    DocumentKind {
        draft: Draft,
    },
    Document {
        draft: Draft,
    },
    Selfie {
        draft: Draft,
    },
    /// Files are being downloaded and stored.
    Saving {
        draft: Draft,
        files: Vec<DocumentFile>,
    },
    /// Downloading, storing or the commit failed.
    NotSaved {
        draft: Draft,
    },
}

/// A downloaded document, on its way to the storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentFile {
    pub id: String,
    pub kind: DocumentKind,
    pub path: PathBuf,
}

impl Registration {
    pub fn into_draft(self) -> Draft {
        match self {
            Self::Language { draft }
            | Self::Resume { draft }
            | Self::Consent { draft }
            | Self::Name { draft }
            | Self::Phone { draft }
            | Self::Email { draft }
            | Self::DocumentKind { draft }
            | Self::Document { draft }
            | Self::Selfie { draft }
            | Self::Saving { draft, .. }
            | Self::NotSaved { draft } => draft,
        }
    }

    /// The state that asks for a step.
    pub fn asking(step: DraftStep, draft: Draft) -> Self {
        match step {
            DraftStep::Language => Self::Language { draft },
            DraftStep::Consent => Self::Consent { draft },
            DraftStep::Name => Self::Name { draft },
            DraftStep::Phone => Self::Phone { draft },
            DraftStep::Email => Self::Email { draft },
            DraftStep::DocumentKind => Self::DocumentKind { draft },
            DraftStep::Document => Self::Document { draft },
            DraftStep::Selfie => Self::Selfie { draft },
        }
    }

    /// The step that this state asks for.
    fn step(&self) -> Option<DraftStep> {
        Some(match self {
            Self::Language { .. } => DraftStep::Language,
            Self::Consent { .. } => DraftStep::Consent,
            Self::Name { .. } => DraftStep::Name,
            Self::Phone { .. } => DraftStep::Phone,
            Self::Email { .. } => DraftStep::Email,
            Self::DocumentKind { .. } => DraftStep::DocumentKind,
            Self::Document { .. } => DraftStep::Document,
            Self::Selfie { .. } => DraftStep::Selfie,
            Self::Resume { .. } | Self::Saving { .. } | Self::NotSaved { .. } => return None,
        })
    }
}

/// The state that a draft leads to: the next question, or saving if it is complete.
pub fn next_state(draft: Draft) -> Registration {
    match draft.missing() {
        Some(step) => Registration::asking(step, draft),
        None => Registration::Saving { draft, files: Vec::new() },
    }
}

/// Where `/start` leads with a draft: a complete one is saved again, another may be continued.
pub fn resumed(draft: Draft) -> Registration {
    if draft.missing().is_none() { next_state(draft) } else { Registration::Resume { draft } }
}

/// The language to speak; Telegram's until the person has chosen.
pub fn language_of(turn: &Turn, draft: &Draft) -> Language {
    draft.language.unwrap_or_else(|| Language::of_code(turn.language()))
}

pub fn dialogue() -> Dialogue<Registration> {
    let dialogue = Dialogue::new()
        .ask(Registration::LANGUAGE, questions::ask_language)
        .on(Registration::LANGUAGE, button(LANGUAGE), questions::language)
        .ask(Registration::RESUME, questions::ask_resume)
        .on(Registration::RESUME, button(GO_ON), questions::go_on)
        .on(Registration::RESUME, button(START_OVER), questions::start_over)
        .on(Registration::RESUME, button(CANCEL), saving::cancel)
        .on(Registration::RESUME, command("cancel"), saving::cancel_by_command)
        .ask(Registration::CONSENT, consent::ask)
        .on(Registration::CONSENT, button(AGREE), consent::agree)
        .on(Registration::CONSENT, button(DISAGREE), consent::disagree)
        .ask(Registration::NAME, questions::ask_name)
        .on(Registration::NAME, text(), questions::name)
        .ask(Registration::PHONE, questions::ask_phone)
        .on(Registration::PHONE, contact(), questions::contact)
        .on(Registration::PHONE, text(), questions::phone)
        .ask(Registration::EMAIL, questions::ask_email)
        .on(Registration::EMAIL, text(), questions::email)
        .on(Registration::EMAIL, button(SKIP), questions::skip_email)
        .ask(Registration::DOCUMENT_KIND, questions::ask_kind)
        .on(Registration::DOCUMENT_KIND, button(KIND), questions::kind)
        .ask(Registration::DOCUMENT, questions::ask_document)
        .on(Registration::DOCUMENT, image(), questions::document)
        .ask(Registration::SELFIE, questions::ask_selfie)
        .on(Registration::SELFIE, image(), questions::selfie);
    end(pauses(dialogue))
        .on_any_state(button(BACK), back)
        .fallback(questions::otherwise)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
}

/// `/cancel` at a question keeps the draft and says so. While files are being saved, the built-in command ends it.
fn pauses(dialogue: Dialogue<Registration>) -> Dialogue<Registration> {
    dialogue
        .on(Registration::CONSENT, command("cancel"), pause)
        .on(Registration::NAME, command("cancel"), pause)
        .on(Registration::PHONE, command("cancel"), pause)
        .on(Registration::EMAIL, command("cancel"), pause)
        .on(Registration::DOCUMENT_KIND, command("cancel"), pause)
        .on(Registration::DOCUMENT, command("cancel"), pause)
        .on(Registration::SELFIE, command("cancel"), pause)
        .on(Registration::NOT_SAVED, command("cancel"), pause)
}

/// Stops asking; `/start` and a button continue.
async fn pause(turn: &mut Turn, draft: Draft, _: Command) -> Step<Registration> {
    let text = text!(language_of(turn, &draft), "registration-paused");
    turn.say(Say::text(text).remove_keyboard());
    Ok(Next::Go(Registration::Resume { draft }))
}

/// The last part of the dialogue: files, the commit, and failures.
fn end(dialogue: Dialogue<Registration>) -> Dialogue<Registration> {
    dialogue
        .ask(Registration::SAVING, saving::begin)
        .on(Registration::SAVING, outcome("download"), saving::downloaded)
        .on(Registration::SAVING, outcome(file_effects::STORE), saving::stored)
        .ask(Registration::NOT_SAVED, saving::ask_again)
        .on(Registration::NOT_SAVED, button(AGAIN), saving::again)
        .on(Registration::NOT_SAVED, button(CANCEL), saving::cancel)
        .on_late_outcome(saving::late)
        .on_failed_turn(saving::failed)
}

/// One step back; the earlier answer stays until it is replaced.
pub async fn back(turn: &mut Turn, state: Registration, _: Press) -> Step<Registration> {
    reply::drop_buttons(turn);
    Ok(go_back(state))
}

pub fn go_back(state: Registration) -> Next<Registration> {
    let before = match &state {
        // The pictures may be the problem.
        Registration::NotSaved { .. } => Some(DraftStep::Document),
        other => other.step().and_then(DraftStep::before),
    };
    match before {
        Some(step) => Next::Go(Registration::asking(step, state.into_draft())),
        None => Next::AskAgain,
    }
}

async fn timed_out(turn: &mut Turn, state: Registration) -> Step<Registration> {
    let language = language_of(turn, &state.into_draft());
    tracing::info!(user = turn.key().user, "registration: the draft has expired");
    turn.say(Say::text(text!(language, "registration-timed-out")).remove_keyboard());
    Ok(Next::End)
}
