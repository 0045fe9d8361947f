//! Shifts that were not closed: they do not block the next shift, and staff can set their end.

use std::time::Duration;

use workforce::domain::Domain;
use workforce::money::Money;
use workforce::notices::{self, Notice};
use workforce::shifts::{self, ShiftStart, Shifts};
use workforce::sites::{AboutSite, AboutSlot, Hours, Sites};

use super::moved_slots::hire_boris;
use super::{Workplace, about_site, chooses_from_menu, closes, first_day_at, opens, person, plans};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::ANNA;
use crate::kit::firm::{NOON, StorageKind, on_databases};
use crate::overview::business_pages::make_site;

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_forgotten_shift_does_not_block_the_next,
    two_forgotten_shifts_do_not_deadlock,
    staff_set_the_end_of_a_forgotten_shift,
}

async fn a_forgotten_shift_does_not_block_the_next(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let strict = |name: &str| AboutSite { rate_kopecks: 10_000, late_minute_kopecks: 1_000, ..about_site(name) };
    let (shop, bar) = (workplace.site_with(strict("Shop")).await, workplace.site_with(strict("Bar")).await);
    workplace.slot(shop, 0, 120, |_| {}).await;
    workplace.slot(bar, 150, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[shop, bar], |_| {}).await;
    plans(&anna).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    workplace.minutes_pass(119).await;
    anna.presses_data("open:begin").await;
    anna.sees("You're already clocked in.");
    // Half an hour after its end the job would not close it yet.
    workplace.minutes_pass(31).await;
    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.sees("Your shift at Shop ended on Jan 1, 17:00, but you never clocked out.");
    anna.sees_button("⏹ Clock out");
    opens(&anna, "· Bar").await;
    assert_eq!(workplace.adjustments().await, [("shift_base".to_owned(), 20_000)]);
    let ended = (NOON.0 + 2 * 3_600_000).to_string();
    let rows = workplace.rows("SELECT status, closed_by, ended_at FROM shifts ORDER BY id").await;
    assert_eq!(rows, [["completed", "time", &ended], ["active", "-", "-"]]);
    let plans = workplace.rows("SELECT status FROM shift_plans ORDER BY starts_at").await;
    assert_eq!(plans, [["completed"], ["in_progress"]]);
    let open = workplace.rows("SELECT site_id FROM site_openings WHERE closed_at IS NULL").await;
    assert_eq!(open, [[bar.to_string()]]);
    let unsent = notices::unsent(&workplace.firm.app.domain).await.unwrap().pop().map(|row| (row.1, row.2));
    let total = Money::from_roubles(200);
    let closed = Notice::ClosedByTime { site: "Shop".into(), end: first_day_at("17:00"), total };
    assert_eq!(unsent, Some((person(&workplace.firm, &anna).await.id, closed)));
    workplace.minutes_pass(60).await;
    closes(&anna).await;
    let hours = |kopecks| ("shift_base".to_owned(), kopecks);
    assert_eq!(workplace.adjustments().await, [hours(20_000), hours(10_000)], "she was not late");
}

async fn two_forgotten_shifts_do_not_deadlock(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let sites = [workplace.site("Shop", 10_000).await, workplace.site("Bar", 10_000).await];
    let mut users = Vec::new();
    for (name, site) in [("Anna", "Shop"), ("Boris", "Bar")] {
        let someone = workplace.worker(name, &sites, |contract| contract.allows_spontaneous = true).await;
        opens(&someone, site).await;
        users.push(person(&workplace.firm, &someone).await.id);
    }
    let other = Domain::open_for_command(&workplace.firm.storage.database).await.unwrap();
    let other = other.for_bot(workplace.firm.app.bot_id);
    let at = opora::clock::Millis(NOON.0 + 2 * 3_600_000);
    let next = |domain: Domain, user_id: i64, site_id: i64| async move {
        let start = ShiftStart { user_id, site_id, plan_id: None, position: None, started_at: at, at };
        domain.write_and_get(move |db| Box::pin(shifts::open_next(db, start, Money::from_roubles(50)))).await
    };
    let (here, there) = tokio::join!(
        next(workplace.firm.app.domain.clone(), users[0], sites[1]),
        next(other.clone(), users[1], sites[0])
    );
    assert!(here.is_ok() && there.is_ok(), "{here:?} {there:?}");
    assert_eq!(workplace.adjustments().await, [("shift_base".to_owned(), 10_000), ("shift_base".to_owned(), 10_000)]);
    assert_eq!(workplace.rows("SELECT site_id FROM site_openings WHERE closed_at IS NULL").await.len(), 2);
    other.close().await.unwrap();
}

async fn staff_set_the_end_of_a_forgotten_shift(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    let (anna, site) = (cabinet.person(ANNA).await, make_site(&cabinet, &owner).await);
    let boris = hire_boris(&cabinet, site).await;
    // From three to five in the afternoon, in Moscow.
    let about = AboutSlot::usual("2026-01-01".parse().unwrap(), Hours::new(15 * 60, 17 * 60));
    let slot = Sites::of_app(&cabinet.app).create_slot(&anna, site, about).await.unwrap();
    let plan_id = Some(Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap());
    let opened = async |plan_id, minutes: u64| {
        let at = cabinet.clock.now();
        let start = ShiftStart { user_id: boris.id, site_id: site, plan_id, position: None, started_at: at, at };
        let opened = cabinet.app.domain.write_and_get(move |db| Box::pin(shifts::open(db, start))).await.unwrap();
        cabinet.clock.advance(Duration::from_secs(60 * minutes));
        opened
    };
    let paid =
        async |shift: i64| cabinet.app.payroll.of_shift(shift).await.unwrap().first().map(|line| line.amount.kopecks());

    let shift = opened(plan_id, 240).await;
    let (page, close) = (format!("/shifts/{shift}"), format!("/shifts/{shift}/close"));
    owner
        .get(&page)
        .await
        .is(200, "<option value=\"by_itself\" selected>as scheduled: Jan 1, 2026, 17:00 (2.00 h, 501\u{a0}₽)");
    for outside in ["2026-01-01T19:01", "2026-01-01T14:59"] {
        let refused = owner.post(&close, &[("end", "at"), ("time", outside)]).await;
        refused.is(422, "Choose a time between the start of the shift and now.").is(422, outside);
    }
    owner.post(&close, &[("end", "at"), ("time", "soon")]).await.is(422, "Enter a date and time");
    owner.post(&close, &[("end", "never")]).await.is(422, "Choose an option from the list.");
    assert_eq!(paid(shift).await, None);
    owner.post(&close, &[("end", "by_itself")]).await.redirects_to(&page);
    assert_eq!(paid(shift).await, Some(50_100), "two hours, and not four");

    // Without a plan, and before the site closes.
    let shift = opened(None, 60).await;
    let (page, close) = (format!("/shifts/{shift}"), format!("/shifts/{shift}/close"));
    owner.get(&page).await.is(200, "<option value=\"now\" selected>now (1.00 h, 250.50\u{a0}₽)</option>");
    owner.post(&close, &[("end", "by_itself")]).await.is(422, "Choose a time between");
    owner.post(&close, &[("end", "at"), ("time", "2026-01-01T19:30")]).await.redirects_to(&page);
    assert_eq!(paid(shift).await, Some(12_525));
    // The form of an earlier version has no field for the end. It means now.
    let shift = opened(None, 30).await;
    owner.post(&format!("/shifts/{shift}/close"), &[]).await.redirects_to(&format!("/shifts/{shift}"));
    assert_eq!(paid(shift).await, Some(12_525));
    cabinet.close().await;
}

#[tokio::test]
async fn a_forgotten_shift_without_a_next_one_stays_open() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let shop = workplace.site("Shop", 10_000).await;
    workplace.slot(shop, 0, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[shop], |_| {}).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    workplace.minutes_pass(130).await;
    chooses_from_menu(&anna, "▶️ Clock in").await;
    anna.sees("You're already clocked in.");
    anna.presses("⏹ Clock out").await;
    anna.sees("Clock out?");
}
