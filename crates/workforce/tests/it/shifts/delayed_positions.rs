//! Positions that waited while the bot was away: a shift begins and ends when they were sent, within limits.

use std::time::Duration;

use opora::clock::Millis;
use opora::testing::chat::ChatUser;
use serde_json::json;
use workforce::sites::AboutSite;

use super::{HERE, Workplace, about_site, button_with, chooses_from_menu, closes, is_notified, plans};
use crate::kit::firm::{NOON, StorageKind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_delayed_position_counts_when_it_was_sent,
    a_delayed_position_pays_no_time_twice,
    a_shift_ends_no_earlier_than_it_began,
}

fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// Sends the sites' position with a date this many seconds after noon.
async fn sends_position(someone: &ChatUser, second: i64) {
    let position = json!({"latitude": HERE.latitude, "longitude": HERE.longitude});
    someone.sends_message(json!({"location": position, "date": NOON.0 / 1000 + second})).await;
}

/// The same as a live position.
async fn sends_live_position(someone: &ChatUser, second: i64) {
    let position = json!({"latitude": HERE.latitude, "longitude": HERE.longitude, "live_period": 3600});
    someone.sends_message(json!({"location": position, "date": NOON.0 / 1000 + second})).await;
}

/// Goes to the question for the position that opens a shift.
async fn chooses_to_open(someone: &ChatUser, caption: &str) {
    chooses_from_menu(someone, "▶️ Clock in").await;
    someone.presses(&button_with(someone, caption)).await;
    someone.sees_button("📍 Share my location");
}

async fn chooses_to_close(someone: &ChatUser) {
    chooses_from_menu(someone, "⏹ Clock out").await;
    someone.presses("Continue to clock out").await;
}

/// Start and end of the shifts, in seconds after noon.
async fn worked_seconds(workplace: &Workplace) -> Vec<[Option<i64>; 2]> {
    let rows = workplace.rows("SELECT started_at, ended_at FROM shifts ORDER BY id").await;
    let second = |text: &String| text.parse::<i64>().ok().map(|at| (at - NOON.0) / 1000);
    rows.iter().map(|row| [second(&row[0]), second(&row[1])]).collect()
}

async fn a_delayed_position_counts_when_it_was_sent(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let strict = AboutSite { late_threshold_minutes: 0, late_minute_kopecks: 1_000, ..about_site("Shop") };
    let site = workplace.site_with(AboutSite { rate_kopecks: 10_000, ..strict }).await;
    workplace.slot(site, 0, 120, |_| {}).await;
    let (anna, clock) = (workplace.worker("Anna", &[site], |_| {}).await, workplace.firm.stage.clock());
    plans(&anna).await;
    chooses_to_open(&anna, "Shop").await;
    clock.advance(minutes(8));
    sends_position(&anna, 59).await;
    anna.sees("clocked in at Shop at 15:00.");
    clock.advance(minutes(53));
    chooses_to_close(&anna).await;
    clock.advance(minutes(9));
    sends_live_position(&anna, 3659).await;
    is_notified(&workplace, &anna, "is over: 1\u{a0}h.").await;
    assert_eq!(worked_seconds(&workplace).await, [[Some(59), Some(3659)]]);
    assert_eq!(workplace.adjustments().await, [("shift_base".to_owned(), 10_000)]);
    let closed = workplace.rows("SELECT closed_at FROM site_openings").await;
    assert_eq!(closed, [[(NOON.0 + 70 * 60_000).to_string()]], "the site is closed when the update is processed");
}

#[tokio::test]
async fn an_implausible_position_date_is_ignored() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.firm.stage.clock().advance(minutes(30));
    for (name, sent, began) in
        [("Anna", 1200, 1200), ("Boris", 1199, 1800), ("Vera", 1801, 1800), ("Zoe", -NOON.0 / 1000, 1800)]
    {
        let someone = workplace.worker(name, &[site], |contract| contract.allows_spontaneous = true).await;
        chooses_to_open(&someone, "unscheduled").await;
        sends_position(&someone, sent).await;
        someone.sees("You clocked in at");
        assert_eq!(worked_seconds(&workplace).await.last(), Some(&[Some(began), None]), "{name}");
    }
}

async fn a_delayed_position_pays_no_time_twice(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let (site, bar) = (workplace.site("Shop", 10_000).await, workplace.site("Bar", 10_000).await);
    let clock = workplace.firm.stage.clock();
    // Can be opened from 12:05 on.
    workplace.slot(site, 125, 60, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    plans(&anna).await;
    chooses_to_open(&anna, "unscheduled").await;
    clock.advance(minutes(6));
    sends_position(&anna, 4 * 60).await;
    anna.sees("clocked in at Shop at 15:05.");
    assert_eq!(worked_seconds(&workplace).await, [[Some(5 * 60), None]]);
    assert_eq!(workplace.rows("SELECT status FROM shift_plans").await, [["in_progress"]]);

    // Closed by the bot's clock. The next shift is opened by a position that was sent earlier.
    let boris = workplace.worker("Boris", &[bar], |contract| contract.allows_spontaneous = true).await;
    chooses_to_open(&boris, "unscheduled").await;
    sends_position(&boris, 6 * 60).await;
    clock.advance(minutes(2));
    closes(&boris).await;
    chooses_to_open(&boris, "unscheduled").await;
    clock.advance(minutes(1));
    sends_position(&boris, 7 * 60).await;
    boris.sees("clocked in at Bar at 15:08.");
    let eight = Some(8 * 60);
    assert_eq!(worked_seconds(&workplace).await[1..], [[Some(6 * 60), eight], [eight, None]]);
}

async fn a_shift_ends_no_earlier_than_it_began(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    chooses_to_open(&anna, "unscheduled").await;
    sends_position(&anna, 0).await;
    chooses_to_close(&anna).await;
    sends_position(&anna, -60).await;
    is_notified(&workplace, &anna, "is over: 0\u{a0}min.").await;
    assert_eq!(worked_seconds(&workplace).await, [[Some(0), Some(0)]]);
}

#[tokio::test]
async fn a_delayed_position_counts_before_the_slots_end() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.slot(site, -60, 62, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    chooses_to_open(&anna, "Shop").await;
    workplace.firm.stage.clock().advance(minutes(3));
    sends_position(&anna, 60).await;
    anna.sees("clocked in at Shop at 15:01.");
    let until = workplace.rows("SELECT planned_end FROM shifts").await;
    assert_eq!(until, [[Millis(NOON.0 + 120_000).0.to_string()]]);
}
