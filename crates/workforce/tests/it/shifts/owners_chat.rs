//! Sites and cancellations in the owner's chat: who sees them, and how a proof is shown.

use opora::testing::chat::ChatUser;
use workforce::person::{Permission, Role};
use workforce::settings;

use super::{Workplace, chooses_from_menu, is_notified, person, plans};
use crate::kit::firm::{StorageKind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_proof_is_shown_in_its_original_form,
}

/// Anna cancels with a reason and is asked for a proof.
async fn cancels(workplace: &Workplace, site: i64) -> ChatUser {
    workplace.slot(site, 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    chooses_from_menu(&anna, "📅 My shifts").await;
    anna.presses("✖ Cancel Jan 1, 16:00–18:00").await;
    anna.presses("Something else").await;
    anna.sends("An operation").await;
    anna.sends("Certificate 77").await;
    anna
}

async fn manager(workplace: &Workplace, name: &str, site: i64, allowed: &[Permission]) -> ChatUser {
    let someone = workplace.firm.member(name, &[Role::Manager]).await;
    let id = person(&workplace.firm, &someone).await.id;
    workplace.sites.set_permissions(&workplace.owner, id, site, allowed.to_vec()).await.unwrap();
    someone
}

#[tokio::test]
async fn only_judges_see_reasons_in_the_chat() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = cancels(&workplace, site).await;
    anna.sends_photo().await;
    anna.sees("Shift cancelled: Shop");
    let looks = manager(&workplace, "Max", site, &[Permission::View, Permission::Schedule]).await;
    chooses_from_menu(&looks, "📋 Today").await;
    looks.sees("Shop");
    assert!(!looks.transcript().contains("An operation"), "{}", looks.transcript());
    let judges = manager(&workplace, "Ida", site, &[Permission::View, Permission::Employees]).await;
    chooses_from_menu(&judges, "📋 Today").await;
    judges.sees("(photo) Anna can't make it to Shop");
    judges.sees("An operation, Certificate 77");
    judges.presses("✅ Accept, no penalty").await;
    judges.sees("Reason accepted, nothing is deducted.");
}

async fn a_proof_is_shown_in_its_original_form(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    let anna = cancels(&workplace, site).await;
    anna.sends_document("certificate.png", "image/png").await;
    anna.sees("Shift cancelled: Shop");
    let owner = workplace.firm.member("Olaf", &[Role::Owner]).await;
    chooses_from_menu(&owner, "📋 Today").await;
    owner.sees("(document) Anna can't make it to Shop");
    owner.sees_button("❌ Reject and deduct 1,000\u{a0}₽");
    owner.sees_button("🏠 Main menu");
    owner.presses("❌ Reject and deduct 1,000\u{a0}₽").await;
    owner.sees("Reason rejected, 1,000\u{a0}₽ deducted.");
    assert_eq!(workplace.adjustments().await.len(), 2);
    is_notified(&workplace, &anna, "1,000\u{a0}₽").await;
    owner.presses("↩️ Take back").await;
    owner.sees("Decision taken back.");
    is_notified(&workplace, &anna, "The penalty of 1,000\u{a0}₽ was removed.").await;
    let live = "SELECT id FROM adjustments WHERE deleted_at IS NULL";
    assert!(workplace.rows(live).await.is_empty(), "the fines are removed");
    // The case waits again, and the old messages have no buttons for it.
    let pressed = ["(presses [❌ Reject and deduct 1,000\u{a0}₽])", "(presses [↩️ Take back])"];
    let shown = pressed.iter().fold(owner.transcript(), |shown, words| shown.replace(words, ""));
    assert!(!shown.contains("[❌ Reject") && !shown.contains("[↩️ Take back]"), "{shown}");
    chooses_from_menu(&owner, "📋 Today").await;
    owner.sees_button("✅ Accept, no penalty");
}

#[tokio::test]
async fn a_button_that_names_another_fine_deducts_nothing() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    cancels(&workplace, site).await.sends_photo().await;
    let owner = workplace.firm.member("Olaf", &[Role::Owner]).await;
    chooses_from_menu(&owner, "📋 Today").await;
    let (name, at) = (settings::CANCEL_INVALID_REASON_FINE.name, workplace.firm.app.clock.now());
    workplace.firm.app.domain.write(move |db| Box::pin(settings::set(db, name, "700", None, at))).await.unwrap();
    owner.presses("❌ Reject and deduct 1,000\u{a0}₽").await;
    owner.sees_toast("The penalty has changed. Please check it and decide again.");
    assert!(workplace.adjustments().await.is_empty());
}

#[tokio::test]
async fn no_message_names_a_fine_of_zero() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let at = workplace.firm.app.clock.now();
    for fine in [&settings::CANCEL_SHORT_NOTICE_FINE, &settings::CANCEL_INVALID_REASON_FINE] {
        let name = fine.name;
        workplace.firm.app.domain.write(move |db| Box::pin(settings::set(db, name, "0", None, at))).await.unwrap();
    }
    let site = workplace.site("Shop", 10_000).await;
    let anna = cancels(&workplace, site).await;
    anna.sends_photo().await;
    let owner = workplace.firm.member("Olaf", &[Role::Owner]).await;
    chooses_from_menu(&owner, "📋 Today").await;
    owner.presses("❌ Reject, no penalty").await;
    owner.sees("Reason rejected, nothing is deducted.");
    assert!(workplace.adjustments().await.is_empty());
    is_notified(&workplace, &anna, "There is no penalty.").await;
    for chat in [anna.transcript(), owner.transcript()] {
        assert!(!chat.contains("0\u{a0}₽"), "{chat}");
    }
}

#[tokio::test]
async fn a_night_no_show_is_listed_until_the_slot_ends() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    // From ten in the evening until six in the morning.
    workplace.slot(site, 7 * 60, 8 * 60, |_| {}).await;
    plans(&workplace.worker("Anna", &[site], |_| {}).await).await;
    let owner = workplace.firm.member("Olaf", &[Role::Owner]).await;
    let hour = std::time::Duration::from_secs(3600);
    for (hours, words) in [(0, "Anna"), (10, "Anna"), (6, "")] {
        workplace.firm.stage.advance(hour * hours).await;
        chooses_from_menu(&owner, "📋 Today").await;
        let told = owner.answers().concat();
        assert_eq!(told.contains("Anna"), !words.is_empty(), "{told}");
    }
}

#[tokio::test]
async fn a_site_shows_its_slots_and_taken_places() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let (site, day) = (workplace.site("Shop", 10_000).await, 24 * 60);
    let owner = workplace.firm.member("Olaf", &[Role::Owner]).await;
    let week = async || {
        chooses_from_menu(&owner, "🏢 Sites").await;
        owner.presses("Shop").await;
        let shown = owner.answers().concat();
        shown.split_once("The next seven days:").unwrap().1.trim().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(week().await.is_empty());
    workplace.slot(site, 60, 120, |slot| (slot.title, slot.capacity) = ("cashier".into(), 2)).await;
    plans(&workplace.worker("Anna", &[site], |_| {}).await).await;
    workplace.slot(site, 6 * day, 120, |_| {}).await;
    let gone = workplace.slot(site, day, 120, |_| {}).await;
    workplace.sites.delete_slot(&workplace.owner, gone, 1).await.unwrap();
    // On the eighth day, and at another site.
    workplace.slot(site, 7 * day, 120, |_| {}).await;
    workplace.slot(workplace.site("Depot", 10_000).await, 60, 120, |_| {}).await;
    assert_eq!(week().await, ["Jan 1, 16:00–18:00 cashier · 1/2", "Jan 7, 15:00–17:00 · 0/1"]);
    // The list is not cut.
    for minutes in 0..30 {
        workplace.slot(site, 2 * day + minutes, 60, |_| {}).await;
    }
    assert_eq!(week().await.len(), 32);
}

#[tokio::test]
async fn a_site_shows_only_its_own_tasks() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let slot = workplace.slot(site, 60, 120, |_| {}).await;
    workplace.task(site, Some(slot), "Of the slot", 100).await;
    workplace.task(site, None, "Of the site", 200).await;
    let gone = workplace.task(site, None, "Not any more", 300).await;
    workplace.sites.delete_task(&workplace.owner, gone, 1).await.unwrap();
    let owner = workplace.firm.member("Olaf", &[Role::Owner]).await;
    chooses_from_menu(&owner, "🏢 Sites").await;
    owner.presses("Shop").await;
    owner.sees("• Of the site · bonus 2");
    for hidden in ["Of the slot", "Not any more"] {
        assert!(!owner.transcript().contains(hidden), "{}", owner.transcript());
    }
}
