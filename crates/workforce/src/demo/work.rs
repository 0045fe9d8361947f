//! The demo's sample work: two sites with tasks, contracts, slots around today, past shifts, and an open one. All of it
//! uses the public functions of the rooms.

use chrono::{NaiveDate, TimeDelta, Timelike};
use chrono_tz::Europe::Moscow;
use opora::clock::Millis;
use opora::store::WriteError;
use opora_emulator::Emulator;

use super::pictures;
use super::staff::FIRST_TELEGRAM_ID;
use crate::application::App;
use crate::attachments;
use crate::domain::Transaction;
use crate::money::Money;
use crate::people;
use crate::person::Permission;
use crate::shifts::{self, ClosedBy, Proof, ShiftEnd, ShiftStart, tasks_of};
use crate::sites::{
    self, AboutContract, AboutSite, AboutSlot, AboutTask, ChangedBy, ContractStatus, Hours, Position, Sites,
    WorkingDays, local,
};
use crate::texts::Language;

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
/// Past and future days.
const PAST_DAYS: i64 = 10;
const FUTURE_DAYS: i64 = 14;

/// Creates everything, unless there are sites, even deleted ones.
pub async fn begin(app: &App, emulator: &Emulator, language: Language) -> anyhow::Result<()> {
    let sites = Sites::of_app(app);
    if !sites.list().await?.is_empty() || !sites.deleted().await?.is_empty() {
        return Ok(());
    }
    let (now, pictures) = (app.clock.now(), pictures::add(emulator));
    app.domain.write(move |db| Box::pin(set_up(db, language, pictures, now))).await?;
    Ok(())
}

async fn set_up(
    db: &Transaction<'_, '_>,
    language: Language,
    pictures: Vec<Proof>,
    now: Millis,
) -> Result<(), WriteError> {
    for picture in &pictures {
        // The job downloads them soon after the start.
        attachments::insert(db, picture.telegram_file.clone(), None, false).await?;
    }
    let mut ids = [0; 6];
    for (number, id) in (FIRST_TELEGRAM_ID..).zip(&mut ids) {
        // The sample people were removed, so there is nothing to show.
        let Some(person) = people::by_telegram(db, number).await? else { return Ok(()) };
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
        let status = ContractStatus::Active;
        let about = AboutContract { status, rate_kopecks, allows_spontaneous: true, sites: places };
        sites::create_contract(db, user, about, by).await?;
    }
    days(db, (cafe, store), (first, second, master), &pictures, by).await?;
    working_now(db, store, first, language, by).await
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

/// Slots of all days, plans for future days, and shifts on past days.
async fn days(
    db: &Transaction<'_, '_>,
    (cafe, store): (i64, i64),
    (first, second, master): (i64, i64, i64),
    pictures: &[Proof],
    by: ChangedBy,
) -> Result<(), WriteError> {
    let today = local(by.at, Moscow).date();
    for ahead in -PAST_DAYS..=FUTURE_DAYS {
        let day = today + TimeDelta::days(ahead);
        let early = AboutSlot { capacity: 2, ..AboutSlot::usual(day, Hours::new(8 * 60, 15 * 60)) };
        let late = AboutSlot { rate_kopecks: Some(31_000), ..AboutSlot::usual(day, Hours::new(15 * 60, 22 * 60)) };
        let night = AboutSlot::usual(day, Hours::new(22 * 60, 6 * 60));
        let shared = [(cafe, early, second), (cafe, late, first), (store, night, master)];
        for (at, (site, about, user)) in shared.into_iter().enumerate() {
            let slot = sites::create_slot(db, site, about, by).await?;
            // Some places stay free.
            let is_wanted = (ahead + at as i64).rem_euclid(3) != 0;
            if ahead < 0 && is_wanted {
                // The café's machine, or the shelves of the warehouse.
                let picture = pictures.get(usize::from(site == store));
                work(db, (user, site, slot), day, picture, by).await?;
            } else if (2..6).contains(&ahead) && is_wanted {
                shifts::plan(db, user, slot, by.at).await?;
            }
        }
    }
    Ok(())
}

/// A past shift: a little late on some days, and with some tasks left undone.
async fn work(
    db: &Transaction<'_, '_>,
    (user_id, site_id, slot): (i64, i64, i64),
    day: NaiveDate,
    picture: Option<&Proof>,
    by: ChangedBy,
) -> Result<(), WriteError> {
    let Some(slot) = sites::slot(db, slot).await? else { return Ok(()) };
    // A night that began yesterday may not be over.
    if slot.period.to.0 + DAY_MS / 24 > by.at.0 {
        return Ok(());
    }
    let odd = 2 * i64::from(chrono::Datelike::day(&day)) + slot.id;
    let start = Millis(slot.period.from.0 + (odd % 4) * 4 * MINUTE_MS);
    let plan_id = Some(shifts::plan(db, user_id, slot.id, Millis(slot.period.from.0 - DAY_MS)).await?);
    let id = open_shift(db, user_id, site_id, plan_id, start).await?;
    for (number, task) in (odd..).zip(tasks_of(db, id).await?) {
        let at = Millis(start.0 + 60 * MINUTE_MS);
        match picture.filter(|_| task.needs_media) {
            _ if number % 3 == 0 => {}
            Some(picture) => shifts::attach(db, user_id, task.id, (picture.clone(), false), at).await?,
            None if task.needs_media => {}
            None => shifts::mark(db, user_id, task.id, at).await?,
        }
    }
    let ended_at = Millis(slot.period.to.0 + (odd % 5) * MINUTE_MS);
    close(db, id, ended_at).await
}

async fn open_shift(
    db: &Transaction<'_, '_>,
    user_id: i64,
    site_id: i64,
    plan_id: Option<i64>,
    at: Millis,
) -> Result<i64, WriteError> {
    shifts::open(db, ShiftStart { user_id, site_id, plan_id, position: None, started_at: at, at }).await
}

async fn close(db: &Transaction<'_, '_>, shift_id: i64, ended_at: Millis) -> Result<(), WriteError> {
    let (mandatory_task_penalty, closed_by, at) = (Money::from_roubles(50), ClosedBy::Person, ended_at);
    let end = ShiftEnd { shift_id, version: None, position: None, closed_by, ended_at, mandatory_task_penalty, at };
    shifts::close(db, end).await
}

/// A person is at work whenever the demo starts.
async fn working_now(
    db: &Transaction<'_, '_>,
    site_id: i64,
    user_id: i64,
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

fn localized(language: Language, russian: &str, english: &str) -> String {
    match language {
        Language::Ru => russian,
        Language::En => english,
    }
    .to_owned()
}
