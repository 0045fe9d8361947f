//! Two people at once: what is unread, and chats side by side.

use serde_json::json;

use crate::kit::browser::{Screen, visit};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::page::Page;

#[tokio::test]
async fn a_message_to_the_other_person_is_marked_unread() {
    visit("unread", Screen::Desktop, mark_unread).await;
}

#[tokio::test]
async fn the_list_on_a_phone_marks_what_is_unread() {
    visit("unread", Screen::Phone, mark_unread).await;
}

#[tokio::test]
async fn two_people_talk_side_by_side() {
    visit("side-by-side", Screen::Desktop, talk_side_by_side).await;
}

async fn mark_unread(page: Page) {
    page.press("chat-1001").await;
    page.find("composer").await;
    page.demo.says(BORIS, "/start").await;
    page.demo.hears(BORIS, "Hello!").await;
    let sent = page.demo.bot("sendMessage", json!({"chat_id": BORIS, "text": "Your shift starts at nine"})).await;
    assert_eq!(sent["ok"], true, "{sent}");
    page.until("the title counts", "document.title.startsWith('(2) ')").await;
    if page.screen == Screen::Phone {
        page.press("back").await;
    }
    page.reads("unread-1002", "2").await;
    page.vanishes("unread-1001").await;
    page.shoot("1-mark").await;
    page.press("chat-1002").await;
    page.bubbles(BORIS, "bot", "Your shift starts at nine", 1).await;
    page.vanishes("unread-1002").await;
    page.until("the title is plain", "document.title.startsWith('Echo')").await;
    page.shoot("2-read").await;
    page.fits().await;
}

async fn talk_side_by_side(page: Page) {
    page.press("chat-1001").await;
    page.press("layout").await;
    for person in [ANNA, BORIS] {
        page.press_css(&format!("[data-testid='column-{person}'] [data-testid='start']")).await;
        page.bubbles(person, "bot", "Hello! Send a text", 1).await;
    }
    let field = page.find_css("[data-testid='column-1002'] [data-testid='composer']").await;
    field.send_keys("It is Boris\n").await.unwrap();
    page.bubbles(BORIS, "own", "It is Boris", 1).await;
    page.bubbles(BORIS, "bot", "It is Boris", 1).await;
    page.bubbles(ANNA, "bot", "It is Boris", 0).await;
    page.counts("[data-testid^='unread-']", 0).await;
    page.shoot("1-columns").await;
    page.reload().await;
    page.bubbles(ANNA, "bot", "Hello! Send a text", 1).await;
    page.bubbles(BORIS, "bot", "It is Boris", 1).await;
    page.fits().await;
}
