//! The dialogue in which a dispatcher creates an order.

use opora::testing::chat::ChatUser;
use workforce::person::Role;

use super::Desk;
use crate::kit::firm::{Firm, StorageKind, on_every_database};
use crate::kit::sql::run_sql;

on_every_database! {
    an_order_is_created_at_the_confirmation,
    a_failing_handler_leaves_no_state_and_keeps_the_draft,
    a_state_persists_over_a_restart,
}

/// Answers up to the phone, which is asked next.
const ANSWERS: [&str; 4] = ["Oven", "It does not get warm", "Anna Petrova", "Lenin street 5, flat 12"];

async fn dina(desk: &Desk) -> ChatUser {
    desk.firm.member("Dora Desk", &[Role::Dispatcher]).await
}

async fn says(someone: &ChatUser, answers: &[&str]) {
    for answer in answers {
        someone.sends(answer).await;
    }
}

/// Answers everything; the summary is shown.
async fn reaches_the_summary(someone: &ChatUser, phone: &str) {
    someone.presses_data("orders:new").await;
    says(someone, &ANSWERS).await;
    someone.sends(phone).await;
    if someone.state().await.as_deref() == Some("CreateOrderStates:known_client") {
        someone.presses("Continue").await;
    }
    someone.presses("Skip").await;
    someone.presses("Skip").await;
    someone.sees("Please check the order:");
}

async fn orders(desk: &Desk) -> i64 {
    desk.numbers("SELECT COUNT(*) FROM orders").await[0]
}

async fn an_order_is_created_at_the_confirmation(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let dora = dina(&desk).await;
    dora.sends("/start").await;
    dora.presses("➕ New order").await;
    dora.sees("What needs repair?");
    says(&dora, &ANSWERS).await;
    dora.sends("8 (999) 123-45-67").await;
    dora.sees("Any notes for the master?");
    dora.sends("Code 12").await;
    dora.sees("When should the master come?");
    dora.sends_photo().await;
    dora.sees("Files with this order: 1");
    dora.sends("tomorrow 10:00-14:00").await;
    for told in ["Oven", "+79991234567", "Code 12", "Jan 2, 10:00–14:00", "Files: 1"] {
        dora.sees(told);
    }
    assert_eq!(orders(&desk).await, 0, "nothing is committed before");
    dora.presses("✅ Create the order").await;
    dora.sees("Saved.");
    assert_eq!(dora.state().await, None);
    assert_eq!(desk.numbers("SELECT number FROM orders WHERE phone = '+79991234567'").await, [1]);
    assert_eq!(desk.numbers("SELECT COUNT(*) FROM order_files").await, [1]);
    let told = "SELECT COUNT(*) FROM notices WHERE body LIKE '%\"created\"%'";
    assert_eq!(desk.numbers(told).await, [1], "the dispatcher is told the number");
    // A second tap finds a button that is over.
    dora.presses_data("draft:yes").await;
    assert_eq!(orders(&desk).await, 1);
}

async fn a_failing_handler_leaves_no_state_and_keeps_the_draft(kind: StorageKind) {
    let desk = Desk::open(kind).await;
    let dora = dina(&desk).await;
    dora.presses_data("orders:new").await;
    says(&dora, &ANSWERS).await;
    run_sql(&desk.firm.app.domain, "ALTER TABLE clients RENAME TO clients_away").await;
    dora.sends("89991234567").await;
    assert_eq!(dora.state().await, None, "nobody is stuck");
    dora.sees_button("Try again");
    dora.sees_button("Cancel");
    run_sql(&desk.firm.app.domain, "ALTER TABLE clients_away RENAME TO clients").await;
    dora.presses("Try again").await;
    assert_eq!(dora.state().await.as_deref(), Some("CreateOrderStates:client_phone"));
    dora.sends("89991234567").await;
    dora.presses("Skip").await;
    dora.presses("Skip").await;
    dora.sees("Anna Petrova");
    dora.presses("✅ Create the order").await;
    assert_eq!(orders(&desk).await, 1);
}

async fn a_state_persists_over_a_restart(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let dora = firm.member("Dora", &[Role::Dispatcher]).await;
    dora.presses_data("orders:new").await;
    let stage = firm.stage.restart().await;
    assert_eq!(stage.state(&dora.key()).await.as_deref(), Some("CreateOrderStates:equipment_type"));
    let dora = dora.on(&stage);
    dora.sends("Oven").await;
    assert_eq!(dora.state().await.as_deref(), Some("CreateOrderStates:description"));
}

#[tokio::test]
async fn wrong_answers_are_explained_and_asked_again() {
    let desk = Desk::open(StorageKind::Sqlite).await;
    let dora = dina(&desk).await;
    dora.presses_data("orders:new").await;
    let long = "x".repeat(2001);
    let wrong: [(&str, &[(&str, &str)]); 7] = [
        ("Oven", &[(&long, "Keep the name of the equipment")]),
        ("It does not get warm", &[("leaks", "at least 10 characters"), (&long, "2,000 characters")]),
        ("Anna Petrova", &[("Anna", "full name")]),
        ("Lenin street 5, flat 12", &[("Here 5", "full address"), ("Somewhere in the town", "house number")]),
        ("89991234567", &[("call me", "10 digits"), ("+49 30 901820", "Only Russian phone numbers")]),
        ("None", &[(&long, "1,000 characters")]),
        (
            "tomorrow 10-14",
            &[("soon", "I don't understand"), ("31.12.2025 10-14", "still to come"), ("01.01.2030 10", "two years")],
        ),
    ];
    for (right, wrong) in wrong {
        let state = dora.state().await;
        for (typed, told) in wrong {
            dora.sends(typed).await;
            dora.sees(told);
            assert_eq!(dora.state().await, state, "after {typed}");
        }
        dora.sends(right).await;
        assert_ne!(dora.state().await, state, "after {right}");
    }
    dora.sees("Please check the order:");
}

#[tokio::test]
async fn a_known_phone_offers_name_address_and_earlier_orders() {
    let desk = Desk::open(StorageKind::Sqlite).await;
    desk.new_order().await;
    let dora = dina(&desk).await;
    dora.presses_data("orders:new").await;
    says(&dora, &["Oven", "It does not get warm", "8 999 123 45 67"]).await;
    dora.sees("Anna Petrova · earlier orders: 1");
    dora.sees("No. 1 · 🆕 New · Washing machine");
    dora.presses("Address: ул. Ленина, д. 5, кв. 12").await;
    dora.presses("Continue").await;
    dora.presses("Skip").await;
    dora.presses("Skip").await;
    dora.sees("Open orders with the same phone or address: 1");
    dora.presses("✅ Create the order").await;
    assert_eq!(desk.numbers("SELECT COUNT(DISTINCT client_id) FROM orders").await, [1]);
}

#[tokio::test]
async fn every_answer_can_be_changed_in_the_summary() {
    let desk = Desk::open(StorageKind::Sqlite).await;
    let dora = dina(&desk).await;
    reaches_the_summary(&dora, "89991234567").await;
    let changes = [
        ("Equipment", "Fridge", "Fridge"),
        ("Problem", "It does not get cold", "not get cold"),
        ("Client", "Boris Ivanov", "Boris Ivanov"),
        ("Address", "Pushkin street 7", "Pushkin street 7"),
        ("Phone", "89990001122", "+79990001122"),
        ("Notes", "A dog", "A dog"),
        ("Time", "tomorrow 15:00", "15:00–17:00"),
    ];
    for (button, typed, shown) in changes {
        dora.presses(&format!("✏️ {button}")).await;
        dora.sends(typed).await;
        dora.sees(shown);
        assert_eq!(dora.state().await.as_deref(), Some("CreateOrderStates:confirm"), "after {button}");
    }
    dora.presses("✏️ Notes").await;
    dora.presses("← Back").await;
    dora.sees("A dog");
    dora.presses("✅ Create the order").await;
    assert_eq!(desk.numbers("SELECT id FROM orders WHERE equipment_type = 'Fridge' AND notes = 'A dog'").await, [1]);
}

#[tokio::test]
async fn fifty_photos_are_cut_to_the_limit() {
    let desk = Desk::open(StorageKind::Sqlite).await;
    let dora = dina(&desk).await;
    reaches_the_summary(&dora, "89991234567").await;
    for album in 0..5 {
        dora.sends_album(&format!("album {album}"), 10).await;
    }
    dora.sees("An order can have up to 30 files");
    dora.presses("✅ Create the order").await;
    assert_eq!(desk.numbers("SELECT COUNT(*) FROM order_files").await, [30]);
}

#[tokio::test]
async fn the_menu_keeps_the_draft_and_a_day_ends_it() {
    let desk = Desk::open(StorageKind::Sqlite).await;
    let dora = dina(&desk).await;
    reaches_the_summary(&dora, "89991234567").await;
    dora.presses("🏠 Main menu").await;
    dora.sees("You have an unfinished order: Oven");
    dora.presses("🏠 Main menu").await;
    desk.hours_pass(23).await;
    dora.presses("➕ New order").await;
    dora.presses("Continue the order").await;
    dora.sees("Please check the order:");
    desk.hours_pass(25).await;
    dora.sees("waited for 24 hours");
    assert_eq!((dora.state().await, orders(&desk).await), (None, 0));
}

#[tokio::test]
async fn a_dispatcher_without_the_role_creates_nothing() {
    let desk = Desk::open(StorageKind::Sqlite).await;
    let dora = dina(&desk).await;
    reaches_the_summary(&dora, "89991234567").await;
    run_sql(&desk.firm.app.domain, "DELETE FROM user_roles WHERE role = 'dispatcher'").await;
    dora.presses("✅ Create the order").await;
    assert_eq!((dora.state().await, orders(&desk).await), (None, 0));
}
