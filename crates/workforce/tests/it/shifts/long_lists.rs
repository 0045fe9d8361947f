//! Lists that are longer than a message can be paged.

use opora::testing::chat::ChatUser;
use workforce::person::Role;
use workforce::shifts::Shifts;
use workforce::sites::{ActionError, SiteRefusal};

use super::{Workplace, button_with, chooses_from_menu, is_notified, opens, person, shares_position, task};
use crate::kit::firm::StorageKind;

const DAY_MINUTES: i64 = 24 * 60;

async fn turn_pages(someone: &ChatUser, pages: usize) {
    for _ in 0..pages {
        someone.presses("More ▸").await;
    }
}

#[tokio::test]
async fn all_of_many_sites_can_be_chosen() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let mut sites = Vec::new();
    for number in 1..=120 {
        sites.push(workplace.site(&format!("Site {number:03}"), 10_000).await);
    }
    workplace.slot(sites[119], 60, 120, |_| {}).await;
    let anna = workplace.worker("Anna", &sites, |contract| contract.allows_spontaneous = true).await;

    chooses_from_menu(&anna, "🗓 Pick up a shift").await;
    anna.sees_button("Site 020");
    assert!(!anna.transcript().contains("Site 021"), "a message has only so many buttons");
    turn_pages(&anna, 5).await;
    anna.presses("◂ Previous").await;
    anna.sees_button("Site 081");
    turn_pages(&anna, 1).await;
    anna.presses("Site 120").await;
    anna.sees_button("Thu Jan 1 · 1");

    chooses_from_menu(&anna, "▶️ Clock in").await;
    turn_pages(&anna, 5).await;
    anna.presses("Site 120, unscheduled").await;
    anna.sees("that you're at Site 120");

    chooses_from_menu(&anna, "🔓 Open a site").await;
    turn_pages(&anna, 5).await;
    anna.presses("Site 120").await;
    anna.sees("to open Site 120");

    let max = workplace.firm.member("Max", &[Role::Owner]).await;
    chooses_from_menu(&max, "🏢 Sites").await;
    turn_pages(&max, 5).await;
    max.presses("Site 120").await;
    max.presses("➕ New shift").await;
    max.sends("02.01 09:00-18:00").await;
    max.sees("New shift at Site 120");
}

#[tokio::test]
async fn all_days_places_and_plans_can_be_chosen() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let mut slots = Vec::new();
    for number in 1..=30 {
        workplace.slot(site, 60, 120, |slot| slot.title = format!("post {number:02}")).await;
    }
    for day in 1..=20 {
        slots.push(workplace.slot(site, day * DAY_MINUTES + 60, 120, |_| {}).await);
    }
    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    chooses_from_menu(&anna, "🗓 Pick up a shift").await;
    anna.presses("Shop").await;
    turn_pages(&anna, 1).await;
    anna.sees_button("Wed Jan 21 · 1");
    anna.presses("◂ Previous").await;
    anna.presses("Thu Jan 1 · 30").await;
    turn_pages(&anna, 1).await;
    anna.presses("16:00–18:00 · post 30 · 1").await;
    anna.sees("Sign you up?");
    chooses_from_menu(&anna, "🗓 Pick up a shift").await;
    anna.presses("⚡ Next open shifts").await;
    turn_pages(&anna, 2).await;
    anna.presses("Jan 21, 16:00–18:00 · Shop").await;
    anna.sees("Sign you up?");

    let (room, user) = (Shifts::of_app(&workplace.firm.app), person(&workplace.firm, &anna).await.id);
    slots.push(workplace.slot(site, 21 * DAY_MINUTES + 60, 120, |_| {}).await);
    for slot in slots {
        room.plan(&workplace.owner, user, slot).await.unwrap();
    }
    chooses_from_menu(&anna, "📅 My shifts").await;
    turn_pages(&anna, 1).await;
    anna.presses("✖ Cancel Jan 22, 16:00–18:00").await;
    anna.sees("Why can't you make it?");
}

#[tokio::test]
async fn long_task_lists_are_cut_but_not_the_question() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    for number in 1..=20 {
        workplace.task(site, None, &format!("{number:02} {}", "я".repeat(297)), -5_000).await;
    }
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    chooses_from_menu(&anna, "✅ My tasks").await;
    button_with(&anna, "⬜ 20");
    chooses_from_menu(&anna, "⏹ Clock out").await;
    anna.sees("я…\n\n⚠️ Not done:\n• 01 ");
    anna.sees("\n• and 10 more\n\nClock out without them?");
    anna.presses("Clock out anyway").await;
    shares_position(&anna).await;
    is_notified(&workplace, &anna, "я…\nTotal: −1").await;
    is_notified(&workplace, &anna, "₽\n\nNo one else is working at Shop, so it's closed too.").await;
}

#[tokio::test]
async fn the_number_of_tasks_is_limited() {
    let workplace = Workplace::open(StorageKind::Postgres).await;
    let site = workplace.site("Shop", 10_000).await;
    let (slot, other) = (workplace.slot(site, 0, 120, |_| {}).await, workplace.slot(site, 180, 120, |_| {}).await);
    let add = async |slot: Option<i64>, number: usize| {
        workplace.sites.create_task(&workplace.owner, site, slot, task(&format!("Task {number:02}"), 0)).await
    };
    for number in 1..=90 {
        add(Some(slot).filter(|_| number > 60), number).await.unwrap();
    }
    let full = |went: Result<i64, ActionError>| matches!(went, Err(ActionError::Refused(SiteRefusal::TooManyTasks)));
    assert!(full(add(Some(slot), 91).await) && full(add(None, 91).await));
    let more = add(Some(other), 91).await.unwrap();
    workplace.sites.delete_task(&workplace.owner, more, 1).await.unwrap();
    let last = workplace.sites.tasks_of_slot(slot).await.unwrap().pop().unwrap();
    workplace.sites.delete_task(&workplace.owner, last.id, last.version).await.unwrap();
    let again = add(None, 90).await.unwrap();
    let back = workplace.sites.restore_task(&workplace.owner, last.id).await;
    assert!(matches!(back, Err(ActionError::Refused(SiteRefusal::TooManyTasks))), "{back:?}");
    workplace.sites.delete_task(&workplace.owner, again, 1).await.unwrap();
    workplace.sites.restore_task(&workplace.owner, last.id).await.unwrap();

    let anna = workplace.worker("Anna", &[site], |_| {}).await;
    let user = person(&workplace.firm, &anna).await.id;
    Shifts::of_app(&workplace.firm.app).plan(&workplace.owner, user, slot).await.unwrap();
    opens(&anna, "Shop").await;
    chooses_from_menu(&anna, "✅ My tasks").await;
    for number in 1..=90 {
        anna.sees_button(&format!("⬜ Task {number:02}"));
    }
}
