//! The cabinet in a real browser: an owner signs in with the PIN from the chat, manages people, and signs out.

use serde_json::json;
use tempfile::TempDir;

use crate::kit::browser::{Screen, visit_chat_of};
use crate::kit::demo::{ANNA, Demo};
use crate::kit::page::Page;
use crate::operator;

/// An employee of the demo.
const EMPLOYEE: i64 = 1004;

#[tokio::test]
async fn an_owner_works_with_people_on_a_desktop() {
    let folder = tempfile::tempdir().unwrap();
    visit_chat_of(demo(&folder, "en").await, "cabinet", Screen::Desktop, manage_people).await;
}

#[tokio::test]
async fn an_owner_works_with_people_on_a_phone_in_russian() {
    let folder = tempfile::tempdir().unwrap();
    visit_chat_of(demo(&folder, "ru").await, "cabinet", Screen::Phone, manage_people).await;
}

/// A demo in which test users need a real PIN.
async fn demo(folder: &TempDir, language: &str) -> Demo {
    let demo = Demo::product(folder, &["--language", language]).await;
    let address = format!("sqlite:{}/opora.db", folder.path().display());
    let set = ["settings", "set", "enable_test_users", "false", "--database", &address];
    operator::run(&[], &set).await.success();
    demo
}

async fn manage_people(page: Page) {
    begin_questionnaire(&page.demo).await;
    page.goto("/people").await;
    page.fill("who", "1001").await;
    page.screenshot("1-sign-in").await;
    page.press("send-pin").await;
    page.find("pin").await;
    let pin = page.demo.until("the PIN is in the chat", async |demo| pin(demo).await).await;
    page.fill("pin", &pin).await;
    page.screenshot("2-pin").await;
    page.press("log-in").await;
    page.find("people").await;
    page.assert_no_overflow().await;
    page.screenshot("3-people").await;
    page.wait_until("the page is live", "document.documentElement.dataset.live === 'on'").await;
    page.press("person-1003").await;
    page.find("full-name").await;
    page.wait_until("the page is live", "document.documentElement.dataset.live === 'on'").await;
    page.find("role").await.send_keys("d").await.unwrap();
    page.press("grant").await;
    page.wait_for_count("[data-testid='history'] li", 3).await;
    page.wait_until("the page is live", "document.documentElement.dataset.live === 'on'").await;
    page.assert_no_overflow().await;
    page.screenshot("4-person").await;
    // A change elsewhere appears by itself.
    page.evaluate("(window.stays = true)").await;
    let done = page.evaluate(REVOKE).await;
    assert_eq!(done, json!(true));
    page.wait_for_count("[data-testid='history'] li", 4).await;
    assert_eq!(page.evaluate("window.stays").await, true, "the page was reloaded completely");
    page.set_color_scheme("dark").await;
    page.screenshot("5-person-dark").await;
    page.goto("/").await;
    page.screenshot("6-home-dark").await;
    page.goto("/people").await;
    page.screenshot("7-people-dark").await;
    page.set_color_scheme("light").await;
    forget_person(&page).await;
    page.goto("/me").await;
    page.assert_no_overflow().await;
    page.screenshot("8-me").await;
    page.goto("/admin").await;
    page.assert_no_overflow().await;
    page.screenshot("9-admin").await;
    page.sign_out().await;
    page.goto("/people").await;
    page.find("who").await;
}

/// An employee begins the questionnaire.
async fn begin_questionnaire(demo: &Demo) {
    demo.says(EMPLOYEE, "/start").await;
    presses(demo, "onboarding:begin").await;
    presses(demo, "consent:yes").await;
    for (number, answer) in [("1/8", "Женя <i>"), ("2/8", "4"), ("3/8", "")] {
        demo.receives(EMPLOYEE, number).await;
        if !answer.is_empty() {
            demo.says(EMPLOYEE, answer).await;
        }
    }
}

/// Presses a button of the employee by its data, which is the same in every language.
async fn presses(demo: &Demo, data: &str) {
    let pressed = demo.until(data, async |demo| {
        let messages = demo.get(&format!("/chats/{EMPLOYEE}/messages?after=0&wait=0")).await;
        messages.as_array()?.iter().rev().find_map(|message| {
            let rows = message["reply_markup"]["inline_keyboard"].as_array()?;
            let mut buttons = rows.iter().flat_map(|row| row.as_array()).flatten();
            let button =
                buttons.find(|button| button["callback_data"].as_str().is_some_and(|its| its.contains(data)))?;
            Some(json!({"from": EMPLOYEE, "message_id": message["message_id"], "data": button["callback_data"]}))
        })
    });
    demo.post(&format!("/chats/{EMPLOYEE}/press"), pressed.await).await;
}

/// A person's answers, and the confirmation before the person is forgotten.
async fn forget_person(page: &Page) {
    page.goto("/people").await;
    page.press(&format!("person-{EMPLOYEE}")).await;
    page.find("answers").await;
    page.assert_no_overflow().await;
    page.screenshot_full("10-answers").await;
    page.set_color_scheme("dark").await;
    page.screenshot_full("11-answers-dark").await;
    page.press("forget").await;
    page.find("forget-now").await;
    page.assert_no_overflow().await;
    page.screenshot("12-forget-dark").await;
    page.set_color_scheme("light").await;
    page.screenshot("13-forget").await;
    page.press("sure").await;
    page.press("forget-now").await;
    page.find("full-name").await;
    page.wait_for_count("[data-testid='answers']", 0).await;
    page.screenshot_full("14-forgotten").await;
}

/// Revokes a role as another page would, without leaving this page.
const REVOKE: &str = r#"(() => {
    const form = document.querySelector("[data-testid^='revoke-']").closest("form");
    const request = new XMLHttpRequest();
    request.open("POST", form.action, false);
    request.send(new URLSearchParams(new FormData(form)));
    return request.status === 200;
})()"#;

async fn pin(demo: &Demo) -> Option<String> {
    let texts = demo.texts(ANNA).await;
    let digits = |text: &String| text.chars().filter(char::is_ascii_digit).take(6).collect::<String>();
    texts.iter().rev().find(|text| text.contains("PIN")).map(digits)
}
