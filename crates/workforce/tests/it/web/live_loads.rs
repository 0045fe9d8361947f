//! Pages that keep themselves up to date, in a real browser: by the clock too, not too often, and with nothing lost.

use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Europe::Moscow;
use workforce::application::App;
use workforce::person::Role;
use workforce::shifts::Shifts;
use workforce::sites::{AboutContract, AboutSite, AboutSlot, ContractStatus, Hours, Sites};
use workforce::web::Event;

use crate::kit::browser::{Screen, browse};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::overview::owners_week::sign_in;

/// A minute takes a tenth of a second.
const HURRY: &str = "const every = window.setInterval; window.setInterval = (deed, ms) => every(deed, ms / 600);";

/// Notes when the page loads anew, and refuses that as often as it is told to.
const COUNT: &str = r#"
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

/// Loads are three seconds apart; a timer may be a little early by its own clock.
const APART: &str = "window.loads.every((at, place, all) => place === 0 || at - all[place - 1] > 2900)";

/// A site where Boris is expected in an hour.
async fn expected(cabinet: &Cabinet) -> i64 {
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let doors = Sites::of_app(&cabinet.app);
    let about =
        AboutSite { name: "Corner cafe".into(), address: "Corner street, 1".into(), ..AboutSite::usual(Moscow) };
    let site = doors.create(&anna, about).await.unwrap();
    let status = ContractStatus::Active;
    let contract = AboutContract { status, rate_kopecks: None, allows_spontaneous: false, sites: vec![site] };
    doors.create_contract(&anna, boris.id, contract).await.unwrap();
    let slot = AboutSlot::usual("2026-01-01".parse().unwrap(), Hours::new(16 * 60, 20 * 60));
    let slot = doors.create_slot(&anna, site, slot).await.unwrap();
    Shifts::of_app(&cabinet.app).plan(&boris, boris.id, slot).await.unwrap();
    site
}

#[tokio::test]
async fn who_has_not_come_shows_up_by_itself_when_the_time_is_over() {
    let (cabinet, base) = Cabinet::on_a_port().await;
    expected(&cabinet).await;
    let clock = cabinet.clock.clone();
    browse(Arc::clone(&cabinet.emulator), &base, "not-come", Screen::Desktop, move |page| async move {
        page.runs_first(HURRY).await;
        sign_in(&page, "/", ANNA).await;
        page.reads("today-missing", "0").await;
        // Nothing happens but that time passes.
        clock.advance(Duration::from_secs(90 * 60));
        page.reads("today-missing", "1").await;
    })
    .await;
    cabinet.close().await;
}

#[tokio::test]
async fn a_page_loads_what_changes_every_few_seconds_and_never_misses_the_last_change() {
    let (cabinet, base) = Cabinet::on_a_port().await;
    let (site, anna, app) = (expected(&cabinet).await, cabinet.person(ANNA).await, cabinet.app.clone());
    let shifts = Shifts::of_app(&app);
    browse(Arc::clone(&cabinet.emulator), &base, "busy-day", Screen::Desktop, move |page| async move {
        page.runs_first(COUNT).await;
        sign_in(&page, "/", ANNA).await;
        page.reads("today-open", "0").await;
        page.until("the page is live", "document.documentElement.dataset.live === 'on'").await;
        for at in 1..=3 {
            much_happens(&app);
            page.until("it is loaded anew", &format!("window.loads.length >= {at}")).await;
        }
        much_happens(&app);
        shifts.open_site(&anna, site).await.unwrap();
        page.reads("today-open", "1").await;
        page.until("loads are apart", APART).await;
        // What was refused is asked for again, though nothing more happens.
        page.evaluate("(window.refusals = 2)").await;
        shifts.close_site(&anna, site).await.unwrap();
        page.reads("today-open", "0").await;
        page.until("loads are apart", &format!("window.refusals === 0 && {APART}")).await;
    })
    .await;
    cabinet.close().await;
}

/// Dozens of changes that show nothing here.
fn much_happens(app: &App) {
    for _ in 0..30 {
        app.events.publish(Event::to_roles("shifts", &[Role::Owner]));
    }
}
