//! Language and theme: switched, and still so after the page was loaded again.

use serde_json::Value;

use crate::kit::browser::{Screen, visit};
use crate::kit::page::Page;

#[tokio::test]
async fn the_page_speaks_russian_when_asked_and_remembers_it() {
    visit("language", Screen::Desktop, speak_russian).await;
}

#[tokio::test]
async fn the_theme_changes_and_is_remembered() {
    visit("theme", Screen::Desktop, switch_theme).await;
}

#[tokio::test]
async fn russian_words_and_the_other_theme_fit_on_a_phone() {
    visit("preferences", Screen::Phone, both_on_a_phone).await;
}

async fn speak_russian(page: Page) {
    page.press("chat-1001").await;
    page.reads("start", "Start").await;
    page.reads("add-person", "Person").await;
    page.press("language").await;
    russian(&page).await;
    page.shoot("1-russian").await;
    page.reload().await;
    russian(&page).await;
    page.press("start").await;
    page.bubbles(1001, "bot", "Hello!", 1).await;
    page.press("inspector-toggle").await;
    page.reads("fault-open", "Устроить сбой").await;
    page.fits().await;
    page.shoot("2-inspector").await;
    page.press("language").await;
    page.reads("add-person", "Person").await;
    assert_eq!(page.evaluate("document.documentElement.lang").await, "en");
}

async fn russian(page: &Page) {
    page.reads("start", "Запустить").await;
    page.reads("add-person", "Человек").await;
    page.reads("add-group", "Группа").await;
    page.reads("language", "EN").await;
    let placeholder = page.find("composer").await.attr("placeholder").await.unwrap();
    assert_eq!(placeholder.as_deref(), Some("Сообщение"));
    assert_eq!(page.evaluate("document.documentElement.lang").await, "ru");
}

async fn switch_theme(page: Page) {
    page.press("chat-1001").await;
    page.press("start").await;
    let before = background(&page).await;
    page.press("theme").await;
    page.until("the theme is chosen", "document.documentElement.dataset.theme").await;
    let after = background(&page).await;
    assert_ne!(before, after);
    page.shoot("1-switched").await;
    page.reload().await;
    assert_eq!(background(&page).await, after);
    page.press("theme").await;
    assert_eq!(background(&page).await, before);
    page.shoot("2-back").await;
}

async fn both_on_a_phone(page: Page) {
    page.press("language").await;
    page.reads("add-person", "Человек").await;
    page.press("theme").await;
    page.fits().await;
    page.shoot("1-list").await;
    page.press("chat-1001").await;
    page.press("start").await;
    page.bubbles(1001, "bot", "Hello!", 1).await;
    page.fits().await;
    page.shoot("2-chat").await;
}

async fn background(page: &Page) -> Value {
    page.evaluate("getComputedStyle(document.body).backgroundColor").await
}
