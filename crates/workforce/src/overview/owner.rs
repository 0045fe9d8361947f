//! The owner in the bot: today, the sites, their slots, a new slot in one line; and reasons that wait to be judged.

use std::time::Duration;

use chrono::{Datelike, NaiveDate};
use opora::clock::Millis;
use opora::prelude::*;

use crate::application::App;
use crate::domain::{InTurn, Rule};
use crate::front::fitting::fit;
use crate::front::{self, menu_button, ways};
use crate::money::Money;
use crate::notices;
use crate::person::{KEEPERS, Permission, Person};
use crate::shifts::paging::{Page, offset, turn_page};
use crate::shifts::{
    self, Cancellation, Happened, MediumKind, Overview, Plan, PlanStatus, ShiftStatus, Shifts, Update, caption,
    minutes_late, when,
};
use crate::sites::{self, AboutSlot, By, Hours, Period, Rights, Site, Sites, Why, local, rescheduled};
use crate::texts::Language;
use crate::{key, text};

pub const TODAY: &str = "owner:today";
pub const SITES: &str = "owner:sites";
const SITE: &str = "owner:site:";
const NEW_SLOT: &str = "owner:slot:";
const JUDGE_YES: &str = "judge:yes:";
const JUDGE_NO: &str = "judge:no:";

const LIFE: Duration = Duration::from_secs(15 * 60);
const WEEK_DAYS: u64 = 7;
const SHOWN_MOST: usize = 20;

/// Making a slot takes a second step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "owner_sites")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum OwnerSites {
    /// Waits for a line such as `31.12 09:00-18:00 2`.
    NewSlot { site_id: i64 },
}

pub fn dialogue() -> Dialogue<OwnerSites> {
    Dialogue::new()
        .start(button(TODAY), today)
        .start(button(SITES), list)
        .start(button(SITE), show)
        .start(button(NEW_SLOT), new_slot)
        .start(button(JUDGE_YES), accept)
        .start(button(JUDGE_NO), reject)
        .ask(OwnerSites::NEW_SLOT, ask_slot)
        .on(OwnerSites::NEW_SLOT, text(), slot)
        .on(OwnerSites::NEW_SLOT, button(ways::BACK), back_to_site)
        .life(LIFE)
        .timeout(timed_out)
}

/// Who works where, who is late, who has not come, which sites are open, which reasons wait.
async fn today(turn: &mut Turn, _: Press) -> Step<OwnerSites> {
    let Some(person) = front::allowed(turn, KEEPERS).await? else { return Ok(Next::Stay) };
    let (app, now, language) = (turn.context::<App>(), turn.now(), person.language);
    let doors = Sites::of_app(&app);
    let sites = doors.where_may(&person, Permission::View).await?;
    let lines = overview(&app, &sites, now, language).await?;
    turn.say(Say::text(fit(lines.join("\n"))).buttons([[menu_button(language)]]));
    // Why somebody does not come is for those who judge it, and not for all who see the site.
    let judged = doors.where_ever_may(&person, Permission::Employees).await?;
    let ids: Vec<_> = judged.iter().map(|site| site.id).collect();
    let waiting = Shifts::of_app(&app).cancellations(&ids).await?;
    let people = app.people.with_ids(&waiting.iter().map(|(one, _)| one.user_id).collect::<Vec<_>>()).await?;
    // One's own is judged by owners, on whom it waits.
    let others = waiting.iter().filter(|(one, _)| Sites::not_on_oneself(&person, one.user_id).is_ok());
    for (one, plan) in others.take(SHOWN_MOST) {
        let site = judged.iter().find(|site| site.id == plan.site_id);
        let (Some(site), Some(who)) = (site, people.iter().find(|who| who.id == one.user_id)) else { continue };
        turn.say(to_judge(one, plan, site, who, language));
    }
    Ok(Next::Stay)
}

/// A reason with what proves it, and the two answers.
fn to_judge(one: &Cancellation, plan: &Plan, site: &Site, who: &Person, language: Language) -> Say {
    let reason = [Some(one.reason.words(language)), one.words.clone(), one.document.clone()];
    let reason = reason.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let (name, site_name, when) = (who.full_name.as_str(), site.about.name.as_str(), when(plan.period, site));
    let words = text!(language, "sites-cancellation", name = name, site = site_name, when = when, reason = reason);
    let yes = Button::raw(text!(language, "sites-accept-button"), format!("{JUDGE_YES}{}", one.id));
    let no = Button::raw(text!(language, "sites-reject-button"), format!("{JUDGE_NO}{}", one.id));
    let said = match (one.photo_file.clone().map(FileRef::id), one.photo_kind) {
        (None, _) => Say::text(words),
        (Some(file), Some(MediumKind::Document)) => Say::document(file).caption(words),
        (Some(file), _) => Say::photo(file).caption(words),
    };
    said.buttons([vec![yes, no], vec![menu_button(language)]])
}

async fn overview(app: &App, sites: &[Site], now: Millis, language: Language) -> Result<Vec<String>, BoxError> {
    let mut lines = vec![text!(language, "sites-today")];
    if sites.is_empty() {
        lines.push(text!(language, "sites-none"));
    }
    let ids: Vec<_> = sites.iter().map(|site| site.id).collect();
    let all = Shifts::of_app(app).today(&ids, Period::around(now)).await?;
    let users = all.plans.iter().map(|plan| plan.user_id).chain(all.shifts.iter().map(|shift| shift.user_id));
    let people = app.people.with_ids(&users.collect::<Vec<_>>()).await?;
    for site in sites {
        let of_site = site_lines(site, &all, &people, now, language);
        // Of many sites only those are told of where something happens.
        if sites.len() <= SHOWN_MOST || of_site.len() > 1 {
            lines.extend(of_site);
        }
    }
    Ok(lines)
}

/// A site's heading, and a line for everybody who is expected there today, works there or did.
fn site_lines(site: &Site, all: &Overview, people: &[Person], now: Millis, language: Language) -> Vec<String> {
    let clock = |at: Millis| local(at, site.about.time_zone);
    let is_today = |at: Millis| clock(at).date() == clock(now).date();
    let name = |id: i64| people.iter().find(|one| one.id == id).map_or("–", |one| one.full_name.as_str()).to_owned();
    let is_open = all.openings.iter().any(|opening| opening.site_id == site.id);
    let mut lines = vec![format!("\n{} {}", if is_open { "🟢" } else { "⚪" }, site.about.name)];
    for shift in all.shifts.iter().filter(|shift| shift.site_id == site.id) {
        let (name, since) = (name(shift.user_id), clock(shift.started_at).format("%H:%M").to_string());
        if shift.status == ShiftStatus::Active {
            lines.push(text!(language, "sites-works", name = name, since = since));
            let late = minutes_late(shift);
            if late > 0 {
                lines.push(text!(language, "sites-late", count = late));
            }
        } else if is_today(shift.started_at) {
            lines.push(text!(language, "sites-was-here", name = name, since = since));
        }
    }
    let planned = all.plans.iter().filter(|plan| plan.site_id == site.id && plan.status == PlanStatus::Planned);
    // A night that began yesterday goes on still.
    for plan in planned.filter(|plan| is_today(plan.period.from) || plan.period.is_on(now)) {
        let (name, when) = (name(plan.user_id), when(plan.period, site));
        lines.push(if plan.expected_at() < now {
            text!(language, "sites-not-come", name = name, when = when)
        } else {
            text!(language, "sites-comes", name = name, when = when)
        });
    }
    lines
}

async fn list(turn: &mut Turn, press: Press) -> Step<OwnerSites> {
    let Some(person) = front::allowed(turn, KEEPERS).await? else { return Ok(Next::Stay) };
    let language = person.language;
    let sites = Sites::of_app(&turn.context::<App>()).where_may(&person, Permission::View).await?;
    let words = if sites.is_empty() { text!(language, "sites-none") } else { text!(language, "sites-list") };
    let page = Page::of(&sites, offset(&press));
    let site = |site: &Site| vec![Button::raw(caption(&site.about.name), format!("{SITE}{}", site.id))];
    let mut rows: Vec<_> = page.items.iter().map(site).collect();
    rows.extend(page.turns(&format!("{SITES}:"), language));
    rows.push(vec![menu_button(language)]);
    // From the menu it is a new list, from a page of it another page.
    if press.rest.is_empty() {
        turn.say(Say::text(words).buttons(rows));
        return Ok(Next::Stay);
    }
    turn_page(turn, &press, Some((words, rows)))
}

/// A site with its tasks and the slots of a week.
async fn show(turn: &mut Turn, press: Press) -> Step<OwnerSites> {
    card(turn, &press.rest).await
}

async fn card(turn: &mut Turn, site: &str) -> Step<OwnerSites> {
    let Some(person) = front::allowed(turn, KEEPERS).await? else { return Ok(Next::Stay) };
    let (app, now, language) = (turn.context::<App>(), turn.now(), person.language);
    let Some(site) = permitted(&app, &person, Permission::View, site).await? else {
        return turn.refuse(Why::NotAllowed.words(language));
    };
    let sites = Sites::of_app(&app);
    let rate = Money::from_kopecks(site.about.rate_kopecks).shown(language);
    let (name, address) = (site.about.name.as_str(), site.about.address.as_str());
    let mut lines = vec![text!(language, "sites-card", site = name, address = address, rate = rate)];
    for task in sites.tasks_of_site(site.id).await?.iter().filter(|task| task.deleted_at.is_none()) {
        let amount = Money::from_kopecks(task.about.amount_kopecks).signed(language);
        lines.push(format!("• {} · {amount}", task.about.text));
    }
    let today = local(now, site.about.time_zone).date();
    if let Some(week) = Period::of_days(today, WEEK_DAYS, site.about.time_zone) {
        lines.push(text!(language, "sites-week"));
        for slot in &sites.slots(&[site.id], week).await? {
            let places = format!("{}/{}", slot.taken, slot.about.capacity);
            lines.push(format!("{} {} · {places}", when(slot.period, &site), slot.about.title).replace("  ", " "));
        }
    }
    let new = Button::raw(text!(language, "sites-new-slot-button"), format!("{NEW_SLOT}{}", site.id));
    turn.say(Say::text(fit(lines.join("\n"))).buttons([[new], [menu_button(language)]]));
    Ok(Next::Stay)
}

async fn new_slot(turn: &mut Turn, press: Press) -> Step<OwnerSites> {
    let Some(person) = front::allowed(turn, KEEPERS).await? else { return Ok(Next::Stay) };
    match permitted(&turn.context::<App>(), &person, Permission::Schedule, &press.rest).await? {
        Some(site) => Ok(Next::Go(OwnerSites::NewSlot { site_id: site.id })),
        None => turn.refuse(Why::NotAllowed.words(person.language)),
    }
}

async fn ask_slot(turn: &mut Turn, _: i64) -> Result<(), BoxError> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    turn.say(Say::text(text!(language, "sites-new-slot")).buttons([ways::way_out(language)]));
    Ok(())
}

/// To the site for which a slot was to be made.
async fn back_to_site(turn: &mut Turn, site_id: i64, _: Press) -> Step<OwnerSites> {
    card(turn, &site_id.to_string()).await?;
    Ok(Next::End)
}

async fn slot(turn: &mut Turn, site_id: i64, line: String) -> Step<OwnerSites> {
    let Some(person) = front::allowed(turn, KEEPERS).await? else { return Ok(Next::End) };
    let (app, now, language) = (turn.context::<App>(), turn.now(), person.language);
    let Some(site) = permitted(&app, &person, Permission::Schedule, &site_id.to_string()).await? else {
        return turn.refuse(Why::NotAllowed.words(language));
    };
    if let Some(why) = turn.refused().and_then(|refusal| Why::of(&refusal.0)) {
        return turn.refuse(why.words(language));
    }
    let today = local(now, site.about.time_zone).date();
    let about = read_slot(&line, today);
    let Some((about, period)) =
        about.and_then(|about| about.hours.on(about.day, site.about.time_zone).map(|period| (about, period)))
    else {
        return turn.refuse(text!(language, "sites-slot-not-understood"));
    };
    let by = By { person: Some(person.id), at: now };
    rescheduled(person.id, site_id).iter().for_each(|event| event.after(turn));
    let again = Button::raw(text!(language, "sites-new-slot-button"), format!("{NEW_SLOT}{site_id}"));
    let (name, when) = (site.about.name.as_str(), when(period, &site));
    let words = text!(language, "sites-slot-made", site = name, when = when);
    let rights = Rights::at(Permission::Schedule, &[site_id]);
    turn.write(move |db| {
        Box::pin(async move {
            rights.hold(db, &person).await?;
            sites::create_slot(db, site_id, about, by).await.map(drop)
        })
    });
    turn.say(Say::text(words).buttons([[again], [menu_button(language)]]));
    Ok(Next::End)
}

async fn timed_out(turn: &mut Turn, state: OwnerSites) -> Step<OwnerSites> {
    let OwnerSites::NewSlot { site_id } = state;
    ways::timed_out(turn, key!("sites-new-slot-button"), format!("{NEW_SLOT}{site_id}")).await
}

async fn accept(turn: &mut Turn, press: Press) -> Step<OwnerSites> {
    judge(turn, &press, true).await
}

async fn reject(turn: &mut Turn, press: Press) -> Step<OwnerSites> {
    judge(turn, &press, false).await
}

async fn judge(turn: &mut Turn, press: &Press, is_accepted: bool) -> Step<OwnerSites> {
    let Some(person) = front::allowed(turn, KEEPERS).await? else { return Ok(Next::Stay) };
    let (app, at, language) = (turn.context::<App>(), turn.now(), person.language);
    if let Some(why) = turn.refused().and_then(|refusal| Why::of(&refusal.0)) {
        return turn.refuse(why.words(language));
    }
    let shifts = Shifts::of_app(&app);
    let Ok(id) = press.rest.parse::<i64>() else { return Ok(Next::Stay) };
    // What does not exist and what is for others is answered alike: nobody learns which numbers there are.
    let Some(plan) = cancelled_plan(&app, &person, id).await? else {
        return turn.refuse(Why::NotAllowed.words(language));
    };
    if let Err(why) = Sites::not_on_oneself(&person, plan.user_id) {
        return turn.refuse(why.words(language));
    }
    let (fines, by) = (shifts.fines().await?, By { person: Some(person.id), at });
    let rights = Rights::at(Permission::Employees, &[plan.site_id]);
    turn.write(move |db| {
        Box::pin(async move {
            rights.hold(db, &person).await?;
            shifts::judge(db, id, is_accepted, fines, by).await
        })
    });
    notices::after(turn);
    Update::new(Happened::CancellationJudged, plan.user_id).at(plan.site_id).after(turn);
    let words = if is_accepted { text!(language, "sites-accepted") } else { text!(language, "sites-rejected") };
    turn.say(Say::text(words).buttons([[menu_button(language)]]));
    Ok(Next::Stay)
}

/// The plan of a cancellation that a button names, if the person may judge at its site.
async fn cancelled_plan(app: &App, person: &Person, id: i64) -> Result<Option<Plan>, BoxError> {
    let shifts = Shifts::of_app(app);
    let Some(cancelled) = shifts.cancellation(id).await? else { return Ok(None) };
    let Some(plan) = shifts.plan_of(cancelled.plan_id).await? else { return Ok(None) };
    let may = Sites::of_app(app).may(person, Permission::Employees, plan.site_id).await?;
    Ok(may.then_some(plan))
}

/// The site that a button names, if the person may do this there.
async fn permitted(app: &App, person: &Person, what: Permission, id: &str) -> Result<Option<Site>, BoxError> {
    let Ok(id) = id.parse::<i64>() else { return Ok(None) };
    Ok(Sites::of_app(app).where_may(person, what).await?.into_iter().find(|site| site.id == id))
}

/// A line such as `31.12 09:00-18:00 2`: a day, hours, and places if there is more than one. A day that was is next year's.
fn read_slot(line: &str, today: NaiveDate) -> Option<AboutSlot> {
    let mut words = line.split_whitespace();
    let (day, month) = words.next()?.split_once('.')?;
    let (day, month) = (day.parse().ok()?, month.trim_end_matches('.').parse().ok()?);
    let this_year = NaiveDate::from_ymd_opt(today.year(), month, day)?;
    let day = if this_year < today { NaiveDate::from_ymd_opt(today.year() + 1, month, day)? } else { this_year };
    let (from, to) = words.next()?.split_once(['-', '–'])?;
    let hours = Hours::new(minute(from)?, minute(to)?);
    let capacity = words.next().map_or(Some(1), |places| places.parse().ok())?;
    let about = AboutSlot { capacity, ..AboutSlot::usual(day, hours) };
    (about.mistakes().is_empty() && words.next().is_none()).then_some(about)
}

fn minute(text: &str) -> Option<i64> {
    let (hour, minute) = text.split_once(':').unwrap_or((text, "0"));
    let (hour, minute) = (hour.parse::<i64>().ok()?, minute.parse::<i64>().ok()?);
    ((0..24).contains(&hour) && (0..60).contains(&minute)).then_some(hour * 60 + minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_read_from_one_line() {
        let today: NaiveDate = "2026-06-10".parse().unwrap();
        let read = |line: &str| read_slot(line, today).map(|slot| (slot.day.to_string(), slot.hours, slot.capacity));
        assert_eq!(read("31.12 09:00-18:30 2"), Some(("2026-12-31".into(), Hours::new(540, 1110), 2)));
        assert_eq!(read("09.06 22-6"), Some(("2027-06-09".into(), Hours::new(1320, 360), 1)));
        for wrong in ["", "31.12", "32.12 9-18", "31.12 9-25", "31.12 9-18 0", "31.12 9-18 x", "31.12 9-18 1 1"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
