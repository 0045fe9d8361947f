//! Pages in states that no link leads to, and what is closed when a page is loaded: panels, questions, previews,
//! errors, dialogs, menus, the command palette; and an empty business. Each is accessible and fits a phone.

use std::sync::Arc;

use serde_json::Value;

use super::every_page::inspection::{DESKTOP, Inspection};
use super::every_page::site_map::sign_in;
use crate::kit::browser::{Screen, visit_pages};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, Demo};
use crate::kit::page::Page;
use crate::overview::owners_week;

const EDGAR: i64 = 1006;
/// The pages of a business on its first day.
const PAGES: [&str; 12] = [
    "/",
    "/calendar",
    "/shifts",
    "/people",
    "/registrations",
    "/managers",
    "/payroll",
    "/charts",
    "/cancellations",
    "/sites",
    "/settings",
    "/search?q=nothing",
];
/// A table with a new person, and one with mistakes.
const STAFF: &str = "name;telegram id;phone;role;site;rate\nVera Orlova;3001;;;;";
const MISTAKES: &str = "name;telegram id;phone;role;site;rate\nVera Orlova;nobody;;king;nowhere;much";

#[tokio::test]
async fn panels_questions_and_previews_are_accessible() {
    in_the_demo("states", |page| async move {
        let mut inspection = Inspection::new(&page).await;
        enter(&page, ANNA).await;
        panels(&page, &mut inspection).await;
        questions(&page, &mut inspection).await;
        previews(&page, &mut inspection).await;
        errors(&page, &mut inspection).await;
        inspection.finish();
    })
    .await;
}

#[tokio::test]
async fn dialogs_menus_and_folds_are_accessible() {
    in_the_demo("opened", |page| async move {
        let mut inspection = Inspection::new(&page).await;
        enter(&page, ANNA).await;
        let person = first_link(&page, "/people", "/people/").await;
        let site = first_link(&page, "/sites", "/sites/").await;
        let shift = first_link(&page, "/shifts", "/shifts/").await;
        let settings = format!("{site}/settings");
        let contracts = format!("{person}/contracts");
        for path in ["/", &person, &contracts, &settings, &shift, "/payroll", "/design"] {
            open(&page, path).await;
            inspection.look_into_everything(path).await;
        }
        page.set_width(DESKTOP).await;
        page.press("search-button").await;
        page.fill("palette-input", "daria").await;
        page.find_css("#palette .hit").await;
        inspection.look("the command palette").await;
        inspection.finish();
    })
    .await;
}

#[tokio::test]
async fn an_empty_business_is_accessible() {
    let (cabinet, base) = Cabinet::new_business().await;
    visit_pages(Arc::clone(&cabinet.emulator), &base, "empty-business", Screen::Desktop, |page| async move {
        let mut inspection = Inspection::new(&page).await;
        page.set_color_scheme("light").await;
        owners_week::sign_in(&page, "/sign-in", ANNA).await;
        page.find("account").await;
        for path in PAGES {
            check(&page, &mut inspection, path).await;
        }
        inspection.finish();
    })
    .await;
    cabinet.close().await;
}

async fn in_the_demo<Steps>(test: &str, steps: impl FnOnce(Page) -> Steps)
where
    Steps: Future<Output = ()> + 'static,
{
    let folder = tempfile::tempdir().unwrap();
    let demo = Arc::new(Demo::product(&folder, &["--language", "en"]).await);
    let base = demo.base.clone();
    visit_pages(Arc::clone(&demo), &base, test, Screen::Desktop, steps).await;
    Arc::into_inner(demo).expect("no other owner of the demo").stop().await;
}

async fn enter(page: &Page, person: i64) {
    page.set_color_scheme("light").await;
    page.set_cookies(&sign_in(&page.demo, person).await).await;
}

async fn panels(page: &Page, inspection: &mut Inspection<'_>) {
    let slot = first_link(page, "/calendar", "/calendar?day=").await;
    assert!(slot.contains("&slot="), "{slot}");
    for path in [&slot, "/calendar?panel=copy", "/search?q=zzzzzz"] {
        check(page, inspection, path).await;
    }
}

/// The questions before the end of a block, and before a closed month is opened again.
async fn questions(page: &Page, inspection: &mut Inspection<'_>) {
    let daria = first_link(page, "/people?q=Daria", "/people/").await;
    page.goto(&format!("{daria}/block")).await;
    page.press("block").await;
    page.wait_until("the person is blocked", &format!("location.pathname === {daria:?}")).await;
    check(page, inspection, &format!("{daria}/unblock")).await;
    open(page, "/payroll").await;
    let month = page.evaluate("document.querySelector(\"main a[rel='prev']\").getAttribute('href')").await;
    open(page, month.as_str().unwrap()).await;
    page.press("ask-reopen").await;
    page.find_css("dialog:modal").await;
    inspection.look("the question before a month is opened again").await;
}

async fn previews(page: &Page, inspection: &mut Inspection<'_>) {
    for (what, table) in [("a preview of an import", STAFF), ("mistakes of an import", MISTAKES)] {
        open(page, "/import").await;
        page.fill("text-staff", table).await;
        page.press("check-staff").await;
        page.wait_until(what, "document.querySelector('main table')").await;
        inspection.look(what).await;
        inspection.fits_the_narrowest_phone(what).await;
    }
    let site = first_link(page, "/sites", "/sites/").await;
    open(page, &format!("{site}/broadcast")).await;
    page.set_field("textarea[name='text']", "Come earlier tomorrow.").await;
    page.press("check-broadcast").await;
    page.find("preview").await;
    inspection.look("a preview of a broadcast").await;
    inspection.fits_the_narrowest_phone("a preview of a broadcast").await;
}

/// A link that signs in, a page that does not exist, and one that the person may not see.
async fn errors(page: &Page, inspection: &mut Inspection<'_>) {
    check(page, inspection, "/nothing-here").await;
    enter(page, EDGAR).await;
    check(page, inspection, "/people").await;
    // The browser names the status of these two, and of the import with mistakes.
    for line in page.console_errors().await {
        assert!(
            ["status of 403", "status of 404", "status of 422"].iter().any(|status| line.contains(status)),
            "{line}"
        );
    }
    page.set_cookies(&[]).await;
    check(page, inspection, &sign_in_link(page).await).await;
}

/// Asks the bot for a link that signs in.
async fn sign_in_link(page: &Page) -> String {
    page.demo.says(BORIS, "/cabinet").await;
    page.demo
        .until("the link is in the chat", async |demo| {
            let texts = demo.texts(BORIS).await;
            let (_, token) = texts.iter().rev().find_map(|text| text.split_once("/sign-in/"))?;
            Some(format!("/sign-in/{}", token.split_whitespace().next()?))
        })
        .await
}

async fn check(page: &Page, inspection: &mut Inspection<'_>, path: &str) {
    open(page, path).await;
    inspection.look(path).await;
    inspection.fits_the_narrowest_phone(path).await;
}

async fn open(page: &Page, path: &str) {
    page.set_width(DESKTOP).await;
    page.goto(path).await;
    page.wait_until("the page is drawn", "document.readyState === 'complete'").await;
    assert_ne!(page.evaluate("document.title").await, Value::from(""), "{path} has no title");
}

/// The first link in the content of a page that leads to a record.
async fn first_link(page: &Page, path: &str, start: &str) -> String {
    open(page, path).await;
    let is_record = format!("/^{}\\d/.test(href)", start.replace('/', "\\/").replace('?', "\\?"));
    let hrefs = "[...document.querySelectorAll('main a')].map((link) => link.getAttribute('href'))";
    let link = page.evaluate(&format!("{hrefs}.find((href) => {is_record})")).await;
    link.as_str().unwrap_or_else(|| panic!("{path} has no link to {start}")).to_owned()
}
