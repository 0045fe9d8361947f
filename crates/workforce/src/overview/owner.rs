//! The owner's menu in the bot: today, sites, their slots, a new slot in one line, and cancellations to judge.

use std::time::Duration;

use chrono::{Datelike, Month, NaiveDate};
use opora::clock::Millis;
use opora::prelude::*;

use crate::application::App;
use crate::domain::{RefusalReason, WriteInTurn};
use crate::front::{self, menu_button, navigation, reply};
use crate::money::Money;
use crate::notices;
use crate::person::{Permission, Person, SITE_STAFF};
use crate::shifts::paging::{Page, offset, turn_page};
use crate::shifts::{
    self, Cancellation, Dashboard, Fines, Judgement, MediumKind, Plan, PlanStatus, ShiftEvent, ShiftEventKind,
    ShiftStatus, Shifts, caption, is_missing, late_text, when,
};
use crate::sites::{
    self, AboutSlot, ChangedBy, Hours, Period, Rights, Site, SiteRefusal, Sites, local, price_text, schedule_changed,
    skipping_text,
};
use crate::texts::Language;
use crate::{key, text};

mod site_position;

pub const TODAY: &str = "owner:today";
pub const SITES: &str = "owner:sites";
const SITE: &str = "owner:site:";
const NEW_SLOT: &str = "owner:slot:";
const SITE_POSITION: &str = "owner:position:";
const JUDGE_YES: &str = "judge:yes:";
/// Followed by the id and the fine in kopecks that the button names.
const JUDGE_NO: &str = "judge:no:";
/// Followed by the id and the time of the decision.
const JUDGE_BACK: &str = "judge:back:";

const EXPIRY: Duration = Duration::from_secs(15 * 60);
const WEEK_DAYS: u64 = 7;
const MAX_SHOWN: usize = 20;

/// The state of the dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "owner_sites")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum OwnerSites {
    /// Waits for a line such as `31.12 09:00-18:00 2`.
    NewSlot { site_id: i64 },
    /// Waits for the position of a site.
    Position { site_id: i64 },
}

pub fn dialogue() -> Dialogue<OwnerSites> {
    Dialogue::new()
        .start(button(TODAY), today)
        .start(button(SITES), list)
        .start(button(SITE), show)
        .start(button(NEW_SLOT), new_slot)
        .start(button(SITE_POSITION), site_position::start)
        .start(button(JUDGE_YES), accept)
        .start(button(JUDGE_NO), reject)
        .start(button(JUDGE_BACK), take_back)
        .ask(OwnerSites::NEW_SLOT, ask_slot)
        .on(OwnerSites::NEW_SLOT, text(), slot)
        .on(OwnerSites::NEW_SLOT, button(navigation::BACK), back_to_site)
        .ask(OwnerSites::POSITION, site_position::ask)
        .on(OwnerSites::POSITION, location(), site_position::sent)
        .on(OwnerSites::POSITION, text(), site_position::typed)
        .on(OwnerSites::POSITION, button(navigation::BACK), back_to_site)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
        .on_cancel(cancelled)
}

/// How many cancellations wait for this person's decision.
pub async fn count_waiting(app: &App, person: &Person) -> Result<u64, BoxError> {
    let judged = Sites::of_app(app).permitted_sites_with_deleted(person, Permission::Employees).await?;
    let ids: Vec<_> = judged.iter().map(|site| site.id).collect();
    let waiting = Shifts::of_app(app).cancellations(&ids).await?;
    Ok(waiting.iter().filter(|(one, _)| Sites::refuse_own_case(person, one.user_id).is_ok()).count() as u64)
}

/// Who works, is late or missing; which sites are open; which cancellations wait.
async fn today(turn: &mut Turn, _: Press) -> Step<OwnerSites> {
    let Some(person) = front::allowed_person(turn, SITE_STAFF).await? else { return Ok(Next::Stay) };
    let (app, now, language) = (turn.context::<App>(), turn.now(), person.language);
    let api = Sites::of_app(&app);
    let sites = api.permitted_sites(&person, Permission::View).await?;
    let lines = overview(&app, &sites, now, language).await?;
    reply::show(turn, lines.join("\n"), vec![vec![navigation::menu_of_question(language)]]);
    // Cancellations are shown only to people who may judge them.
    let judged = api.permitted_sites_with_deleted(&person, Permission::Employees).await?;
    let ids: Vec<_> = judged.iter().map(|site| site.id).collect();
    let waiting = Shifts::of_app(&app).cancellations(&ids).await?;
    let fines = Shifts::of_app(&app).fines().await?;
    let people = app.people.with_ids(&waiting.iter().map(|(one, _)| one.user_id).collect::<Vec<_>>()).await?;
    // Managers cannot judge their own cancellation; it waits for an owner.
    let others = waiting.iter().filter(|(one, _)| Sites::refuse_own_case(&person, one.user_id).is_ok());
    for (one, plan) in others.take(MAX_SHOWN) {
        let site = judged.iter().find(|site| site.id == plan.site_id);
        let (Some(site), Some(who)) = (site, people.iter().find(|who| who.id == one.user_id)) else { continue };
        turn.say(to_judge(one, plan, site, (who, fines.cost(one.is_short_notice).total()), language));
    }
    Ok(Next::Stay)
}

/// A cancellation with its evidence and two buttons, which name what they cost.
fn to_judge(one: &Cancellation, plan: &Plan, site: &Site, (who, fine): (&Person, Money), language: Language) -> Say {
    let reason = [Some(one.reason.text(language)), one.words.clone(), one.document.clone()];
    let reason = reason.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let (name, site_name, when) = (who.full_name.as_str(), site.about.name.as_str(), when(plan.period, site, language));
    let text = text!(language, "sites-cancellation", name = name, site = site_name, when = when, reason = reason);
    let yes = Button::raw(text!(language, "sites-accept-button"), format!("{JUDGE_YES}{}", one.id));
    let no = if fine.is_positive() {
        text!(language, "sites-reject-choice", fine = fine.shown(language))
    } else {
        text!(language, "sites-reject-free-button")
    };
    let no = Button::raw(no, format!("{JUDGE_NO}{}:{}", one.id, fine.kopecks()));
    let message = match (one.photo_file.clone().map(FileRef::id), one.photo_kind) {
        (None, _) => Say::text(text),
        (Some(file), Some(MediumKind::Document)) => Say::document(file).caption(text),
        (Some(file), _) => Say::photo(file).caption(text),
    };
    message.buttons([vec![yes], vec![no], vec![menu_button(language)]])
}

async fn overview(app: &App, sites: &[Site], now: Millis, language: Language) -> Result<Vec<String>, BoxError> {
    let mut lines = vec![text!(language, "sites-today")];
    if sites.is_empty() {
        lines.push(text!(language, "sites-none"));
    }
    let ids: Vec<_> = sites.iter().map(|site| site.id).collect();
    let all = Shifts::of_app(app).dashboard(&ids, Period::around(now)).await?;
    let users = all.plans.iter().map(|plan| plan.user_id).chain(all.shifts.iter().map(|shift| shift.user_id));
    let people = app.people.with_ids(&users.collect::<Vec<_>>()).await?;
    for site in sites {
        let of_site = site_lines(site, &all, &people, now, language);
        // With many sites, only those with activity are listed.
        if sites.len() <= MAX_SHOWN || of_site.len() > 1 {
            lines.extend(of_site);
        }
    }
    Ok(lines)
}

/// A heading for the site, and a line for each person who is expected, works or has worked there today.
fn site_lines(site: &Site, all: &Dashboard, people: &[Person], now: Millis, language: Language) -> Vec<String> {
    let clock = |at: Millis| local(at, site.about.time_zone);
    let is_today = |at: Millis| clock(at).date() == clock(now).date();
    let name = |id: i64| people.iter().find(|one| one.id == id).map_or("–", |one| one.full_name.as_str()).to_owned();
    let is_open = all.openings.iter().any(|opening| opening.site_id == site.id);
    let mut lines = vec![format!("\n{} {}", if is_open { "🟢" } else { "⚪" }, site.about.name)];
    for shift in all.shifts.iter().filter(|shift| shift.site_id == site.id) {
        let (name, since) = (name(shift.user_id), clock(shift.started_at).format("%H:%M").to_string());
        if shift.status == ShiftStatus::Active {
            lines.push(text!(language, "sites-works", name = name, since = since));
            lines.extend(late_text(shift, language).map(|late| format!("⏰ {late}")));
        } else if is_today(shift.started_at) {
            lines.push(text!(language, "sites-was-here", name = name, since = since));
        }
    }
    let planned = all.plans.iter().filter(|plan| plan.site_id == site.id && plan.status == PlanStatus::Planned);
    // A night shift that started yesterday may still be on.
    for plan in planned.filter(|plan| is_today(plan.period.from) || plan.period.is_on(now)) {
        let (name, when) = (name(plan.user_id), when(plan.period, site, language));
        lines.push(if is_missing(plan, &site.about, now) {
            text!(language, "sites-not-come", name = name, when = when)
        } else {
            text!(language, "sites-comes", name = name, when = when)
        });
    }
    lines
}

async fn list(turn: &mut Turn, press: Press) -> Step<OwnerSites> {
    let Some(person) = front::allowed_person(turn, SITE_STAFF).await? else { return Ok(Next::Stay) };
    let language = person.language;
    let sites = Sites::of_app(&turn.context::<App>()).permitted_sites(&person, Permission::View).await?;
    let text = if sites.is_empty() { text!(language, "sites-none") } else { text!(language, "sites-list") };
    let page = Page::new(&sites, offset(&press));
    let site = |site: &Site| vec![Button::new(caption(&site.about.name), format!("{SITE}{}", site.id))];
    let mut rows: Vec<_> = page.items.iter().map(site).collect();
    rows.extend(page.page_buttons(&format!("{SITES}:"), language));
    rows.push(vec![navigation::menu_of_question(language)]);
    turn_page(turn, Some((text, rows)))
}

/// A site with its tasks and the slots of a week.
async fn show(turn: &mut Turn, press: Press) -> Step<OwnerSites> {
    card(turn, &press.rest).await
}

async fn card(turn: &mut Turn, site: &str) -> Step<OwnerSites> {
    let Some(person) = front::allowed_person(turn, SITE_STAFF).await? else { return Ok(Next::Stay) };
    let (app, now, language) = (turn.context::<App>(), turn.now(), person.language);
    let Some(site) = permitted(&app, &person, Permission::View, site).await? else {
        return turn.refuse(SiteRefusal::NotAllowed.text(language));
    };
    let sites = Sites::of_app(&app);
    let rate = Money::from_kopecks(site.about.rate_kopecks).shown(language);
    let (name, address) = (site.about.name.as_str(), site.about.address.as_str());
    let mut lines = vec![text!(language, "sites-card", site = name, address = address, rate = rate)];
    let fine = Shifts::of_app(&app).mandatory_task_penalty().await?;
    for task in sites.tasks_of_site(site.id).await?.iter().filter(|task| task.deleted_at.is_none()) {
        let amount = Money::from_kopecks(task.about.amount_kopecks);
        let costs_fine = task.about.is_mandatory && amount == Money::ZERO && fine.is_positive();
        let price = if costs_fine { skipping_text(fine, language) } else { price_text(amount, language) };
        lines.push(format!("• {} · {price}", task.about.text));
    }
    let today = local(now, site.about.time_zone).date();
    if let Some(week) = Period::of_days(today, WEEK_DAYS, site.about.time_zone) {
        lines.push(text!(language, "sites-week"));
        for slot in &sites.slots(&[site.id], week).await? {
            let places = format!("{}/{}", slot.taken, slot.about.capacity);
            lines.push(
                format!("{} {} · {places}", when(slot.period, &site, language), slot.about.title).replace("  ", " "),
            );
        }
    }
    let new = Button::new(text!(language, "sites-new-slot-button"), format!("{NEW_SLOT}{}", site.id));
    let all = Button::new(text!(language, "back-button"), SITES);
    let may_edit = sites.may(&person, Permission::Edit, site.id).await?;
    let position = may_edit.then(|| vec![site_position::start_button(site.id, language)]);
    let rows = [Some(vec![new]), position, Some(vec![all, navigation::menu_of_question(language)])];
    reply::show(turn, lines.join("\n"), rows.into_iter().flatten().collect());
    Ok(Next::Stay)
}

async fn new_slot(turn: &mut Turn, press: Press) -> Step<OwnerSites> {
    let Some(person) = front::allowed_person(turn, SITE_STAFF).await? else { return Ok(Next::Stay) };
    match permitted(&turn.context::<App>(), &person, Permission::Schedule, &press.rest).await? {
        Some(site) => Ok(Next::Go(OwnerSites::NewSlot { site_id: site.id })),
        None => turn.refuse(SiteRefusal::NotAllowed.text(person.language)),
    }
}

async fn ask_slot(turn: &mut Turn, _: i64) -> Result<(), BoxError> {
    let language = turn.context::<App>().speaker(turn).await?.language;
    reply::show(turn, text!(language, "sites-new-slot"), vec![navigation::navigation_row(language)]);
    Ok(())
}

/// Returns to the site.
async fn back_to_site(turn: &mut Turn, site_id: i64, _: Press) -> Step<OwnerSites> {
    card(turn, &site_id.to_string()).await?;
    Ok(Next::End)
}

async fn slot(turn: &mut Turn, site_id: i64, line: String) -> Step<OwnerSites> {
    let Some(person) = front::allowed_person(turn, SITE_STAFF).await? else { return Ok(Next::End) };
    let (app, now, language) = (turn.context::<App>(), turn.now(), person.language);
    let Some(site) = permitted(&app, &person, Permission::Schedule, &site_id.to_string()).await? else {
        return turn.refuse(SiteRefusal::NotAllowed.text(language));
    };
    if let Some(why) = turn.refusal().and_then(|refusal| SiteRefusal::parse(&refusal.0)) {
        return turn.refuse(why.text(language));
    }
    let today = local(now, site.about.time_zone).date();
    let about = read_slot(&line, today);
    let Some((about, period)) =
        about.and_then(|about| about.hours.on(about.day, site.about.time_zone).map(|period| (about, period)))
    else {
        return turn.refuse(text!(language, "sites-slot-not-understood"));
    };
    let by = ChangedBy { person: Some(person.id), at: now };
    schedule_changed(person.id, site_id).iter().for_each(|event| event.publish_after(turn));
    let new_slot = Button::raw(text!(language, "sites-new-slot-button"), format!("{NEW_SLOT}{site_id}"));
    let (name, when) = (site.about.name.as_str(), when(period, &site, language));
    let text = text!(language, "sites-slot-made", site = name, when = when);
    let rights = Rights::at(Permission::Schedule, &[site_id]);
    turn.write(move |db| {
        Box::pin(async move {
            rights.check(db, &person).await?;
            sites::create_slot(db, site_id, about, by).await.map(drop)
        })
    });
    turn.say(Say::text(text).buttons([[new_slot], [menu_button(language)]]));
    Ok(Next::End)
}

async fn cancelled(turn: &mut Turn, state: OwnerSites) -> Result<(), BoxError> {
    let key = match state {
        OwnerSites::NewSlot { .. } => key!("sites-new-slot-stopped"),
        OwnerSites::Position { .. } => key!("sites-position-stopped"),
    };
    navigation::say_cancelled(turn, key).await
}

async fn timed_out(turn: &mut Turn, state: OwnerSites) -> Step<OwnerSites> {
    let (key, data) = match state {
        OwnerSites::NewSlot { site_id } => (key!("sites-new-slot-button"), format!("{NEW_SLOT}{site_id}")),
        OwnerSites::Position { site_id } => (key!("sites-position-button"), format!("{SITE_POSITION}{site_id}")),
    };
    navigation::timed_out(turn, key, data).await
}

async fn accept(turn: &mut Turn, press: Press) -> Step<OwnerSites> {
    let id = press.rest.parse().ok();
    judge(turn, id, Judgement { is_accepted: true, seen_fine: None }).await
}

async fn reject(turn: &mut Turn, press: Press) -> Step<OwnerSites> {
    let (id, fine) = two_numbers(&press.rest);
    // A button without an amount named none, so whatever is due has not been seen.
    let seen_fine = Some(Money::from_kopecks(fine.unwrap_or(-1)));
    judge(turn, id, Judgement { is_accepted: false, seen_fine }).await
}

async fn judge(turn: &mut Turn, id: Option<i64>, judgement: Judgement) -> Step<OwnerSites> {
    let Some(case) = case_to_decide(turn, id).await? else { return Ok(Next::Stay) };
    let Case { id, plan, person, fines, .. } = case;
    let (at, language) = (turn.now(), person.language);
    let by = ChangedBy { person: Some(person.id), at };
    let rights = Rights::at(Permission::Employees, &[plan.site_id]);
    turn.write(move |db| {
        Box::pin(async move {
            rights.check(db, &person).await?;
            shifts::judge(db, id, judgement, fines, by).await
        })
    });
    notices::send_after(turn);
    ShiftEvent::new(ShiftEventKind::CancellationJudged, plan.user_id).at(plan.site_id).after(turn);
    let text = judgement.done_text(language);
    reply::close_card(turn, &text);
    let back = Button::raw(text!(language, "sites-take-back-button"), format!("{JUDGE_BACK}{id}:{}", at.0));
    turn.say(Say::text(text).buttons([[back], [menu_button(language)]]));
    Ok(Next::Stay)
}

/// Takes back the decision that was made at the time in the button.
async fn take_back(turn: &mut Turn, press: Press) -> Step<OwnerSites> {
    let (id, decided_at) = two_numbers(&press.rest);
    let Some(case) = case_to_decide(turn, id).await? else { return Ok(Next::Stay) };
    let Case { id, plan, person, .. } = case;
    let (language, actor) = (person.language, person.id);
    let (decided_at, by) = (Millis(decided_at.unwrap_or_default()), ChangedBy { person: Some(actor), at: turn.now() });
    let rights = Rights::at(Permission::Employees, &[plan.site_id]);
    turn.write(move |db| {
        Box::pin(async move {
            rights.check(db, &person).await?;
            shifts::take_back(db, id, decided_at, (actor, by)).await
        })
    });
    notices::send_after(turn);
    ShiftEvent::new(ShiftEventKind::CancellationJudged, plan.user_id).at(plan.site_id).after(turn);
    let text = text!(language, "sites-taken-back");
    reply::close_card(turn, &text);
    let today = Button::raw(text!(language, "sites-today-button"), TODAY);
    turn.say(Say::text(text).buttons([[today], [menu_button(language)]]));
    Ok(Next::Stay)
}

/// A cancellation that a person decides on.
struct Case {
    id: i64,
    plan: Plan,
    person: Person,
    fines: Fines,
}

/// The cancellation in a button, if the person may decide on it; else the turn says why not.
async fn case_to_decide(turn: &mut Turn, id: Option<i64>) -> Result<Option<Case>, BoxError> {
    let Some(person) = front::allowed_person(turn, SITE_STAFF).await? else { return Ok(None) };
    let Some(id) = id else { return Ok(None) };
    let (app, language) = (turn.context::<App>(), person.language);
    let refused = turn.refusal().and_then(|refusal| SiteRefusal::parse(&refusal.0));
    // An unknown id and a forbidden one get the same answer, so ids cannot be probed.
    let plan = cancelled_plan(&app, &person, id).await?;
    let own_case = plan.as_ref().and_then(|plan| Sites::refuse_own_case(&person, plan.user_id).err());
    let fines = Shifts::of_app(&app).fines().await?;
    match (refused.or(own_case), plan) {
        (None, Some(plan)) => Ok(Some(Case { id, plan, person, fines })),
        (why, _) => {
            let why = why.unwrap_or(SiteRefusal::NotAllowed);
            if why == SiteRefusal::Decided {
                reply::close_card(turn, &why.text(language));
            }
            let _: Step<OwnerSites> = turn.refuse(why.text(language));
            Ok(None)
        }
    }
}

/// The two numbers of a button's data: `7:50000`.
fn two_numbers(rest: &str) -> (Option<i64>, Option<i64>) {
    let (first, second) = rest.split_once(':').unwrap_or((rest, ""));
    (first.parse().ok(), second.parse().ok())
}

/// The plan of the cancellation in a button, if the person may judge it.
async fn cancelled_plan(app: &App, person: &Person, id: i64) -> Result<Option<Plan>, BoxError> {
    let shifts = Shifts::of_app(app);
    let Some(cancelled) = shifts.cancellation(id).await? else { return Ok(None) };
    let Some(plan) = shifts.plan_of(cancelled.plan_id).await? else { return Ok(None) };
    let may = Sites::of_app(app).may(person, Permission::Employees, plan.site_id).await?;
    Ok(may.then_some(plan))
}

/// The site in a button, if the person has the permission there.
async fn permitted(app: &App, person: &Person, what: Permission, id: &str) -> Result<Option<Site>, BoxError> {
    let Ok(id) = id.parse::<i64>() else { return Ok(None) };
    Ok(Sites::of_app(app).permitted_sites(person, what).await?.into_iter().find(|site| site.id == id))
}

/// Parses a line such as `31.12 09:00-18:00 2` or `Dec 31 09:00-18:00 2`: day, hours, and places if more than one. A
/// past day means next year.
fn read_slot(line: &str, today: NaiveDate) -> Option<AboutSlot> {
    let mut fields = line.split_whitespace();
    let first = fields.next()?;
    let (day, month) = match first.split_once('.') {
        Some((day, month)) => (day, month.trim_end_matches('.').parse().ok()?),
        None => (fields.next()?, first.parse::<Month>().ok()?.number_from_month()),
    };
    let day = day.parse().ok()?;
    let this_year = NaiveDate::from_ymd_opt(today.year(), month, day)?;
    let day = if this_year < today { NaiveDate::from_ymd_opt(today.year() + 1, month, day)? } else { this_year };
    let (from, to) = fields.next()?.split_once(['-', '–'])?;
    let hours = Hours::new(minute(from)?, minute(to)?);
    let capacity = fields.next().map_or(Some(1), |places| places.parse().ok())?;
    let about = AboutSlot { capacity, ..AboutSlot::usual(day, hours) };
    (about.invalid_fields().is_empty() && fields.next().is_none()).then_some(about)
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
    fn a_slot_is_parsed_from_one_line() {
        let today: NaiveDate = "2026-06-10".parse().unwrap();
        let read = |line: &str| read_slot(line, today).map(|slot| (slot.day.to_string(), slot.hours, slot.capacity));
        assert_eq!(read("31.12 09:00-18:30 2"), Some(("2026-12-31".into(), Hours::new(540, 1110), 2)));
        assert_eq!(read("Dec 31 09:00-18:30 2"), Some(("2026-12-31".into(), Hours::new(540, 1110), 2)));
        assert_eq!(read("09.06 22-6"), Some(("2027-06-09".into(), Hours::new(1320, 360), 1)));
        for wrong in
            ["", "31.12", "Dec 9-18", "32.12 9-18", "31.12 9-25", "31.12 9-18 0", "31.12 9-18 x", "31.12 9-18 1 1"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
