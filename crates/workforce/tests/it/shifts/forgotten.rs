//! Shifts that nobody closed: they keep nobody from the next one, and staff end them when they were over.

use std::time::Duration;

use workforce::domain::Domain;
use workforce::money::Money;
use workforce::notices::{self, Notice};
use workforce::shifts::{self, Shifts, Start};
use workforce::sites::{AboutSite, AboutSlot, Hours, Sites};

use super::moved::hire_boris;
use super::{Yard, about_site, chooses, closes, opens, person, plans};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::ANNA;
use crate::kit::firm::{Kind, NOON, on_databases};
use crate::overview::running_a_business::make_site;

on_databases! { [sqlite Sqlite, postgres Postgres]
    who_forgot_a_shift_opens_the_next_one_and_is_not_late_for_it,
    two_who_forgot_a_shift_at_each_others_site_open_the_next_ones_at_once,
    staff_say_when_a_shift_ended_that_somebody_forgot,
}

async fn passes(yard: &Yard, minutes: u64) {
    yard.firm.stage.passes(Duration::from_secs(60 * minutes)).await;
}

async fn who_forgot_a_shift_opens_the_next_one_and_is_not_late_for_it(kind: Kind) {
    let yard = Yard::open(kind).await;
    let strict = |name: &str| AboutSite { rate_kopecks: 10_000, late_minute_kopecks: 1_000, ..about_site(name) };
    let (shop, bar) = (yard.site_like(strict("Shop")).await, yard.site_like(strict("Bar")).await);
    yard.slot(shop, 0, 120, |_| {}).await;
    yard.slot(bar, 150, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[shop, bar], |_| {}).await;
    plans(&anna).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    passes(&yard, 119).await;
    chooses(&anna, "▶️ Open a shift").await;
    anna.sees("You are at work already.");
    // Half an hour after its end it would not be closed by itself yet.
    passes(&yard, 31).await;
    chooses(&anna, "▶️ Open a shift").await;
    anna.sees("Your shift at Shop was over at 01.01 17:00, and nobody has closed it.");
    anna.sees_button("⏹ Close my shift");
    opens(&anna, "· Bar").await;
    assert_eq!(yard.amounts().await, [("shift_base".to_owned(), 20_000)]);
    let ended = (NOON.0 + 2 * 3_600_000).to_string();
    let rows = yard.rows("SELECT status, closed_by, ended_at FROM shifts ORDER BY id").await;
    assert_eq!(rows, [["completed", "time", &ended], ["active", "-", "-"]]);
    let plans = yard.rows("SELECT status FROM shift_plans ORDER BY starts_at").await;
    assert_eq!(plans, [["completed"], ["in_progress"]]);
    let open = yard.rows("SELECT site_id FROM site_openings WHERE closed_at IS NULL").await;
    assert_eq!(open, [[bar.to_string()]]);
    let told = notices::untold(&yard.firm.app.domain).await.unwrap().pop().map(|row| (row.1, row.2));
    let total = Money::from_roubles(200);
    let closed = Notice::ClosedByTime { site: "Shop".into(), end: "01.01 17:00".into(), total };
    assert_eq!(told, Some((person(&yard.firm, &anna).await.id, closed)));
    passes(&yard, 60).await;
    closes(&anna).await;
    let hours = |kopecks| ("shift_base".to_owned(), kopecks);
    assert_eq!(yard.amounts().await, [hours(20_000), hours(10_000)], "she was not late");
}

async fn two_who_forgot_a_shift_at_each_others_site_open_the_next_ones_at_once(kind: Kind) {
    let yard = Yard::open(kind).await;
    let sites = [yard.site("Shop", 10_000).await, yard.site("Bar", 10_000).await];
    let mut users = Vec::new();
    for (name, site) in [("Anna", "Shop"), ("Boris", "Bar")] {
        let someone = yard.worker(name, &sites, |contract| contract.allows_spontaneous = true).await;
        opens(&someone, site).await;
        users.push(person(&yard.firm, &someone).await.id);
    }
    let other = Domain::beside(&yard.firm._ground.database).await.unwrap();
    let at = opora::clock::Millis(NOON.0 + 2 * 3_600_000);
    let next = |domain: Domain, user_id: i64, site_id: i64| async move {
        let start = Start { user_id, site_id, plan_id: None, position: None, started_at: at, at };
        domain.write_and_get(move |db| Box::pin(shifts::open_next(db, start, Money::from_roubles(50)))).await
    };
    let (here, there) =
        tokio::join!(next(yard.firm.app.domain.clone(), users[0], sites[1]), next(other.clone(), users[1], sites[0]));
    assert!(here.is_ok() && there.is_ok(), "{here:?} {there:?}");
    assert_eq!(yard.amounts().await, [("shift_base".to_owned(), 10_000), ("shift_base".to_owned(), 10_000)]);
    assert_eq!(yard.rows("SELECT site_id FROM site_openings WHERE closed_at IS NULL").await.len(), 2);
    other.close().await.unwrap();
}

async fn staff_say_when_a_shift_ended_that_somebody_forgot(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.signed_in(ANNA).await;
    let (anna, site) = (cabinet.person(ANNA).await, make_site(&cabinet, &owner).await);
    let boris = hire_boris(&cabinet, site).await;
    // From three to five in the afternoon of Moscow.
    let about = AboutSlot::usual("2026-01-01".parse().unwrap(), Hours::new(15 * 60, 17 * 60));
    let slot = Sites::of_app(&cabinet.app).create_slot(&anna, site, about).await.unwrap();
    let plan_id = Some(Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap());
    let opened = async |plan_id, minutes: u64| {
        let at = cabinet.clock.now();
        let start = Start { user_id: boris.id, site_id: site, plan_id, position: None, started_at: at, at };
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
        .is(200, "<option value=\"by_itself\" selected>when it should have: 01.01.2026 17:00</option>");
    for outside in ["2026-01-01T19:01", "2026-01-01T14:59"] {
        let refused = owner.post(&close, &[("end", "at"), ("time", outside)]).await;
        refused.is(422, "The end has to lie between the start of the shift and now.").is(422, outside);
    }
    owner.post(&close, &[("end", "at"), ("time", "soon")]).await.is(422, "Please check this.");
    owner.post(&close, &[("end", "never")]).await.is(422, "Please check this.");
    assert_eq!(paid(shift).await, None);
    owner.post(&close, &[("end", "by_itself")]).await.leads_to(&page);
    assert_eq!(paid(shift).await, Some(50_100), "two hours, and not four");

    // Without a plan, and before the site closes.
    let shift = opened(None, 60).await;
    let (page, close) = (format!("/shifts/{shift}"), format!("/shifts/{shift}/close"));
    owner.get(&page).await.is(200, "<option value=\"now\" selected>now</option>");
    owner.post(&close, &[("end", "by_itself")]).await.is(422, "The end has to lie between");
    owner.post(&close, &[("end", "at"), ("time", "2026-01-01T19:30")]).await.leads_to(&page);
    assert_eq!(paid(shift).await, Some(12_525));
    // A page of before says nothing, and means now.
    let shift = opened(None, 30).await;
    owner.post(&format!("/shifts/{shift}/close"), &[]).await.leads_to(&format!("/shifts/{shift}"));
    assert_eq!(paid(shift).await, Some(12_525));
    cabinet.close().await;
}

#[tokio::test]
async fn who_forgot_a_shift_and_has_no_other_to_open_is_told_that_they_are_at_work() {
    let yard = Yard::open(Kind::Sqlite).await;
    let shop = yard.site("Shop", 10_000).await;
    yard.slot(shop, 0, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[shop], |_| {}).await;
    plans(&anna).await;
    opens(&anna, "Shop").await;
    passes(&yard, 130).await;
    chooses(&anna, "▶️ Open a shift").await;
    anna.sees("You are at work already.");
    anna.presses("⏹ Close my shift").await;
    anna.sees("Shall I close");
}
