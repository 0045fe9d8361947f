//! The dialogue of a registration: its states, and who handles what in them.

use std::path::PathBuf;
use std::time::Duration;

use opora::prelude::*;

use super::draft::Step as Part;
use super::{DocumentKind, Draft, keeping, questions, saving};
use crate::text;
use crate::texts::Language;

/// How long a draft waits for its person.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);

pub const LANGUAGE: &str = "registration:language:";
pub const GO_ON: &str = "registration:continue";
pub const START_OVER: &str = "registration:over";
pub const SKIP: &str = "registration:skip";
pub const KIND: &str = "registration:kind:";
pub const AGAIN: &str = "registration:again";
pub const CANCEL: &str = "registration:cancel";
pub const BACK: &str = "registration:back";

/// Where a registration stands. Each state has the whole draft: it may be taken up at any step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "registration")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Registration {
    Language {
        draft: Draft,
    },
    /// It was begun before: go on, or start over?
    Resume {
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
    /// Files are being fetched and kept.
    Saving {
        draft: Draft,
        papers: Vec<Paper>,
    },
    /// They could not be, or what they belong to could not be written.
    NotSaved {
        draft: Draft,
    },
}

/// A document on its way from a download to its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paper {
    pub id: String,
    pub kind: DocumentKind,
    pub path: PathBuf,
}

impl Registration {
    pub fn into_draft(self) -> Draft {
        match self {
            Self::Language { draft }
            | Self::Resume { draft }
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

    /// The state that asks for a part.
    pub fn asking(part: Part, draft: Draft) -> Self {
        match part {
            Part::Language => Self::Language { draft },
            Part::Name => Self::Name { draft },
            Part::Phone => Self::Phone { draft },
            Part::Email => Self::Email { draft },
            Part::DocumentKind => Self::DocumentKind { draft },
            Part::Document => Self::Document { draft },
            Part::Selfie => Self::Selfie { draft },
        }
    }

    /// The part that this state asks for.
    fn part(&self) -> Option<Part> {
        Some(match self {
            Self::Language { .. } => Part::Language,
            Self::Name { .. } => Part::Name,
            Self::Phone { .. } => Part::Phone,
            Self::Email { .. } => Part::Email,
            Self::DocumentKind { .. } => Part::DocumentKind,
            Self::Document { .. } => Part::Document,
            Self::Selfie { .. } => Part::Selfie,
            Self::Resume { .. } | Self::Saving { .. } | Self::NotSaved { .. } => return None,
        })
    }
}

/// Where a draft leads: to the next question, or to its end if nothing is missing.
pub fn onward(draft: Draft) -> Registration {
    match draft.missing() {
        Some(part) => Registration::asking(part, draft),
        None => Registration::Saving { draft, papers: Vec::new() },
    }
}

/// Where `/start` leads with a draft: a complete one is tried again, another may be taken up.
pub fn taken_up(draft: Draft) -> Registration {
    if draft.missing().is_none() { onward(draft) } else { Registration::Resume { draft } }
}

/// In which language to speak; Telegram's until the person has chosen.
pub fn speaks(turn: &Turn, draft: &Draft) -> Language {
    draft.language.unwrap_or_else(|| Language::of_code(turn.language()))
}

pub fn dialogue() -> Dialogue<Registration> {
    let dialogue = Dialogue::new()
        .ask(Registration::LANGUAGE, questions::ask_language)
        .on(Registration::LANGUAGE, button(LANGUAGE), questions::language)
        .ask(Registration::RESUME, questions::ask_resume)
        .on(Registration::RESUME, button(GO_ON), questions::go_on)
        .on(Registration::RESUME, button(START_OVER), questions::start_over)
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
    end(dialogue).anywhere(button(BACK), back).otherwise(questions::otherwise).life(LIFE).timeout(timed_out)
}

/// The end of the way: files, the commit, and what fails of it.
fn end(dialogue: Dialogue<Registration>) -> Dialogue<Registration> {
    dialogue
        .ask(Registration::SAVING, saving::begin)
        .on(Registration::SAVING, outcome("download"), saving::fetched)
        .on(Registration::SAVING, outcome(keeping::KEEP), saving::kept)
        .ask(Registration::NOT_SAVED, saving::ask_again)
        .on(Registration::NOT_SAVED, button(AGAIN), saving::again)
        .on(Registration::NOT_SAVED, button(CANCEL), saving::cancel)
        .late(saving::late)
        .failed(saving::failed)
}

/// One step back; what was given there stays until something else is.
pub async fn back(_: &mut Turn, state: Registration, _: Press) -> Step<Registration> {
    Ok(go_back(state))
}

pub fn go_back(state: Registration) -> Next<Registration> {
    let before = match &state {
        // The pictures are what may be wrong.
        Registration::NotSaved { .. } => Some(Part::Document),
        other => other.part().and_then(Part::before),
    };
    match before {
        Some(part) => Next::Go(Registration::asking(part, state.into_draft())),
        None => Next::Again,
    }
}

async fn timed_out(turn: &mut Turn, state: Registration) -> Step<Registration> {
    let language = speaks(turn, &state.into_draft());
    tracing::info!(user = turn.key().user, "registration: the draft has expired");
    turn.say(Say::text(text!(language, "registration-timed-out")).remove_keyboard());
    Ok(Next::End)
}
