//! Pages that refresh themselves in a real browser: also by time, not too often, and without missing a change.

use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Europe::Moscow;
use workforce::application::App;
use workforce::person::Role;
use workforce::shifts::Shifts;
use workforce::sites::{AboutSite, AboutSlot, Hours, Sites};
use workforce::web::Event;

use crate::kit::browser::{Screen, visit_pages};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::overview::owners_week::sign_in;
use crate::shifts::about_contract;

/// A minute takes a tenth of a second.
const FAST_TIMERS: &str = "const every = window.setInterval; window.setInterval = (deed, ms) => every(deed, ms / 600);";

/// Records when the page reloads its parts, and refuses a given number of loads.
const COUNT_LOADS: &str = r#"
    const ask = window.fetch;
    window.loads = [];
    window.refusals = 0;
    window.fetch = (...what) => {
        window.loads.push(performance.now());
        if (window.refusals === 0) return ask(...what);
        window.refusals -= 1;
        return Promise.resolve(new Response("", { status: 429, headers: { "retry-after": "1" } }));
    };
"#;

/// Loads are three seconds apart. A timer may be a little early.
const LOADS_ARE_APART: &str = "window.loads.every((at, place, all) => place === 0 || at - all[place - 1] > 2900)";

/// A site where Boris is expected in an hour.
async fn expect_boris(cabinet: &Cabinet) -> i64 {
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let room = Sites::of_app(&cabinet.app);
    let about =
        AboutSite { name: "Corner cafe".into(), address: "Corner street, 1".into(), ..AboutSite::usual(Moscow) };
    let site = room.create(&anna, about).await.unwrap();
    let contract = about_contract(&[site], false);
    room.create_contract(&anna, boris.id, contract).await.unwrap();
    let slot = AboutSlot::usual("2026-01-01".parse().unwrap(), Hours::new(16 * 60, 20 * 60));
    let slot = room.create_slot(&anna, site, slot).await.unwrap();
    Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap();
    site
}

#[tokio::test]
async fn a_no_show_appears_by_itself() {
    let (cabinet, base) = Cabinet::on_port().await;
    expect_boris(&cabinet).await;
    let clock = cabinet.clock.clone();
    visit_pages(Arc::clone(&cabinet.emulator), &base, "not-come", Screen::Desktop, move |page| async move {
        page.add_startup_script(FAST_TIMERS).await;
        sign_in(&page, "/", ANNA).await;
        page.wait_for_text("today-missing", "0").await;
        // Only time passes.
        clock.advance(Duration::from_secs(90 * 60));
        page.wait_for_text("today-missing", "1").await;
    })
    .await;
    cabinet.close().await;
}

#[tokio::test]
async fn loads_are_throttled_and_never_miss_the_last_change() {
    let (cabinet, base) = Cabinet::on_port().await;
    let (site, anna, app) = (expect_boris(&cabinet).await, cabinet.person(ANNA).await, cabinet.app.clone());
    let shifts = Shifts::of_app(&app);
    visit_pages(Arc::clone(&cabinet.emulator), &base, "busy-day", Screen::Desktop, move |page| async move {
        page.add_startup_script(COUNT_LOADS).await;
        sign_in(&page, "/", ANNA).await;
        page.wait_for_text("today-open", "0").await;
        page.wait_until("the page is live", "document.documentElement.dataset.live === 'on'").await;
        for at in 1..=3 {
            publish_many_events(&app);
            page.wait_until("the page loads its parts again", &format!("window.loads.length >= {at}")).await;
        }
        publish_many_events(&app);
        shifts.open_site(&anna, site).await.unwrap();
        page.wait_for_text("today-open", "1").await;
        page.wait_until("loads are apart", LOADS_ARE_APART).await;
        // A refused load is repeated, although nothing else changes.
        page.evaluate("(window.refusals = 2)").await;
        shifts.close_site(&anna, site).await.unwrap();
        page.wait_for_text("today-open", "0").await;
        page.wait_until("loads are apart", &format!("window.refusals === 0 && {LOADS_ARE_APART}")).await;
    })
    .await;
    cabinet.close().await;
}

/// Dozens of events that change nothing on this page.
fn publish_many_events(app: &App) {
    for _ in 0..30 {
        app.events.publish(Event::to_roles("shifts", &[Role::Owner]));
    }
}
