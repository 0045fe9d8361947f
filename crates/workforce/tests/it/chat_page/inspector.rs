//! The inspector: the bot's calls and updates, replay, and injected faults.

use serde_json::Value;

use crate::kit::browser::{Screen, visit_chat};
use crate::kit::demo::ANNA;
use crate::kit::page::{Page, by_testid};

#[tokio::test]
async fn the_inspector_shows_calls_and_updates_and_replays_them() {
    visit_chat("inspector", Screen::Desktop, inspect).await;
}

#[tokio::test]
async fn an_injected_fault_hits_the_next_call() {
    visit_chat("fault", Screen::Desktop, inject_fault).await;
}

#[tokio::test]
async fn the_inspector_covers_the_chat_on_a_phone() {
    visit_chat("inspector", Screen::Phone, inspect_on_a_phone).await;
}

async fn inspect(page: Page) {
    greet_and_press(&page).await;
    page.press("inspector-toggle").await;
    for (kind, name) in [
        ("call", "sendMessage"),
        ("call", "answerCallbackQuery"),
        ("call", "editMessageText"),
        ("update", "message"),
        ("update", "callback_query"),
    ] {
        page.find_css(&row(kind, name)).await;
    }
    page.screenshot("1-rows").await;
    search(&page).await;
    page.press_css(&row("call", "editMessageText")).await;
    let details = page.find_css(".record-details").await.text().await.unwrap();
    assert!(details.contains(r#""text": "Presses: 1""#), "parameters: {details}");
    assert!(details.contains(r#""ok": true"#), "answer: {details}");
    page.screenshot("2-details").await;
    page.press_css(&row("call", "editMessageText")).await;
    page.wait_for_count(".record-details", 0).await;
    replay(&page).await;
    page.assert_no_overflow().await;
}

async fn search(page: &Page) {
    page.type_keys("inspector-search", "editmessage").await;
    page.wait_for_count(&by_testid("inspector-row"), 1).await;
    page.find_css(&row("call", "editMessageText")).await;
    page.fill("inspector-search", "no such thing").await;
    page.wait_for_count(&by_testid("inspector-row"), 0).await;
    page.fill("inspector-search", "e\u{8}").await;
    page.find_css(&row("call", "sendMessage")).await;
    page.press("filter-updates").await;
    page.wait_for_count(&row("call", "sendMessage"), 0).await;
    page.find_css(&row("update", "message")).await;
    page.press("filter-updates").await;
}

/// The bot answers the same update again, as after a lost acknowledgement.
async fn replay(page: &Page) {
    page.press_css(&row("update", "message")).await;
    page.press("replay").await;
    page.wait_for_bubbles(ANNA, "bot", "Hello! Send a text", 1).await;
    page.wait_for_count(".message.bot", 2).await;
    page.screenshot("3-replayed").await;
}

async fn inject_fault(page: Page) {
    page.press("chat-1001").await;
    page.press("inspector-toggle").await;
    page.press("fault-open").await;
    page.press("preset-faultTooMany").await;
    assert_eq!(page.find("fault-status").await.value().await.unwrap().as_deref(), Some("429"));
    page.screenshot("1-form").await;
    page.press("fault-submit").await;
    page.wait_until_gone("fault-form").await;
    page.find_css(".fault").await;
    page.screenshot("2-waiting").await;
    page.press("start").await;
    let failed = format!("{}.failed", row("call", "sendMessage"));
    page.find_css(&format!("{failed} .record-fault")).await;
    page.wait_for_text("filter-errors", "Errors\n1").await;
    page.wait_for_count(".fault", 0).await;
    page.press_css(&failed).await;
    let details = page.find_css(".record-details").await.text().await.unwrap();
    assert!(details.contains("Too Many Requests: retry after 5"), "{details}");
    page.screenshot("3-failed").await;
    page.send_text("Once more").await;
    page.wait_for_bubbles(ANNA, "bot", "Once more", 1).await;
}

async fn inspect_on_a_phone(page: Page) {
    greet_and_press(&page).await;
    page.press_css(&format!("{} .chat-header .narrow-only", by_testid("column-1001"))).await;
    page.press_css(&row("call", "editMessageText")).await;
    page.find_css(".record-details").await;
    page.assert_no_overflow().await;
    page.screenshot("1-details").await;
    page.press("fault-open").await;
    page.find("fault-form").await;
    page.assert_no_overflow().await;
    page.screenshot("2-fault").await;
    page.press_css("dialog[open] .dialog-head button").await;
    page.wait_until_gone("fault-form").await;
    page.press("inspector-close").await;
    page.wait_for_bubbles(ANNA, "bot", "Presses: 1", 1).await;
    page.find("composer").await;
}

async fn greet_and_press(page: &Page) {
    page.press("chat-1001").await;
    page.press("start").await;
    let greeting = page.wait_for_bubbles(ANNA, "bot", "Hello! Send a text", 1).await;
    page.press(&(greeting.replace("message", "inline") + "-0-0")).await;
    page.wait_for_bubbles(ANNA, "bot", "Presses: 1", 1).await;
    // The page may lag behind, so wait for the bot's last call in the server's log.
    page.demo
        .until("the edit is logged", async |demo| {
            let log = demo.get("/log").await;
            log.as_array()?.iter().any(|entry: &Value| entry["method"] == "editMessageText").then_some(())
        })
        .await;
}

fn row(kind: &str, name: &str) -> String {
    format!("{}[data-kind='{kind}'][data-name='{name}']", by_testid("inspector-row"))
}
