//! Lists that are longer than a message lead on, and back.

use opora::testing::chat::Someone;
use workforce::person::Role;
use workforce::shifts::Shifts;
use workforce::sites::{NotDone, Why};

use super::{Yard, button_with, chooses, is_here, is_told, opens, person, task};
use crate::kit::firm::Kind;

const DAY_MINUTES: i64 = 24 * 60;

async fn turns(someone: &Someone, pages: usize) {
    for _ in 0..pages {
        someone.presses("More ▸").await;
    }
}

#[tokio::test]
async fn each_of_a_hundred_and_twenty_sites_can_be_chosen_in_the_chat() {
    let yard = Yard::open(Kind::Sqlite).await;
    let mut sites = Vec::new();
    for number in 1..=120 {
        sites.push(yard.site(&format!("Site {number:03}"), 10_000).await);
    }
    yard.slot(sites[119], 60, 120, |_| {}).await;
    let anna = yard.worker("Anna", &sites, |contract| contract.allows_spontaneous = true).await;

    chooses(&anna, "🗓 Plan a shift").await;
    anna.sees_button("Site 020");
    assert!(!anna.transcript().contains("Site 021"), "a message has only so many buttons");
    turns(&anna, 5).await;
    anna.presses("◂ Previous").await;
    anna.sees_button("Site 081");
    turns(&anna, 1).await;
    anna.presses("Site 120").await;
    anna.sees_button("Thu 01.01 · 1");

    chooses(&anna, "▶️ Open a shift").await;
    turns(&anna, 5).await;
    anna.presses("Site 120, without a plan").await;
    anna.sees("that you are at Site 120");

    chooses(&anna, "🔓 Open a site").await;
    turns(&anna, 5).await;
    anna.presses("Site 120").await;
    anna.sees("to open Site 120");

    let max = yard.firm.member("Max", &[Role::Owner]).await;
    chooses(&max, "🏢 Sites").await;
    turns(&max, 5).await;
    max.presses("Site 120").await;
    max.presses("➕ New slot").await;
    max.sends("02.01 09:00-18:00").await;
    max.sees("There is a new slot at Site 120");
}

#[tokio::test]
async fn all_days_and_places_can_be_chosen_and_all_plans_cancelled() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    let mut slots = Vec::new();
    for number in 1..=30 {
        yard.slot(site, 60, 120, |slot| slot.title = format!("post {number:02}")).await;
    }
    for day in 1..=20 {
        slots.push(yard.slot(site, day * DAY_MINUTES + 60, 120, |_| {}).await);
    }
    let anna = yard.worker("Anna", &[site], |_| {}).await;
    chooses(&anna, "🗓 Plan a shift").await;
    anna.presses("Shop").await;
    turns(&anna, 1).await;
    anna.sees_button("Wed 21.01 · 1");
    anna.presses("◂ Previous").await;
    anna.presses("Thu 01.01 · 30").await;
    turns(&anna, 1).await;
    anna.presses("01.01 16:00–18:00 · post 30 · 1").await;
    anna.sees("Shall I put you down?");
    chooses(&anna, "🗓 Plan a shift").await;
    anna.presses("⚡ Next free places").await;
    turns(&anna, 2).await;
    anna.presses("21.01 16:00–18:00 · Shop").await;
    anna.sees("Shall I put you down?");

    let (doors, user) = (Shifts::of_app(&yard.firm.app), person(&yard.firm, &anna).await.id);
    slots.push(yard.slot(site, 21 * DAY_MINUTES + 60, 120, |_| {}).await);
    for slot in slots {
        doors.plan(&yard.owner, user, slot).await.unwrap();
    }
    chooses(&anna, "📅 My shifts").await;
    turns(&anna, 1).await;
    anna.presses("✖ Cancel 22.01 16:00–18:00").await;
    anna.sees("Why can you not come?");
}

#[tokio::test]
async fn of_many_long_tasks_the_list_is_cut_and_neither_the_question_nor_the_total() {
    let yard = Yard::open(Kind::Sqlite).await;
    let site = yard.site("Shop", 10_000).await;
    for number in 1..=20 {
        yard.task(site, None, &format!("{number:02} {}", "я".repeat(297)), -5_000).await;
    }
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    chooses(&anna, "✅ My tasks").await;
    button_with(&anna, "⬜ 20");
    chooses(&anna, "⏹ Close my shift").await;
    anna.sees("я…\n\nShall I close your shift?");
    anna.presses("Go on to closing").await;
    is_here(&anna).await;
    is_told(&yard, &anna, "я…\nTotal: −1").await;
    is_told(&yard, &anna, "₽\n\nNobody else works at Shop, so it is closed too.").await;
}

#[tokio::test]
async fn a_shift_has_as_many_tasks_as_a_message_has_buttons() {
    let yard = Yard::open(Kind::Postgres).await;
    let site = yard.site("Shop", 10_000).await;
    let (slot, other) = (yard.slot(site, 0, 120, |_| {}).await, yard.slot(site, 180, 120, |_| {}).await);
    let add = async |slot: Option<i64>, number: usize| {
        yard.sites.create_task(&yard.owner, site, slot, task(&format!("Task {number:02}"), 0)).await
    };
    for number in 1..=90 {
        add(Some(slot).filter(|_| number > 60), number).await.unwrap();
    }
    let full = |went: Result<i64, NotDone>| matches!(went, Err(NotDone::Refused(Why::TooManyTasks)));
    assert!(full(add(Some(slot), 91).await) && full(add(None, 91).await));
    let more = add(Some(other), 91).await.unwrap();
    yard.sites.delete_task(&yard.owner, more, 1).await.unwrap();
    let last = yard.sites.tasks_of_slot(slot).await.unwrap().pop().unwrap();
    yard.sites.delete_task(&yard.owner, last.id, last.version).await.unwrap();
    let again = add(None, 90).await.unwrap();
    let back = yard.sites.restore_task(&yard.owner, last.id).await;
    assert!(matches!(back, Err(NotDone::Refused(Why::TooManyTasks))), "{back:?}");
    yard.sites.delete_task(&yard.owner, again, 1).await.unwrap();
    yard.sites.restore_task(&yard.owner, last.id).await.unwrap();

    let anna = yard.worker("Anna", &[site], |_| {}).await;
    let user = person(&yard.firm, &anna).await.id;
    Shifts::of_app(&yard.firm.app).plan(&yard.owner, user, slot).await.unwrap();
    opens(&anna, "Shop").await;
    chooses(&anna, "✅ My tasks").await;
    for number in 1..=90 {
        anna.sees_button(&format!("⬜ Task {number:02}"));
    }
}
