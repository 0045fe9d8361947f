//! Registration in a real browser: the chat page in Russian, the owner's pages, and what others may not see.

use opora_testkit::pictures;

use crate::kit::browser::{Screen, visit_demo};
use crate::kit::chat::Chat;
use crate::kit::demo::Demo;
use crate::kit::page::Page;

/// Comes to apply; the first of the staff owns the firm, the fifth works there.
const ZHANNA: i64 = 1007;
const OWNER: &str = "1001";
const EMPLOYEE: &str = "1005";

#[tokio::test]
async fn somebody_registers_in_the_chat_and_is_approved_on_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &["--language", "ru"]).await;
    visit_demo(demo, "registration", Screen::Desktop, register_and_decide).await;
}

#[tokio::test]
async fn somebody_registers_and_is_approved_on_a_phone() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &["--language", "ru"]).await;
    visit_demo(demo, "registration", Screen::Phone, register_and_decide).await;
}

async fn register_and_decide(page: Page) {
    registers(&page).await;
    signs_in(&page, OWNER).await;
    page.goto("/registrations").await;
    page.find("registration-1007").await;
    drawn(&page, 2).await;
    shoot_in_both(&page, "2-queue").await;
    page.press_css("[data-testid='documents'] a").await;
    page.find("document").await;
    drawn(&page, 2).await;
    let document = page.evaluate("location.pathname").await;
    let document = document.as_str().unwrap();
    shoot_in_both(&page, "3-document").await;
    page.press("decide").await;
    page.press("approve").await;
    page.counts("[data-testid^='registration-']", 0).await;
    page.demo.hears(ZHANNA, "Добро пожаловать в команду!").await;
    shoot_in_both(&page, "4-empty").await;
    page.goto("/people").await;
    page.press("person-1007").await;
    page.find("full-name").await;
    drawn(&page, 2).await;
    shoot_in_both(&page, "5-person").await;
    is_refused_to_others(&page, document).await;
}

/// The whole way on the chat page, by its buttons and its fields.
async fn registers(page: &Page) {
    let zhanna = Chat::of(page, ZHANNA).await;
    page.press("start").await;
    zhanna.presses_below("Давайте познакомимся", 0).await;
    zhanna.hears("Как вас зовут?").await;
    page.write("Жанна Волкова").await;
    zhanna.hears("Ваш номер телефона?").await;
    page.press("reply-0-0").await;
    page.press("contact-confirm").await;
    zhanna.presses_below("Ваша электронная почта?", 0).await;
    zhanna.presses_below("Какой документ вы покажете?", 0).await;
    zhanna.hears("Пришлите фото паспорта").await;
    page.find_hidden("file-input-photo").await.send_keys(pictures::file("tower")).await.unwrap();
    zhanna.hears("Теперь селфи").await;
    page.find_hidden("file-input-photo").await.send_keys(pictures::file("hill")).await.unwrap();
    zhanna.hears("Готово! Ваша заявка на проверке.").await;
    page.fits().await;
    page.shoot("1-chat").await;
}

/// The people of the demo are let in with any six digits.
async fn signs_in(page: &Page, who: &str) {
    page.goto("/sign-in").await;
    page.fill("who", who).await;
    page.press("send-pin").await;
    page.fill("pin", "123456").await;
    page.press("log-in").await;
    page.find("sign-out").await;
}

/// Waits until so many pictures are not only there but drawn.
async fn drawn(page: &Page, count: usize) {
    // Those below the window are loaded when somebody comes near.
    page.evaluate("document.querySelectorAll('main img').forEach((one) => { one.loading = 'eager'; })").await;
    let drawn = "[...document.querySelectorAll('main img')].filter((one) => one.complete && one.naturalWidth > 0)";
    page.until(&format!("{count} pictures are drawn"), &format!("{drawn}.length === {count}")).await;
}

async fn shoot_in_both(page: &Page, step: &str) {
    page.fits().await;
    page.shoot(step).await;
    page.prefers("dark").await;
    page.shoot(&format!("{step}-dark")).await;
    page.prefers("light").await;
}

/// By direct link, to somebody who works here and to nobody at all.
async fn is_refused_to_others(page: &Page, document: &str) {
    page.press("sign-out").await;
    page.find("who").await;
    for path in [document.to_owned(), format!("{document}/file")] {
        page.goto(&path).await;
        page.find("who").await;
    }
    signs_in(page, EMPLOYEE).await;
    let told = page.complaints().await;
    assert!(told.is_empty(), "{told:#?}");
    for path in [document.to_owned(), format!("{document}/file"), "/registrations".to_owned()] {
        page.goto(&path).await;
        page.until("it is refused in words", "document.body.innerText.includes('Эта страница не для вас')").await;
        assert_eq!(page.evaluate("document.querySelectorAll('main img').length").await, 0);
    }
    page.shoot("6-refused").await;
    // The browser itself notes each refusal, and nothing else.
    let told = page.complaints().await;
    assert!(told.iter().all(|one| one.contains("403")), "{told:#?}");
}
