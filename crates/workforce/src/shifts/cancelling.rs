//! The dialogue that cancels a plan: reason, document, photo. The place is free at once; staff judge the reason later.

use std::collections::{HashMap, HashSet};

use opora::clock::Millis;
use opora::prelude::*;
use sea_orm::DbErr;

use super::chat::{self, EXPIRY, TypedKey, refused, worker};
use super::plans::{self, CancellationDetails};
use super::{MediumKind, Plan, Reason, ShiftEvent, ShiftEventKind, Shifts, mine, when};
use crate::application::App;
use crate::attachments;
use crate::domain::user_text;
use crate::front::navigation::final_message;
use crate::money::Money;
use crate::people::WriteAs;
use crate::person::{JUDGES, OWNERS, Permission, Person};
use crate::sites::{Site, SiteRefusal, Sites, local};
use crate::texts::{Language, short_day};
use crate::{key, text};

/// Followed by the id of a plan.
pub const BEGIN: &str = "plan:cancel:";
const REASON: &str = "cancel:why:";
const SKIP: &str = "cancel:skip";
const MAX_TEXT_LENGTH: usize = 300;

/// The states of the dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "cancel_plan")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum CancelPlan {
    Reason {
        plan_id: i64,
    },
    /// A reason in the person's own words.
    Words {
        plan_id: i64,
    },
    /// The number or the kind of a document.
    Document(DocumentWanted),
    Photo(PhotoWanted),
}

/// What is known when a document is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentWanted {
    plan_id: i64,
    reason: Reason,
    words: Option<String>,
}

/// What is known when a photo is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhotoWanted {
    plan_id: i64,
    reason: Reason,
    words: Option<String>,
    document: Option<String>,
}

impl DocumentWanted {
    /// The next state, which asks for a photo.
    fn with(self, document: Option<String>) -> CancelPlan {
        let Self { plan_id, reason, words } = self;
        CancelPlan::Photo(PhotoWanted { plan_id, reason, words, document })
    }
}

pub fn dialogue() -> Dialogue<CancelPlan> {
    attachments::handle_downloads(Dialogue::new())
        .start(button(BEGIN), begin)
        .ask(CancelPlan::REASON, ask_reason)
        .on(CancelPlan::REASON, button(REASON), reason)
        .on(CancelPlan::REASON, button(chat::BACK), back_to_mine)
        .ask(CancelPlan::WORDS, ask_words)
        .on(CancelPlan::WORDS, text(), words)
        .ask(CancelPlan::DOCUMENT, ask_document)
        .on(CancelPlan::DOCUMENT, text(), document)
        .on(CancelPlan::DOCUMENT, button(SKIP), no_document)
        .ask(CancelPlan::PHOTO, ask_photo)
        .on(CancelPlan::PHOTO, image(), photo)
        .on(CancelPlan::PHOTO, button(SKIP), no_photo)
        .on_any_state(button(chat::BACK), chat::back)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
        .on_cancel(stopped)
}

async fn begin(turn: &mut Turn, press: Press) -> Step<CancelPlan> {
    let Some(person) = worker(turn).await? else { return Ok(Next::Stay) };
    let Ok(plan_id) = press.rest.parse() else { return Ok(Next::Stay) };
    let plan = Shifts::of_app(&turn.context::<App>()).plan_of(plan_id).await?;
    match plan.filter(|plan| plan.user_id == person.id) {
        Some(plan) if plan.status == super::PlanStatus::Planned => Ok(Next::Go(CancelPlan::Reason { plan_id })),
        Some(_) => turn.refuse(SiteRefusal::PlanUsed.text(person.language)),
        None => turn.refuse(SiteRefusal::Gone.text(person.language)),
    }
}

/// Names the shift and what cancelling it may cost, before a reason is chosen.
async fn ask_reason(turn: &mut Turn, plan_id: i64) -> Result<(), BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let language = person.language;
    let row = |reason: Reason| vec![Button::new(reason.text(language), format!("{REASON}{}", reason.name()))];
    let mut rows: Vec<_> = Reason::OFFERED.into_iter().map(row).collect();
    rows.push(chat::navigation_row(language));
    let mut text = text!(language, "shifts-cancel-reason");
    if let Some((plan, site)) = own_plan(turn, &person, plan_id).await? {
        let (name, when) = (site.about.name.as_str(), when(plan.period, &site, language));
        let title = text!(language, "shifts-cancel-which", site = name, when = when);
        let fine = fine_text(&turn.context::<App>(), &plan, turn.now(), language).await?;
        text = [Some(title), fine, Some(text)].into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    }
    chat::show(turn, text, rows);
    Ok(())
}

/// What a rejected reason costs; None if cancelling is free.
async fn fine_text(app: &App, plan: &Plan, now: Millis, language: Language) -> Result<Option<String>, DbErr> {
    let shifts = Shifts::of_app(app);
    let cost = shifts.fine_if_rejected(plan, now).await?;
    if cost.total() == Money::ZERO {
        return Ok(None);
    }
    let amount = cost.total().shown(language);
    if cost.short_notice.is_none() {
        return Ok(Some(text!(language, "shifts-cancel-fine", amount = amount)));
    }
    let hours = shifts.fines().await?.notice_hours;
    Ok(Some(text!(language, "shifts-cancel-fine-late", hours = hours, amount = amount)))
}

/// The person's own plan with its site.
async fn own_plan(turn: &mut Turn, person: &Person, plan_id: i64) -> Result<Option<(Plan, Site)>, BoxError> {
    let app = turn.context::<App>();
    let plan = Shifts::of_app(&app).plan_of(plan_id).await?.filter(|plan| plan.user_id == person.id);
    let Some(plan) = plan else { return Ok(None) };
    let site = Sites::of_app(&app).site(plan.site_id).await?;
    Ok(site.map(|site| (plan, site)))
}

async fn reason(_: &mut Turn, plan_id: i64, press: Press) -> Step<CancelPlan> {
    let reason = press.rest.parse::<Reason>().ok().filter(|reason| Reason::OFFERED.contains(reason));
    let Some(reason) = reason else { return Ok(Next::AskAgain) };
    Ok(Next::Go(match reason {
        Reason::Other => CancelPlan::Words { plan_id },
        reason => CancelPlan::Document(DocumentWanted { plan_id, reason, words: None }),
    }))
}

/// Returns to the list in which the plan was chosen.
async fn back_to_mine(turn: &mut Turn, _: i64, _: Press) -> Step<CancelPlan> {
    mine::say(turn).await?;
    Ok(Next::End)
}

async fn ask_words(turn: &mut Turn, _: i64) -> Result<(), BoxError> {
    ask(turn, key!("shifts-cancel-words"), false).await
}

async fn words(turn: &mut Turn, plan_id: i64, text: String) -> Step<CancelPlan> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    if let Some(left) = exit_key(turn, &text, language).await? {
        return Ok(left);
    }
    let Some(words) = short(&text) else { return too_long(turn, language) };
    let wanted = DocumentWanted { plan_id, reason: Reason::Other, words: Some(words) };
    Ok(Next::Go(CancelPlan::Document(wanted)))
}

async fn ask_document(turn: &mut Turn, _: DocumentWanted) -> Result<(), BoxError> {
    ask(turn, key!("shifts-cancel-document"), true).await
}

async fn document(turn: &mut Turn, state: DocumentWanted, text: String) -> Step<CancelPlan> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    if let Some(left) = exit_key(turn, &text, language).await? {
        return Ok(left);
    }
    let Some(document) = short(&text) else { return too_long(turn, language) };
    Ok(Next::Go(state.with(Some(document))))
}

async fn no_document(_: &mut Turn, state: DocumentWanted, _: Press) -> Step<CancelPlan> {
    Ok(Next::Go(state.with(None)))
}

async fn ask_photo(turn: &mut Turn, _: PhotoWanted) -> Result<(), BoxError> {
    ask(turn, key!("shifts-cancel-photo"), true).await
}

async fn photo(turn: &mut Turn, state: PhotoWanted, image: Image) -> Step<CancelPlan> {
    let kind = match &image {
        Image::Photo(_) => MediumKind::Photo,
        Image::Document(_) => MediumKind::Document,
    };
    let photo = (kind, image.file_id().to_owned());
    cancel(turn, state, Some(photo), image.size()).await
}

async fn no_photo(turn: &mut Turn, state: PhotoWanted, _: Press) -> Step<CancelPlan> {
    cancel(turn, state, None, None).await
}

async fn cancel(
    turn: &mut Turn,
    state: PhotoWanted,
    photo: Option<(MediumKind, String)>,
    size: Option<u64>,
) -> Step<CancelPlan> {
    let PhotoWanted { plan_id, reason, words, document } = state;
    let details = CancellationDetails { reason, words, document, photo };
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language, at) = (turn.context::<App>(), person.language, turn.now());
    if let Some(why) = refused(turn) {
        return chat::give_up(turn, why, language);
    }
    let Some((plan, site)) = own_plan(turn, &person, plan_id).await? else {
        return chat::give_up(turn, SiteRefusal::Gone, language);
    };
    let notice_hours = Shifts::of_app(&app).fines().await?.notice_hours;
    let mut judges = judges(&app, &[site.id]).await?.remove(&site.id).unwrap_or_default();
    judges.retain(|judge| *judge != person.id || person.may(OWNERS));
    let who = (person.id, person.full_name.clone());
    // Requested only now, so a refused turn leaves no file without a row.
    if let Some((_, file)) = &details.photo {
        attachments::fetch(turn, file, size);
    }
    turn.write_as(&person, move |db| Box::pin(plans::cancel(db, plan_id, who, details, notice_hours, judges, at)));
    chat::publish(turn, ShiftEvent::new(ShiftEventKind::PlanCancelled, person.id).at(plan.site_id));
    let text =
        text!(language, "shifts-cancelled", site = site.about.name.as_str(), when = when(plan.period, &site, language));
    chat::show_final(turn, text, language);
    Ok(Next::End)
}

/// The people who judge cancellations at each of these sites, by site. Only owners may judge their own.
pub async fn judges(app: &App, sites: &[i64]) -> Result<HashMap<i64, Vec<i64>>, DbErr> {
    let staff = app.people.with_any(JUDGES).await?;
    let permitted = Sites::of_app(app).managers_permitted_at(sites, Permission::Employees).await?;
    let permitted: HashSet<(i64, i64)> = permitted.into_iter().collect();
    let of_site = |site: i64| {
        let is_judge = |one: &&Person| one.may(OWNERS) || permitted.contains(&(site, one.id));
        (site, staff.iter().filter(is_judge).map(|one| one.id).collect())
    };
    Ok(sites.iter().copied().map(of_site).collect())
}

/// Says that the shift was not cancelled: "stop" is easily read as "the shift is cancelled".
async fn stopped(turn: &mut Turn, state: CancelPlan) -> Result<(), BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let plan_id = match state {
        CancelPlan::Reason { plan_id } | CancelPlan::Words { plan_id } => plan_id,
        CancelPlan::Document(DocumentWanted { plan_id, .. }) | CancelPlan::Photo(PhotoWanted { plan_id, .. }) => {
            plan_id
        }
    };
    let Some((plan, site)) = own_plan(turn, &person, plan_id).await? else {
        return chat::say_cancelled(turn, key!("cancelled")).await;
    };
    let day = short_day(local(plan.period.from, site.about.time_zone).date(), person.language);
    turn.say(final_message(text!(person.language, "shifts-cancel-stopped", day = day), person.language));
    Ok(())
}

async fn timed_out(turn: &mut Turn, _: CancelPlan) -> Step<CancelPlan> {
    chat::timed_out(turn, key!("shifts-mine-button"), mine::MINE).await
}

async fn ask(turn: &mut Turn, question: &'static str, may_skip: bool) -> Result<(), BoxError> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let mut rows = vec![chat::navigation_row(language)];
    if may_skip {
        rows.insert(0, vec![Button::new(text!(language, "shifts-skip-button"), SKIP)]);
    }
    chat::show(turn, language.text(question), rows);
    Ok(())
}

/// Handles the keys of a keyboard that an earlier question for a position left behind.
async fn exit_key(turn: &mut Turn, text: &str, language: Language) -> Result<Option<Next<CancelPlan>>, BoxError> {
    Ok(match chat::typed_key(turn, text, language).await? {
        TypedKey::Back => Some(Next::Back),
        TypedKey::Menu => Some(Next::End),
        TypedKey::SomethingElse => None,
    })
}

fn short(text: &str) -> Option<String> {
    let text = user_text::line(text);
    (!text.is_empty() && text.chars().count() <= MAX_TEXT_LENGTH).then_some(text)
}

fn too_long(turn: &mut Turn, language: Language) -> Step<CancelPlan> {
    turn.refuse(text!(language, "shifts-too-long", count = MAX_TEXT_LENGTH))
}
