//! Positions that waited while the bot was away: a shift begins and ends when they were sent, as far as that can be.

use std::time::Duration;

use opora::clock::Millis;
use opora::testing::chat::Someone;
use serde_json::json;
use workforce::sites::AboutSite;

use super::{HERE, Yard, about_site, button_with, chooses, closes, is_told, plans};
use crate::kit::firm::{Kind, NOON, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    who_shared_a_position_while_the_bot_was_away_is_neither_late_nor_paid_for_its_absence,
    a_shift_begins_no_earlier_than_it_may_and_no_time_is_paid_twice,
    a_shift_ends_no_earlier_than_it_began,
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// A position of the sites, sent so many seconds after noon, whenever it is heard.
async fn sent_here(someone: &Someone, second: i64) {
    let position = json!({"latitude": HERE.latitude, "longitude": HERE.longitude});
    someone.sends_message(json!({"location": position, "date": NOON.0 / 1000 + second})).await;
}

/// The same, as one that goes on to be told.
async fn sent_live(someone: &Someone, second: i64) {
    let position = json!({"latitude": HERE.latitude, "longitude": HERE.longitude, "live_period": 3600});
    someone.sends_message(json!({"location": position, "date": NOON.0 / 1000 + second})).await;
}

/// Somebody is asked for the position with which a shift is opened.
async fn chooses_to_open(someone: &Someone, caption: &str) {
    chooses(someone, "▶️ Open a shift").await;
    someone.presses(&button_with(someone, caption)).await;
    someone.sees_button("📍 Share my position");
}

async fn chooses_to_close(someone: &Someone) {
    chooses(someone, "⏹ Close my shift").await;
    someone.presses("Go on to closing").await;
}

/// When the shifts began and ended, in seconds after noon.
async fn worked(yard: &Yard) -> Vec<[Option<i64>; 2]> {
    let rows = yard.rows("SELECT started_at, ended_at FROM shifts ORDER BY id").await;
    let second = |text: &String| text.parse::<i64>().ok().map(|at| (at - NOON.0) / 1000);
    rows.iter().map(|row| [second(&row[0]), second(&row[1])]).collect()
}

async fn who_shared_a_position_while_the_bot_was_away_is_neither_late_nor_paid_for_its_absence(kind: Kind) {
    let yard = Yard::open(kind).await;
    let strict = AboutSite { late_threshold_minutes: 0, late_minute_kopecks: 1_000, ..about_site("Shop") };
    let site = yard.site_like(AboutSite { rate_kopecks: 10_000, ..strict }).await;
    yard.slot(site, 0, 120, |_| {}).await;
    let (anna, clock) = (yard.worker("Anna", &[site], |_| {}).await, yard.firm.stage.clock());
    plans(&anna).await;
    chooses_to_open(&anna, "Shop").await;
    clock.advance(minutes(8));
    sent_here(&anna, 59).await;
    anna.sees("is open since 15:00.");
    clock.advance(minutes(53));
    chooses_to_close(&anna).await;
    clock.advance(minutes(9));
    sent_live(&anna, 3659).await;
    is_told(&yard, &anna, "1.00 h").await;
    assert_eq!(worked(&yard).await, [[Some(59), Some(3659)]]);
    assert_eq!(yard.amounts().await, [("shift_base".to_owned(), 10_000)]);
    let closed = yard.rows("SELECT closed_at FROM site_openings").await;
    assert_eq!(closed, [[(NOON.0 + 70 * 60_000).to_string()]], "what is done is done when it is heard");
}

#[tokio::test]
async fn a_position_that_is_too_old_or_of_a_clock_that_is_ahead_counts_when_it_is_heard() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.firm.stage.clock().advance(minutes(30));
    for (name, sent, began) in
        [("Anna", 1200, 1200), ("Boris", 1199, 1800), ("Vera", 1801, 1800), ("Zoe", -NOON.0 / 1000, 1800)]
    {
        let someone = yard.worker(name, &[site], |contract| contract.allows_spontaneous = true).await;
        chooses_to_open(&someone, "without a plan").await;
        sent_here(&someone, sent).await;
        someone.sees("is open since");
        assert_eq!(worked(&yard).await.last(), Some(&[Some(began), None]), "{name}");
    }
}

async fn a_shift_begins_no_earlier_than_it_may_and_no_time_is_paid_twice(kind: Kind) {
    let yard = Yard::open(kind).await;
    let (site, bar) = (yard.site("Shop", 10_000).await, yard.site("Bar", 10_000).await);
    let clock = yard.firm.stage.clock();
    // May be opened from five past noon on.
    yard.slot(site, 125, 60, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    plans(&anna).await;
    chooses_to_open(&anna, "without a plan").await;
    clock.advance(minutes(6));
    sent_here(&anna, 4 * 60).await;
    anna.sees("is open since 15:05.");
    assert_eq!(worked(&yard).await, [[Some(5 * 60), None]]);
    assert_eq!(yard.rows("SELECT status FROM shift_plans").await, [["in_progress"]]);

    // Closed when the clock of the bot says so, and the next one opened by what was sent before.
    let boris = yard.worker("Boris", &[bar], |contract| contract.allows_spontaneous = true).await;
    chooses_to_open(&boris, "without a plan").await;
    sent_here(&boris, 6 * 60).await;
    clock.advance(minutes(2));
    closes(&boris).await;
    chooses_to_open(&boris, "without a plan").await;
    clock.advance(minutes(1));
    sent_here(&boris, 7 * 60).await;
    boris.sees("is open since 15:08.");
    let eight = Some(8 * 60);
    assert_eq!(worked(&yard).await[1..], [[Some(6 * 60), eight], [eight, None]]);
}

async fn a_shift_ends_no_earlier_than_it_began(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    chooses_to_open(&anna, "without a plan").await;
    sent_here(&anna, 0).await;
    chooses_to_close(&anna).await;
    sent_here(&anna, -60).await;
    is_told(&yard, &anna, "is closed: 0.00 h").await;
    assert_eq!(worked(&yard).await, [[Some(0), Some(0)]]);
}

#[tokio::test]
async fn who_came_before_the_end_of_a_slot_is_not_too_late_because_they_were_heard_after_it() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    yard.slot(site, -60, 62, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    chooses_to_open(&anna, "Shop").await;
    yard.firm.stage.clock().advance(minutes(3));
    sent_here(&anna, 60).await;
    anna.sees("is open since 15:01.");
    let until = yard.rows("SELECT planned_end FROM shifts").await;
    assert_eq!(until, [[Millis(NOON.0 + 120_000).0.to_string()]]);
}
