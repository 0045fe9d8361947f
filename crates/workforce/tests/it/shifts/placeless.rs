//! Where nobody knows the position of a site, nobody is asked for their own.

use workforce::shifts::Shifts;
use workforce::sites::AboutSite;

use super::{Yard, about_site, button_with, chooses, is_told, person, plans};
use crate::kit::firm::{Kind, NOON};

async fn yard() -> (Yard, i64) {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = AboutSite { position: None, rate_kopecks: 10_000, ..about_site("Shop") };
    let site = yard.site_like(site).await;
    yard.task(site, None, "Sweep", 5_000).await;
    (yard, site)
}

#[tokio::test]
async fn a_site_without_a_position_asks_for_none() {
    let (yard, site) = yard().await;
    yard.slot(site, 0, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    plans(&anna).await;
    chooses(&anna, "▶️ Open a shift").await;
    anna.presses(&button_with(&anna, "· Shop")).await;
    anna.sees("Your shift at Shop is open since 15:00.\n\nYour tasks:\n⬜ Sweep");
    chooses(&anna, "⏹ Close my shift").await;
    anna.presses("Mark tasks").await;
    anna.presses("⬜ Sweep").await;
    anna.presses("Go on to closing").await;
    anna.sees("Your shift has ended.");
    is_told(&yard, &anna, "Bonus for a task «Sweep»: +50.00\u{a0}₽\nTotal: 50.00").await;

    chooses(&anna, "▶️ Open a shift").await;
    anna.presses("Shop, without a plan").await;
    anna.sees("is open since");
    chooses(&anna, "⏹ Close my shift").await;
    anna.presses("Go on to closing").await;
    is_told(&yard, &anna, "Total: 0.00").await;
    chooses(&anna, "🔓 Open a site").await;
    anna.presses("Shop").await;
    anna.sees("Shop is open.");
    assert!(!anna.transcript().contains("your position"), "{}", anna.transcript());
    let rows = yard.rows("SELECT status, plan_id FROM shifts WHERE opened_latitude IS NULL ORDER BY id").await;
    assert_eq!(rows, [["completed", "1"], ["completed", "-"]]);
}

#[tokio::test]
async fn what_is_refused_there_is_told_as_elsewhere() {
    let (yard, site) = yard().await;
    yard.slot(site, 0, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    let doors = Shifts::of_app(&yard.firm.app);
    let user = person(&yard.firm, &anna).await.id;
    chooses(&anna, "▶️ Open a shift").await;
    let plan = doors.plans_of(user, NOON).await.unwrap()[0].id;
    doors.cancel(&yard.owner, plan).await.unwrap();
    anna.presses(&button_with(&anna, "· Shop")).await;
    anna.sees("This plan has been used or cancelled already.");
    anna.sees_button("🏠 Main menu");

    chooses(&anna, "🔓 Open a site").await;
    doors.open_site(&yard.owner, site).await.unwrap();
    anna.presses("Shop").await;
    anna.sees("This site is open already.");
    assert!(yard.rows("SELECT id FROM shifts").await.is_empty());
}
