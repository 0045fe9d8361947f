//! The demo's sample work: two sites with tasks, contracts, six weeks of history, plans to come, a person at work, and
//! applicants.
//! All of it uses the public functions of the rooms.

use chrono::Timelike;
use chrono_tz::Europe::Moscow;
use opora::clock::Millis;
use opora::store::WriteError;
use opora_emulator::Emulator;

use super::history::{self, Story, Team};
use super::staff::FIRST_TELEGRAM_ID;
use super::{applicants, past_pay, pictures};
use crate::application::App;
use crate::attachments;
use crate::domain::Transaction;
use crate::money::Money;
use crate::notices;
use crate::people;
use crate::person::Permission;
use crate::shifts::{self, ClosedBy, Proof, ShiftEnd, ShiftStart, tasks_of};
use crate::sites::{
    self, AboutContract, AboutSite, AboutSlot, AboutTask, ChangedBy, Hours, Position, Sites, WorkingDays, local,
};
use crate::texts::Language;

const MINUTE_MS: i64 = 60_000;

/// Creates everything, unless there are sites, even deleted ones.
pub async fn begin(app: &App, emulator: &Emulator, language: Language) -> anyhow::Result<()> {
    let sites = Sites::of_app(app);
    if !sites.list().await?.is_empty() || !sites.deleted().await?.is_empty() {
        return Ok(());
    }
    let (now, pictures) = (app.clock.now(), pictures::add(emulator));
    let sent = pictures.clone();
    let team = app.domain.write_and_get(move |db| Box::pin(set_up(db, language, sent, now))).await?;
    let Some(team) = team else { return Ok(()) };
    history::write(app, &Story { team, pictures, language, now }).await?;
    let by = ChangedBy { person: Some(team.owner), at: now };
    app.domain.write(move |db| Box::pin(working_now(db, (team.store, team.first), language, by))).await?;
    applicants::add(app, emulator, language).await?;
    history::judge(app, team).await?;
    past_pay::settle(app, team, language).await?;
    // What happened before the first start is not announced.
    app.domain.write(|db| Box::pin(notices::discard_unsent(db))).await?;
    Ok(())
}

async fn set_up(
    db: &Transaction<'_, '_>,
    language: Language,
    pictures: Vec<Proof>,
    now: Millis,
) -> Result<Option<Team>, WriteError> {
    for picture in &pictures {
        // The job downloads them soon after the start.
        attachments::insert(db, picture.telegram_file.clone(), None, false).await?;
    }
    let mut ids = [0; 6];
    for (number, id) in (FIRST_TELEGRAM_ID..).zip(&mut ids) {
        // The sample people were removed, so there is nothing to show.
        let Some(person) = people::by_telegram(db, number).await? else { return Ok(None) };
        *id = person.id;
    }
    let [owner, manager, _, master, first, second] = ids;
    let by = ChangedBy { person: Some(owner), at: now };
    let cafe = cafe(db, language, by).await?;
    let store = store(db, language, by).await?;
    for site in [cafe, store] {
        let mut allowed = vec![Permission::View, Permission::Edit, Permission::Employees, Permission::Schedule];
        // Pay of one site only, so that both cases can be seen.
        if site == cafe {
            allowed.push(Permission::Finances);
        }
        sites::set_permissions(db, manager, site, allowed, by).await?;
    }
    for (user, places, rate_kopecks) in
        [(first, vec![cafe, store], None), (second, vec![cafe], Some(32_000)), (master, vec![store], None)]
    {
        let about = AboutContract { rate_kopecks, allows_spontaneous: true, ..AboutContract::active(places) };
        sites::create_contract(db, user, about, by).await?;
    }
    Ok(Some(Team { owner, first, second, master, cafe, store }))
}

async fn cafe(db: &Transaction<'_, '_>, language: Language, by: ChangedBy) -> Result<i64, WriteError> {
    let about = AboutSite {
        name: localized(language, "Кофейня на Тверской", "Coffee house on Tverskaya"),
        address: localized(language, "Москва, Тверская, 12", "12 Tverskaya, Moscow"),
        position: Some(Position { latitude: 55.7640, longitude: 37.6056 }),
        hours: Hours::new(8 * 60, 22 * 60),
        working_days: WorkingDays::EVERY,
        rate_kopecks: 28_000,
        late_threshold_minutes: 5,
        late_minute_kopecks: 1_000,
        ..AboutSite::usual(Moscow)
    };
    let site = sites::create_site(db, about, by).await?;
    let tasks = [
        (localized(language, "Помыть кофемашину", "Clean the coffee machine"), 15_000, false, true),
        (localized(language, "Пересчитать кассу", "Count the till"), -20_000, true, false),
        (localized(language, "Полить цветы", "Water the plants"), 0, false, false),
    ];
    add_tasks(db, site, tasks, by).await?;
    Ok(site)
}

async fn store(db: &Transaction<'_, '_>, language: Language, by: ChangedBy) -> Result<i64, WriteError> {
    let about = AboutSite {
        name: localized(language, "Склад на Ленинской", "Warehouse on Leninskaya"),
        address: localized(language, "Москва, Ленинская слобода, 26", "26 Leninskaya Sloboda, Moscow"),
        position: Some(Position { latitude: 55.7089, longitude: 37.6523 }),
        hours: Hours::new(0, 0),
        working_days: WorkingDays::MONDAY_TO_FRIDAY,
        rate_kopecks: 30_000,
        max_distance_m: 1_000,
        ..AboutSite::usual(Moscow)
    };
    let site = sites::create_site(db, about, by).await?;
    let tasks = [
        (localized(language, "Сфотографировать стеллажи", "Take a photo of the shelves"), 10_000, false, true),
        (localized(language, "Сдать ключи", "Hand in the keys"), -10_000, true, false),
        (localized(language, "Принять поставку", "Take in the delivery"), 20_000, false, false),
    ];
    add_tasks(db, site, tasks, by).await?;
    Ok(site)
}

async fn add_tasks(
    db: &Transaction<'_, '_>,
    site: i64,
    tasks: [(String, i64, bool, bool); 3],
    by: ChangedBy,
) -> Result<(), WriteError> {
    for (text, amount_kopecks, is_mandatory, needs_media) in tasks {
        let about = AboutTask { text, amount_kopecks, is_mandatory, needs_media };
        sites::create_task(db, site, None, about, by).await?;
    }
    Ok(())
}

pub(super) async fn open_shift(
    db: &Transaction<'_, '_>,
    user_id: i64,
    site_id: i64,
    plan_id: Option<i64>,
    at: Millis,
) -> Result<i64, WriteError> {
    shifts::open(db, ShiftStart { user_id, site_id, plan_id, position: None, started_at: at, at }).await
}

pub(super) async fn close(
    db: &Transaction<'_, '_>,
    (shift_id, closed_by): (i64, ClosedBy),
    ended_at: Millis,
) -> Result<(), WriteError> {
    let (mandatory_task_penalty, at) = (Money::from_roubles(50), ended_at);
    let end = ShiftEnd { shift_id, version: None, position: None, closed_by, ended_at, mandatory_task_penalty, at };
    shifts::close(db, end).await
}

/// A person is at work whenever the demo starts.
async fn working_now(
    db: &Transaction<'_, '_>,
    (site_id, user_id): (i64, i64),
    language: Language,
    by: ChangedBy,
) -> Result<(), WriteError> {
    let began = local(Millis(by.at.0 - 60 * MINUTE_MS), Moscow);
    let from = i64::from(began.hour()) * 60;
    let about = AboutSlot::usual(began.date(), Hours::new(from, (from + 8 * 60) % (24 * 60)));
    // The night has a slot of the same hours.
    let about = AboutSlot { title: localized(language, "Приёмка", "Deliveries"), capacity: 2, ..about };
    let slot = sites::create_slot(db, site_id, about, by).await?;
    let Some(slot) = sites::slot(db, slot).await? else { return Ok(()) };
    let plan_id = Some(shifts::plan(db, user_id, slot.id, slot.period.from).await?);
    let at = Millis(slot.period.from.0 + 2 * MINUTE_MS);
    let id = open_shift(db, user_id, site_id, plan_id, at).await?;
    if let Some(task) = tasks_of(db, id).await?.iter().find(|task| !task.needs_media) {
        shifts::mark(db, user_id, task.id, Millis(at.0 + MINUTE_MS)).await?;
    }
    Ok(())
}

pub(super) fn localized(language: Language, russian: &str, english: &str) -> String {
    match language {
        Language::Ru => russian,
        Language::En => english,
    }
    .to_owned()
}
