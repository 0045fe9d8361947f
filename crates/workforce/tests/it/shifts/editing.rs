//! Owners and managers edit sites and slots: versions, permissions, moved and deleted slots, copied weeks.

use chrono::NaiveDate;
use opora::clock::Millis;
use workforce::audit;
use workforce::notices::{self, Notice};
use workforce::person::{Permission, Role};
use workforce::shifts::{PlanStatus, Shifts};
use workforce::sites::{
    AboutSite, AboutSlot, AboutTask, ActionError, FillDays, Hours, Period, SiteRefusal, WhichDays, monday_of,
};

use super::{Workplace, about_site, first_day, person, plans, task};
use crate::kit::firm::{NOON, StorageKind, on_every_database};

on_every_database! {
    of_two_edits_the_second_is_refused,
    plans_move_and_return_with_their_slot,
}

const DAY_MS: i64 = 24 * 3_600_000;

async fn of_two_edits_the_second_is_refused(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let id = workplace.site("Shop", 10_000).await;
    let manager = workplace.firm.member("Max", &[Role::Manager]).await;
    let manager = person(&workplace.firm, &manager).await;
    let seen = workplace.sites.site(id).await.unwrap().unwrap();
    let renamed = AboutSite { name: "Shop by the river".into(), ..seen.about.clone() };
    let refused = workplace.sites.edit(&manager, id, seen.version, renamed.clone()).await;
    assert!(matches!(refused, Err(ActionError::Refused(SiteRefusal::NotAllowed))), "{refused:?}");
    workplace
        .sites
        .set_permissions(&workplace.owner, manager.id, id, vec![Permission::View, Permission::Edit])
        .await
        .unwrap();

    workplace.sites.edit(&manager, id, seen.version, renamed.clone()).await.unwrap();
    let moved = AboutSite { address: "Side Street 2".into(), ..seen.about.clone() };
    let stale = workplace.sites.edit(&workplace.owner, id, seen.version, moved.clone()).await;
    assert!(matches!(stale, Err(ActionError::Refused(SiteRefusal::Stale))), "{stale:?}");
    let now = workplace.sites.site(id).await.unwrap().unwrap();
    assert_eq!((now.about.clone(), now.version), (renamed, 2));
    let line = audit::about(&workplace.firm.app.domain, ("site", id)).await.unwrap().pop().unwrap();
    assert_eq!((line.actor, line.detail["name"][1].as_str()), (Some(manager.id), Some("Shop by the river")));

    // Rates need their own permission. Of two edits at the same moment one succeeds.
    let dearer = AboutSite { rate_kopecks: 20_000, ..now.about.clone() };
    let refused = workplace.sites.edit(&manager, id, now.version, dearer).await;
    assert!(matches!(refused, Err(ActionError::Refused(SiteRefusal::NotAllowed))), "{refused:?}");
    let (one, two) = tokio::join!(
        workplace.sites.edit(&workplace.owner, id, now.version, moved),
        workplace.sites.edit(&manager, id, now.version, AboutSite { max_distance_m: 70, ..now.about.clone() })
    );
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
}

async fn plans_move_and_return_with_their_slot(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let id = workplace.slot(site, 60, 120, |slot| slot.capacity = 2).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let slot = workplace.sites.slot(id).await.unwrap().unwrap();
    let later = AboutSlot { hours: Hours::new(17 * 60, 19 * 60), ..slot.about.clone() };
    workplace.sites.edit_slot(&workplace.owner, id, slot.version, later).await.unwrap();
    let (before, after) = (first_day("16:00", "18:00"), first_day("17:00", "19:00"));
    let site_name = "Shop".to_owned();
    let moved = Notice::PlanMoved { site: site_name.clone(), before, after };
    let told = |at: usize| {
        let domain = workplace.firm.app.domain.clone();
        async move { notices::unsent(&domain).await.unwrap()[at].2.clone() }
    };
    assert_eq!(told(0).await, moved);
    let slot = workplace.sites.slot(id).await.unwrap().unwrap();
    assert_eq!((slot.taken, slot.period.from), (1, Millis(NOON.0 + 2 * 3_600_000)));

    workplace.sites.delete_slot(&workplace.owner, id, slot.version).await.unwrap();
    assert_eq!(told(1).await, Notice::PlanCancelled { site: site_name.clone(), when: after });
    let worker = person(&workplace.firm, &anna).await;
    let shifts = Shifts::of_app(&workplace.firm.app);
    assert!(shifts.plans_of(worker.id, NOON).await.unwrap().is_empty());
    workplace.sites.restore_slot(&workplace.owner, id).await.unwrap();
    assert_eq!(told(2).await, Notice::PlanRestored { site: site_name, when: after });
    let plans = shifts.plans_of(worker.id, NOON).await.unwrap();
    assert_eq!((plans.len(), plans[0].status), (1, PlanStatus::Planned));
    assert_eq!(workplace.sites.slot(id).await.unwrap().unwrap().taken, 1);
}

#[tokio::test]
async fn a_site_in_use_is_not_deleted() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let in_use = workplace.sites.delete(&workplace.owner, site, 1).await;
    assert!(matches!(in_use, Err(ActionError::Refused(SiteRefusal::InUse))), "{in_use:?}");
    let shifts = Shifts::of_app(&workplace.firm.app);
    let worker = person(&workplace.firm, &anna).await;
    let plan = shifts.plans_of(worker.id, NOON).await.unwrap()[0].id;
    let not_hers = shifts.cancel(&worker, plan).await;
    assert!(matches!(not_hers, Err(ActionError::Refused(SiteRefusal::NotAllowed))), "{not_hers:?}");
    shifts.cancel(&workplace.owner, plan).await.unwrap();
    workplace.sites.delete(&workplace.owner, site, 1).await.unwrap();
    assert!(workplace.sites.list().await.unwrap().is_empty() && workplace.sites.deleted().await.unwrap().len() == 1);
    workplace.sites.restore(&workplace.owner, site).await.unwrap();
    assert_eq!(workplace.sites.list().await.unwrap().len(), 1);
    // Another time zone would move slots whose hours people know.
    let now = workplace.sites.site(site).await.unwrap().unwrap();
    let elsewhere = AboutSite { time_zone: chrono_tz::Asia::Omsk, ..now.about };
    let refused = workplace.sites.edit(&workplace.owner, site, now.version, elsewhere).await;
    assert!(matches!(refused, Err(ActionError::Refused(SiteRefusal::InUse))), "{refused:?}");
}

#[tokio::test]
async fn weeks_are_copied_and_filled_once() {
    let workplace = Workplace::open(StorageKind::Postgres).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 60, 120, |slot| slot.capacity = 3).await;
    workplace.task(site, Some(slot), "Sweep", -100).await;
    let monday = monday_of("2026-01-01".parse::<NaiveDate>().unwrap());
    let next = monday + chrono::Days::new(7);
    assert_eq!(workplace.sites.copy_week(&workplace.owner, site, monday, next).await.unwrap().count, 1);
    assert_eq!(workplace.sites.copy_week(&workplace.owner, site, monday, next).await.unwrap().count, 0);
    let week = Period { from: Millis(NOON.0 + 6 * DAY_MS), to: Millis(NOON.0 + 8 * DAY_MS) };
    let copies = workplace.sites.slots(&[site], week).await.unwrap();
    assert_eq!((copies.len(), copies[0].about.capacity, copies[0].taken), (1, 3, 0));
    let tasks = workplace.sites.tasks(site, false).await.unwrap();
    let copied: Vec<_> = tasks.iter().filter(|task| task.slot_id == Some(copies[0].id)).map(|one| &one.about).collect();
    assert_eq!(copied, [&task("Sweep", -100)], "a penalty keeps its sign");

    let (first, last) = ("2026-02-01".parse().unwrap(), "2026-02-28".parse().unwrap());
    let like = AboutSlot::usual(first, Hours::new(540, 1080));
    let february = |which| FillDays { first, last, which };
    let fill = async |which| workplace.sites.fill(&workplace.owner, site, february(which), like.clone()).await.unwrap();
    assert_eq!(fill(WhichDays::Working).await.count, 20);
    assert_eq!(fill(WhichDays::Working).await.count, 0);
    let weekends = fill(WhichDays::Every).await;
    assert_eq!(weekends.count, 8, "the days that are not working days");
}

#[tokio::test]
async fn new_slots_are_taken_back_while_they_are_untouched() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let (first, last) = ("2026-02-02".parse().unwrap(), "2026-02-06".parse().unwrap());
    let (days, like) =
        (FillDays { first, last, which: WhichDays::Every }, AboutSlot::usual(first, Hours::new(540, 1080)));
    let new = workplace.sites.fill(&workplace.owner, site, days, like.clone()).await.unwrap();
    assert_eq!(new.count, 5);
    let week = Period::of_days(first, 7, chrono_tz::Tz::UTC).unwrap();
    let changed = workplace.sites.slots(&[site], week).await.unwrap().remove(0);
    let about = AboutSlot { capacity: 3, ..changed.about.clone() };
    workplace.sites.edit_slot(&workplace.owner, changed.id, changed.version, about).await.unwrap();
    let created_at = Millis(new.created_at_ms);
    let taken_back = workplace.sites.take_back_slots(&workplace.owner, site, created_at).await.unwrap();
    assert_eq!(taken_back, 4, "the changed one stays");
    let left: Vec<_> = workplace.sites.slots(&[site], week).await.unwrap().iter().map(|slot| slot.id).collect();
    assert_eq!(left, [changed.id]);
    assert_eq!(workplace.sites.take_back_slots(&workplace.owner, site, created_at).await.unwrap(), 0);
}

#[tokio::test]
async fn mistakes_are_refused_and_penalties_keep_their_sign() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let bad = AboutSite { name: " ".into(), rate_kopecks: -1, ..about_site("x") };
    assert_eq!(bad.invalid_fields(), ["name", "rate"]);
    let refused = workplace.sites.create(&workplace.owner, bad).await;
    assert!(matches!(&refused, Err(ActionError::Refused(why)) if *why == SiteRefusal::bad("name")), "{refused:?}");
    let site = workplace.site("Shop", 10_000).await;
    let id = workplace.task(site, None, "Count the till", -4_400).await;
    let read = workplace.sites.tasks(site, false).await.unwrap();
    assert_eq!((read[0].id, read[0].about.amount_kopecks), (id, -4_400));
    let edited = AboutTask { amount_kopecks: -3_300, ..read[0].about.clone() };
    workplace.sites.edit_task(&workplace.owner, id, 1, edited).await.unwrap();
    let read = workplace.sites.tasks(site, false).await.unwrap();
    assert_eq!((read[0].about.amount_kopecks, read[0].version), (-3_300, 2));
    workplace.sites.delete_task(&workplace.owner, id, 2).await.unwrap();
    assert!(workplace.sites.tasks(site, false).await.unwrap().is_empty());
    workplace.sites.restore_task(&workplace.owner, id).await.unwrap();
    assert_eq!(workplace.sites.tasks(site, false).await.unwrap()[0].about.amount_kopecks, -3_300);
    assert_eq!(workplace.sites.tasks(site, false).await.unwrap()[0].about, task("Count the till", -3_300));
}
