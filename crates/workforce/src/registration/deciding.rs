//! Decisions in the bot: the queue, the documents, approval, and rejection with a reason.
//!
//! Every press checks the role again: a button may be pressed long after it was offered.

use std::time::Duration;

use chrono_tz::Tz;
use opora::clock::Millis;
use opora::prelude::*;
use opora::telegram::Target;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};

use super::registrations::{self, Registrations, Verdict};
use super::tables::document;
use super::{Decision, DocumentKind, DocumentStatus, answers, contract_dialogue, questions};
use crate::application::App;
use crate::domain::WriteInTurn;
use crate::front;
use crate::front::navigation::{self, navigation_row};
use crate::front::reply;
use crate::onboarding::Onboarding;
use crate::person::{OWNERS, Person, Status};
use crate::settings::TIME_ZONE;
use crate::shifts::PLAN_A_SHIFT;
use crate::sites;
use crate::text;
use crate::texts::{Language, day_and_time};

/// Shows the queue.
pub const WAITING: &str = "reg:waiting";
const APPROVE: &str = "reg:approve:";
const REJECT: &str = "reg:reject:";
const DOCUMENTS: &str = "reg:papers:";

/// Registrations shown at once; the others follow when these are decided.
const MAX_SHOWN: u64 = 5;
/// How much of a document's id a button carries. A later registration has another document.
const MARK_LENGTH: usize = 8;
const EXPIRY: Duration = Duration::from_secs(15 * 60);

/// Rejecting needs a second step, the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "registration_decision")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Deciding {
    Reason(RejectionReason),
}

/// The person to reject: the next text is the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RejectionReason {
    telegram_id: i64,
    mark: String,
    /// The message id of the pressed card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    card: Option<i64>,
}

/// A registration as deciders see it.
#[derive(Clone, Debug)]
pub struct Card<'a> {
    pub telegram_id: i64,
    pub name: &'a str,
    /// By the clock of the business, see [`moment`].
    pub since: String,
    pub main_document_id: &'a str,
}

pub fn dialogue() -> Dialogue<Deciding> {
    Dialogue::new()
        .start(button(WAITING), waiting)
        .start(button(APPROVE), approve)
        .start(button(REJECT), reject)
        .start(button(DOCUMENTS), show_documents)
        .start(button(contract_dialogue::GIVE), contract_dialogue::give)
        .start(button(contract_dialogue::PAGE), contract_dialogue::turn_page)
        .ask(Deciding::REASON, ask_reason)
        .on(Deciding::REASON, text(), reason)
        .on(Deciding::REASON, button(navigation::BACK), keep_waiting)
        .on(Deciding::REASON, command("cancel"), keep_waiting_by_command)
        .expires_after(EXPIRY)
}

impl Card<'_> {
    /// The message to deciders when it arrives.
    pub fn announced(&self, language: Language) -> Say {
        let text = text!(language, "registration-new", name = self.name, id = self.id(), since = self.since.as_str());
        self.with_buttons(text, language)
    }

    /// The message in the list of pending registrations.
    fn listed(&self, language: Language) -> Say {
        let text = text!(language, "registration-waits", name = self.name, id = self.id(), since = self.since.as_str());
        self.with_buttons(text, language)
    }

    fn id(&self) -> String {
        self.telegram_id.to_string()
    }

    fn with_buttons(&self, text: String, language: Language) -> Say {
        let mark = self.main_document_id.get(..MARK_LENGTH).unwrap_or(self.main_document_id);
        let data = |action: &str| format!("{action}{}:{mark}", self.telegram_id);
        let approve = Button::raw(text!(language, "registration-approve-button"), data(APPROVE));
        let reject = Button::raw(text!(language, "registration-reject-button"), data(REJECT));
        let documents = Button::raw(text!(language, "registration-papers-button"), data(DOCUMENTS));
        Say::text(text).buttons([vec![documents], vec![approve, reject]])
    }
}

/// The message to a person whose registration was rejected.
pub fn rejection_message(language: Language, reason: Option<&str>) -> Say {
    Say::text(text!(language, "registration-rejected", reason = reason.unwrap_or("–")))
}

/// The one message to a person who was approved: where they work, and what to do next.
pub fn approval_message(person: &Person, sites: &[String]) -> Say {
    let language = person.language;
    let mut text = text!(language, "registration-approved");
    let mut rows = Vec::new();
    text.push_str("\n\n");
    if sites.is_empty() {
        text.push_str(&text!(language, "registration-no-site-yet"));
    } else {
        text.push_str(&next_step(sites, language));
        rows.push(vec![plan_button(language)]);
    }
    if let Some((offer, button)) = Onboarding::invitation(person) {
        text = format!("{text}\n\n{offer}");
        rows.push(vec![button]);
    }
    rows.push(vec![front::menu_button(language)]);
    Say::text(front::text_limits::fit(text)).buttons(rows)
}

/// The sites of a new contract, and that a shift may be picked up.
pub fn next_step(sites: &[String], language: Language) -> String {
    let names = sites.join(", ");
    text!(language, "registration-your-sites", count = sites.len(), sites = names)
}

pub fn plan_button(language: Language) -> Button {
    Button::raw(text!(language, "shifts-plan-button"), PLAN_A_SHIFT)
}

/// Tells a person who registers again why the last registration was rejected.
pub async fn say_why_rejected(turn: &mut Turn, person: &Person) -> Result<(), BoxError> {
    let decided = Registrations::of_app(&turn.context::<App>()).last_decision(person.id).await?;
    let reason = decided.and_then(|decided| decided.reason).unwrap_or_else(|| "–".to_owned());
    turn.say(text!(person.language, "registration-once-more", reason = reason));
    Ok(())
}

async fn waiting(turn: &mut Turn, _: Press) -> Step<Deciding> {
    let Some(decider) = front::allowed_person(turn, OWNERS).await? else { return Ok(Next::Stay) };
    let language = decider.language;
    let registrations = Registrations::of_app(&turn.context::<App>());
    let (waiting, count) = (registrations.waiting(MAX_SHOWN).await?, registrations.count().await?);
    let zone = turn.context::<App>().settings.get(&TIME_ZONE).await?;
    if waiting.is_empty() {
        let text = text!(language, "registration-none-waiting");
        turn.say(Say::text(text).buttons([[front::menu_button(language)]]));
        return Ok(Next::Stay);
    }
    for one in &waiting {
        let main = one.documents.iter().find(|document| document.kind.is_main());
        let card = Card {
            telegram_id: one.person.telegram_id,
            name: &one.person.full_name,
            since: moment(one.since, zone, language),
            main_document_id: main.map_or("", |document| &document.id),
        };
        turn.say(card.listed(language));
    }
    let text = text!(language, "registration-count", count = count);
    turn.say(Say::text(text).buttons([[front::menu_button(language)]]));
    Ok(Next::Stay)
}

/// Shows the documents from Telegram's copies.
async fn show_documents(turn: &mut Turn, press: Press) -> Step<Deciding> {
    let Some(decider) = front::allowed_person(turn, OWNERS).await? else { return Ok(Next::Stay) };
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
    let Some(decider) = front::allowed_person(turn, OWNERS).await? else { return Ok(Next::Stay) };
    let app = turn.context::<App>();
    let Some((person, mark)) = chosen(&app, &press.rest).await? else { return Ok(Next::Stay) };
    if turn.refusal().is_some() || person.status != Status::Pending {
        return refuse_decided(turn, &app, &person, decider.language).await;
    }
    let text = text!(decider.language, "registration-approved-by-you", name = person.full_name.as_str());
    reply::close_card(turn, &text);
    decide(turn, &decider, &person, mark, None);
    contract_dialogue::offer(turn, text, &person, decider.language).await?;
    Ok(Next::Stay)
}

async fn reject(turn: &mut Turn, press: Press) -> Step<Deciding> {
    let Some(decider) = front::allowed_person(turn, OWNERS).await? else { return Ok(Next::Stay) };
    let app = turn.context::<App>();
    let Some((person, mark)) = chosen(&app, &press.rest).await? else { return Ok(Next::Stay) };
    if person.status != Status::Pending {
        return refuse_decided(turn, &app, &person, decider.language).await;
    }
    // What is decided depends on the reason; a registration that keeps waiting is listed again by its button.
    let card = press.message_id;
    if let Some(card) = card {
        turn.edit(Edit::markup(Target::from(card)));
    }
    Ok(Next::Go(Deciding::Reason(RejectionReason { telegram_id: person.telegram_id, mark, card })))
}

async fn ask_reason(turn: &mut Turn, state: RejectionReason) -> Result<(), BoxError> {
    let Some(decider) = front::allowed_person(turn, OWNERS).await? else { return Ok(()) };
    let (app, language) = (turn.context::<App>(), decider.language);
    let name = app.people.by_telegram(state.telegram_id).await?.map(|person| person.full_name).unwrap_or_default();
    let text = text!(language, "registration-reason", name = name);
    turn.say(Say::text(text).buttons([navigation_row(language)]));
    Ok(())
}

async fn keep_waiting(turn: &mut Turn, state: RejectionReason, _: Press) -> Step<Deciding> {
    leave_undecided(turn, state).await
}

async fn keep_waiting_by_command(turn: &mut Turn, state: RejectionReason, _: Command) -> Step<Deciding> {
    leave_undecided(turn, state).await
}

/// Says that nothing was decided.
async fn leave_undecided(turn: &mut Turn, state: RejectionReason) -> Step<Deciding> {
    let Some(decider) = front::allowed_person(turn, OWNERS).await? else { return Ok(Next::End) };
    let person = turn.context::<App>().people.by_telegram(state.telegram_id).await?;
    let name = person.map(|person| person.full_name).unwrap_or_default();
    let text = text!(decider.language, "registration-still-waits", name = name);
    let waiting = Button::raw(text!(decider.language, "registration-waiting-button"), WAITING);
    turn.say(navigation::final_message_with(text, [waiting], decider.language));
    Ok(Next::End)
}

async fn reason(turn: &mut Turn, state: RejectionReason, text: String) -> Step<Deciding> {
    let Some(decider) = front::allowed_person(turn, OWNERS).await? else { return Ok(Next::End) };
    let app = turn.context::<App>();
    let language = decider.language;
    let Some(reason) = answers::reason(&text) else {
        return turn.refuse(text!(language, "registration-reason-bad", most = answers::MAX_REASON_UNITS));
    };
    let Some(person) = app.people.by_telegram(state.telegram_id).await? else { return Ok(Next::End) };
    if turn.refusal().is_some() || person.status != Status::Pending {
        let text = decided_already(&app, &person, language).await?;
        close_card(turn, state.card, format!("{}\n\n{text}", person.full_name));
        turn.say(navigation::final_message(text, language));
        return Ok(Next::End);
    }
    let name = person.full_name.as_str();
    let text = text!(language, "registration-rejected-by-you", name = name);
    let verdict = text!(language, "registration-rejected-card", name = name, reason = reason.as_str());
    close_card(turn, state.card, verdict);
    decide(turn, &decider, &person, state.mark, Some(reason));
    turn.say(navigation::final_message(text, language));
    Ok(Next::End)
}

/// Shows the verdict in place of a card whose reason came in a later message.
fn close_card(turn: &mut Turn, card: Option<i64>, verdict: String) {
    if let Some(card) = card {
        turn.edit(Edit::text(Target::from(card), verdict));
    }
}

/// Writes the decision and tells the person, in one commit.
fn decide(turn: &mut Turn, by: &Person, person: &Person, mark: String, reason: Option<String>) {
    let (at, is_approved) = (turn.now(), reason.is_none());
    let message = match &reason {
        None => approval_message(&registrations::approved(person), &[]),
        Some(reason) => rejection_message(person.language, Some(reason)),
    };
    turn.say_to(person.telegram_id, message);
    tracing::info!(user = person.telegram_id, by = by.id, is_approved, "registration: decided");
    for event in super::pages::events() {
        event.publish_after(turn);
    }
    let decision =
        reason.map_or_else(|| registrations::Outcome::Approved(Default::default()), registrations::Outcome::Rejected);
    let verdict = Verdict { user_id: person.id, main_document_begins: mark, by: by.id, decision, is_told: true };
    turn.write(move |db| Box::pin(registrations::decide(db, verdict, at)));
}

/// Says who has decided, and takes the buttons from the card.
async fn refuse_decided(turn: &mut Turn, app: &App, person: &Person, language: Language) -> Step<Deciding> {
    let text = decided_already(app, person, language).await?;
    reply::close_card(turn, &text);
    turn.refuse(text)
}

/// Who decided, and how; or that there is nothing to decide.
async fn decided_already(app: &App, person: &Person, language: Language) -> Result<String, BoxError> {
    let decided = Registrations::of_app(app).last_decision(person.id).await?;
    Ok(verdict_text(decided.filter(|_| person.status != Status::Pending), language))
}

/// The text about a known decision.
pub fn verdict_text(decided: Option<Decision>, language: Language) -> String {
    match decided {
        Some(Decision { is_approved: true, by: Some(by), .. }) => {
            text!(language, "registration-approved-already-toast", name = by.full_name)
        }
        Some(Decision { is_approved: false, by: Some(by), .. }) => {
            text!(language, "registration-rejected-already-toast", name = by.full_name)
        }
        _ => text!(language, "registration-out-of-date-toast"),
    }
}

/// The person and the mark in a button's data; none if the person is gone.
async fn chosen(app: &App, data: &str) -> Result<Option<(Person, String)>, BoxError> {
    let Some((telegram_id, mark)) = data.split_once(':') else { return Ok(None) };
    let Ok(telegram_id) = telegram_id.parse() else { return Ok(None) };
    let person = app.people.by_telegram(telegram_id).await?;
    Ok(person.map(|person| (person, mark.to_owned())))
}

/// A time by the clock of the business.
pub fn moment(at: Millis, zone: Tz, language: Language) -> String {
    day_and_time(sites::local(at, zone), language)
}
