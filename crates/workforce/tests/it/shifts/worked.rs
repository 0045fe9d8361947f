//! The three worked shifts, to the kopeck, through the chat: planned, with the contract's own rate, at the site's rate.

use std::time::Duration;

use workforce::sites::{AboutSite, AboutTask};

use super::{Yard, about_site, chooses, closes, is_here, is_told, opens, plans, task};
use crate::kit::firm::Kind;

mod processes;

#[tokio::test]
async fn the_three_shifts_come_out_to_the_kopeck_on_sqlite() {
    all_three(Kind::Sqlite).await;
}

#[tokio::test]
async fn the_three_shifts_come_out_to_the_kopeck_on_redis_and_postgres() {
    all_three(Kind::RedisAndPostgres).await;
}

async fn all_three(kind: Kind) {
    let yard = Yard::open(kind).await;
    shift_352(&yard).await;
    shift_364(&yard).await;
    shift_365(&yard).await;
    let expected = [
        ("shift_base", 777),
        ("late_start", -10_000),
        ("task_bonus", 12_300),
        ("shift_base", 990),
        ("task_penalty", -3_300),
        ("task_bonus", 10_000),
        ("shift_base", 44),
        ("task_completed", 0),
    ];
    let expected: Vec<_> = expected.iter().map(|(kind, amount)| ((*kind).to_owned(), *amount)).collect();
    assert_eq!(yard.amounts().await, expected);
    // The safety net finds nothing to do.
    workforce::shifts::jobs::post_missing(yard.firm.app.clone()).await.unwrap();
    assert_eq!(yard.amounts().await, expected);
}

/// 252 s at the slot's 111 an hour, ten minutes past the threshold at 10 a minute; both tasks done with photos.
async fn shift_352(yard: &Yard) {
    let site = AboutSite {
        rate_kopecks: 20_000,
        late_threshold_minutes: 5,
        late_minute_kopecks: 1_000,
        ..about_site("Warehouse")
    };
    let site = yard.site_like(site).await;
    let slot = yard.slot(site, 0, 480, |slot| slot.rate_kopecks = Some(11_100)).await;
    for (of_slot, text, amount_kopecks) in [(Some(slot), "Drive 123", 12_300), (None, "Sweep", 0)] {
        let about = AboutTask { needs_media: true, ..task(text, amount_kopecks) };
        yard.sites.create_task(&yard.owner, site, of_slot, about).await.unwrap();
    }
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    yard.firm.stage.passes(Duration::from_secs(15 * 60)).await;
    opens(&anna, "Warehouse").await;
    anna.sees("⬜ Drive 123 · +123.00\u{a0}₽ · 📷 0\n⬜ Sweep · 📷 0");
    chooses(&anna, "✅ My tasks").await;
    for text in ["Drive 123", "Sweep"] {
        anna.presses(&format!("📷 {text}")).await;
        anna.sends_photo().await;
    }
    anna.sees("✅ Drive 123 · +123.00\u{a0}₽ · 📷 1\n✅ Sweep · 📷 1");
    yard.firm.stage.passes(Duration::from_secs(252)).await;
    closes(&anna).await;
    is_told(yard, &anna, "0.07 h").await;
    is_told(
        yard,
        &anna,
        "Hours worked: +7.77\u{a0}₽\nLate start: −100.00\u{a0}₽\nBonus for a task «Drive 123»: +123.00\u{a0}₽",
    )
    .await;
    is_told(yard, &anna, "Total: 30.77\u{a0}₽").await;
}

/// 360 s at the contract's own 99 an hour; the penalty not avoided, the bonus earned.
async fn shift_364(yard: &Yard) {
    let site = yard.site("Shop", 20_000).await;
    yard.task(site, None, "Count the till", -3_300).await;
    yard.task(site, None, "Wash the windows", 10_000).await;
    let boris = yard
        .worker("Boris", &[site], |contract| {
            contract.rate_kopecks = Some(9_900);
            contract.allows_spontaneous = true;
        })
        .await;
    opens(&boris, "Shop, without a plan").await;
    boris.sees("⬜ Count the till · −33.00\u{a0}₽\n⬜ Wash the windows · +100.00\u{a0}₽");
    chooses(&boris, "✅ My tasks").await;
    boris.presses("⬜ Wash the windows").await;
    yard.firm.stage.passes(Duration::from_secs(360)).await;
    closes(&boris).await;
    is_told(yard, &boris, "Total: 76.90\u{a0}₽").await;
}

/// 36 s at the site's 44 an hour; the penalty avoided, the bonus not earned. The tasks are marked on the way to closing.
async fn shift_365(yard: &Yard) {
    let site = yard.site("Kiosk", 4_400).await;
    yard.task(site, None, "Lock the door", -4_400).await;
    yard.task(site, None, "Wash the windows", 5_000).await;
    let vera = yard.worker("Vera", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&vera, "Kiosk, without a plan").await;
    yard.firm.stage.passes(Duration::from_secs(36)).await;
    chooses(&vera, "⏹ Close my shift").await;
    vera.presses("Mark tasks").await;
    vera.presses("⬜ Lock the door").await;
    vera.presses("Go on to closing").await;
    is_here(&vera).await;
    is_told(yard, &vera, "Total: 0.44\u{a0}₽").await;
}
