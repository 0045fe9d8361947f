//! Opening a shift: one of today's plans, or a site where the contract allows it; then the position; then it is open.

use std::collections::BTreeMap;

use opora::clock::Millis;
use opora::prelude::*;

use super::chat::{self, LIFE, Typed, last_words_and, refused, worker};
use super::paging::{self, Page, Question, offset};
use super::rules::EARLIEST_MS;
use super::working::{self, Start};
use super::{Happened, Plan, PlanStatus, ShiftTask, Shifts, Update, closing, marking, planning, when};
use crate::application::App;
use crate::domain::InTurn;
use crate::front::menu_button;
use crate::people::Person;
use crate::sites::{self, ContractStatus, Site, Sites, Why};
use crate::{key, text};

pub const BEGIN: &str = "open:begin";
const PLAN: &str = "open:plan:";
const SITE: &str = "open:site:";
const MORE: &str = "open:more:";

/// Where opening stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "open_shift")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum OpenShift {
    Choose,
    Position {
        site_id: i64,
        /// None: without a plan.
        plan_id: Option<i64>,
    },
}

/// What a person can open now.
struct Choices {
    plans: Vec<Plan>,
    /// Without a plan.
    sites: Vec<Site>,
    /// Those of the plans too.
    known: Vec<Site>,
}

pub fn dialogue() -> Dialogue<OpenShift> {
    Dialogue::new()
        .start(button(BEGIN), begin)
        .ask(OpenShift::CHOOSE, ask_what)
        .on(OpenShift::CHOOSE, button(PLAN), plan)
        .on(OpenShift::CHOOSE, button(SITE), site)
        .on(OpenShift::CHOOSE, button(MORE), more)
        .ask(OpenShift::POSITION, ask_position)
        .on(OpenShift::POSITION, location(), position)
        .on(OpenShift::POSITION, text(), typed)
        .life(LIFE)
        .timeout(timed_out)
}

async fn begin(turn: &mut Turn, _: Press) -> Step<OpenShift> {
    let Some(person) = worker(turn).await? else { return Ok(Next::Stay) };
    let (app, language, now) = (turn.context::<App>(), person.language, turn.now());
    if Shifts::of_app(&app).active_of(person.id).await?.is_some() {
        let buttons = [tasks_button(&person), close_button(&person)];
        turn.say(last_words_and(Why::Working.words(language), buttons, language));
        return Ok(Next::Stay);
    }
    let choices = choices(&app, &person, now).await?;
    if choices.plans.is_empty() && choices.sites.is_empty() {
        let plan = Button::raw(text!(language, "shifts-plan-button"), planning::BEGIN);
        turn.say(last_words_and(text!(language, "shifts-nothing-to-open"), [plan], language));
        return Ok(Next::Stay);
    }
    Ok(Next::Go(OpenShift::Choose))
}

async fn ask_what(turn: &mut Turn) -> Result<(), BoxError> {
    let question = what(turn, 0).await?;
    paging::ask(turn, question);
    Ok(())
}

async fn more(turn: &mut Turn, press: Press) -> Step<OpenShift> {
    let question = what(turn, offset(&press)).await?;
    paging::turn_page(turn, &press, question)
}

/// Plans first, then sites without one.
async fn what(turn: &mut Turn, offset: usize) -> Result<Question, BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(None) };
    let (app, language, now) = (turn.context::<App>(), person.language, turn.now());
    let choices = choices(&app, &person, now).await?;
    let plan = |plan: &Plan| {
        let site = choices.known.iter().find(|site| site.id == plan.site_id)?;
        let words = format!("🗓 {} · {}", when(plan.period, site), site.about.name);
        Some((chat::caption(&words), format!("{PLAN}{}", plan.id)))
    };
    let site = |site: &Site| {
        let words = text!(language, "shifts-without-plan-choice", site = chat::caption(&site.about.name));
        (chat::caption(&words), format!("{SITE}{}", site.id))
    };
    let all: Vec<_> = choices.plans.iter().filter_map(plan).chain(choices.sites.iter().map(site)).collect();
    let page = Page::of(&all, offset);
    let mut rows: Vec<_> =
        page.items.iter().map(|(words, data)| vec![Button::new(words.as_str(), data.as_str())]).collect();
    rows.extend(page.turns(MORE, language));
    rows.push(vec![menu_button(language)]);
    Ok(Some((text!(language, "shifts-open-what"), rows)))
}

async fn plan(turn: &mut Turn, press: Press) -> Step<OpenShift> {
    let Ok(id) = press.rest.parse() else { return Ok(Next::Again) };
    let plan = Shifts::of_app(&turn.context::<App>()).plan_of(id).await?;
    let Some(plan) = plan else { return Ok(Next::Again) };
    Ok(Next::Go(OpenShift::Position { site_id: plan.site_id, plan_id: Some(id) }))
}

async fn site(_: &mut Turn, press: Press) -> Step<OpenShift> {
    let Ok(site_id) = press.rest.parse() else { return Ok(Next::Again) };
    Ok(Next::Go(OpenShift::Position { site_id, plan_id: None }))
}

async fn ask_position(turn: &mut Turn, site_id: i64, _: Option<i64>) -> Result<(), BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let Some(site) = Sites::of_app(&turn.context::<App>()).of(site_id).await? else { return Ok(()) };
    let words = text!(person.language, "shifts-open-position", site = site.about.name);
    chat::ask_position(turn, words, person.language);
    Ok(())
}

async fn position(turn: &mut Turn, site_id: i64, plan_id: Option<i64>, sent: Location) -> Step<OpenShift> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language, at) = (turn.context::<App>(), person.language, turn.now());
    let sites = Sites::of_app(&app);
    let Some(site) = sites.of(site_id).await? else { return Ok(Next::End) };
    if let Some(why) = refused(turn) {
        turn.say(Say::text(text!(language, "shifts-position-taken")).remove_keyboard());
        return chat::give_up(turn, why, language);
    }
    let Some(position) = chat::near(turn, &site, sent, language) else { return Ok(Next::Stay) };
    let start = Start { user_id: person.id, site_id, plan_id, position: Some(position), at };
    turn.write(move |db| Box::pin(async move { working::open(db, start).await.map(drop) }));
    chat::tell(turn, Update::new(Happened::ShiftCreated, person.id));
    let slot_id = match plan_id {
        Some(id) => Shifts::of_app(&app).plan_of(id).await?.map(|plan| plan.slot_id),
        None => None,
    };
    let tasks = sites::tasks_for(app.domain.read(), site_id, slot_id).await?;
    let tasks: Vec<_> = tasks.iter().map(ShiftTask::to_come).collect();
    let (name, hour) = (site.about.name.as_str(), chat::hour(at, &site));
    let mut words = text!(language, "shifts-opened", site = name, hour = hour);
    if !tasks.is_empty() {
        let title = text!(language, "shifts-opened-tasks");
        words = format!("{words}\n\n{title}\n{}", chat::task_lines(&tasks, language));
    }
    turn.say(Say::text(text!(language, "shifts-position-taken")).remove_keyboard());
    turn.say(last_words_and(words, [tasks_button(&person), close_button(&person)], language));
    Ok(Next::End)
}

async fn typed(turn: &mut Turn, _: i64, _: Option<i64>, text: String) -> Step<OpenShift> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    match chat::typed(turn, &text, language) {
        Typed::Back => Ok(Next::Go(OpenShift::Choose)),
        Typed::Menu => Ok(Next::End),
        Typed::SomethingElse => turn.refuse(text!(language, "shifts-position-wanted")),
    }
}

async fn timed_out(turn: &mut Turn, _: OpenShift) -> Step<OpenShift> {
    chat::timed_out(turn, key!("shifts-open-button"), BEGIN).await
}

fn tasks_button(person: &Person) -> Button {
    Button::raw(text!(person.language, "shifts-tasks-button"), marking::BEGIN)
}

fn close_button(person: &Person) -> Button {
    Button::raw(text!(person.language, "shifts-close-button"), closing::BEGIN)
}

async fn choices(app: &App, person: &Person, now: Millis) -> Result<Choices, BoxError> {
    let sites = Sites::of_app(app);
    let mut plans = Shifts::of_app(app).plans_of(person.id, now).await?;
    plans.retain(|plan| plan.status == PlanStatus::Planned && plan.period.from.0 - EARLIEST_MS <= now.0);
    let contracts = sites.contracts_of(person.id).await?;
    let active = contracts.iter().filter(|one| one.deleted_at.is_none() && one.about.status == ContractStatus::Active);
    // Of several contracts for a site the newest decides, as it does when the shift is opened.
    let newest: BTreeMap<i64, bool> =
        active.flat_map(|one| one.about.sites.iter().map(|site| (*site, one.about.allows_spontaneous))).collect();
    let spontaneous: Vec<i64> =
        newest.into_iter().filter_map(|(site, is_allowed)| is_allowed.then_some(site)).collect();
    let ids: Vec<i64> = plans.iter().map(|plan| plan.site_id).chain(spontaneous.iter().copied()).collect();
    let known = sites.with_ids(&ids).await?;
    let live = known.iter().filter(|site| site.deleted_at.is_none() && spontaneous.contains(&site.id));
    Ok(Choices { plans, sites: live.cloned().collect(), known })
}
