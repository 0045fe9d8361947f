//! A master's visit in the chat, up to the closed and paid order.

use opora::testing::chat::ChatUser;
use workforce::orders::{ChecklistItem, Command, Order, OrderStatus};
use workforce::person::Role;
use workforce::settings;

use super::Desk;
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    an_order_is_closed_and_paid_once,
}

/// Maya is at the client's of this order.
async fn at_the_client(kind: StorageKind) -> (Desk, ChatUser, Order) {
    let desk = Desk::open(kind).await;
    let maya = desk.firm.member("Maya", &[Role::Master]).await;
    let master = crate::shifts::person(&desk.firm, &maya).await.id;
    let order = desk.new_order().await;
    let order = desk.done(&desk.dispatcher, &order, Command::Assign { master }).await;
    maya.presses_data(&format!("orders:do:{}:-:accept", order.id)).await;
    maya.presses_data(&format!("orders:do:{}:-:arrive", order.id)).await;
    (desk, maya, order)
}

async fn status(desk: &Desk, order: &Order) -> OrderStatus {
    desk.orders().seen_order(&desk.dispatcher, order.id).await.unwrap().unwrap().order.status
}

async fn opens(maya: &ChatUser, order: &Order) {
    maya.presses_data(&format!("orders:open:{}", order.id)).await;
}

async fn an_order_is_closed_and_paid_once(kind: StorageKind) {
    let (desk, maya, order) = at_the_client(kind).await;
    opens(&maya, &order).await;
    maya.presses("✅ Complete").await;
    maya.sends("10000").await;
    maya.sends("2000").await;
    maya.presses("Yes").await;
    maya.presses("No").await;
    maya.sees("Your share: 4,800\u{a0}₽");
    assert_eq!(desk.numbers("SELECT COUNT(*) FROM adjustments").await, [0]);
    // Another device shows the same message: both taps count as one.
    maya.presses_data("close:order").await;
    maya.sees("It's closed. Your share: 4,800\u{a0}₽.");
    maya.presses_data("close:order").await;
    maya.presses_data(&format!("orders:close:{}:-:", order.id)).await;
    assert_eq!(desk.numbers("SELECT amount_kopecks FROM adjustments WHERE kind = 'order_share'").await, [480_000]);
    assert_eq!(status(&desk, &order).await, OrderStatus::Closed);
}

#[tokio::test]
async fn wrong_amounts_are_explained() {
    let (desk, maya, order) = at_the_client(StorageKind::Sqlite).await;
    maya.presses_data(&format!("orders:close:{}:-:", order.id)).await;
    for wrong in ["-1", "1000000.01", "99999999999999999999", "ten", "1e3", "NaN"] {
        maya.sends(wrong).await;
        maya.sees("Type an amount between 0 and 1,000,000");
        assert_eq!(maya.state().await.as_deref(), Some("complete_order:total"), "after {wrong}");
    }
    maya.sends("5000").await;
    maya.sends("5000.01").await;
    maya.sees("Materials can't cost more than the total.");
    assert_eq!(maya.state().await.as_deref(), Some("complete_order:materials"));
    maya.presses("No materials").await;
    maya.presses("No").await;
    maya.presses("No").await;
    maya.sees("Your share: 2,000\u{a0}₽");
    assert_eq!(status(&desk, &order).await, OrderStatus::OnSite);
}

#[tokio::test]
async fn items_of_the_price_list_make_the_total() {
    let (desk, maya, order) = at_the_client(StorageKind::Sqlite).await;
    desk.orders().add_price_item(&desk.owner, "Diagnostics", None, super::roubles(1_500)).await.unwrap();
    maya.presses_data(&format!("orders:close:{}:-:", order.id)).await;
    maya.presses("Diagnostics · 1,500\u{a0}₽").await;
    maya.presses("Diagnostics · 1,500\u{a0}₽").await;
    maya.sees("Diagnostics × 2");
    maya.presses("Continue").await;
    maya.sees("The total is 3,000\u{a0}₽.");
    maya.presses("No materials").await;
    maya.presses("No").await;
    maya.presses("No").await;
    maya.presses("💵 Paid in cash, close").await;
    assert_eq!(desk.numbers("SELECT quantity FROM order_lines").await, [2]);
}

#[tokio::test]
async fn a_missing_photo_is_said_before_amounts() {
    let (desk, maya, order) = at_the_client(StorageKind::Sqlite).await;
    desk.set(settings::ORDER_NEEDS_PHOTO_AFTER.name, "true").await;
    opens(&maya, &order).await;
    maya.presses("✅ Complete").await;
    maya.sees_toast("Add a photo of the finished work first.");
    maya.presses("📷 After the work").await;
    for album in 0..5 {
        maya.sends_album(&format!("album {album}"), 10).await;
    }
    maya.sees("as many files as it can hold");
    assert_eq!(desk.numbers("SELECT COUNT(*) FROM order_files").await, [30]);
    maya.presses("Done").await;
    maya.presses("✅ Complete").await;
    assert_eq!(maya.state().await.as_deref(), Some("complete_order:total"));
}

#[tokio::test]
async fn a_master_marks_the_checklist_and_writes_to_the_client() {
    let desk = Desk::open(StorageKind::Sqlite).await;
    let kind = desk.orders().add_equipment_type(&desk.owner, "Washing machine").await.unwrap();
    let item = ChecklistItem { text: "Check the hose".into(), is_required: true };
    desk.orders().set_checklist(&desk.owner, kind, vec![item]).await.unwrap();
    let maya = desk.firm.member("Maya", &[Role::Master]).await;
    let master = crate::shifts::person(&desk.firm, &maya).await.id;
    let order = desk.new_order().await;
    let order = desk.done(&desk.dispatcher, &order, Command::Assign { master }).await;
    maya.presses_data(&format!("orders:do:{}:-:accept", order.id)).await;
    opens(&maya, &order).await;
    maya.presses("🚗 On my way").await;
    maya.presses("In 30 min").await;
    maya.sees("Your arrival time is noted.");
    opens(&maya, &order).await;
    maya.presses("📍 I'm here").await;
    opens(&maya, &order).await;
    maya.presses("✅ Complete").await;
    maya.sees_toast("Complete the required checklist items first.");
    maya.presses("☑️ Checklist").await;
    maya.presses("⬜ Check the hose *").await;
    maya.sees_button("✅ Check the hose *");
    assert_eq!(desk.numbers("SELECT COUNT(*) FROM order_checklist WHERE done_at IS NOT NULL").await, [1]);
    opens(&maya, &order).await;
    maya.presses("💬 Message the client").await;
    maya.sends("The part comes tomorrow").await;
    maya.sees("Your message is saved.");
    opens(&maya, &order).await;
    maya.presses("🛠 Long repair").await;
    for (wrong, told) in [("31.12.2025", "still to come"), ("soon", "I don't understand this day")] {
        maya.sends(wrong).await;
        maya.sees(told);
    }
    maya.sends("tomorrow").await;
    maya.sends("-5").await;
    maya.sees("Type an amount");
    maya.sends("500").await;
    assert_eq!(status(&desk, &order).await, OrderStatus::LongRepair);
    assert_eq!(desk.numbers("SELECT prepayment_kopecks FROM orders").await, [50_000]);
}

/// The owner blocks Maya while she enters amounts.
#[tokio::test]
async fn a_blocked_master_closes_nothing() {
    let (desk, maya, order) = at_the_client(StorageKind::Sqlite).await;
    maya.presses_data(&format!("orders:close:{}:-:", order.id)).await;
    maya.sends("10000").await;
    crate::kit::sql::run_sql(&desk.firm.app.domain, "UPDATE users SET status = 'blocked' WHERE full_name = 'Maya'")
        .await;
    maya.presses("No materials").await;
    maya.presses_data("close:order").await;
    assert_eq!(desk.numbers("SELECT COUNT(*) FROM adjustments").await, [0]);
    assert_eq!(status(&desk, &order).await, OrderStatus::OnSite);
}

#[tokio::test]
async fn an_owner_reads_the_summary_of_a_month() {
    let desk = Desk::open(StorageKind::Sqlite).await;
    desk.order_in(OrderStatus::Closed).await;
    let olga = desk.firm.member("Olivia", &[Role::Owner]).await;
    olga.sends("/start").await;
    olga.presses("📊 Orders by month").await;
    olga.sees("Orders closed: 1, revenue: 10,000\u{a0}₽, masters' shares: 4,000\u{a0}₽.");
    olga.sees("Max: 1");
}
