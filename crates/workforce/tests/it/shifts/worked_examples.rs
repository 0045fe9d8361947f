//! The three worked examples, to the kopeck, through the chat: the slot's rate, the contract's rate, the site's rate.

use std::time::Duration;

use workforce::sites::{AboutSite, AboutTask};

use super::{Workplace, about_site, chooses_from_menu, closes, is_notified, opens, plans, shares_position, task};
use crate::kit::firm::StorageKind;

mod processes;

#[tokio::test]
async fn worked_examples_match_to_the_kopeck_on_sqlite() {
    all_three(StorageKind::Sqlite).await;
}

#[tokio::test]
async fn worked_examples_match_to_the_kopeck_on_servers() {
    all_three(StorageKind::RedisAndPostgres).await;
}

async fn all_three(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    shift_352(&workplace).await;
    shift_364(&workplace).await;
    shift_365(&workplace).await;
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
    assert_eq!(workplace.adjustments().await, expected);
    // The job for missing amounts finds nothing.
    workforce::shifts::jobs::post_missing(workplace.firm.app.clone()).await.unwrap();
    assert_eq!(workplace.adjustments().await, expected);
}

/// 252 s at the slot's 111 an hour, ten minutes past the threshold at 10 a minute; both tasks done with photos.
async fn shift_352(workplace: &Workplace) {
    let site = AboutSite {
        rate_kopecks: 20_000,
        late_threshold_minutes: 5,
        late_minute_kopecks: 1_000,
        ..about_site("Warehouse")
    };
    let site = workplace.site_with(site).await;
    let slot = workplace.slot(site, 0, 480, |slot| slot.rate_kopecks = Some(11_100)).await;
    for (of_slot, text, amount_kopecks) in [(Some(slot), "Drive 123", 12_300), (None, "Sweep", 0)] {
        let about = AboutTask { needs_media: true, ..task(text, amount_kopecks) };
        workplace.sites.create_task(&workplace.owner, site, of_slot, about).await.unwrap();
    }
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    workplace.firm.stage.advance(Duration::from_secs(15 * 60)).await;
    opens(&anna, "Warehouse").await;
    anna.sees("⬜ Drive 123 · bonus 123\u{a0}₽ · 📷 0\n⬜ Sweep · 📷 0");
    chooses_from_menu(&anna, "✅ My tasks").await;
    for text in ["Drive 123", "Sweep"] {
        anna.presses(&format!("📷 {text}")).await;
        anna.sends_photo().await;
    }
    anna.sees("✅ Drive 123 · bonus 123\u{a0}₽ · 📷 1\n✅ Sweep · 📷 1");
    workplace.firm.stage.advance(Duration::from_secs(252)).await;
    closes(&anna).await;
    is_notified(workplace, &anna, "is over: 4\u{a0}min.").await;
    is_notified(
        workplace,
        &anna,
        "Hours worked: +7.77\u{a0}₽\nLate start: −100\u{a0}₽\nBonus for a task “Drive 123”: +123\u{a0}₽",
    )
    .await;
    is_notified(workplace, &anna, "Total: 30.77\u{a0}₽").await;
}

/// 360 s at the contract's 99 an hour; the penalty not avoided, the bonus earned.
async fn shift_364(workplace: &Workplace) {
    let site = workplace.site("Shop", 20_000).await;
    workplace.task(site, None, "Count the till", -3_300).await;
    workplace.task(site, None, "Wash the windows", 10_000).await;
    let boris = workplace
        .worker("Boris", &[site], |contract| {
            contract.rate_kopecks = Some(9_900);
            contract.allows_spontaneous = true;
        })
        .await;
    opens(&boris, "Shop, unscheduled").await;
    boris.sees("⬜ Count the till · penalty 33\u{a0}₽\n⬜ Wash the windows · bonus 100\u{a0}₽");
    chooses_from_menu(&boris, "✅ My tasks").await;
    boris.presses("⬜ Wash the windows").await;
    workplace.firm.stage.advance(Duration::from_secs(360)).await;
    closes(&boris).await;
    is_notified(workplace, &boris, "Total: 76.90\u{a0}₽").await;
}

/// 36 s at the site's 44 an hour; the penalty avoided, the bonus not earned. The tasks are marked while closing.
async fn shift_365(workplace: &Workplace) {
    let site = workplace.site("Kiosk", 4_400).await;
    workplace.task(site, None, "Lock the door", -4_400).await;
    workplace.task(site, None, "Wash the windows", 5_000).await;
    let vera = workplace.worker("Vera", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&vera, "Kiosk, unscheduled").await;
    workplace.firm.stage.advance(Duration::from_secs(36)).await;
    chooses_from_menu(&vera, "⏹ Clock out").await;
    vera.presses("Mark tasks").await;
    vera.presses("⬜ Lock the door").await;
    vera.presses("Continue to clock out").await;
    shares_position(&vera).await;
    is_notified(workplace, &vera, "Total: 0.44\u{a0}₽").await;
}
