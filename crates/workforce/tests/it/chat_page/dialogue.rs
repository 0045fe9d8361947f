//! A conversation with the demo's bot: first message, buttons, keyboard, photos and an album.

use opora_testkit::pictures;
use serde_json::json;

use crate::kit::browser::{Screen, visit_chat};
use crate::kit::demo::ANNA;
use crate::kit::page::{Page, by_testid};

#[tokio::test]
async fn anna_talks_to_the_bot_on_a_desktop() {
    visit_chat("dialogue", Screen::Desktop, talk).await;
}

#[tokio::test]
async fn anna_talks_to_the_bot_on_a_phone() {
    visit_chat("dialogue", Screen::Phone, talk).await;
}

#[tokio::test]
async fn anna_presses_every_key_of_the_keyboard_on_a_phone() {
    visit_chat("keyboard", Screen::Phone, press_every_key).await;
}

#[tokio::test]
async fn photos_are_echoed_on_a_desktop() {
    visit_chat("pictures", Screen::Desktop, send_pictures).await;
}

mod all_screens {
    use super::{Screen, press_every_key, send_pictures, visit_chat};

    #[tokio::test]
    async fn anna_presses_every_key_of_the_keyboard_on_a_desktop() {
        visit_chat("keyboard", Screen::Desktop, press_every_key).await;
    }

    #[tokio::test]
    async fn photos_are_echoed_on_a_phone() {
        visit_chat("pictures", Screen::Phone, send_pictures).await;
    }
}

async fn talk(page: Page) {
    page.screenshot("1-list").await;
    page.press("chat-1001").await;
    page.find("start").await;
    page.screenshot("2-start").await;
    page.press("start").await;
    let greeting = page.wait_for_bubbles(ANNA, "bot", "Hello! Send a text", 1).await;
    count_presses(&page, &greeting).await;
    use_buttons(&page).await;
    page.send_text("How are you?").await;
    page.wait_for_bubbles(ANNA, "own", "How are you?", 1).await;
    page.wait_for_bubbles(ANNA, "bot", "How are you?", 1).await;
    see_typing(&page).await;
    page.assert_no_overflow().await;
}

/// The bot counts the presses in the message itself.
async fn count_presses(page: &Page, greeting: &str) {
    let button = greeting.replace("message", "inline") + "-0-0";
    page.press(&button).await;
    assert_eq!(page.wait_for_bubbles(ANNA, "bot", "Presses: 1", 1).await, greeting, "edited in place");
    page.press(&button).await;
    assert_eq!(page.wait_for_bubbles(ANNA, "bot", "Presses: 2", 1).await, greeting);
    page.wait_for_bubbles(ANNA, "bot", "edited", 1).await;
    page.wait_for_count(".message.bot", 1).await;
    page.screenshot("3-edited").await;
}

async fn use_buttons(page: &Page) {
    page.send_text("/buttons").await;
    let choice = page.wait_for_bubbles(ANNA, "bot", "Choose a button.", 1).await;
    let button = choice.replace("message", "inline");
    page.press(&format!("{button}-0-0")).await;
    page.wait_for_text("toast", "This is a toast").await;
    page.screenshot("4-toast").await;
    page.press(&format!("{button}-0-1")).await;
    let alert = page.find("alert").await.text().await.unwrap();
    assert!(alert.contains("This is an alert: a button closes it."), "{alert}");
    page.screenshot("5-alert").await;
    page.press("alert-ok").await;
    page.wait_until_gone("alert").await;
}

/// The page shows "typing" while the bot's message is delayed.
async fn see_typing(page: &Page) {
    page.demo.post("/faults", json!({"method": "sendMessage", "delay_ms": 1000})).await;
    page.send_text("Take your time").await;
    page.find("typing").await;
    page.screenshot("6-typing").await;
    page.wait_for_bubbles(ANNA, "bot", "Take your time", 1).await;
    page.wait_until_gone("typing").await;
    page.screenshot("7-echo").await;
}

async fn press_every_key(page: Page) {
    page.press("chat-1001").await;
    share_contact(&page).await;
    share_place(&page).await;
    ask_for_keyboard(&page, 3).await;
    page.press("reply-2-0").await;
    page.wait_for_bubbles(ANNA, "own", "Just a button", 1).await;
    page.wait_for_bubbles(ANNA, "bot", "Just a button", 1).await;
    page.find("reply-2-0").await;
    page.press("keyboard-toggle").await;
    page.wait_until_gone("reply-2-0").await;
    page.screenshot("5-hidden").await;
    page.assert_no_overflow().await;
}

/// Uses the list of commands. The bot then shows its keyboard.
async fn ask_for_keyboard(page: &Page, time: usize) {
    page.press("commands").await;
    page.press("command-keyboard").await;
    page.wait_for_bubbles(ANNA, "bot", "Choose a button.", time).await;
    page.find("reply-0-0").await;
}

async fn share_contact(page: &Page) {
    page.press("commands").await;
    page.find("command-keyboard").await;
    page.screenshot("1-commands").await;
    page.press("commands").await;
    ask_for_keyboard(page, 1).await;
    page.screenshot("2-keyboard").await;
    page.press("reply-0-0").await;
    let phone = page.find("contact-phone").await.value().await.unwrap().unwrap();
    page.screenshot("3-contact").await;
    page.press("contact-confirm").await;
    page.wait_for_bubbles(ANNA, "own", &phone, 1).await;
    page.wait_for_bubbles(ANNA, "bot", &format!("Your phone: {phone}"), 1).await;
    page.wait_until_gone("reply-0-0").await;
}

async fn share_place(page: &Page) {
    ask_for_keyboard(page, 2).await;
    page.press("reply-1-0").await;
    page.fill("location-lat", "48.858").await;
    page.fill("location-lon", "2.294").await;
    page.screenshot("4-place").await;
    page.press("location-confirm").await;
    page.wait_for_bubbles(ANNA, "own", "48.858000, 2.294000", 1).await;
    page.wait_for_bubbles(ANNA, "bot", "You are here: 48.858, 2.294", 1).await;
    page.wait_until_gone("reply-1-0").await;
}

async fn send_pictures(page: Page) {
    page.press("chat-1001").await;
    page.find("composer").await;
    page.find_hidden("file-input-photo").await.send_keys(pictures::file("hill")).await.unwrap();
    page.wait_for_bubbles(ANNA, "bot", "Your photo", 1).await;
    wait_for_pictures(&page, ".message.own", 1).await;
    wait_for_pictures(&page, ".message.bot", 1).await;
    page.screenshot("1-photo").await;
    let two = format!("{}\n{}", pictures::file("hill"), pictures::file("tower"));
    page.type_keys("composer", "Two of them").await;
    page.find_hidden("file-input-photo").await.send_keys(two).await.unwrap();
    page.wait_for_bubbles(ANNA, "own", "Two of them", 1).await;
    wait_for_pictures(&page, "[data-testid^='album-1001-']", 2).await;
    page.wait_for_bubbles(ANNA, "bot", "Your photo", 3).await;
    wait_for_pictures(&page, ".message.bot", 3).await;
    page.screenshot("2-album").await;
    page.press_css("[data-testid^='album-1001-'] .tile").await;
    page.find_css(".lightbox img").await;
    page.screenshot("3-viewer").await;
    page.assert_no_overflow().await;
}

/// Waits until this many pictures are drawn.
async fn wait_for_pictures(page: &Page, place: &str, count: usize) {
    let place = format!("{} {place} img", by_testid("column-1001"));
    let pictures = format!("[...document.querySelectorAll(\"{place}\")]");
    let drawn = format!("{pictures}.filter((one) => one.complete && one.naturalWidth > 0).length === {count}");
    page.wait_until(&format!("{count} pictures are drawn in {place}"), &drawn).await;
}
