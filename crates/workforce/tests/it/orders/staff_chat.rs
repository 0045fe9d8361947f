//! Orders in the chat after they are created: lists, cards, assigning, reasons and edits.

use opora::testing::chat::ChatUser;
use workforce::notices;
use workforce::orders::{Command, Order, OrderStatus};
use workforce::person::Role;

use super::{Desk, id, new_order};
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    a_dispatcher_assigns_and_the_master_arrives,
    a_refused_tap_says_why_and_changes_nothing,
}

/// A desk whose dispatcher and master talk in the chat.
struct Chats {
    desk: Desk,
    dora: ChatUser,
    maya: ChatUser,
    maya_id: i64,
}

impl Chats {
    async fn open(kind: StorageKind) -> Self {
        let desk = Desk::open(kind).await;
        let dora = desk.firm.member("Dora", &[Role::Dispatcher]).await;
        let maya = desk.firm.member("Maya", &[Role::Master]).await;
        let maya_id = crate::shifts::person(&desk.firm, &maya).await.id;
        Self { desk, dora, maya, maya_id }
    }

    async fn now(&self, order: &Order) -> Order {
        let orders = self.desk.orders();
        orders.seen_order(&self.desk.dispatcher, order.id).await.unwrap().unwrap().order
    }

    async fn assigned(&self) -> Order {
        let order = self.desk.new_order().await;
        self.desk.done(&self.desk.dispatcher, &order, Command::Assign { master: self.maya_id }).await
    }
}

async fn a_dispatcher_assigns_and_the_master_arrives(kind: StorageKind) {
    let chats = Chats::open(kind).await;
    let (dora, maya) = (&chats.dora, &chats.maya);
    let order = chats.desk.new_order().await;
    dora.sends("/start").await;
    dora.presses("📋 Active orders").await;
    dora.presses("No. 1 · 🆕 New · Washing machine").await;
    dora.sees("+79991234567");
    dora.presses("👷 Assign").await;
    dora.presses("⚪ Maya · orders: 0").await;
    dora.sees("Order no. 1. The master has been asked to accept it.");
    assert_eq!(chats.now(&order).await.master_id, Some(chats.maya_id));

    maya.sends("/start").await;
    maya.presses("🔧 My orders").await;
    let own = crate::shifts::button_with(maya, "Jan 1, 17:00");
    maya.presses(&own).await;
    let hidden = maya.answers().join("\n");
    assert!(!hidden.contains("Ленина") && !hidden.contains("+7999"), "{hidden}");
    maya.presses("✅ Accept").await;
    maya.presses("📄 Open the order").await;
    maya.sees("ул. Ленина");
    maya.presses("📍 I'm here").await;
    maya.presses("📄 Open the order").await;
    maya.sees("+79991234567");
    assert_eq!(chats.now(&order).await.status, OrderStatus::OnSite);
}

async fn a_refused_tap_says_why_and_changes_nothing(kind: StorageKind) {
    let chats = Chats::open(kind).await;
    let order = chats.assigned().await;
    let nina = chats.desk.firm.member("Nadia", &[Role::Master]).await;
    let forged = format!("orders:do:{}:-:accept", order.id);
    // Another master's order is like none.
    nina.presses_data(&forged).await;
    nina.sees_toast("There is no such order.");
    nina.presses_data(&format!("orders:open:{}", order.id)).await;
    nina.sees_toast("There is no such order.");
    // A version that is over.
    chats.maya.presses_data(&format!("orders:do:{}:{}:accept", order.id, order.version - 1)).await;
    chats.maya.sees_toast("The order has changed meanwhile.");
    // Not the step of a master.
    chats.maya.presses_data(&format!("orders:give:{}:{}:{}", order.id, order.version, chats.maya_id)).await;
    chats.maya.sees_toast("You can't do this");
    assert_eq!(chats.now(&order).await, order);
    // A second tap on Accept changes nothing.
    chats.maya.presses_data(&forged).await;
    let accepted = chats.now(&order).await;
    chats.maya.presses_data(&forged).await;
    chats.maya.sees_toast("That isn't possible at this stage");
    assert_eq!(chats.now(&order).await, accepted);
}

#[tokio::test]
async fn a_master_accepts_or_declines_under_the_news() {
    let chats = Chats::open(StorageKind::Sqlite).await;
    let order = chats.assigned().await;
    let unsent = notices::unsent(&chats.desk.firm.app.domain).await.unwrap();
    let told = unsent.iter().find(|(_, user, _)| *user == chats.maya_id);
    assert!(told.is_some(), "Maya is told");
    chats.maya.presses_data(&format!("orders:ask:{}:-:decline", order.id)).await;
    chats.maya.sees("Why can't you take it?");
    chats.maya.sends("x".repeat(301).as_str()).await;
    chats.maya.sees("Give a reason");
    chats.maya.sends("Too far").await;
    chats.maya.sees("You've declined it.");
    let now = chats.now(&order).await;
    assert_eq!((now.status, now.master_id), (OrderStatus::New, None));
    chats.desk.is_told(&chats.desk.dispatcher, "Maya declined order no. 1: Too far").await;
}

/// The dispatcher gives the order to another master while the first one declines.
#[tokio::test]
async fn a_decline_after_a_new_assignment_is_refused() {
    let chats = Chats::open(StorageKind::Sqlite).await;
    let order = chats.assigned().await;
    chats.maya.presses_data(&format!("orders:ask:{}:{}:decline", order.id, order.version)).await;
    chats.desk.done(&chats.desk.dispatcher, &order, Command::Assign { master: id(&chats.desk.max) }).await;
    chats.maya.sends("Too far").await;
    chats.maya.sees("There is no such order.");
    assert_eq!(chats.maya.state().await, None);
    assert_eq!(chats.now(&order).await.master_id, chats.desk.max.member_id());
}

#[tokio::test]
async fn reasons_times_and_fields_are_typed() {
    let chats = Chats::open(StorageKind::Sqlite).await;
    let (dora, order) = (&chats.dora, chats.desk.new_order().await);
    let open = format!("orders:open:{}", order.id);
    dora.presses_data(&open).await;
    dora.presses("📅 Reschedule").await;
    dora.sends("31.12.2025 10-14").await;
    dora.sees("still to come");
    dora.sends("tomorrow 10-14").await;
    dora.sees("Why is it moved?");
    dora.sends("The client asked").await;
    dora.sees("The time has been changed.");
    dora.presses("📄 Open the order").await;
    dora.sees("Jan 2, 10:00–14:00");
    dora.presses("✏️ Edit").await;
    dora.presses("Address").await;
    dora.sends("Somewhere in the town").await;
    dora.sees("house number");
    dora.sends("Pushkin street 7").await;
    dora.sees("The change is saved.");
    dora.presses("📄 Open the order").await;
    dora.sees("Pushkin street 7");
    dora.presses("✖️ Cancel the order").await;
    dora.presses("← Back").await;
    dora.sees("Pushkin street 7");
    dora.presses("✖️ Cancel the order").await;
    dora.sends("The client is away").await;
    dora.sees("It's cancelled.");
    dora.presses("📄 Open the order").await;
    dora.presses("↩️ Reopen").await;
    assert_eq!(chats.now(&order).await.status, OrderStatus::New);
}

#[tokio::test]
async fn an_offer_reaches_the_chosen_master() {
    let chats = Chats::open(StorageKind::Sqlite).await;
    let order = chats.desk.new_order().await;
    chats.dora.presses_data(&format!("orders:open:{}", order.id)).await;
    chats.dora.presses("🔔 Offer").await;
    chats.dora.presses("⚪ Maya · orders: 0").await;
    chats.dora.sees("It has been offered.");
    chats.maya.presses_data("orders:mine").await;
    let offered = crate::shifts::button_with(&chats.maya, "🔔");
    chats.maya.presses(&offered).await;
    chats.maya.presses("✅ Accept").await;
    let now = chats.now(&order).await;
    assert_eq!((now.status, now.master_id), (OrderStatus::Accepted, Some(chats.maya_id)));
}

#[tokio::test]
async fn orders_are_found_by_number_name_phone_and_address() {
    let chats = Chats::open(StorageKind::Sqlite).await;
    chats.desk.orders().create(&chats.desk.dispatcher, new_order("89991234567")).await.unwrap();
    chats.dora.sends("/start").await;
    chats.dora.presses("🔎 Find an order").await;
    for words in ["1", "petrova", "4567", "Ленина"] {
        chats.dora.sends(words).await;
        chats.dora.sees("Found: 1.");
    }
    chats.dora.sends("fridge").await;
    chats.dora.sees("Nothing found.");
}

#[tokio::test]
async fn a_draft_is_not_lost_to_another_question() {
    let chats = Chats::open(StorageKind::Sqlite).await;
    let order = chats.desk.new_order().await;
    chats.dora.presses_data("orders:new").await;
    chats.dora.sends("Oven").await;
    chats.dora.presses_data("orders:active").await;
    chats.dora.presses_data(&format!("orders:ask:{}:{}:refuse", order.id, order.version)).await;
    chats.dora.sees_toast("Finish or discard the new order first.");
    assert_eq!(chats.dora.state().await.as_deref(), Some("CreateOrderStates:description"));
}
