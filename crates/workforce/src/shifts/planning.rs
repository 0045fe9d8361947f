//! The dialogue that plans a shift: a site, a day, a free slot, a confirmation; or one of the next free slots at any
//! site.

use chrono::{Datelike, NaiveDate, Weekday};
use opora::clock::Millis;
use opora::prelude::*;

use super::chat::{self, EXPIRY, navigation_row, refused, worker};
use super::paging::{self, Page, Question, offset};
use super::rules::{LONG_DAY_MINUTES, minutes_of_day, plannable};
use super::{ShiftEvent, ShiftEventKind, Shifts, hours, mine, plans, when};
use crate::application::App;
use crate::money::Money;
use crate::payroll::rate_of;
use crate::people::WriteAs;
use crate::person::Person;
use crate::sites::{Site, SiteRefusal, Sites, Slot};
use crate::texts::{Language, short_day};
use crate::{key, text};

pub const BEGIN: &str = "plan:begin";
const SITE: &str = "plan:site:";
const MORE_SITES: &str = "plan:sites:";
const MORE_FREE: &str = "plan:places:";
const MORE_DAYS: &str = "plan:days:";
const MORE_SLOTS: &str = "plan:slots:";
const FREE: &str = "plan:free";
const DAY: &str = "plan:day:";
const SLOT: &str = "plan:slot:";
const YES: &str = "plan:yes";

/// The states of the dialogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "plan_shift")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum PlanShift {
    Site,
    /// The next free slots at all sites.
    Free,
    Day {
        site_id: i64,
    },
    Slot {
        site_id: i64,
        day: NaiveDate,
    },
    Confirm {
        slot_id: i64,
    },
}

pub fn dialogue() -> Dialogue<PlanShift> {
    Dialogue::new()
        .start(button(BEGIN), begin)
        .start(button(mine::MINE), mine::show)
        .ask(PlanShift::SITE, ask_site)
        .on(PlanShift::SITE, button(SITE), site)
        .on(PlanShift::SITE, button(MORE_SITES), more_sites)
        .on(PlanShift::SITE, button(FREE), free)
        .on(PlanShift::SITE, button(chat::BACK), chat::back_to_menu)
        .ask(PlanShift::FREE, ask_free)
        .on(PlanShift::FREE, button(MORE_FREE), more_free)
        .on(PlanShift::FREE, button(SLOT), slot_anywhere)
        .ask(PlanShift::DAY, ask_day)
        .on(PlanShift::DAY, button(MORE_DAYS), more_days)
        .on(PlanShift::DAY, button(DAY), day)
        .ask(PlanShift::SLOT, ask_slot)
        .on(PlanShift::SLOT, button(MORE_SLOTS), more_slots)
        .on(PlanShift::SLOT, button(SLOT), slot)
        .ask(PlanShift::CONFIRM, ask_yes)
        .on(PlanShift::CONFIRM, button(YES), yes)
        .on_any_state(button(chat::BACK), chat::back)
        .expires_after(EXPIRY)
        .on_expiry(timed_out)
        .on_cancel(cancelled)
}

async fn begin(turn: &mut Turn, _: Press) -> Step<PlanShift> {
    let Some(person) = worker(turn).await? else { return Ok(Next::Stay) };
    let sites = Sites::of_app(&turn.context::<App>()).sites_of_worker(person.id).await?;
    if sites.is_empty() {
        chat::show_final(turn, text!(person.language, "shifts-no-sites"), person.language);
        return Ok(Next::Stay);
    }
    Ok(Next::Go(PlanShift::Site))
}

async fn ask_site(turn: &mut Turn) -> Result<(), BoxError> {
    let question = which_site(turn, 0).await?;
    paging::ask(turn, question);
    Ok(())
}

async fn more_sites(turn: &mut Turn, press: Press) -> Step<PlanShift> {
    let question = which_site(turn, offset(&press)).await?;
    paging::turn_page(turn, question)
}

async fn which_site(turn: &mut Turn, offset: usize) -> Result<Question, BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(None) };
    let language = person.language;
    let sites = Sites::of_app(&turn.context::<App>()).sites_of_worker(person.id).await?;
    let page = Page::new(&sites, offset);
    let site = |site: &Site| vec![Button::new(chat::caption(&site.about.name), format!("{SITE}{}", site.id))];
    let mut rows: Vec<_> = page.items.iter().map(site).collect();
    rows.extend(page.page_buttons(MORE_SITES, language));
    rows.push(vec![Button::new(text!(language, "shifts-free-button"), FREE)]);
    rows.push(navigation_row(language));
    Ok(Some((text!(language, "shifts-plan-site"), rows)))
}

async fn site(turn: &mut Turn, press: Press) -> Step<PlanShift> {
    let Ok(site_id) = press.rest.parse() else { return Ok(Next::AskAgain) };
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let site = Sites::of_app(&turn.context::<App>()).site_of_worker(person.id, site_id).await?;
    Ok(if site.is_some() { Next::Go(PlanShift::Day { site_id }) } else { Next::AskAgain })
}

async fn free(_: &mut Turn, _: Press) -> Step<PlanShift> {
    Ok(Next::Go(PlanShift::Free))
}

async fn ask_free(turn: &mut Turn) -> Result<(), BoxError> {
    let question = which_free(turn, 0).await?;
    paging::ask(turn, question);
    Ok(())
}

async fn more_free(turn: &mut Turn, press: Press) -> Step<PlanShift> {
    let question = which_free(turn, offset(&press)).await?;
    paging::turn_page(turn, question)
}

async fn which_free(turn: &mut Turn, offset: usize) -> Result<Question, BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(None) };
    let (app, now) = (turn.context::<App>(), turn.now());
    let sites = Sites::of_app(&app).sites_of_worker(person.id).await?;
    let free = free_slots(&app, &person, &sites, now).await?;
    let choice = |slot: &Slot| {
        let site = sites.iter().find(|site| site.id == slot.site_id)?;
        let text = format!("{} · {}", when(slot.period, site, person.language), site.about.name);
        Some(vec![Button::new(chat::caption(&text), format!("{SLOT}{}", slot.id))])
    };
    let page = Page::new(&free, offset);
    let rows = page.items.iter().filter_map(choice).chain(page.page_buttons(MORE_FREE, person.language)).collect();
    Ok(Some(choices_or_none(rows, key!("shifts-plan-free"), person.language)))
}

async fn ask_day(turn: &mut Turn, site_id: i64) -> Result<(), BoxError> {
    let question = which_day(turn, site_id, 0).await?;
    paging::ask(turn, question);
    Ok(())
}

async fn more_days(turn: &mut Turn, site_id: i64, press: Press) -> Step<PlanShift> {
    let question = which_day(turn, site_id, offset(&press)).await?;
    paging::turn_page(turn, question)
}

async fn which_day(turn: &mut Turn, site_id: i64, offset: usize) -> Result<Question, BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(None) };
    let Some((_, free)) = free_at(turn, &person, site_id).await? else { return Ok(no_contract(person.language)) };
    let mut days: Vec<(NaiveDate, usize)> = Vec::new();
    for slot in &free {
        match days.last_mut() {
            Some((day, count)) if *day == slot.about.day => *count += 1,
            _ => days.push((slot.about.day, 1)),
        }
    }
    let choice = |(day, count): &(NaiveDate, usize)| {
        let text =
            format!("{} {} · {count}", weekday(day.weekday(), person.language), short_day(*day, person.language));
        vec![Button::new(text, format!("{DAY}{day}"))]
    };
    let page = Page::new(&days, offset);
    let rows = page.items.iter().map(choice).chain(page.page_buttons(MORE_DAYS, person.language)).collect();
    Ok(Some(choices_or_none(rows, key!("shifts-plan-day"), person.language)))
}

async fn day(_: &mut Turn, site_id: i64, press: Press) -> Step<PlanShift> {
    let Ok(day) = press.rest.parse() else { return Ok(Next::AskAgain) };
    Ok(Next::Go(PlanShift::Slot { site_id, day }))
}

async fn ask_slot(turn: &mut Turn, site_id: i64, day: NaiveDate) -> Result<(), BoxError> {
    let question = which_slot(turn, site_id, day, 0).await?;
    paging::ask(turn, question);
    Ok(())
}

async fn more_slots(turn: &mut Turn, site_id: i64, day: NaiveDate, press: Press) -> Step<PlanShift> {
    let question = which_slot(turn, site_id, day, offset(&press)).await?;
    paging::turn_page(turn, question)
}

async fn which_slot(turn: &mut Turn, site_id: i64, day: NaiveDate, offset: usize) -> Result<Question, BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(None) };
    let Some((site, mut free)) = free_at(turn, &person, site_id).await? else {
        return Ok(no_contract(person.language));
    };
    free.retain(|slot| slot.about.day == day);
    let choice = |slot: &Slot| {
        let hours = hours(slot.period, &site, person.language);
        let text = format!("{hours} · {} · {}", slot.about.title, slot.places_left());
        let text = text.replace(" ·  · ", " · ");
        vec![Button::new(chat::caption(&text), format!("{SLOT}{}", slot.id))]
    };
    let page = Page::new(&free, offset);
    let rows = page.items.iter().map(choice).chain(page.page_buttons(MORE_SLOTS, person.language)).collect();
    Ok(Some(choices_or_none(rows, key!("shifts-plan-slot"), person.language)))
}

async fn slot(turn: &mut Turn, _: i64, _: NaiveDate, press: Press) -> Step<PlanShift> {
    slot_anywhere(turn, press).await
}

async fn slot_anywhere(turn: &mut Turn, press: Press) -> Step<PlanShift> {
    let Ok(slot_id) = press.rest.parse() else { return Ok(Next::AskAgain) };
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    match Sites::of_app(&turn.context::<App>()).slot_of_worker(person.id, slot_id).await? {
        Some(_) => Ok(Next::Go(PlanShift::Confirm { slot_id })),
        None => turn.refuse(SiteRefusal::Gone.text(person.language)),
    }
}

async fn ask_yes(turn: &mut Turn, slot_id: i64) -> Result<(), BoxError> {
    let Some(person) = worker(turn).await? else { return Ok(()) };
    let (app, language, now) = (turn.context::<App>(), person.language, turn.now());
    let Some((slot, site)) = Sites::of_app(&app).slot_of_worker(person.id, slot_id).await? else {
        chat::show(turn, SiteRefusal::Gone.text(language), vec![navigation_row(language)]);
        return Ok(());
    };
    let contract = Sites::of_app(&app).contract_for(person.id, site.id, slot.about.day).await?;
    let money = Money::from_kopecks;
    let own = contract.and_then(|contract| contract.about.rate_kopecks).map(money);
    let rate = rate_of(own, slot.about.rate_kopecks.map(money), money(site.about.rate_kopecks));
    let (name, when, rate) = (site.about.name.as_str(), when(slot.period, &site, language), rate.shown(language));
    let mut text = text!(language, "shifts-plan-confirm", site = name, when = when, rate = rate);
    if let Some(warning) = warning(&app, &person, &slot, &site, now).await? {
        text = format!("{text}\n\n{warning}");
    }
    let yes = Button::new(text!(language, "shifts-plan-yes-button"), YES);
    chat::show(turn, text, vec![vec![yes], navigation_row(language)]);
    Ok(())
}

async fn yes(turn: &mut Turn, slot_id: i64, _: Press) -> Step<PlanShift> {
    let Some(person) = worker(turn).await? else { return Ok(Next::End) };
    let (app, language, at, user_id) = (turn.context::<App>(), person.language, turn.now(), person.id);
    if let Some(why) = refused(turn) {
        let plan_again = Button::raw(text!(language, "shifts-plan-button"), BEGIN);
        chat::show_final_with(turn, why.text(language), [plan_again], language);
        return Ok(Next::End);
    }
    let Some((slot, site)) = Sites::of_app(&app).slot_of_worker(user_id, slot_id).await? else {
        return chat::give_up(turn, SiteRefusal::Gone, language);
    };
    turn.write_as(&person, move |db| Box::pin(async move { plans::plan(db, user_id, slot_id, at).await.map(drop) }));
    chat::publish(turn, ShiftEvent::new(ShiftEventKind::PlanCreated, user_id).at(site.id));
    let (name, when) = (site.about.name.as_str(), when(slot.period, &site, language));
    let my_shifts = Button::raw(text!(language, "shifts-mine-button"), mine::MINE);
    let text = text!(language, "shifts-planned", site = name, when = when);
    chat::show_final_with(turn, text, [my_shifts], language);
    Ok(Next::End)
}

async fn cancelled(turn: &mut Turn, _: PlanShift) -> Result<(), BoxError> {
    chat::say_cancelled(turn, key!("shifts-plan-stopped")).await
}

async fn timed_out(turn: &mut Turn, _: PlanShift) -> Step<PlanShift> {
    chat::timed_out(turn, key!("shifts-plan-button"), BEGIN).await
}

/// A site with its free slots; None if the person does not work there.
async fn free_at(turn: &mut Turn, person: &Person, site_id: i64) -> Result<Option<(Site, Vec<Slot>)>, BoxError> {
    let (app, now) = (turn.context::<App>(), turn.now());
    let Some(site) = Sites::of_app(&app).site_of_worker(person.id, site_id).await? else { return Ok(None) };
    let free = free_slots(&app, person, std::slice::from_ref(&site), now).await?;
    Ok(Some((site, free)))
}

/// The text for a site where the person does not work any more.
fn no_contract(language: Language) -> Question {
    Some((SiteRefusal::NoContract.text(language), vec![navigation_row(language)]))
}

/// Free slots that do not overlap the person's plans.
async fn free_slots(app: &App, person: &Person, sites: &[Site], now: Millis) -> Result<Vec<Slot>, BoxError> {
    let ids: Vec<_> = sites.iter().map(|site| site.id).collect();
    let mut slots = Sites::of_app(app).slots(&ids, plannable(now)).await?;
    let own = Shifts::of_app(app).plans_of(person.id, now).await?;
    let contracts = Sites::of_app(app).active_contracts_of(person.id).await?;
    let has_contract = |slot: &Slot| contracts.iter().any(|one| one.about.covers(slot.site_id, slot.about.day));
    slots.retain(|slot| {
        let is_free = slot.places_left() > 0 && slot.period.to > now;
        is_free && has_contract(slot) && own.iter().all(|plan| !plan.period.overlaps(slot.period))
    });
    Ok(slots)
}

/// A warning that the time is taken or that the day gets long.
async fn warning(
    app: &App,
    person: &Person,
    slot: &Slot,
    site: &Site,
    now: Millis,
) -> Result<Option<String>, BoxError> {
    let shifts = Shifts::of_app(app);
    let own = shifts.plans_of(person.id, now).await?;
    if own.iter().any(|plan| plan.period.overlaps(slot.period)) {
        return Ok(Some(text!(person.language, "shifts-overlap-warning")));
    }
    let minutes = minutes_of_day(slot.period, &shifts.hours_of(person.id, &own, now).await?, &site.about);
    let is_long = minutes > LONG_DAY_MINUTES;
    Ok(is_long.then(|| text!(person.language, "shifts-long-day-warning", hours = (minutes + 30) / 60)))
}

/// A question with its choices, or a text that there are none.
fn choices_or_none(
    mut rows: Vec<Vec<Button>>,
    question: &'static str,
    language: Language,
) -> (String, Vec<Vec<Button>>) {
    let text = if rows.is_empty() { text!(language, "shifts-nothing-free") } else { language.text(question) };
    rows.push(navigation_row(language));
    (text, rows)
}

/// The short name of a day of the week.
pub fn weekday(day: Weekday, language: Language) -> String {
    language.text(match day {
        Weekday::Mon => key!("weekday-mon"),
        Weekday::Tue => key!("weekday-tue"),
        Weekday::Wed => key!("weekday-wed"),
        Weekday::Thu => key!("weekday-thu"),
        Weekday::Fri => key!("weekday-fri"),
        Weekday::Sat => key!("weekday-sat"),
        Weekday::Sun => key!("weekday-sun"),
    })
}
