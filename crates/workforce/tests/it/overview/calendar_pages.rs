//! The calendar and today without a browser: side panels, undo, empty businesses, late takers.

use workforce::shifts::Shifts;
use workforce::sites::Sites;

use crate::kit::cabinet::{Browser, Cabinet, PageResponse};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind};
use crate::overview::business_pages::{make_site, sql};
use crate::shifts::moved_slots::hire_boris;

const SLOT: [(&str, &str); 4] = [("starts", "09:00"), ("ends", "18:00"), ("capacity", "2"), ("day", "2026-01-05")];

async fn add_slot(owner: &Browser, site: i64, more: &[(&str, &str)]) -> PageResponse {
    let site = site.to_string();
    owner.post("/calendar/slots", &[&SLOT[..], &[("site", site.as_str())], more].concat()).await
}

async fn only_slot(cabinet: &Cabinet) -> i64 {
    let sites: Vec<i64> = Sites::of_app(&cabinet.app).list().await.unwrap().iter().map(|site| site.id).collect();
    let week = workforce::sites::Period::of_days("2026-01-01".parse().unwrap(), 14, chrono_tz::Tz::UTC).unwrap();
    let slots = Sites::of_app(&cabinet.app).slots(&sites, week).await.unwrap();
    assert_eq!(slots.len(), 1, "{slots:?}");
    slots[0].id
}

#[tokio::test]
async fn an_empty_business_is_led_to_its_first_site() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let calendar = owner.get("/calendar").await;
    calendar.is(200, "data-testid=\"empty-calendar\"").is(200, "Add a site");
    assert!(!calendar.body.contains("data-testid=\"calendar-site\""), "{}", calendar.body);
    let today = owner.get("/").await;
    today.is(200, "data-testid=\"checklist\"").is(200, "href=\"/sites\"").is(200, "href=\"/contracts/new\"");
    // A step ticks itself.
    let done = |page: &PageResponse| page.body.matches("class=\"done\"").count();
    let before = done(&today);
    let site = make_site(&cabinet, &owner).await;
    assert_eq!(done(&owner.get("/").await), before + 1);
    add_slot(&owner, site, &[]).await;
    assert_eq!(done(&owner.get("/").await), before + 2);
    cabinet.close().await;
}

#[tokio::test]
async fn a_slot_opens_in_a_panel_by_its_link() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    add_slot(&owner, site, &[]).await;
    let slot = only_slot(&cabinet).await;
    let place = "site=&view=week&day=2026-01-05";
    let open = format!("/calendar?{place}&slot={slot}");
    let page = owner.get("/calendar?day=2026-01-05").await;
    page.is(200, &format!("href=\"/calendar?day=2026-01-05&amp;slot={slot}\""));
    let panel = owner.get(&open).await;
    panel
        .is(200, "data-testid=\"panel\"")
        .is(200, "Monday, January 5, 09:00–18:00")
        .is(200, "data-testid=\"save-slot\"");
    // Without any contract for the site there is no one to assign, and the page says why.
    panel.is(200, "No one has a contract for this site yet").is(200, &format!("href=\"/contracts/new?site={site}\""));
    // A form of the panel leads back to the panel, and a mistake stays in it.
    let edit = [&SLOT[..], &[("version", "1"), ("title", "Cook"), ("at", place)]].concat();
    let path = format!("/calendar/slots/{slot}");
    owner.post(&path, &edit).await.redirects_to(&format!("/calendar?site=&day=2026-01-05&slot={slot}"));
    owner.get(&open).await.is(200, "Shift saved.").is(200, "value=\"Cook\"");
    let wrong = [&SLOT[..], &[("version", "2"), ("capacity", "none"), ("at", place)]].concat();
    owner.post(&path, &wrong).await.is(422, "data-testid=\"panel\"").is(422, "value=\"none\"");
    cabinet.close().await;
}

#[tokio::test]
async fn creating_moving_and_deleting_are_undone() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let at = ("at", "site=&day=2026-01-05");
    add_slot(&owner, site, &[at]).await.redirects_to("/calendar?site=&day=2026-01-05");
    let slot = only_slot(&cabinet).await;
    let path = format!("/calendar/slots/{slot}");
    let shown = async || Sites::of_app(&cabinet.app).slot(slot).await.unwrap().unwrap();
    let week = "/calendar?day=2026-01-05";
    owner.get(week).await.is(200, "Shift added.").is(200, &format!("action=\"{path}/delete\""));
    owner.post(&format!("{path}/move"), &[("day", "2026-01-06"), ("version", "1"), at]).await;
    let moved = owner.get(week).await;
    moved.is(200, "Shift moved.").is(200, "name=\"day\" value=\"2026-01-05\"").is(200, "name=\"version\" value=\"2\"");
    owner.post(&format!("{path}/move"), &[("day", "2026-01-05"), ("version", "2"), at]).await;
    assert_eq!(shown().await.about.day.to_string(), "2026-01-05");
    owner.post(&format!("{path}/delete"), &[("version", "3"), at]).await.redirects_to("/calendar?site=&day=2026-01-05");
    assert!(shown().await.deleted_at.is_some());
    owner.get(week).await.is(200, "Shift deleted.").is(200, &format!("action=\"{path}/restore\""));
    owner.post(&format!("{path}/restore"), &[at]).await.redirects_to("/calendar?site=&day=2026-01-05");
    assert!(shown().await.deleted_at.is_none());
    // What was changed since is not overwritten: the calendar stays, with a message.
    let stale = owner.post(&format!("{path}/move"), &[("day", "2026-01-07"), ("version", "1"), at]).await;
    stale.is(409, "data-testid=\"calendar\"").is(409, "Someone changed this first");
    cabinet.close().await;
}

#[tokio::test]
async fn saving_and_restoring_are_undone() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let at = ("at", "site=&day=2026-01-05");
    add_slot(&owner, site, &[at, ("title", "\"Bar\" & hall"), ("rate", "300.50")]).await;
    let slot = only_slot(&cabinet).await;
    let path = format!("/calendar/slots/{slot}");
    let shown = async || Sites::of_app(&cabinet.app).slot(slot).await.unwrap().unwrap();
    let before = shown().await.about;
    let edit = [("day", "2026-01-06"), ("starts", "10:00"), ("ends", "12:00"), ("capacity", "3"), ("version", "1"), at];
    let saved = owner.post(&path, &edit).await;
    assert_ne!(shown().await.about, before);
    let undone = owner.press_toast(&saved).await;
    undone.redirects_to(&format!("/calendar?site=&day=2026-01-05&slot={slot}"));
    assert_eq!(shown().await.about, before);
    // On the slot's own page, too. What another person changed since is not overwritten.
    let saved = owner.post(&path, &[&edit[..4], &[("version", "3")]].concat()).await;
    saved.redirects_to(&path);
    Sites::of_app(&cabinet.app).edit_slot(&cabinet.person(ANNA).await, slot, 4, before.clone()).await.unwrap();
    owner.press_toast(&saved).await.is(409, "Someone changed this first");
    assert_eq!(shown().await.about, before);

    owner.post(&format!("{path}/delete"), &[("version", "5"), at]).await;
    let restored = owner.post(&format!("{path}/restore"), &[at]).await;
    assert!(shown().await.deleted_at.is_none());
    owner.press_toast(&restored).await.redirects_to("/calendar?site=&day=2026-01-05");
    assert!(shown().await.deleted_at.is_some());
    cabinet.close().await;
}

#[tokio::test]
async fn assigning_and_taking_out_a_person_are_undone() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let boris = hire_boris(&cabinet, site).await.id;
    let place = "site=&day=2026-01-05";
    add_slot(&owner, site, &[("at", place)]).await;
    let slot = only_slot(&cabinet).await;
    let (path, open) = (format!("/calendar/slots/{slot}"), format!("/calendar?{place}&slot={slot}"));
    let taken = async || Sites::of_app(&cabinet.app).slot(slot).await.unwrap().unwrap().taken;
    let assign = async || owner.post(&format!("{path}/plans"), &[("user", &boris.to_string()), ("at", place)]).await;
    let assigned = assign().await;
    assert_eq!(taken().await, 1);
    owner.press_toast(&assigned).await.redirects_to(&open);
    assert_eq!(taken().await, 0);

    assign().await;
    let plan = Shifts::of_app(&cabinet.app).plans_of(boris, NOON).await.unwrap()[0].id;
    // The question needs no script, and says what happens.
    let page = owner.get(&open).await;
    page.is(200, &format!("href=\"#take-out-{plan}\"")).is(200, "Cancel this shift for Boris?");
    let taken_out = owner.post(&format!("{path}/plans/{plan}/cancel"), &[("at", place)]).await;
    assert_eq!(taken().await, 0);
    owner.press_toast(&taken_out).await.redirects_to(&open);
    assert_eq!(taken().await, 1);
    cabinet.close().await;
}

#[tokio::test]
async fn every_marked_day_gets_a_slot() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await.to_string();
    // Of Friday to Sunday, the site works on Friday only.
    let days = [("from", "2026-01-09"), ("to", "2026-01-11"), ("which", "every"), ("site", site.as_str())];
    owner.post("/calendar/fill", &[&SLOT[..3], &days].concat()).await;
    let page = owner.get(&format!("/calendar?site={site}&day=2026-01-09")).await;
    page.is(200, "3 new shifts.").is(200, "action=\"/calendar/take-back\"");
    assert_eq!(page.body.matches("data-slot=").count(), 3, "{}", page.body);
    cabinet.close().await;
}

#[tokio::test]
async fn a_range_that_does_not_fit_says_what_to_type() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await.to_string();
    for last in ["2026-01-08", "2029-01-09"] {
        let days = [("from", "2026-01-09"), ("to", last), ("which", "every"), ("site", site.as_str())];
        let refused = owner.post("/calendar/fill", &[&SLOT[..3], &days].concat()).await;
        refused.is(422, "Enter a date that is not before the first day and at most two years after it");
        refused.is(422, "data-testid=\"error-to\"");
    }
    cabinet.close().await;
}

#[tokio::test]
async fn a_typed_day_opens_the_calendar() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    add_slot(&owner, site, &[]).await;
    let slot = only_slot(&cabinet).await;
    for day in ["2026-01-05", "05.01.2026", "Jan%205,%202026"] {
        owner.get(&format!("/calendar?day={day}")).await.is(200, &format!("day=2026-01-05&amp;slot={slot}"));
    }
    owner.get("/calendar?day=soon").await.is(400, "from 2000 to 2100, for example Dec 31, 2026.");
    cabinet.close().await;
}

#[tokio::test]
async fn past_slots_are_quiet_and_only_coming_gaps_stand_out() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    add_slot(&owner, site, &[("day", "2025-12-29")]).await;
    add_slot(&owner, site, &[("day", "2026-01-02")]).await;
    let page = owner.get("/calendar?day=2026-01-01").await;
    let colour = format!("slot site-{}", site % 10);
    page.is(200, &format!("class=\"{colour} past\"")).is(200, &format!("class=\"{colour} gap\""));
    page.is(200, "class=\"day today").is(200, "data-testid=\"to-today\"");
    // Around the clock, and a rate as people write it.
    add_slot(&owner, site, &[("day", "2026-01-03"), ("starts", "00:00"), ("ends", "00:00")]).await;
    owner.get("/calendar?day=2026-01-01").await.is(200, "around the clock");
    cabinet.close().await;
}

#[tokio::test]
async fn a_person_who_takes_a_running_slot_is_not_missing_yet() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let boris = cabinet.person(BORIS).await.id;
    // Noon in UTC is three in Moscow; the slot is from one to six there. The place was taken a minute ago.
    sql(&cabinet, format!(
        "INSERT INTO time_slots (id, site_id, day, starts_minute, ends_minute, starts_at, ends_at, capacity, taken,
            created_at, updated_at) VALUES (1, {site}, '2026-01-01', 780, 1080, 1767261600000, 1767279600000, 1, 1, 0, 0);
        INSERT INTO shift_plans (id, user_id, slot_id, site_id, starts_at, ends_at, status, created_at, updated_at)
            VALUES (1, {boris}, 1, {site}, 1767261600000, 1767279600000, 'planned', 1767268740000, 1767268740000)"
    )).await;
    let page = owner.get("/").await;
    page.is(200, "data-testid=\"today-missing\">0<").is(200, "expected 13:00–18:00");
    cabinet.clock.advance(std::time::Duration::from_secs(20 * 60));
    owner.get("/").await.is(200, "data-testid=\"today-missing\">1<").is(200, "data-testid=\"attention-no-show\"");
    cabinet.close().await;
}
