//! Two people at once: unread marks, and chats side by side.

use serde_json::json;

use crate::kit::browser::{Screen, visit_chat};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::page::Page;

#[tokio::test]
async fn a_message_to_another_person_is_marked_unread() {
    visit_chat("unread", Screen::Desktop, mark_unread).await;
}

#[tokio::test]
async fn unread_chats_are_marked_on_a_phone() {
    visit_chat("unread", Screen::Phone, mark_unread).await;
}

#[tokio::test]
async fn two_people_talk_side_by_side() {
    visit_chat("side-by-side", Screen::Desktop, talk_side_by_side).await;
}

async fn mark_unread(page: Page) {
    page.press("chat-1001").await;
    page.find("composer").await;
    page.demo.says(BORIS, "/start").await;
    page.demo.receives(BORIS, "Hello!").await;
    let sent = page.demo.bot("sendMessage", json!({"chat_id": BORIS, "text": "Your shift starts at nine"})).await;
    assert_eq!(sent["ok"], true, "{sent}");
    page.wait_until("the title counts", "document.title.startsWith('(2) ')").await;
    if page.screen == Screen::Phone {
        page.press("back").await;
    }
    page.wait_for_text("unread-1002", "2").await;
    page.wait_until_gone("unread-1001").await;
    page.screenshot("1-mark").await;
    page.press("chat-1002").await;
    page.wait_for_bubbles(BORIS, "bot", "Your shift starts at nine", 1).await;
    page.wait_until_gone("unread-1002").await;
    page.wait_until("the title is plain", "document.title.startsWith('Echo')").await;
    page.screenshot("2-read").await;
    page.assert_no_overflow().await;
}

async fn talk_side_by_side(page: Page) {
    page.press("chat-1001").await;
    page.press("layout").await;
    for person in [ANNA, BORIS] {
        page.press_css(&format!("[data-testid='column-{person}'] [data-testid='start']")).await;
        page.wait_for_bubbles(person, "bot", "Hello! Send a text", 1).await;
    }
    let field = page.find_css("[data-testid='column-1002'] [data-testid='composer']").await;
    field.send_keys("It is Boris\n").await.unwrap();
    page.wait_for_bubbles(BORIS, "own", "It is Boris", 1).await;
    page.wait_for_bubbles(BORIS, "bot", "It is Boris", 1).await;
    page.wait_for_bubbles(ANNA, "bot", "It is Boris", 0).await;
    page.wait_for_count("[data-testid^='unread-']", 0).await;
    page.screenshot("1-columns").await;
    page.reload().await;
    page.wait_for_bubbles(ANNA, "bot", "Hello! Send a text", 1).await;
    page.wait_for_bubbles(BORIS, "bot", "It is Boris", 1).await;
    page.assert_no_overflow().await;
}
