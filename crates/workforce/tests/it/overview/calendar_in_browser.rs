//! The calendar in a real browser: slots are created and moved by mouse, keys and touch; views, copies, working days.

use std::sync::Arc;

use chrono::NaiveDate;
use serde_json::Value;
use workforce::settings::TIME_ZONE;
use workforce::sites::{AboutSite, AboutSlot, Hours, Sites};

use crate::kit::browser::{Screen, visit_pages};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, until};
use crate::kit::page::Page;
use crate::overview::owners_week::sign_in;
use crate::shifts::moved_slots::hire_boris;

#[tokio::test]
async fn slots_are_created_and_moved_by_dragging() {
    on_calendar(Screen::Desktop, async |page, site| drag(&page, site).await).await;
}

#[tokio::test]
async fn slots_are_created_and_moved_on_a_phone() {
    on_calendar(Screen::Phone, async |page, site| tap(&page, site).await).await;
}

/// It is the first of January, and the month has a shift on most days.
#[tokio::test]
async fn a_phones_calendar_begins_with_today() {
    let (cabinet, base) = Cabinet::on_port().await;
    let (anna, room) = (cabinet.person(ANNA).await, Sites::of_app(&cabinet.app));
    let about = AboutSite { name: "Corner cafe".into(), ..AboutSite::usual(TIME_ZONE.default) };
    let about = AboutSite { address: "Corner street, 1".into(), ..about };
    let site = room.create(&anna, about).await.unwrap();
    for day in 1..=25 {
        let day = NaiveDate::from_ymd_opt(2026, 1, day).unwrap();
        room.create_slot(&anna, site, AboutSlot::usual(day, Hours::new(20 * 60, 22 * 60))).await.unwrap();
    }
    visit_pages(Arc::clone(&cabinet.emulator), &base, "calendar-today", Screen::Phone, move |page| async move {
        sign_in(&page, &format!("/calendar?site={site}&view=month&day=2026-01-01"), ANNA).await;
        page.find("calendar").await;
        until("today is at the top", async || {
            let scrolled = page.evaluate("window.scrollY").await.as_f64().unwrap();
            let today = "document.querySelector('.week .day.today').getBoundingClientRect().top";
            let top = page.evaluate(today).await.as_f64().unwrap();
            (scrolled > 0.0 && (0.0..120.0).contains(&top)).then_some(())
        })
        .await;
    })
    .await;
    cabinet.close().await;
}

/// Opens the week after the first of January, at a site that works from Monday to Friday.
async fn on_calendar(screen: Screen, walk: impl AsyncFnOnce(Page, i64) + 'static) {
    let (cabinet, base) = Cabinet::on_port().await;
    let anna = cabinet.person(ANNA).await;
    let usual = AboutSite::usual(TIME_ZONE.default);
    let about = AboutSite { name: "Corner cafe".into(), address: "Corner street, 1".into(), ..usual };
    let room = Sites::of_app(&cabinet.app);
    let quiet = AboutSite { name: "Quiet bar".into(), ..about.clone() };
    let site = room.create(&anna, about).await.unwrap();
    room.create(&anna, quiet).await.unwrap();
    hire_boris(&cabinet, site).await;
    visit_pages(Arc::clone(&cabinet.emulator), &base, "calendar", screen, move |page| async move {
        sign_in(&page, &week(site, "2026-01-05"), ANNA).await;
        page.find("calendar").await;
        walk(page, site).await;
    })
    .await;
    cabinet.close().await;
}

async fn drag(page: &Page, site: i64) {
    // A drag over several days creates a slot on every one of them, working day or not. It can be undone.
    page.drag("[data-day='2026-01-09']", "[data-day='2026-01-11']").await;
    wait_for_fields(page, &[("from", "2026-01-09"), ("to", "2026-01-11")]).await;
    page.press("fill").await;
    wait_for_slots(page, &[("09", 1), ("10", 1), ("11", 1)]).await;
    page.press("toast-action").await;
    wait_for_slots(page, &[("09", 0), ("10", 0), ("11", 0)]).await;
    page.drag("[data-day='2026-01-06']", "[data-day='2026-01-08']").await;
    wait_for_fields(page, &[("from", "2026-01-06"), ("to", "2026-01-08")]).await;
    page.screenshot("1-dragged-over-days").await;
    page.press("fill").await;
    wait_for_slots(page, &[("06", 1), ("07", 1), ("08", 1)]).await;
    // A slot is dragged to another day, and back by one press.
    page.drag("[data-day='2026-01-06'] .slot", "[data-day='2026-01-09']").await;
    wait_for_slots(page, &[("06", 0), ("09", 1)]).await;
    page.press("toast-action").await;
    wait_for_slots(page, &[("06", 1), ("09", 0)]).await;
    // A day that has such a slot already refuses it, and the calendar says so.
    page.drag("[data-day='2026-01-06'] .slot", "[data-day='2026-01-07']").await;
    page.wait_for_text("notice", "There is already a shift at this time on this day.").await;
    wait_for_slots(page, &[("06", 1), ("07", 1)]).await;
    page.goto(&week(site, "2026-01-05")).await;
    page.drag("[data-day='2026-01-06'] .slot", "[data-day='2026-01-09']").await;
    wait_for_slots(page, &[("06", 0), ("09", 1)]).await;
    // A slot that is dropped where it was is not opened.
    page.drag("[data-day='2026-01-09'] .slot", "[data-day='2026-01-09'] .date").await;
    wait_for_slots(page, &[("09", 1)]).await;
    // A click into a day, and the keyboard.
    page.press_css("[data-day='2026-01-05'] .date .quiet").await;
    wait_for_fields(page, &[("day", "2026-01-05")]).await;
    page.press("create-slot").await;
    wait_for_slots(page, &[("05", 1)]).await;
    page.type_keys("add-2026-01-10", "\u{e007}").await;
    wait_for_fields(page, &[("day", "2026-01-10")]).await;
    page.press("create-slot").await;
    wait_for_slots(page, &[("10", 1)]).await;
    // Overlapping slots and long days get a warning.
    add(page, "2026-01-05", "08:00", "22:00").await;
    page.wait_for_count("[data-day='2026-01-05'] .slot .warns", 3).await;
    page.screenshot("2-week").await;
    page.set_color_scheme("dark").await;
    page.screenshot("3-week-dark").await;
    page.set_color_scheme("light").await;
    page.press_css("[data-day='2026-01-05'] .slot").await;
    page.find("warning").await;
    page.screenshot("4-slot").await;
    assign(page).await;
    undo(page, site).await;
    views(page, site).await;
}

async fn tap(page: &Page, site: i64) {
    page.press("add-2026-01-06").await;
    wait_for_fields(page, &[("day", "2026-01-06")]).await;
    page.press("create-slot").await;
    wait_for_slots(page, &[("06", 1)]).await;
    page.assert_no_overflow().await;
    page.screenshot("1-week").await;
    // On a phone a slot is moved in its panel.
    page.press_css("[data-day='2026-01-06'] .slot").await;
    page.find("save-slot").await;
    page.assert_no_overflow().await;
    page.set_field("form:has([data-testid='save-slot']) [name='day']", "2026-01-09").await;
    page.press("save-slot").await;
    page.sees("Shift saved.").await;
    page.screenshot("2-slot").await;
    // That is undone in the panel, too.
    page.press("toast-action").await;
    wait_for_slots(page, &[("06", 1), ("09", 0)]).await;
    page.set_field("form:has([data-testid='save-slot']) [name='day']", "2026-01-09").await;
    page.press("save-slot").await;
    wait_for_slots(page, &[("06", 0), ("09", 1)]).await;
    assign(page).await;
    page.goto(&week(site, "2026-01-05")).await;
    wait_for_slots(page, &[("06", 0), ("09", 1)]).await;
    page.press("fill-open").await;
    page.press_css("[name='which'][value='working']").await;
    page.press("fill").await;
    wait_for_slots(page, &[("05", 1), ("06", 1), ("07", 1), ("08", 1), ("09", 1), ("10", 0)]).await;
    add(page, "2026-01-05", "08:00", "22:00").await;
    page.wait_for_count("[data-day='2026-01-05'] .slot .warns", 3).await;
    page.assert_no_overflow().await;
    page.screenshot_full("3-week").await;
    undo(page, site).await;
    views(page, site).await;
}

/// Assigns Boris to the slot of the panel, undoes that, assigns him again and takes him out after a question.
async fn assign(page: &Page) {
    let rows = "#plans li[data-testid^='plan-']";
    page.press("put").await;
    page.wait_for_count(rows, 1).await;
    page.press("toast-action").await;
    page.wait_for_count(rows, 0).await;
    page.press("put").await;
    page.wait_for_count(rows, 1).await;
    page.press_css("[data-testid^='ask-cancel-']").await;
    page.press_css("dialog:modal [data-testid^='cancel-']").await;
    page.wait_for_count(rows, 0).await;
    page.press("toast-action").await;
    page.wait_for_count(rows, 1).await;
}

/// A deleted slot is listed in the calendar and can be restored.
async fn undo(page: &Page, site: i64) {
    page.goto(&week(site, "2026-01-05")).await;
    let id = page.evaluate("document.querySelector(\"[data-day='2026-01-08'] .slot\").dataset.slot").await;
    let id = id.as_str().unwrap();
    page.press_css("[data-day='2026-01-08'] .slot").await;
    page.press("delete-slot").await;
    wait_for_slots(page, &[("08", 0)]).await;
    page.press("toast-action").await;
    wait_for_slots(page, &[("08", 1)]).await;
    page.press_css("[data-day='2026-01-08'] .slot").await;
    page.press("delete-slot").await;
    wait_for_slots(page, &[("08", 0)]).await;
    page.goto(&week(site, "2026-01-05")).await;
    page.expand("deleted-slots").await;
    page.press_css(&format!("[data-testid='deleted-{id}'] [data-testid='restore-slot']")).await;
    wait_for_slots(page, &[("08", 1)]).await;
}

/// Copies a week and shows it by month, by week, and for all sites.
async fn views(page: &Page, site: i64) {
    let count = page.evaluate("document.querySelectorAll('.slot').length").await.as_u64().unwrap();
    page.press("copy-open").await;
    page.press("copy-week").await;
    page.wait_for_count("[data-day='2026-01-12']", 1).await;
    page.wait_for_count(".slot", usize::try_from(count).unwrap()).await;
    page.goto(&format!("/calendar?site={site}&view=month&day=2026-01-05")).await;
    page.wait_for_count(".slot", usize::try_from(count * 2).unwrap()).await;
    page.assert_no_overflow().await;
    page.screenshot("5-month").await;
    page.goto("/calendar?day=2026-01-05").await;
    page.wait_for_count(".slot", usize::try_from(count).unwrap()).await;
    page.assert_no_overflow().await;
    page.screenshot("6-all-sites").await;
    // The filter applies when it is chosen; there is no button to press.
    assert_eq!(page.evaluate("document.querySelector('form[data-instant] button').offsetParent").await, Value::Null);
    page.choose("calendar-site", "Quiet bar").await;
    page.wait_for_count(".slot", 0).await;
    page.choose("calendar-site", "Corner cafe").await;
    page.wait_for_count(".slot", usize::try_from(count).unwrap()).await;
    page.goto("/calendar?day=2026-01-05").await;
    // Adding asks for the site.
    page.press("new-slot").await;
    page.find("slot-site").await;
    page.press_css("[data-closes-panel]").await;
    page.wait_for_count("[data-testid='panel']", 0).await;
}

fn week(site: i64, day: &str) -> String {
    format!("/calendar?site={site}&day={day}")
}

/// Adds a slot with the form.
async fn add(page: &Page, day: &str, starts: &str, ends: &str) {
    page.press(&format!("add-{day}")).await;
    wait_for_fields(page, &[("day", day)]).await;
    page.set_field("#side [name='starts']", starts).await;
    page.set_field("#side [name='ends']", ends).await;
    page.press("create-slot").await;
}

/// Waits until the side panel has these values.
async fn wait_for_fields(page: &Page, fields: &[(&str, &str)]) {
    for (name, value) in fields {
        let field = format!("document.querySelector(\"#side .panel [name='{name}']\")?.value === {value:?}");
        page.wait_until(&format!("the panel has {name} {value}"), &field).await;
    }
}

/// Waits until the days of January have these numbers of slots.
async fn wait_for_slots(page: &Page, days: &[(&str, usize)]) {
    for (day, count) in days {
        page.wait_until(
            &format!("{count} slots on {day}"),
            &format!(
                "document.querySelector(\"[data-day='2026-01-{day}']\") && \
             document.querySelectorAll(\"[data-day='2026-01-{day}'] .slot\").length === {count}"
            ),
        )
        .await;
    }
}
