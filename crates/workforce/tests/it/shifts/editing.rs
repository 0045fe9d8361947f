//! Owners and managers on pages: versions, permissions, slots that move and go, weeks that are copied, what comes back.

use chrono::NaiveDate;
use opora::clock::Millis;
use workforce::audit;
use workforce::notices::{self, Notice};
use workforce::person::{Permission, Role};
use workforce::shifts::{PlanStatus, Shifts};
use workforce::sites::{AboutSite, AboutSlot, AboutTask, Hours, NotDone, Period, Why, monday_of};

use super::{Yard, about_site, person, plans, task};
use crate::kit::firm::{Kind, NOON, on_every_database};

on_every_database! {
    of_two_who_edit_at_once_the_second_is_told_and_nothing_is_lost,
    whoever_has_planned_moves_along_with_the_slot_and_comes_back_with_it,
}

const DAY_MS: i64 = 24 * 3_600_000;

async fn of_two_who_edit_at_once_the_second_is_told_and_nothing_is_lost(kind: Kind) {
    let yard = Yard::open(kind).await;
    let id = yard.site("Shop", 10_000).await;
    let manager = yard.firm.member("Max", &[Role::Manager]).await;
    let manager = person(&yard.firm, &manager).await;
    let seen = yard.sites.of(id).await.unwrap().unwrap();
    let renamed = AboutSite { name: "Shop by the river".into(), ..seen.about.clone() };
    let refused = yard.sites.edit(&manager, id, seen.version, renamed.clone()).await;
    assert!(matches!(refused, Err(NotDone::Refused(Why::NotAllowed))), "{refused:?}");
    yard.sites.permit(&yard.owner, manager.id, id, vec![Permission::View, Permission::Edit]).await.unwrap();

    yard.sites.edit(&manager, id, seen.version, renamed.clone()).await.unwrap();
    let moved = AboutSite { address: "Side Street 2".into(), ..seen.about.clone() };
    let stale = yard.sites.edit(&yard.owner, id, seen.version, moved.clone()).await;
    assert!(matches!(stale, Err(NotDone::Refused(Why::Stale))), "{stale:?}");
    let now = yard.sites.of(id).await.unwrap().unwrap();
    assert_eq!((now.about.clone(), now.version), (renamed, 2));
    let line = audit::about(&yard.firm.app.domain, ("site", id)).await.unwrap().pop().unwrap();
    assert_eq!((line.actor, line.detail["name"][1].as_str()), (Some(manager.id), Some("Shop by the river")));

    // Rates are another permission; and both at the very same moment: one of them.
    let dearer = AboutSite { rate_kopecks: 20_000, ..now.about.clone() };
    let refused = yard.sites.edit(&manager, id, now.version, dearer).await;
    assert!(matches!(refused, Err(NotDone::Refused(Why::NotAllowed))), "{refused:?}");
    let (one, two) = tokio::join!(
        yard.sites.edit(&yard.owner, id, now.version, moved),
        yard.sites.edit(&manager, id, now.version, AboutSite { max_distance_m: 70, ..now.about.clone() })
    );
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
}

async fn whoever_has_planned_moves_along_with_the_slot_and_comes_back_with_it(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    let id = yard.slot(site, 60, 120, |slot| slot.capacity = 2).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let slot = yard.sites.slot(id).await.unwrap().unwrap();
    let later = AboutSlot { hours: Hours::new(17 * 60, 19 * 60), ..slot.about.clone() };
    yard.sites.edit_slot(&yard.owner, id, slot.version, later).await.unwrap();
    let (site_name, before, after) =
        ("Shop".to_owned(), "01.01 16:00–18:00".to_owned(), "01.01 17:00–19:00".to_owned());
    let moved = Notice::PlanMoved { site: site_name.clone(), before, after: after.clone() };
    let told = |at: usize| {
        let domain = yard.firm.app.domain.clone();
        async move { notices::untold(&domain).await.unwrap()[at].2.clone() }
    };
    assert_eq!(told(0).await, moved);
    let slot = yard.sites.slot(id).await.unwrap().unwrap();
    assert_eq!((slot.taken, slot.period.from), (1, Millis(NOON.0 + 2 * 3_600_000)));

    yard.sites.delete_slot(&yard.owner, id, slot.version).await.unwrap();
    assert_eq!(told(1).await, Notice::PlanCancelled { site: site_name.clone(), when: after.clone() });
    let worker = person(&yard.firm, &anna).await;
    let shifts = Shifts::of_app(&yard.firm.app);
    assert!(shifts.plans_of(worker.id, NOON).await.unwrap().is_empty());
    yard.sites.restore_slot(&yard.owner, id).await.unwrap();
    assert_eq!(told(2).await, Notice::PlanRestored { site: site_name, when: after });
    let plans = shifts.plans_of(worker.id, NOON).await.unwrap();
    assert_eq!((plans.len(), plans[0].status), (1, PlanStatus::Planned));
    assert_eq!(yard.sites.slot(id).await.unwrap().unwrap().taken, 1);
}

#[tokio::test]
async fn a_site_is_deleted_only_when_nobody_needs_it_and_comes_back() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let in_use = yard.sites.delete(&yard.owner, site, 1).await;
    assert!(matches!(in_use, Err(NotDone::Refused(Why::InUse))), "{in_use:?}");
    let shifts = Shifts::of_app(&yard.firm.app);
    let worker = person(&yard.firm, &anna).await;
    let plan = shifts.plans_of(worker.id, NOON).await.unwrap()[0].id;
    let not_hers = shifts.cancel(&worker, plan).await;
    assert!(matches!(not_hers, Err(NotDone::Refused(Why::NotAllowed))), "{not_hers:?}");
    shifts.cancel(&yard.owner, plan).await.unwrap();
    yard.sites.delete(&yard.owner, site, 1).await.unwrap();
    assert!(yard.sites.list().await.unwrap().is_empty() && yard.sites.deleted().await.unwrap().len() == 1);
    yard.sites.restore(&yard.owner, site).await.unwrap();
    assert_eq!(yard.sites.list().await.unwrap().len(), 1);
    // Another clock would move slots that people know the hours of.
    let now = yard.sites.of(site).await.unwrap().unwrap();
    let elsewhere = AboutSite { time_zone: chrono_tz::Asia::Omsk, ..now.about };
    let refused = yard.sites.edit(&yard.owner, site, now.version, elsewhere).await;
    assert!(matches!(refused, Err(NotDone::Refused(Why::InUse))), "{refused:?}");
}

#[tokio::test]
async fn a_week_is_copied_with_its_tasks_and_working_days_are_filled_and_nothing_twice() {
    let yard = Yard::open(Kind::Postgres).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 60, 120, |slot| slot.capacity = 3).await;
    yard.task(site, Some(slot), "Sweep", -100).await;
    let monday = monday_of("2026-01-01".parse::<NaiveDate>().unwrap());
    let next = monday + chrono::Days::new(7);
    assert_eq!(yard.sites.copy_week(&yard.owner, site, monday, next).await.unwrap(), 1);
    assert_eq!(yard.sites.copy_week(&yard.owner, site, monday, next).await.unwrap(), 0);
    let week = Period { from: Millis(NOON.0 + 6 * DAY_MS), to: Millis(NOON.0 + 8 * DAY_MS) };
    let copies = yard.sites.slots(&[site], week).await.unwrap();
    assert_eq!((copies.len(), copies[0].about.capacity, copies[0].taken), (1, 3, 0));
    let tasks = yard.sites.tasks(site, false).await.unwrap();
    let copied: Vec<_> = tasks.iter().filter(|task| task.slot_id == Some(copies[0].id)).map(|one| &one.about).collect();
    assert_eq!(copied, [&task("Sweep", -100)], "a penalty stays one");

    let february = ("2026-02-01".parse().unwrap(), "2026-02-28".parse().unwrap());
    let like = AboutSlot::usual(february.0, Hours::new(540, 1080));
    assert_eq!(yard.sites.fill(&yard.owner, site, february, like.clone()).await.unwrap(), 20);
    assert_eq!(yard.sites.fill(&yard.owner, site, february, like).await.unwrap(), 0);
}

#[tokio::test]
async fn forms_with_mistakes_are_refused_and_penalties_keep_their_sign() {
    let yard = Yard::open(Kind::Sqlite).await;
    let bad = AboutSite { name: " ".into(), rate_kopecks: -1, ..about_site("x") };
    assert_eq!(bad.mistakes(), ["name", "rate"]);
    assert!(matches!(yard.sites.create(&yard.owner, bad).await, Err(NotDone::Refused(Why::Bad))));
    let site = yard.site("Shop", 10_000).await;
    let id = yard.task(site, None, "Count the till", -4_400).await;
    let read = yard.sites.tasks(site, false).await.unwrap();
    assert_eq!((read[0].id, read[0].about.amount_kopecks), (id, -4_400));
    let edited = AboutTask { amount_kopecks: -3_300, ..read[0].about.clone() };
    yard.sites.edit_task(&yard.owner, id, 1, edited).await.unwrap();
    let read = yard.sites.tasks(site, false).await.unwrap();
    assert_eq!((read[0].about.amount_kopecks, read[0].version), (-3_300, 2));
    yard.sites.delete_task(&yard.owner, id, 2).await.unwrap();
    assert!(yard.sites.tasks(site, false).await.unwrap().is_empty());
    yard.sites.restore_task(&yard.owner, id).await.unwrap();
    assert_eq!(yard.sites.tasks(site, false).await.unwrap()[0].about.amount_kopecks, -3_300);
    assert_eq!(yard.sites.tasks(site, false).await.unwrap()[0].about, task("Count the till", -3_300));
}
