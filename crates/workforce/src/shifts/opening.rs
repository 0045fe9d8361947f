//! The dialogue that opens a shift: choose a plan of today, or a site where the contract allows it; then the position,
//! if the site has one.

use opora::clock::Millis;
use opora::prelude::*;

use super::chat::{self, EXPIRY, TypedKey, refused, worker};
use super::paging::{self, Page, Question, offset};
use super::rules::EARLY_START_MS;
use super::working::{self, ShiftStart};
use super::{Plan, PlanStatus, ShiftEvent, ShiftEventKind, ShiftTask, Shifts, closing, marking, planning, plans, when};
use crate::application::App;
use crate::people::WriteAs;
use crate::person::Person;
use crate::sites::{self, Position, Site, SiteRefusal, Sites, local};
use crate::texts::short_day_and_time;
use crate::{key, text};

pub const BEGIN: &str = "open:begin";
const PLAN: &str = "open:plan:";
const SITE: &str = "open:site:";
const MORE: &str = "open:more:";

/// The states of the dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "open_shift")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum OpenShift {
    Choose,
    Position {
        site_id: i64,
        /// None for a shift without a plan.
        plan_id: Option<i64>,
    },
}

/// What the person can open now.
struct Choices {
    plans: Vec<Plan>,
    /// Sites without a plan for now, where the contract allows shifts without one.
    sites: Vec<Site>,
    /// All these sites, including those of the plans.
    known: Vec<Site>,
    has_no_contract: bool,
}

pub fn dialogue() -> Dialogue<OpenShift> {
    Dialogue::new()
        .start(button(BEGIN), begin)
        .ask(OpenShift::CHOOSE, ask_choice)
        .on(OpenShift::CHOOSE, button(PLAN), plan)
        .on(OpenShift::CHOOSE, button(SITE), site)
        .on(OpenShift::CHOOSE, button(MORE), more)
        .on(OpenShift::CHOOSE, button(chat::BACK), chat::back_to_menu)
        .ask(OpenShift::POSITION, ask_position)
        .on(OpenShift::POSITION, location(), position)
        .on(OpenShift::POSITION, text(), typed)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
        .on_cancel(cancelled)
}

async fn begin(turn: &mut Turn, _: Press) -> Step<OpenShift> {
    let Some(person) = worker(turn).await? else { return Ok(Next::Stay) };
    let (app, language, now) = (turn.context::<App>(), person.language, turn.now());
    let is_at_work = Shifts::of_app(&app).active_of(person.id).await?.is_some();
    if is_at_work && working::forgotten_shift(app.domain.read(), person.id, now).await?.is_none() {
        return is_at_work_already(turn, &person);
    }
    let choices = choices(&app, &person, now).await?;
    if choices.plans.is_empty() && choices.sites.is_empty() {
        // A forgotten shift only gives way to another shift.
        if is_at_work {
            return is_at_work_already(turn, &person);
        }
        let plan = Button::raw(text!(language, "shifts-plan-button"), planning::BEGIN);
        if choices.has_no_contract {
            chat::show_final(turn, text!(language, "shifts-no-sites"), language);
            return Ok(Next::Stay);
        }
        chat::show_final_with(turn, text!(language, "shifts-nothing-to-open"), [plan], language);
        return Ok(Next::Stay);
    }
    Ok(Next::Go(OpenShift::Choose))
}

fn is_at_work_already(turn: &mut Turn, person: &Person) -> Step<OpenShift> {
    let buttons = [tasks_button(person), close_button(person)];
    chat::show_final_with(turn, SiteRefusal::Working.text(person.language), buttons, person.language);
    Ok(Next::Stay)
}

async fn ask_choice(turn: &mut Turn) -> Result<(), BoxError> {
    let question = choices_page(turn, 0).await?;
    paging::ask(turn, question);
    Ok(())
}

async fn more(turn: &mut Turn, press: Press) -> Step<OpenShift> {
    let question = choices_page(turn, offset(&press)).await?;
    paging::turn_page(turn, question)
}

/// A page of choices: plans first, then sites.
async fn choices_page(turn: &mut Turn, offset: usize) -> Result<Question, BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(None) };
    let (app, language, now) = (turn.context::<App>(), person.language, turn.now());
    let choices = choices(&app, &person, now).await?;
    let plan = |plan: &Plan| {
        let site = choices.known.iter().find(|site| site.id == plan.site_id)?;
        let text = format!("🗓 {} · {}", when(plan.period, site, language), site.about.name);
        Some((chat::caption(&text), format!("{PLAN}{}", plan.id)))
    };
    let site = |site: &Site| {
        let text = text!(language, "shifts-without-plan-choice", site = chat::caption(&site.about.name));
        (chat::caption(&text), format!("{SITE}{}", site.id))
    };
    let all: Vec<_> = choices.plans.iter().filter_map(plan).chain(choices.sites.iter().map(site)).collect();
    let page = Page::new(&all, offset);
    let mut rows: Vec<_> =
        page.items.iter().map(|(caption, data)| vec![Button::new(caption.as_str(), data.as_str())]).collect();
    rows.extend(page.page_buttons(MORE, language));
    let mut text = text!(language, "shifts-open-what");
    if let Some(before) = forgotten_shift_text(&app, &person, now).await? {
        text = format!("{before}\n\n{text}");
        rows.push(vec![close_button(&person)]);
    }
    rows.push(chat::navigation_row(language));
    Ok(Some((text, rows)))
}

/// A text about the forgotten shift, if there is one.
async fn forgotten_shift_text(app: &App, person: &Person, now: Millis) -> Result<Option<String>, BoxError> {
    let Some((shift, ended_at)) = working::forgotten_shift(app.domain.read(), person.id, now).await? else {
        return Ok(None);
    };
    let Some(site) = Sites::of_app(app).site(shift.site_id).await? else { return Ok(None) };
    let end = short_day_and_time(local(ended_at, site.about.time_zone), person.language);
    Ok(Some(text!(person.language, "shifts-open-forgotten", site = site.about.name, end = end)))
}

async fn plan(turn: &mut Turn, press: Press) -> Step<OpenShift> {
    let Ok(id) = press.rest.parse() else { return Ok(Next::AskAgain) };
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let plan = Shifts::of_app(&turn.context::<App>()).plan_of(id).await?;
    let Some(plan) = plan.filter(|plan| plan.user_id == person.id) else { return Ok(Next::AskAgain) };
    chosen(turn, &person, plan.site_id, Some(id)).await
}

async fn site(turn: &mut Turn, press: Press) -> Step<OpenShift> {
    let Ok(site_id) = press.rest.parse() else { return Ok(Next::AskAgain) };
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    chosen(turn, &person, site_id, None).await
}

/// Asks for the position. If the site has none, opens the shift right away.
async fn chosen(turn: &mut Turn, person: &Person, site_id: i64, plan_id: Option<i64>) -> Step<OpenShift> {
    let app = turn.context::<App>();
    let Some(site) = site_to_open(&app, person, site_id, plan_id).await? else {
        return chat::give_up(turn, SiteRefusal::NoContract, person.language);
    };
    if site.about.position.is_some() {
        return Ok(Next::Go(OpenShift::Position { site_id, plan_id }));
    }
    if let Some(why) = refused(turn) {
        return chat::give_up(turn, why, person.language);
    }
    open(turn, &app, person, (&site, plan_id), None).await?;
    Ok(Next::End)
}

/// A site where the person may start: that of an own plan, or one with a contract. Nothing is said about others.
async fn site_to_open(
    app: &App,
    person: &Person,
    site_id: i64,
    plan_id: Option<i64>,
) -> Result<Option<Site>, BoxError> {
    let sites = Sites::of_app(app);
    let Some(plan_id) = plan_id else { return Ok(sites.site_of_worker_today(person.id, site_id).await?) };
    let plan = Shifts::of_app(app).plan_of(plan_id).await?;
    if plan.is_some_and(|plan| plan.user_id == person.id && plan.site_id == site_id) {
        return Ok(sites.site(site_id).await?);
    }
    Ok(None)
}

async fn ask_position(turn: &mut Turn, site_id: i64, plan_id: Option<i64>) -> Result<(), BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let Some(site) = site_to_open(&turn.context::<App>(), &person, site_id, plan_id).await? else {
        chat::show_final(turn, SiteRefusal::NoContract.text(person.language), person.language);
        return Ok(());
    };
    let text = text!(person.language, "shifts-open-position", site = site.about.name);
    chat::ask_position(turn, text, person.language);
    Ok(())
}

async fn position(turn: &mut Turn, site_id: i64, plan_id: Option<i64>, sent: Location) -> Step<OpenShift> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language) = (turn.context::<App>(), person.language);
    let Some(site) = site_to_open(&app, &person, site_id, plan_id).await? else {
        return chat::give_up_position(turn, SiteRefusal::NoContract, language);
    };
    if let Some(why) = refused(turn) {
        return chat::give_up_position(turn, why, language);
    }
    let Some(position) = chat::accepted_position(turn, &site, sent, language) else { return Ok(Next::Stay) };
    turn.say(Say::text(text!(language, "shifts-position-taken")).remove_keyboard());
    let arrival = (position, chat::sent_at(turn, &sent));
    open(turn, &app, &person, (&site, plan_id), Some(arrival)).await?;
    Ok(Next::End)
}

/// Opens the shift and lists its tasks. `arrival` is the position with its time; None where no position is needed.
async fn open(
    turn: &mut Turn,
    app: &App,
    person: &Person,
    (site, plan_id): (&Site, Option<i64>),
    arrival: Option<(Position, Millis)>,
) -> Result<(), BoxError> {
    let (language, at, shifts) = (person.language, turn.now(), Shifts::of_app(app));
    let plan = match plan_id {
        Some(id) => shifts.plan_of(id).await?,
        None => plans::due(app.domain.read(), person.id, site.id, at).await?,
    };
    let plan_id = plan_id.or(plan.as_ref().map(|plan| plan.id));
    let (position, arrived_at) = arrival.unzip();
    let started_at = arrived_at.unwrap_or(at);
    let start = ShiftStart { user_id: person.id, site_id: site.id, plan_id, position, started_at, at };
    let mandatory = shifts.mandatory_task_penalty().await?;
    turn.write_as(person, move |db| Box::pin(async move { working::open_next(db, start, mandatory).await.map(drop) }));
    let mut since = working::start_time(app.domain.read(), start, plan.as_ref()).await?;
    if let Some((forgotten_shift, ended_at)) = working::forgotten_shift(app.domain.read(), person.id, at).await? {
        since = since.max(ended_at);
        ShiftEvent::of_shift(ShiftEventKind::ShiftClosed, forgotten_shift.id, person.id)
            .at(forgotten_shift.site_id)
            .after(turn);
    }
    chat::publish(turn, ShiftEvent::new(ShiftEventKind::ShiftCreated, person.id).at(site.id));
    let tasks = sites::tasks_for(app.domain.read(), site.id, plan.map(|plan| plan.slot_id)).await?;
    let tasks: Vec<_> = tasks.iter().map(ShiftTask::to_come).collect();
    let mut text = text!(language, "shifts-opened", site = site.about.name.as_str(), hour = chat::hour(since, site));
    if !tasks.is_empty() {
        let title = text!(language, "shifts-opened-tasks");
        text = format!("{text}\n\n{title}\n{}", chat::task_lines(&tasks, mandatory, language));
    }
    let tasks = (!tasks.is_empty()).then(|| tasks_button(person));
    chat::show_final_with(turn, text, tasks.into_iter().chain([close_button(person)]), language);
    Ok(())
}

async fn typed(turn: &mut Turn, _: i64, _: Option<i64>, text: String) -> Step<OpenShift> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    match chat::typed_key(turn, &text, language).await? {
        TypedKey::Back => Ok(Next::Go(OpenShift::Choose)),
        TypedKey::Menu => Ok(Next::End),
        TypedKey::SomethingElse => chat::refuse_position(turn, text!(language, "shifts-position-wanted"), language),
    }
}

/// Whether the dialogue waits for a position, with a keyboard on the screen.
pub fn shows_keyboard(turn: &Turn) -> bool {
    matches!(turn.draft::<OpenShift>(), Some(OpenShift::Position { .. }))
}

async fn cancelled(turn: &mut Turn, state: OpenShift) -> Result<(), BoxError> {
    match state {
        OpenShift::Choose => chat::say_cancelled(turn, key!("shifts-open-stopped")).await,
        OpenShift::Position { .. } => chat::say_cancelled_with_keyboard(turn, key!("shifts-open-stopped")).await,
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
    plans.retain(|plan| may_open(plan, now));
    let mut contracts = sites.active_contracts_of(person.id).await?;
    let has_no_contract = contracts.is_empty();
    contracts.retain(|one| one.about.allows_spontaneous);
    let of_contracts = contracts.iter().flat_map(|one| one.about.sites.iter().copied());
    let ids: Vec<i64> = plans.iter().map(|plan| plan.site_id).chain(of_contracts).collect();
    let known = sites.with_ids(&ids).await?;
    let is_spontaneous = |site: &Site| {
        let today = local(now, site.about.time_zone).date();
        contracts.iter().any(|one| one.about.covers(site.id, today))
    };
    let is_planned = |site: &Site| plans.iter().any(|plan| plan.site_id == site.id);
    let live = known.iter().filter(|site| site.deleted_at.is_none() && is_spontaneous(site));
    let sites = live.filter(|site| !is_planned(site)).cloned().collect();
    Ok(Choices { plans, sites, known, has_no_contract })
}

/// Those of these plans that can be opened now.
pub fn plans_to_open(plans: &[Plan], now: Millis) -> Vec<&Plan> {
    plans.iter().filter(|plan| may_open(plan, now)).collect()
}

fn may_open(plan: &Plan, now: Millis) -> bool {
    plan.status == PlanStatus::Planned && plan.period.from.0 - EARLY_START_MS <= now.0
}
