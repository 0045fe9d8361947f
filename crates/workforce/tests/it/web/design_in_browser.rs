//! The frame of the pages in a real browser: sidebar, command palette, dialogs, toasts, tabs of a phone, and long
//! names.

use std::sync::Arc;

use chrono_tz::Europe::Moscow;
use serde_json::json;
use thirtyfour::Key;
use workforce::shifts::Shifts;
use workforce::sites::{AboutSite, AboutSlot, Hours, Sites};

use crate::kit::browser::{Screen, visit_chat_of, visit_pages};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, Demo};
use crate::kit::page::Page;
use crate::kit::sql::run_sql;
use crate::overview::owners_week::sign_in;
use crate::shifts::about_contract;

/// Makes the page as narrow as the smallest phones, and measures its content. The emulated phone is a little wider and
/// has the same layout.
const NARROW: &str = "((document.documentElement.style.width = '360px'), document.body.scrollWidth)";

const FOCUSED: &str = "document.activeElement.dataset.testid";

/// Pages of the owner of a business.
const PAGES: [&str; 16] = [
    "/",
    "/calendar",
    "/calendar?view=month",
    "/shifts",
    "/people",
    "/registrations",
    "/managers",
    "/payroll",
    "/charts",
    "/cancellations",
    "/sites",
    "/sites/1",
    "/settings",
    "/contracts/new",
    "/me",
    "/search?q=o",
];

#[tokio::test]
async fn the_frame_works_by_keyboard_on_a_desktop() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &["--language", "en"]).await;
    visit_chat_of(demo, "design", Screen::Desktop, |page| async move {
        signs_in(&page).await;
        collapse_sidebar(&page).await;
        use_palette(&page).await;
        use_dialog(&page).await;
        close_toast(&page).await;
    })
    .await;
}

#[tokio::test]
async fn a_phone_has_five_tabs_at_the_bottom() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &["--language", "ru"]).await;
    visit_chat_of(demo, "design", Screen::Phone, |page| async move {
        signs_in(&page).await;
        page.wait_for_count("nav.bottom > *", 5).await;
        page.go_to("Смены").await;
        page.go_to("Объекты").await;
        page.screenshot("1-sites").await;
        page.press("more").await;
        page.screenshot("2-more").await;
        page.goto("/design").await;
        page.find("theme-light").await;
        page.assert_no_overflow().await;
        page.screenshot_full("3-components").await;
    })
    .await;
}

/// The people of the demo may sign in with any six digits.
async fn signs_in(page: &Page) {
    page.goto("/sign-in").await;
    page.fill("who", &ANNA.to_string()).await;
    page.press("send-pin").await;
    page.fill("pin", "123456").await;
    page.press("log-in").await;
    page.find("account").await;
}

async fn collapse_sidebar(page: &Page) {
    page.press("collapse").await;
    page.goto("/people").await;
    let width = "document.querySelector('header.side').offsetWidth";
    page.wait_until("the sidebar stays collapsed", &format!("{width} < 100")).await;
    page.screenshot("1-collapsed").await;
    page.press("collapse").await;
    page.wait_until("the sidebar is wide again", &format!("{width} > 200")).await;
}

async fn use_palette(page: &Page) {
    page.find_css("body").await.send_keys(Key::Control + "k").await.unwrap();
    page.find("palette-input").await.send_keys("daria").await.unwrap();
    page.find_where(".hit[aria-selected='true']", "Daria", |shown| shown.contains("Daria")).await;
    page.screenshot("2-palette").await;
    page.find("palette-input").await.send_keys(Key::Enter + "").await.unwrap();
    page.wait_for_text("full-name", "Daria Frost").await;
    page.press("search-button").await;
    page.find("palette-input").await.send_keys(Key::Escape + "").await.unwrap();
    page.wait_until("the palette is closed", "!document.getElementById('palette').open").await;
}

async fn use_dialog(page: &Page) {
    page.goto("/design").await;
    let opener = page.find("opens-dialog-light").await;
    opener.focus().await.unwrap();
    opener.send_keys(Key::Enter + "").await.unwrap();
    page.find("dialog-light").await;
    page.wait_until("the focus is in the dialog", "document.activeElement.closest('dialog') !== null").await;
    page.screenshot("3-dialog").await;
    page.find_css("dialog:modal .cancel").await.send_keys(Key::Escape + "").await.unwrap();
    page.wait_until("the dialog is closed", "document.querySelector('dialog:modal') === null").await;
    assert_eq!(page.evaluate(FOCUSED).await, json!("opens-dialog-light"), "the focus returns");
    page.screenshot_full("4-components").await;
}

async fn close_toast(page: &Page) {
    page.goto("/me").await;
    page.press("language-en").await;
    page.find("toast").await;
    page.screenshot("5-toast").await;
    page.press_css(".toasts [data-closes-toast]").await;
    page.wait_until_gone("toast").await;
}

#[tokio::test]
async fn no_page_scrolls_sideways_with_long_names() {
    let (cabinet, base) = Cabinet::on_port().await;
    fill(&cabinet).await;
    visit_pages(Arc::clone(&cabinet.emulator), &base, "long-names", Screen::Phone, |page| async move {
        sign_in(&page, "/people", ANNA).await;
        page.find("people").await;
        let mut wide = Vec::new();
        for path in PAGES {
            page.goto(path).await;
            page.find_css("main h1").await;
            let width = page.evaluate(NARROW).await.as_i64().unwrap();
            if width > 360 {
                wide.push((path, width));
                page.screenshot(&format!("wide{}", path.replace(['/', '?', '='], "-"))).await;
            }
        }
        assert!(wide.is_empty(), "pages wider than 360 px: {wide:?}");
    })
    .await;
    cabinet.close().await;
}

/// A business whose people and sites have names of 60 characters without a space.
async fn fill(cabinet: &Cabinet) {
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let room = Sites::of_app(&cabinet.app);
    let name = "Ы".repeat(60);
    let about = AboutSite { name: name.clone(), address: name.clone(), ..AboutSite::usual(Moscow) };
    let site = room.create(&anna, about).await.unwrap();
    room.create_contract(&anna, boris.id, about_contract(&[site], false)).await.unwrap();
    let slot = AboutSlot::usual("2026-01-01".parse().unwrap(), Hours::new(16 * 60, 20 * 60));
    let slot = room.create_slot(&anna, site, slot).await.unwrap();
    Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap();
    run_sql(&cabinet.app.domain, format!("UPDATE users SET full_name = '{name}'")).await;
}
