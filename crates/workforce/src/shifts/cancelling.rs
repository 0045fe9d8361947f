//! Cancelling a plan: the reason, a paper that proves it, a photo. The place is free at once; staff judge the reason.

use std::collections::{HashMap, HashSet};

use opora::prelude::*;
use sea_orm::DbErr;

use super::chat::{self, LIFE, Typed, last_words, refused, worker};
use super::plans::{self, Excuse};
use super::{Happened, MediumKind, Reason, Shifts, Update, mine, when};
use crate::application::App;
use crate::attachments;
use crate::domain::typed;
use crate::people::WriteAs;
use crate::person::{JUDGES, OWNERS, Permission, Person};
use crate::sites::{Sites, Why};
use crate::texts::Language;
use crate::{key, text};

/// The number of a plan follows.
pub const BEGIN: &str = "plan:cancel:";
const REASON: &str = "cancel:why:";
const SKIP: &str = "cancel:skip";
const WORDS_MOST: usize = 300;

/// Where cancelling stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "cancel_plan")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum CancelPlan {
    Reason {
        plan_id: i64,
    },
    /// In the person's own words, where none of the reasons fits.
    Words {
        plan_id: i64,
    },
    /// The number or the kind of a paper.
    Document(DocumentWanted),
    Photo(PhotoWanted),
}

/// What is known when a paper is asked for.
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
    /// The next question: a photo.
    fn with(self, document: Option<String>) -> CancelPlan {
        let Self { plan_id, reason, words } = self;
        CancelPlan::Photo(PhotoWanted { plan_id, reason, words, document })
    }
}

pub fn dialogue() -> Dialogue<CancelPlan> {
    attachments::hear(Dialogue::new())
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
        .anywhere(button(chat::BACK), chat::back)
        .life(LIFE)
        .timeout(timed_out)
}

async fn begin(turn: &mut Turn, press: Press) -> Step<CancelPlan> {
    let Some(person) = worker(turn).await? else { return Ok(Next::Stay) };
    let Ok(plan_id) = press.rest.parse() else { return Ok(Next::Stay) };
    let plan = Shifts::of_app(&turn.context::<App>()).plan_of(plan_id).await?;
    match plan.filter(|plan| plan.user_id == person.id) {
        Some(plan) if plan.status == super::PlanStatus::Planned => Ok(Next::Go(CancelPlan::Reason { plan_id })),
        Some(_) => turn.refuse(Why::PlanUsed.words(person.language)),
        None => turn.refuse(Why::Gone.words(person.language)),
    }
}

async fn ask_reason(turn: &mut Turn, _: i64) -> Result<(), BoxError> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let row = |reason: Reason| vec![Button::new(reason.words(language), format!("{REASON}{}", reason.name()))];
    let mut rows: Vec<_> = Reason::OFFERED.into_iter().map(row).collect();
    rows.push(chat::way_out(language));
    turn.say(Say::text(text!(language, "shifts-cancel-reason")).buttons(rows));
    Ok(())
}

async fn reason(_: &mut Turn, plan_id: i64, press: Press) -> Step<CancelPlan> {
    let reason = press.rest.parse::<Reason>().ok().filter(|reason| Reason::OFFERED.contains(reason));
    let Some(reason) = reason else { return Ok(Next::Again) };
    Ok(Next::Go(match reason {
        Reason::Other => CancelPlan::Words { plan_id },
        reason => CancelPlan::Document(DocumentWanted { plan_id, reason, words: None }),
    }))
}

/// To the list in which the plan was chosen.
async fn back_to_mine(turn: &mut Turn, _: i64, _: Press) -> Step<CancelPlan> {
    mine::say(turn).await?;
    Ok(Next::End)
}

async fn ask_words(turn: &mut Turn, _: i64) -> Result<(), BoxError> {
    ask(turn, key!("shifts-cancel-words"), false).await
}

async fn words(turn: &mut Turn, plan_id: i64, text: String) -> Step<CancelPlan> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    if let Some(left) = left(turn, &text, language).await? {
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
    if let Some(left) = left(turn, &text, language).await? {
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
    let excuse = Excuse { reason, words, document, photo };
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language, at) = (turn.context::<App>(), person.language, turn.now());
    if let Some(why) = refused(turn) {
        return chat::give_up(turn, why, language);
    }
    let shifts = Shifts::of_app(&app);
    let plan = shifts.plan_of(plan_id).await?.filter(|plan| plan.user_id == person.id);
    let Some(plan) = plan else { return chat::give_up(turn, Why::Gone, language) };
    let site = Sites::of_app(&app).of(plan.site_id).await?;
    let Some(site) = site else { return chat::give_up(turn, Why::Gone, language) };
    let notice_hours = shifts.fines().await?.notice_hours;
    let mut told = judges(&app, &[site.id]).await?.remove(&site.id).unwrap_or_default();
    told.retain(|judge| *judge != person.id || person.may(OWNERS));
    let who = (person.id, person.full_name.clone());
    // Only now: what is refused leaves no file that nobody names.
    if let Some((_, file)) = &excuse.photo {
        attachments::fetch(turn, file, size);
    }
    turn.write_as(&person, move |db| Box::pin(plans::cancel(db, plan_id, who, excuse, notice_hours, told, at)));
    chat::tell(turn, Update::new(Happened::PlanCancelled, person.id).at(plan.site_id));
    let words = text!(language, "shifts-cancelled", site = site.about.name.as_str(), when = when(plan.period, &site));
    turn.say(last_words(words, language));
    Ok(Next::End)
}

/// Who judges reasons at each of these sites, by site; each but their own, which is for owners.
pub async fn judges(app: &App, sites: &[i64]) -> Result<HashMap<i64, Vec<i64>>, DbErr> {
    let staff = app.people.with_any(JUDGES).await?;
    let permitted = Sites::of_app(app).permitted_at(sites, Permission::Employees).await?;
    let permitted: HashSet<(i64, i64)> = permitted.into_iter().collect();
    let of_site = |site: i64| {
        let is_judge = |one: &&Person| one.may(OWNERS) || permitted.contains(&(site, one.id));
        (site, staff.iter().filter(is_judge).map(|one| one.id).collect())
    };
    Ok(sites.iter().copied().map(of_site).collect())
}

async fn timed_out(turn: &mut Turn, _: CancelPlan) -> Step<CancelPlan> {
    chat::timed_out(turn, key!("shifts-mine-button"), mine::MINE).await
}

async fn ask(turn: &mut Turn, question: &'static str, may_skip: bool) -> Result<(), BoxError> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    let mut rows = vec![chat::way_out(language)];
    if may_skip {
        rows.insert(0, vec![Button::new(text!(language, "shifts-skip-button"), SKIP)]);
    }
    turn.say(Say::text(language.text(question)).buttons(rows));
    Ok(())
}

/// A key below a position that was asked for before is a way out of here too, and no answer.
async fn left(turn: &mut Turn, text: &str, language: Language) -> Result<Option<Next<CancelPlan>>, BoxError> {
    Ok(match chat::typed(turn, text, language).await? {
        Typed::Back => Some(Next::Back),
        Typed::Menu => Some(Next::End),
        Typed::SomethingElse => None,
    })
}

fn short(text: &str) -> Option<String> {
    let text = typed::line(text);
    (!text.is_empty() && text.chars().count() <= WORDS_MOST).then_some(text)
}

fn too_long(turn: &mut Turn, language: Language) -> Step<CancelPlan> {
    turn.refuse(text!(language, "shifts-too-long", count = WORDS_MOST))
}
