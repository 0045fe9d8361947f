//! Language and theme are switched and kept over a reload.

use serde_json::Value;

use crate::kit::browser::{Screen, visit_chat};
use crate::kit::page::Page;

#[tokio::test]
async fn the_page_switches_to_russian_and_remembers_it() {
    visit_chat("language", Screen::Desktop, speak_russian).await;
}

#[tokio::test]
async fn the_theme_changes_and_is_remembered() {
    visit_chat("theme", Screen::Desktop, switch_theme).await;
}

#[tokio::test]
async fn russian_and_the_other_theme_fit_on_a_phone() {
    visit_chat("preferences", Screen::Phone, both_on_a_phone).await;
}

async fn speak_russian(page: Page) {
    page.press("chat-1001").await;
    page.wait_for_text("start", "Start").await;
    page.wait_for_text("add-person", "Person").await;
    page.press("language").await;
    assert_russian(&page).await;
    page.screenshot("1-russian").await;
    page.reload().await;
    assert_russian(&page).await;
    page.press("start").await;
    page.wait_for_bubbles(1001, "bot", "Hello!", 1).await;
    page.press("inspector-toggle").await;
    page.wait_for_text("fault-open", "Устроить сбой").await;
    page.assert_no_overflow().await;
    page.screenshot("2-inspector").await;
    page.press("language").await;
    page.wait_for_text("add-person", "Person").await;
    assert_eq!(page.evaluate("document.documentElement.lang").await, "en");
}

async fn assert_russian(page: &Page) {
    page.wait_for_text("start", "Запустить").await;
    page.wait_for_text("add-person", "Человек").await;
    page.wait_for_text("add-group", "Группа").await;
    page.wait_for_text("language", "EN").await;
    let placeholder = page.find("composer").await.attr("placeholder").await.unwrap();
    assert_eq!(placeholder.as_deref(), Some("Сообщение"));
    assert_eq!(page.evaluate("document.documentElement.lang").await, "ru");
}

async fn switch_theme(page: Page) {
    page.press("chat-1001").await;
    page.press("start").await;
    let before = background(&page).await;
    page.press("theme").await;
    page.wait_until("the theme is chosen", "document.documentElement.dataset.theme").await;
    let after = background(&page).await;
    assert_ne!(before, after);
    page.screenshot("1-switched").await;
    page.reload().await;
    assert_eq!(background(&page).await, after);
    page.press("theme").await;
    assert_eq!(background(&page).await, before);
    page.screenshot("2-back").await;
}

async fn both_on_a_phone(page: Page) {
    page.press("language").await;
    page.wait_for_text("add-person", "Человек").await;
    page.press("theme").await;
    page.assert_no_overflow().await;
    page.screenshot("1-list").await;
    page.press("chat-1001").await;
    page.press("start").await;
    page.wait_for_bubbles(1001, "bot", "Hello!", 1).await;
    page.assert_no_overflow().await;
    page.screenshot("2-chat").await;
}

async fn background(page: &Page) -> Value {
    page.evaluate("getComputedStyle(document.body).backgroundColor").await
}
