//! Registration in a real browser: the chat page in Russian, the owner's pages, and pages that are refused to others.

use opora_testkit::pictures;

use crate::kit::browser::{Screen, visit_chat_of};
use crate::kit::chat::Chat;
use crate::kit::demo::Demo;
use crate::kit::page::Page;

/// People of the demo: a newcomer, the owner and an employee.
const ZHANNA: i64 = 1007;
const OWNER: &str = "1001";
const EMPLOYEE: &str = "1005";

#[tokio::test]
async fn a_newcomer_registers_and_is_approved_on_a_phone() {
    register_on(Screen::Phone).await;
}

mod all_screens {
    use super::{Screen, register_on};

    #[tokio::test]
    async fn a_newcomer_registers_and_is_approved_on_a_desktop() {
        register_on(Screen::Desktop).await;
    }
}

async fn register_on(screen: Screen) {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &["--language", "ru"]).await;
    visit_chat_of(demo, "registration", screen, register_and_decide).await;
}

async fn register_and_decide(page: Page) {
    registers(&page).await;
    signs_in(&page, OWNER).await;
    page.goto("/registrations").await;
    page.find("registration-1007").await;
    // Two other applicants of the demo wait, too.
    wait_until_drawn(&page, 6).await;
    screenshot_both_themes(&page, "2-queue").await;
    page.press_css("[data-testid='registration-1007'] [data-testid='documents'] a").await;
    page.find("document").await;
    wait_until_drawn(&page, 2).await;
    let document = page.evaluate("location.pathname").await;
    let document = document.as_str().unwrap();
    screenshot_both_themes(&page, "3-document").await;
    page.press("decide").await;
    page.press_css("[data-testid='registration-1007'] [data-testid='approve']").await;
    page.wait_for_count("[data-testid='registration-1007']", 0).await;
    page.demo.receives(ZHANNA, "Добро пожаловать в команду!").await;
    screenshot_both_themes(&page, "4-decided").await;
    page.goto("/people").await;
    page.press("person-1007").await;
    page.find("full-name").await;
    // Two documents, and the selfie beside the name.
    wait_until_drawn(&page, 3).await;
    screenshot_both_themes(&page, "5-person").await;
    assert_refused_to_others(&page, document).await;
}

/// Registers on the chat page, with its buttons and fields.
async fn registers(page: &Page) {
    let zhanna = Chat::of(page, ZHANNA).await;
    page.press("start").await;
    zhanna.presses_in_row("Давайте познакомимся", 0).await;
    zhanna.presses_in_row("Чтобы принять вас на работу", 0).await;
    zhanna.receives("Как вас зовут?").await;
    page.send_text("Жанна Волкова").await;
    zhanna.receives("Какой у вас номер телефона?").await;
    page.press("reply-0-0").await;
    page.press("contact-confirm").await;
    zhanna.presses_in_row("Какая у вас электронная почта?", 0).await;
    zhanna.presses_in_row("Какой документ пришлёте?", 0).await;
    zhanna.receives("Пришлите фото паспорта").await;
    page.find_hidden("file-input-photo").await.send_keys(pictures::file("tower")).await.unwrap();
    zhanna.receives("Теперь пришлите селфи").await;
    page.find_hidden("file-input-photo").await.send_keys(pictures::file("hill")).await.unwrap();
    zhanna.receives("Готово! Заявка на проверке.").await;
    page.assert_no_overflow().await;
    page.screenshot("1-chat").await;
}

/// The people of the demo may sign in with any six digits.
async fn signs_in(page: &Page, who: &str) {
    page.goto("/sign-in").await;
    page.fill("who", who).await;
    page.press("send-pin").await;
    page.fill("pin", "123456").await;
    page.press("log-in").await;
    page.find("account").await;
}

/// Waits until this many pictures are drawn.
async fn wait_until_drawn(page: &Page, count: usize) {
    // Pictures below the window are loaded lazily.
    page.evaluate("document.querySelectorAll('main img').forEach((one) => { one.loading = 'eager'; })").await;
    let drawn = "[...document.querySelectorAll('main img')].filter((one) => one.complete && one.naturalWidth > 0)";
    page.wait_until(&format!("{count} pictures are drawn"), &format!("{drawn}.length === {count}")).await;
}

async fn screenshot_both_themes(page: &Page, step: &str) {
    page.assert_no_overflow().await;
    page.screenshot(step).await;
    page.set_color_scheme("dark").await;
    page.screenshot(&format!("{step}-dark")).await;
    page.set_color_scheme("light").await;
}

/// Direct links are refused to an employee and without a session.
async fn assert_refused_to_others(page: &Page, document: &str) {
    page.sign_out().await;
    for path in [document.to_owned(), format!("{document}/file")] {
        page.goto(&path).await;
        page.find("who").await;
    }
    signs_in(page, EMPLOYEE).await;
    let console_errors = page.console_errors().await;
    assert!(console_errors.is_empty(), "{console_errors:#?}");
    for path in [document.to_owned(), format!("{document}/file"), "/registrations".to_owned()] {
        page.goto(&path).await;
        page.wait_until("the refusal is shown", "document.body.innerText.includes('Нет доступа к этой странице')")
            .await;
        assert_eq!(page.evaluate("document.querySelectorAll('main img').length").await, 0);
    }
    page.screenshot("6-refused").await;
    // The browser logs each 403, and nothing else.
    let console_errors = page.console_errors().await;
    assert!(console_errors.iter().all(|one| one.contains("403")), "{console_errors:#?}");
}
