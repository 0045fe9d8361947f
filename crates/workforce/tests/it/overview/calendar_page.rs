//! The calendar in a real browser: slots are made and moved by a mouse, by keys and by fingers; views, copies, working days.

use std::sync::Arc;

use workforce::settings::TIME_ZONE;
use workforce::sites::{AboutSite, Sites};

use crate::kit::browser::{Screen, browse};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::ANNA;
use crate::kit::page::Page;
use crate::overview::owners_week::sign_in;

#[tokio::test]
async fn slots_are_made_and_moved_by_dragging_on_a_desktop() {
    on_a_calendar(Screen::Desktop, async |page, site| drag(&page, site).await).await;
}

#[tokio::test]
async fn slots_are_made_and_moved_by_fingers_on_a_phone() {
    on_a_calendar(Screen::Phone, async |page, site| tap(&page, site).await).await;
}

/// The week after the first of January, at a site that works from Monday to Friday.
async fn on_a_calendar(screen: Screen, walk: impl AsyncFnOnce(Page, i64) + 'static) {
    let (cabinet, base) = Cabinet::on_a_port().await;
    let anna = cabinet.person(ANNA).await;
    let usual = AboutSite::usual(TIME_ZONE.default);
    let about = AboutSite { name: "Corner cafe".into(), address: "Corner street, 1".into(), ..usual };
    let site = Sites::of_app(&cabinet.app).create(&anna, about).await.unwrap();
    browse(Arc::clone(&cabinet.emulator), &base, "calendar", screen, move |page| async move {
        sign_in(&page, &week(site, "2026-01-05"), ANNA).await;
        page.find("calendar").await;
        walk(page, site).await;
    })
    .await;
    cabinet.close().await;
}

async fn drag(page: &Page, site: i64) {
    // From a day to another: slots on the working days between.
    page.drag("[data-day='2026-01-06']", "[data-day='2026-01-08']").await;
    is_open(page, "#fill-days", &[("from", "2026-01-06"), ("to", "2026-01-08")]).await;
    page.shoot("1-dragged-over-days").await;
    page.press("fill").await;
    slots_on(page, &[("06", 1), ("07", 1), ("08", 1)]).await;
    // A slot to another day.
    page.drag("[data-day='2026-01-06'] .slot", "[data-day='2026-01-09']").await;
    slots_on(page, &[("06", 0), ("09", 1)]).await;
    // One that is put back where it was is not opened by that, and a click opens it.
    page.drag("[data-day='2026-01-09'] .slot", "[data-day='2026-01-09'] .date").await;
    slots_on(page, &[("09", 1)]).await;
    // A click into a day, and keys.
    page.press_css("[data-day='2026-01-05'] .date .quiet").await;
    is_open(page, "#new-slot", &[("day", "2026-01-05")]).await;
    page.press("create-slot").await;
    slots_on(page, &[("05", 1)]).await;
    page.type_keys("add-2026-01-10", "\u{e007}").await;
    is_open(page, "#new-slot", &[("day", "2026-01-10")]).await;
    page.press("create-slot").await;
    slots_on(page, &[("10", 1)]).await;
    // Hours that meet and days that are long are pointed at.
    add(page, "2026-01-05", "08:00", "22:00").await;
    page.counts("[data-day='2026-01-05'] .slot .warns", 3).await;
    page.shoot("2-week").await;
    page.prefers("dark").await;
    page.shoot("3-week-dark").await;
    page.prefers("light").await;
    page.press_css("[data-day='2026-01-05'] .slot").await;
    page.find("warning").await;
    page.shoot_whole("4-slot").await;
    undo(page, site).await;
    views(page, site).await;
}

async fn tap(page: &Page, site: i64) {
    page.press("add-2026-01-06").await;
    is_open(page, "#new-slot", &[("day", "2026-01-06")]).await;
    page.press("create-slot").await;
    slots_on(page, &[("06", 1)]).await;
    page.fits().await;
    page.shoot("1-week").await;
    // To another day: by its page.
    page.press_css("[data-day='2026-01-06'] .slot").await;
    page.find("save-slot").await;
    page.fits().await;
    page.type_over("form:has([data-testid='save-slot']) [name='day']", "2026-01-09").await;
    page.press("save-slot").await;
    // A picture that is taken while another page comes is never done.
    page.until("it is saved", "document.querySelector('h1').textContent.endsWith('09.01.2026')").await;
    page.shoot_whole("2-slot").await;
    page.goto(&week(site, "2026-01-05")).await;
    slots_on(page, &[("06", 0), ("09", 1)]).await;
    page.unfold("fill-open").await;
    page.press("fill").await;
    slots_on(page, &[("05", 1), ("06", 1), ("07", 1), ("08", 1), ("09", 1), ("10", 0)]).await;
    add(page, "2026-01-05", "08:00", "22:00").await;
    page.counts("[data-day='2026-01-05'] .slot .warns", 3).await;
    page.fits().await;
    page.shoot_whole("3-week").await;
    undo(page, site).await;
    views(page, site).await;
}

/// What was deleted is found in the calendar, and comes back.
async fn undo(page: &Page, site: i64) {
    page.goto(&week(site, "2026-01-05")).await;
    let id = page.evaluate("document.querySelector(\"[data-day='2026-01-08'] .slot\").dataset.slot").await;
    let id = id.as_str().unwrap();
    page.press_css("[data-day='2026-01-08'] .slot").await;
    page.press("delete-slot").await;
    page.find("restore-slot").await;
    page.goto(&week(site, "2026-01-05")).await;
    slots_on(page, &[("08", 0)]).await;
    page.unfold("deleted-slots").await;
    page.press_css(&format!("[data-testid='deleted-{id}'] [data-testid='restore-slot']")).await;
    page.find("save-slot").await;
    page.goto(&week(site, "2026-01-05")).await;
    slots_on(page, &[("08", 1)]).await;
}

/// A week is copied, and looked at by month, by week, and of all sites.
async fn views(page: &Page, site: i64) {
    let count = page.evaluate("document.querySelectorAll('.slot').length").await.as_u64().unwrap();
    page.unfold("copy-open").await;
    page.press("copy-week").await;
    page.counts("[data-day='2026-01-12']", 1).await;
    page.counts(".slot", usize::try_from(count).unwrap()).await;
    page.goto(&format!("/calendar?site={site}&view=month&day=2026-01-05")).await;
    page.counts(".slot", usize::try_from(count * 2).unwrap()).await;
    page.fits().await;
    page.shoot("5-month").await;
    page.goto("/calendar?day=2026-01-05").await;
    page.counts(".slot", usize::try_from(count).unwrap()).await;
    page.fits().await;
    page.shoot("6-all-sites").await;
    page.counts("[data-testid^='add-']", 0).await;
}

fn week(site: i64, day: &str) -> String {
    format!("/calendar?site={site}&day={day}")
}

/// Adds a slot by the form.
async fn add(page: &Page, day: &str, starts: &str, ends: &str) {
    page.press(&format!("add-{day}")).await;
    is_open(page, "#new-slot", &[("day", day)]).await;
    page.type_over("#new-slot [name='starts']", starts).await;
    page.type_over("#new-slot [name='ends']", ends).await;
    page.press("create-slot").await;
}

async fn is_open(page: &Page, sheet: &str, fields: &[(&str, &str)]) {
    for (name, value) in fields {
        let field = format!("document.querySelector(\"{sheet}[open] [name='{name}']\")?.value === {value:?}");
        page.until(&format!("{sheet} has {name} {value}"), &field).await;
    }
}

/// Waits until days of January have so many slots.
async fn slots_on(page: &Page, days: &[(&str, usize)]) {
    for (day, count) in days {
        page.until(
            &format!("{count} slots on {day}"),
            &format!(
                "document.querySelector(\"[data-day='2026-01-{day}']\") && \
             document.querySelectorAll(\"[data-day='2026-01-{day}'] .slot\").length === {count}"
            ),
        )
        .await;
    }
}
