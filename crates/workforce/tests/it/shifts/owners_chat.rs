//! Reasons under "Today" in the bot: who sees them, and how what proves them is sent.

use opora::testing::chat::Someone;
use workforce::person::{Permission, Role};

use super::{Yard, chooses, person, plans};
use crate::kit::firm::{Kind, on_databases};

on_databases! { [sqlite Sqlite, postgres Postgres]
    what_proves_a_reason_is_sent_as_what_it_came_as,
}

/// Somebody has cancelled and says why; a proof is asked for.
async fn cancels(yard: &Yard, site: i64) -> Someone {
    yard.slot(site, 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    plans(&anna).await;
    chooses(&anna, "📅 My shifts").await;
    anna.presses("✖ Cancel 01.01 16:00–18:00").await;
    anna.presses("Something else").await;
    anna.sends("An operation").await;
    anna.sends("Certificate 77").await;
    anna
}

async fn manager(yard: &Yard, name: &str, site: i64, allowed: &[Permission]) -> Someone {
    let someone = yard.firm.member(name, &[Role::Manager]).await;
    let id = person(&yard.firm, &someone).await.id;
    yard.sites.permit(&yard.owner, id, site, allowed.to_vec()).await.unwrap();
    someone
}

#[tokio::test]
async fn reasons_are_shown_to_those_who_judge_them_and_not_to_all_who_see_the_site() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let anna = cancels(&yard, site).await;
    anna.sends_photo().await;
    anna.sees("Cancelled: Shop");
    let looks = manager(&yard, "Max", site, &[Permission::View, Permission::Schedule]).await;
    chooses(&looks, "📋 Today").await;
    looks.sees("Shop");
    assert!(!looks.transcript().contains("An operation"), "{}", looks.transcript());
    let judges = manager(&yard, "Ida", site, &[Permission::View, Permission::Employees]).await;
    chooses(&judges, "📋 Today").await;
    judges.sees("(photo) Anna does not come to Shop");
    judges.sees("An operation, Certificate 77");
    judges.presses("✅ Accept").await;
    judges.sees("The reason is accepted.");
}

async fn what_proves_a_reason_is_sent_as_what_it_came_as(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    let anna = cancels(&yard, site).await;
    anna.sends_document("certificate.png", "image/png").await;
    anna.sees("Cancelled: Shop");
    let owner = yard.firm.member("Olaf", &[Role::Owner]).await;
    chooses(&owner, "📋 Today").await;
    owner.sees("(document) Anna does not come to Shop");
    owner.sees_button("❌ Reject");
    owner.sees_button("🏠 Main menu");
    owner.presses("❌ Reject").await;
    owner.sees("The reason is rejected");
    assert_eq!(yard.amounts().await.len(), 2);
}

#[tokio::test]
async fn who_does_not_come_for_the_night_is_told_of_until_it_is_over() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    // From ten in the evening until six in the morning.
    yard.slot(site, 7 * 60, 8 * 60, |_| {}).await;
    plans(&yard.worker("Anna", &[site], |_| {}).await).await;
    let owner = yard.firm.member("Olaf", &[Role::Owner]).await;
    let hour = std::time::Duration::from_secs(3600);
    for (hours, words) in [(0, "Anna"), (10, "Anna"), (6, "")] {
        yard.firm.stage.passes(hour * hours).await;
        chooses(&owner, "📋 Today").await;
        let told = owner.answers().concat();
        assert_eq!(told.contains("Anna"), !words.is_empty(), "{told}");
    }
}

#[tokio::test]
async fn a_site_is_shown_with_the_slots_of_a_week_and_how_many_places_are_taken() {
    let yard = Yard::open(Kind::Sqlite).await;
    let (site, day) = (yard.site("Shop", 10_000).await, 24 * 60);
    let owner = yard.firm.member("Olaf", &[Role::Owner]).await;
    let week = async || {
        chooses(&owner, "🏢 Sites").await;
        owner.presses("Shop").await;
        let shown = owner.answers().concat();
        shown.split_once("The next seven days:").unwrap().1.trim().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(week().await.is_empty());
    yard.slot(site, 60, 120, |slot| (slot.title, slot.capacity) = ("cashier".into(), 2)).await;
    plans(&yard.worker("Anna", &[site], |_| {}).await).await;
    yard.slot(site, 6 * day, 120, |_| {}).await;
    let gone = yard.slot(site, day, 120, |_| {}).await;
    yard.sites.delete_slot(&yard.owner, gone, 1).await.unwrap();
    // Of the eighth day, and of another site.
    yard.slot(site, 7 * day, 120, |_| {}).await;
    yard.slot(yard.site("Depot", 10_000).await, 60, 120, |_| {}).await;
    assert_eq!(week().await, ["01.01 16:00–18:00 cashier · 1/2", "07.01 15:00–17:00 · 0/1"]);
    // However many there are.
    for minutes in 0..30 {
        yard.slot(site, 2 * day + minutes, 60, |_| {}).await;
    }
    assert_eq!(week().await.len(), 32);
}

#[tokio::test]
async fn a_site_is_shown_with_its_own_tasks_and_not_with_those_of_its_slots_or_deleted_ones() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let slot = yard.slot(site, 60, 120, |_| {}).await;
    yard.task(site, Some(slot), "Of the slot", 100).await;
    yard.task(site, None, "Of the site", 200).await;
    let gone = yard.task(site, None, "Not any more", 300).await;
    yard.sites.delete_task(&yard.owner, gone, 1).await.unwrap();
    let owner = yard.firm.member("Olaf", &[Role::Owner]).await;
    chooses(&owner, "🏢 Sites").await;
    owner.presses("Shop").await;
    owner.sees("• Of the site · +2.00");
    for hidden in ["Of the slot", "Not any more"] {
        assert!(!owner.transcript().contains(hidden), "{}", owner.transcript());
    }
}
