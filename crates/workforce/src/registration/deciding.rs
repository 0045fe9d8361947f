//! Deciding in the bot: who waits, their documents, approve, or reject with a reason.
//!
//! Every press checks the role anew: a button may be pressed long after it was offered.

use std::time::Duration;

use chrono::DateTime;
use opora::clock::Millis;
use opora::prelude::*;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};

use super::registrations::{self, Registrations, Verdict};
use super::tables::document;
use super::{Decided, DocumentKind, DocumentStatus, answers, questions};
use crate::application::App;
use crate::domain::InTurn;
use crate::front;
use crate::onboarding::Onboarding;
use crate::person::{OWNERS, Person, Status};
use crate::text;
use crate::texts::Language;

/// Everybody who waits.
pub const WAITING: &str = "reg:waiting";
const APPROVE: &str = "reg:approve:";
const REJECT: &str = "reg:reject:";
const PAPERS: &str = "reg:papers:";

/// How many are shown at once; the others follow when these are decided.
const SHOWN_MOST: u64 = 5;
/// How much of a document's id a button carries: a later registration has another.
const MARK: usize = 8;
const LIFE: Duration = Duration::from_secs(15 * 60);

/// Rejecting takes a second step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "registration_decision")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Deciding {
    Reason(ReasonWanted),
}

/// A person is to be rejected: the next text says why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasonWanted {
    telegram_id: i64,
    mark: String,
}

/// A registration as deciders see it.
#[derive(Clone, Copy, Debug)]
pub struct Card<'a> {
    pub telegram_id: i64,
    pub name: &'a str,
    pub since: Millis,
    pub main_document_id: &'a str,
}

pub fn dialogue() -> Dialogue<Deciding> {
    Dialogue::new()
        .start(button(WAITING), waiting)
        .start(button(APPROVE), approve)
        .start(button(REJECT), reject)
        .start(button(PAPERS), papers)
        .ask(Deciding::REASON, ask_reason)
        .on(Deciding::REASON, text(), reason)
        .life(LIFE)
}

impl Card<'_> {
    /// What deciders are told when it comes in.
    pub fn announced(&self, language: Language) -> Say {
        let words = text!(language, "registration-new", name = self.name, id = self.id(), since = moment(self.since));
        self.with_buttons(words, language)
    }

    /// As it stands in the list of those who wait.
    fn listed(&self, language: Language) -> Say {
        let words = text!(language, "registration-waits", name = self.name, id = self.id(), since = moment(self.since));
        self.with_buttons(words, language)
    }

    fn id(&self) -> String {
        self.telegram_id.to_string()
    }

    fn with_buttons(&self, words: String, language: Language) -> Say {
        let mark = self.main_document_id.get(..MARK).unwrap_or(self.main_document_id);
        let data = |deed: &str| format!("{deed}{}:{mark}", self.telegram_id);
        let approve = Button::raw(text!(language, "registration-approve-button"), data(APPROVE));
        let reject = Button::raw(text!(language, "registration-reject-button"), data(REJECT));
        let papers = Button::raw(text!(language, "registration-papers-button"), data(PAPERS));
        Say::text(words).buttons([vec![papers], vec![approve, reject]])
    }
}

/// What a person hears of a decision.
pub fn outcome_words(language: Language, reason: Option<&str>, is_approved: bool) -> Say {
    if is_approved {
        let words = text!(language, "registration-approved");
        return Say::text(words).buttons([[front::menu_button(language)]]);
    }
    Say::text(text!(language, "registration-rejected", reason = reason.unwrap_or("–")))
}

/// Tells somebody who comes again why it was no the last time.
pub async fn say_why_rejected(turn: &mut Turn, person: &Person) -> Result<(), BoxError> {
    let decided = Registrations::of_app(&turn.context::<App>()).last_decision(person.id).await?;
    let reason = decided.and_then(|decided| decided.reason).unwrap_or_else(|| "–".to_owned());
    turn.say(text!(person.language, "registration-once-more", reason = reason));
    Ok(())
}

async fn waiting(turn: &mut Turn, _: Press) -> Step<Deciding> {
    let Some(decider) = front::allowed(turn, OWNERS).await? else { return Ok(Next::Stay) };
    let language = decider.language;
    let registrations = Registrations::of_app(&turn.context::<App>());
    let (waiting, count) = (registrations.waiting(SHOWN_MOST).await?, registrations.count().await?);
    if waiting.is_empty() {
        let words = text!(language, "registration-nobody-waits");
        turn.say(Say::text(words).buttons([[front::menu_button(language)]]));
        return Ok(Next::Stay);
    }
    for one in &waiting {
        let main = one.documents.iter().find(|document| document.kind.is_main());
        let card = Card {
            telegram_id: one.person.telegram_id,
            name: &one.person.full_name,
            since: one.since,
            main_document_id: main.map_or("", |document| &document.id),
        };
        turn.say(card.listed(language));
    }
    let words = text!(language, "registration-count", count = count);
    turn.say(Say::text(words).buttons([[front::menu_button(language)]]));
    Ok(Next::Stay)
}

/// Shows the documents, which Telegram still has.
async fn papers(turn: &mut Turn, press: Press) -> Step<Deciding> {
    let Some(decider) = front::allowed(turn, OWNERS).await? else { return Ok(Next::Stay) };
    let app = turn.context::<App>();
    let Some((person, _)) = chosen(&app, &press.rest).await? else { return Ok(Next::Stay) };
    let of_person = document::Entity::find().filter(document::Column::UserId.eq(person.id));
    let pending = document::Column::Status.eq(DocumentStatus::Pending.name());
    let rows = of_person.filter(pending).order_by_asc(document::Column::Kind).all(app.domain.read()).await?;
    let mut is_shown = false;
    for row in rows {
        let (Some(file), Ok(kind)) = (row.telegram_file, row.kind.parse::<DocumentKind>()) else { continue };
        let file = FileRef::id(file);
        let picture = if row.is_photo { Say::photo(file) } else { Say::document(file) };
        let caption = format!("{}: {}", questions::kind_name(kind, decider.language), person.full_name);
        turn.say(picture.caption(caption).protected());
        is_shown = true;
    }
    if !is_shown {
        turn.say(text!(decider.language, "registration-no-papers"));
    }
    Ok(Next::Stay)
}

async fn approve(turn: &mut Turn, press: Press) -> Step<Deciding> {
    let Some(decider) = front::allowed(turn, OWNERS).await? else { return Ok(Next::Stay) };
    let app = turn.context::<App>();
    let Some((person, mark)) = chosen(&app, &press.rest).await? else { return Ok(Next::Stay) };
    if turn.refused().is_some() || person.status != Status::Pending {
        let words = decided_already(&app, &person, decider.language).await?;
        return turn.refuse(words);
    }
    let words = text!(decider.language, "registration-approved-by-you", name = person.full_name.as_str());
    decide(turn, &decider, &person, mark, None);
    turn.say(words);
    Ok(Next::Stay)
}

async fn reject(turn: &mut Turn, press: Press) -> Step<Deciding> {
    let Some(decider) = front::allowed(turn, OWNERS).await? else { return Ok(Next::Stay) };
    let app = turn.context::<App>();
    let Some((person, mark)) = chosen(&app, &press.rest).await? else { return Ok(Next::Stay) };
    if person.status != Status::Pending {
        let words = decided_already(&app, &person, decider.language).await?;
        return turn.refuse(words);
    }
    Ok(Next::Go(Deciding::Reason(ReasonWanted { telegram_id: person.telegram_id, mark })))
}

async fn ask_reason(turn: &mut Turn, state: ReasonWanted) -> Result<(), BoxError> {
    let Some(decider) = front::allowed(turn, OWNERS).await? else { return Ok(()) };
    let (app, language) = (turn.context::<App>(), decider.language);
    let name = app.people.by_telegram(state.telegram_id).await?.map(|person| person.full_name).unwrap_or_default();
    turn.say(text!(language, "registration-reason", name = name));
    Ok(())
}

async fn reason(turn: &mut Turn, state: ReasonWanted, text: String) -> Step<Deciding> {
    let Some(decider) = front::allowed(turn, OWNERS).await? else { return Ok(Next::End) };
    let app = turn.context::<App>();
    let language = decider.language;
    let Some(reason) = answers::reason(&text) else {
        return turn.refuse(text!(language, "registration-reason-bad", most = answers::REASON_UNITS_MOST));
    };
    let Some(person) = app.people.by_telegram(state.telegram_id).await? else { return Ok(Next::End) };
    if turn.refused().is_some() || person.status != Status::Pending {
        let words = decided_already(&app, &person, language).await?;
        turn.say(words);
        return Ok(Next::End);
    }
    let words = text!(language, "registration-rejected-by-you", name = person.full_name.as_str());
    decide(turn, &decider, &person, state.mark, Some(reason));
    turn.say(words);
    Ok(Next::End)
}

/// Writes the decision and tells the person, in one commit.
fn decide(turn: &mut Turn, by: &Person, person: &Person, mark: String, reason: Option<String>) {
    let (at, is_approved) = (turn.now(), reason.is_none());
    turn.say_to(person.telegram_id, registrations::told(person, reason.as_deref(), is_approved));
    if is_approved {
        Onboarding::offer(turn, &registrations::let_in(person));
    }
    tracing::info!(user = person.telegram_id, by = by.id, is_approved, "registration: decided");
    for event in super::pages::events() {
        event.after(turn);
    }
    let verdict = Verdict { user_id: person.id, main_document_begins: mark, by: by.id, reason, is_told: true };
    turn.write(move |db| Box::pin(registrations::decide(db, verdict, at)));
}

/// Who decided, and how; or that there is nothing to decide.
async fn decided_already(app: &App, person: &Person, language: Language) -> Result<String, BoxError> {
    let decided = Registrations::of_app(app).last_decision(person.id).await?;
    Ok(verdict_words(decided.filter(|_| person.status != Status::Pending), language))
}

/// The same for whoever knows the decision.
pub fn verdict_words(decided: Option<Decided>, language: Language) -> String {
    match decided {
        Some(Decided { is_approved: true, by: Some(by), .. }) => {
            text!(language, "registration-approved-already-toast", name = by.full_name)
        }
        Some(Decided { is_approved: false, by: Some(by), .. }) => {
            text!(language, "registration-rejected-already-toast", name = by.full_name)
        }
        _ => text!(language, "registration-out-of-date-toast"),
    }
}

/// The person and the mark that a button names; none if the person is gone.
async fn chosen(app: &App, data: &str) -> Result<Option<(Person, String)>, BoxError> {
    let Some((telegram_id, mark)) = data.split_once(':') else { return Ok(None) };
    let Ok(telegram_id) = telegram_id.parse() else { return Ok(None) };
    let person = app.people.by_telegram(telegram_id).await?;
    Ok(person.map(|person| (person, mark.to_owned())))
}

fn moment(at: Millis) -> String {
    let at = DateTime::from_timestamp_millis(at.0).unwrap_or_default();
    at.format("%d.%m.%Y %H:%M UTC").to_string()
}
