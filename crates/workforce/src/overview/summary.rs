//! The daily summary of owners: the job that sends it, and `/summary` in the bot.

use chrono::{Days, NaiveDate, Timelike};
use chrono_tz::Tz;
use maud::html;
use opora::prelude::*;
use opora::telegram::Button;
use sea_orm::DbErr;

use crate::application::App;
use crate::domain::WriteInTurn;
use crate::front::{allowed_person, menu_button, navigation, reply};
use crate::jobs::{NOTIFICATIONS, scheduled_job, written_or_skipped};
use crate::money::{Money, PaidHours};
use crate::notices::daily_summary::{self, DailySummary, HOURS};
use crate::person::{OWNERS, Person};
use crate::registration::Registrations;
use crate::shifts::{Shifts, is_missing};
use crate::sites::{Period, Sites};
use crate::text;
use crate::texts::Language;
use crate::web::{PageError, Section};

/// Data of the button in the owner's menu.
pub const OPEN: &str = "daily:ask";
/// Data of the buttons, before the chosen hour.
const CHOOSE: &str = "summary:";
/// The value of the button that ends the summaries.
const OFF: &str = "off";
const LAST_HOUR: i64 = 23;

scheduled_job! { pub SendSummaries = "daily-summary" in NOTIFICATIONS }

/// The dialogue. It has no state, because its buttons work at any time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "summary")]
pub enum SummaryDialogue {}

pub fn dialogue() -> Dialogue<SummaryDialogue> {
    Dialogue::new()
        .start(command("summary"), ask_by_command)
        .start(button(OPEN), ask_by_button)
        .start(button(CHOOSE), choose)
}

/// The owner's choice, on the owner's own page.
pub async fn own_sections(app: &App, viewer: &Person) -> Result<Vec<Section>, PageError> {
    if !viewer.may(OWNERS) {
        return Ok(Vec::new());
    }
    let language = viewer.language;
    let now = name(daily_summary::hour_of(&app.domain, viewer.id).await?, language);
    let body = html! { p data-testid="own-summary" { (text!(language, "summary-own", now = now)) } };
    Ok(vec![Section { title: text!(language, "summary-own-title"), body }])
}

/// The job: sends the summary of the day to owners whose hour has come, by the clock of the business. It makes up for
/// the summary of yesterday if the product did not run at that hour.
pub async fn send_summaries(app: App) -> anyhow::Result<()> {
    let local = app.payroll.local_now().await?;
    let (today, zone) = (local.date_naive(), local.timezone());
    if let Some(yesterday) = today.pred_opt() {
        send_summaries_of(&app, yesterday, LAST_HOUR, zone).await?;
    }
    send_summaries_of(&app, today, i64::from(local.hour()), zone).await?;
    app.bot.wake_jobs();
    Ok(())
}

async fn send_summaries_of(app: &App, day: NaiveDate, hour: i64, zone: Tz) -> anyhow::Result<()> {
    let due = daily_summary::due(&app.domain, day, hour).await?;
    let owners = app.people.with_ids(&due).await?;
    let owners: Vec<i64> = owners.iter().filter(|person| person.may(OWNERS)).map(|person| person.id).collect();
    if owners.is_empty() {
        return Ok(());
    }
    let (summary, at) = (summary_of(app, day, zone).await?, app.clock.now());
    for id in owners {
        let summary = summary.clone();
        let sent = app.domain.write(move |db| Box::pin(daily_summary::send(db, id, summary, at))).await;
        written_or_skipped(sent, "user", id)?;
    }
    Ok(())
}

async fn summary_of(app: &App, day: NaiveDate, zone: Tz) -> Result<DailySummary, DbErr> {
    let (shifts, sites, now) = (Shifts::of_app(app), Sites::of_app(app).list().await?, app.clock.now());
    let ids: Vec<i64> = sites.iter().map(|site| site.id).collect();
    let period = |day: NaiveDate| Period::of_days(day, 1, zone).unwrap_or(Period { from: now, to: now });
    let next = period(day.checked_add_days(Days::new(1)).unwrap_or(day));
    let today = shifts.dashboard(&ids, period(day)).await?;
    let missing = today
        .plans
        .iter()
        .filter(|plan| sites.iter().any(|site| site.id == plan.site_id && is_missing(plan, &site.about, now)));
    let pay = app.payroll.by_day(day, day).await?.pop();
    let slots = Sites::of_app(app).slots(&ids, next).await?;
    let registrations = Registrations::of_app(app);
    Ok(DailySummary {
        day,
        shifts: today.shifts.len(),
        open_shifts: today.shifts.iter().filter(|shift| shift.ended_at.is_none()).count(),
        no_shows: missing.count(),
        hours: pay.as_ref().map_or(PaidHours::from_hundredths(0), |pay| pay.hours()),
        pay: pay.as_ref().map_or(Money::ZERO, |pay| pay.cost()),
        expected: shifts.plans_of_period(&ids, next).await?.len(),
        free_places: slots.iter().map(|slot| slot.places_left()).sum(),
        applications: registrations.count().await?,
        cancellations: shifts.cancellations(&ids).await?.len(),
        documents: registrations.expiring(day).await?.len(),
    })
}

async fn ask_by_command(turn: &mut Turn, _: Command) -> Step<SummaryDialogue> {
    ask(turn).await
}

async fn ask_by_button(turn: &mut Turn, _: Press) -> Step<SummaryDialogue> {
    ask(turn).await
}

async fn ask(turn: &mut Turn) -> Step<SummaryDialogue> {
    let Some(person) = allowed_person(turn, OWNERS).await? else { return Ok(Next::Stay) };
    let (app, language) = (turn.context::<App>(), person.language);
    let now = name(daily_summary::hour_of(&app.domain, person.id).await?, language);
    let choice = |hour: &i64| Button::raw(name(Some(*hour), language), format!("{CHOOSE}{hour}"));
    let mut rows: Vec<Vec<Button>> = HOURS.chunks(3).map(|row| row.iter().map(choice).collect()).collect();
    rows.push(vec![Button::raw(text!(language, "summary-off"), format!("{CHOOSE}{OFF}"))]);
    rows.push(vec![navigation::menu_of_question(language)]);
    reply::show(turn, text!(language, "summary-ask", now = now), rows);
    Ok(Next::Stay)
}

async fn choose(turn: &mut Turn, press: Press) -> Step<SummaryDialogue> {
    let Some(person) = allowed_person(turn, OWNERS).await? else { return Ok(Next::Stay) };
    let hour = press.rest.parse::<i64>().ok().filter(|hour| HOURS.contains(hour));
    if hour.is_none() && *press.rest != *OFF {
        return Ok(Next::Stay);
    }
    let (language, id) = (person.language, person.id);
    let today = turn.context::<App>().payroll.local_now().await?.date_naive();
    turn.write(move |db| Box::pin(daily_summary::set_hour(db, id, hour, today)));
    let now = name(hour, language);
    turn.say(Say::text(text!(language, "summary-set", now = now)).buttons([[menu_button(language)]]));
    Ok(Next::Stay)
}

/// A choice in words.
fn name(hour: Option<i64>, language: Language) -> String {
    match hour {
        Some(hour) => format!("{hour}:00"),
        None => text!(language, "summary-off"),
    }
}
