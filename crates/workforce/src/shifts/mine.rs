//! "My shifts": plans, the active shift, and recent ones.

use opora::clock::Millis;
use opora::prelude::*;

use super::chat::{fit, menu_of_question, worker};
use super::paging::{self, Page, Question, offset, turn_page};
use super::planning::PlanShift;
use super::{Plan, PlanStatus, Shift, Shifts, cancelling, planning, when};
use crate::application::App;
use crate::money::Money;
use crate::sites::{Period, Site, Sites};
use crate::text;
use crate::texts::{Language, duration};

pub const MINE: &str = "shifts:mine";

/// How far back finished shifts are shown.
const HISTORY_MS: i64 = 14 * 24 * 3_600_000;
const MAX_SHIFTS: usize = 5;

/// Shows the list, or another page of it.
pub async fn show(turn: &mut Turn, press: Press) -> Step<PlanShift> {
    let question = list(turn, offset(&press)).await?;
    turn_page(turn, question)
}

/// Shows the first page of the list.
pub async fn say(turn: &mut Turn) -> Result<(), BoxError> {
    let question = list(turn, 0).await?;
    paging::ask(turn, question);
    Ok(())
}

async fn list(turn: &mut Turn, offset: usize) -> Result<Question, BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(None) };
    let (app, now, language) = (turn.context::<App>(), turn.now(), person.language);
    let shifts = Shifts::of_app(&app);
    let plans = shifts.plans_of(person.id, now).await?;
    let behind = Period { from: Millis(now.0 - HISTORY_MS), to: Millis(now.0 + 1) };
    let worked = shifts.of_person(person.id, behind).await?;
    let ids: Vec<_> = plans.iter().map(|plan| plan.site_id).chain(worked.iter().map(|shift| shift.site_id)).collect();
    let sites = Sites::of_app(&app).with_ids(&ids).await?;
    let site_of = |id: i64| sites.iter().find(|site| site.id == id);
    let mut lines = vec![text!(language, "shifts-mine")];
    let mut rows = Vec::new();
    let page = Page::new(&plans, offset);
    for plan in page.items {
        let Some(site) = site_of(plan.site_id) else { continue };
        lines.push(plan_line(plan, site, language));
        if plan.status == PlanStatus::Planned {
            let caption = text!(language, "shifts-cancel-choice", when = when(plan.period, site, language));
            rows.push(vec![Button::new(caption, format!("{}{}", cancelling::BEGIN, plan.id))]);
        }
    }
    if plans.is_empty() {
        lines.push(text!(language, "shifts-mine-none"));
    }
    for shift in worked.iter().take(MAX_SHIFTS) {
        lines.extend(site_of(shift.site_id).map(|site| shift_line(shift, site, now, language)));
    }
    rows.extend(page.page_buttons(&format!("{MINE}:"), language));
    rows.push(vec![Button::new(text!(language, "shifts-plan-button"), planning::BEGIN)]);
    rows.push(vec![menu_of_question(language)]);
    Ok(Some((fit(lines.join("\n")), rows)))
}

fn plan_line(plan: &Plan, site: &Site, language: Language) -> String {
    let mark = if plan.status == PlanStatus::InProgress { "▶️" } else { "🗓" };
    format!("{mark} {} · {}", when(plan.period, site, language), site.about.name)
}

fn shift_line(shift: &Shift, site: &Site, now: Millis, language: Language) -> String {
    let ended_at = shift.ended_at.unwrap_or(now);
    let period = Period { from: shift.started_at, to: ended_at };
    let time = duration((ended_at.0 - shift.started_at.0) / 1000, language);
    let rate = Money::from_kopecks(shift.rate_kopecks).shown(language);
    let (name, when) = (site.about.name.as_str(), when(period, site, language));
    if shift.ended_at.is_none() {
        return text!(language, "shifts-mine-open", site = name, when = when, time = time, rate = rate);
    }
    text!(language, "shifts-mine-over", site = name, when = when, time = time, rate = rate)
}
