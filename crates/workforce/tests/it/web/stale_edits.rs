//! Two people edit the same form: the second sees both versions, loses nothing, and may save on top.

use workforce::money::Money;
use workforce::person::{Permission, Role};
use workforce::sites::Sites;

use crate::kit::cabinet::{Browser, Cabinet, PageResponse};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;
use crate::overview::business_pages::{MAY, make_site, site_form_with};
use crate::payroll::{january, post_352};

const CHANGED_BY_ANOTHER: &str = "Someone changed this first, while you were writing.";

#[tokio::test]
async fn a_stale_contract_shows_both_versions() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let boris = cabinet.person(BORIS).await.id;
    let (page, ticked) = (format!("/people/{boris}/contracts"), format!("site{site}"));
    owner.post(&page, &[("status", "active"), ("rate", "300"), (&ticked, "on")]).await.redirects_to(&page);
    let path = format!("/contracts/{}", Sites::of_app(&cabinet.app).contracts_of(boris).await.unwrap()[0].id);
    let first = [("status", "suspended"), ("rate", "350"), ("version", "1")];
    owner.post(&path, &first).await.redirects_to(&page);
    let mine = [("status", "active"), ("rate", "400"), (&ticked, "on"), ("allows_spontaneous", "on")];
    let stale = owner.post(&path, &[&mine[..], &[("version", "1")]].concat()).await;
    stale.is(409, CHANGED_BY_ANOTHER).is(409, "value=\"400\"").is(409, "Now: 350").is(409, "Now: suspended");
    stale.is(409, &format!("data-testid=\"now-{ticked}\">Now: not ticked")).is(409, "Save my version");
    save_on_top(&owner, &path, &mine, &stale).await.redirects_to(&page);
    let current = Sites::of_app(&cabinet.app).contracts_of(boris).await.unwrap().remove(0);
    assert_eq!((current.about.rate_kopecks, current.about.sites, current.version), (Some(40_000), vec![site], 3));
    // A mistake in the form loses nothing either.
    let wrong = [("status", "active"), ("rate", "much"), (ticked.as_str(), "on"), ("version", "3")];
    owner.post(&path, &wrong).await.is(422, "value=\"much\"").is(422, "Enter an amount, for example 250 or 250.50.");
    // A deleted contract has no form, but the typed values are shown.
    owner.post(&format!("{path}/delete"), &[("version", "3")]).await.redirects_to(&page);
    let late = [("status", "active"), ("rate", "450"), (ticked.as_str(), "on"), ("version", "3")];
    owner.post(&path, &late).await.is(409, "You wrote: 450");
    cabinet.close().await;
}

#[tokio::test]
async fn a_stale_slot_and_task_show_both_versions() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await.to_string();
    let slot = [("day", "2026-01-07"), ("starts", "09:00"), ("ends", "18:00"), ("penalises_lateness", "on")];
    let with = |more: &[(&'static str, &'static str)]| [&slot[..], more].concat();
    let new = [&with(&[("capacity", "2")])[..], &[("site", site.as_str())]].concat();
    owner.post("/calendar/slots", &new).await.redirects_to(&format!("/calendar?site={site}&day=2026-01-07"));
    let id = slot_of(&owner, &format!("/calendar?site={site}&day=2026-01-07")).await;
    let path = format!("/calendar/slots/{id}");
    owner.post(&path, &with(&[("capacity", "3"), ("version", "1")])).await.redirects_to(&path);
    let mine = with(&[("capacity", "5"), ("title", "Cashier")]);
    let stale = owner.post(&path, &[&mine[..], &[("version", "1")]].concat()).await;
    stale.is(409, CHANGED_BY_ANOTHER).is(409, "value=\"5\"").is(409, "Now: 3").is(409, "value=\"Cashier\"");
    save_on_top(&owner, &path, &mine, &stale).await.redirects_to(&path);
    owner.get(&path).await.is(200, "0/5").is(200, "value=\"Cashier\"");
    // A stale drag to another day stays on the calendar, with a message.
    let moved = owner.post(&format!("{path}/move"), &[("day", "2026-01-09"), ("version", "1")]).await;
    moved.is(409, "Someone changed this first.").is(409, "data-testid=\"calendar\"");

    owner
        .post(&format!("{path}/tasks"), &[("text", "Bring the keys"), ("price", "penalty"), ("amount", "40")])
        .await
        .redirects_to(&path);
    let task = Sites::of_app(&cabinet.app).tasks(site.parse().unwrap(), false).await.unwrap()[0].id;
    let task = format!("{path}/tasks/{task}");
    owner
        .post(&task, &[("text", "Bring all keys"), ("price", "penalty"), ("amount", "50"), ("version", "1")])
        .await
        .redirects_to(&path);
    owner.get(&path).await.is(200, "Bring all keys").is(200, "penalty 50");
    let mine = [("text", "Bring a torch"), ("price", "penalty"), ("amount", "40")];
    let stale = owner.post(&task, &[&mine[..], &[("version", "1")]].concat()).await;
    stale
        .is(409, CHANGED_BY_ANOTHER)
        .is(409, "value=\"Bring a torch\"")
        .is(409, "Now: Bring all keys")
        .is(409, "Now: 50");
    save_on_top(&owner, &task, &mine, &stale).await.redirects_to(&path);
    owner
        .post(&task, &[("text", ""), ("price", "bonus"), ("amount", "many"), ("version", "3")])
        .await
        .is(422, "value=\"many\"");
    owner.post(&format!("{task}/delete"), &[("version", "3")]).await.redirects_to(&path);
    let page = owner.get(&path).await;
    page.is(200, "Deleted tasks").is(200, "Restore");
    assert!(!page.body.contains("data-testid=\"edit-task\""), "{}", page.body);
    owner.post(&format!("{task}/restore"), &[]).await.redirects_to(&path);
    owner.get(&path).await.is(200, "data-testid=\"edit-task\"").is(200, "Bring a torch");
    cabinet.close().await;
}

#[tokio::test]
async fn a_stale_site_can_be_saved_on_top() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let path = format!("/sites/{}", make_site(&cabinet, &owner).await);
    let first = [&site_form_with(&[("name", "Cafe Two")])[..], &[("version", "1")]].concat();
    owner.post(&path, &first).await.redirects_to(&path);
    let mine = site_form_with(&[("name", "Cafe Three")]);
    let stale = owner.post(&path, &[&mine[..], &[("version", "1")]].concat()).await;
    stale
        .is(409, CHANGED_BY_ANOTHER)
        .is(409, "value=\"Cafe Three\"")
        .is(409, "Now: Cafe Two")
        .is(409, "Keep the current version");
    save_on_top(&owner, &path, &mine, &stale).await.redirects_to(&path);
    owner.get(&path).await.is(200, "<h1>Cafe Three</h1>");
    cabinet.close().await;
}

#[tokio::test]
async fn a_manager_without_rates_keeps_typed_values() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let may = cabinet.hire(MAY, "May", Role::Manager).await;
    cabinet.emulator.post("/users", serde_json::json!({"id": MAY, "first_name": "May", "language_code": "en"})).await;
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let site = make_site(&cabinet, &owner).await;
    let (room, anna) = (Sites::of_app(&cabinet.app), cabinet.person(ANNA).await);
    let may_do = vec![Permission::View, Permission::Edit, Permission::Schedule];
    room.set_permissions(&anna, may.id, site, may_do).await.unwrap();

    let path = format!("/sites/{site}");
    owner
        .post(&path, &[&site_form_with(&[("rate", "120")])[..], &[("version", "1")]].concat())
        .await
        .redirects_to(&path);
    let mine = site_form_with(&[("address", "Lenin street, 2")]);
    let stale = manager.post(&path, &[&mine[..], &[("version", "1")]].concat()).await;
    stale.is(409, CHANGED_BY_ANOTHER).is(409, "value=\"Lenin street, 2\"");
    // A field that she may not change is sent with its present value.
    assert_eq!(value_of(&stale, "rate"), "120");
    let mine = site_form_with(&[("address", "Lenin street, 2"), ("rate", "120.00")]);
    save_on_top(&manager, &path, &mine, &stale).await.redirects_to(&path);
    let current = room.site(site).await.unwrap().unwrap();
    assert_eq!((current.about.address.as_str(), current.about.rate_kopecks), ("Lenin street, 2", 12_000));
    let greedy = [&site_form_with(&[("rate", "999")])[..], &[("version", "3")]].concat();
    manager.post(&path, &greedy).await.is(403, "You don't have access to this page");

    let slot = [("day", "2026-01-07"), ("starts", "09:00"), ("ends", "18:00"), ("capacity", "2")];
    let with = |more: &[(&'static str, &'static str)]| [&slot[..], more].concat();
    let here = site.to_string();
    let new = [&with(&[("rate", "100")])[..], &[("site", here.as_str())]].concat();
    owner.post("/calendar/slots", &new).await.redirects_to(&format!("/calendar?site={site}&day=2026-01-07"));
    let id = slot_of(&owner, &format!("/calendar?site={site}&day=2026-01-07")).await;
    let path = format!("/calendar/slots/{id}");
    owner.post(&path, &with(&[("rate", "120"), ("version", "1")])).await.redirects_to(&path);
    let stale = manager.post(&path, &with(&[("rate", "100.00"), ("title", "Cashier"), ("version", "1")])).await;
    stale.is(409, CHANGED_BY_ANOTHER).is(409, "value=\"Cashier\"");
    assert_eq!(value_of(&stale, "rate"), "120");
    let mine = with(&[("rate", "120.00"), ("title", "Cashier")]);
    save_on_top(&manager, &path, &mine, &stale).await.redirects_to(&path);
    let current = room.slot(id.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((current.about.title.as_str(), current.about.rate_kopecks), ("Cashier", Some(12_000)));
    manager
        .post(&path, &with(&[("rate", "999"), ("version", "3")]))
        .await
        .is(403, "You don't have access to this page");
    cabinet.close().await;
}

#[tokio::test]
async fn a_mistake_does_not_hide_a_concurrent_change() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let path = format!("/sites/{}", make_site(&cabinet, &owner).await);
    let first = [&site_form_with(&[("name", "Cafe Two")])[..], &[("version", "1")]].concat();
    owner.post(&path, &first).await.redirects_to(&path);
    // After a mistake the form keeps the version that was loaded first.
    let mistaken = [&site_form_with(&[("rate", "much")])[..], &[("version", "1")]].concat();
    let again = owner.post(&path, &mistaken).await;
    again.is(422, "value=\"much\"");
    save_on_top(&owner, &path, &site_form_with(&[]), &again).await.is(409, CHANGED_BY_ANOTHER).is(409, "Now: Cafe Two");
    cabinet.close().await;
}

#[tokio::test]
async fn stale_pay_is_neither_paid_nor_closed() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    post_352(&cabinet.app, boris, "2025-12-31").await;
    let page = format!("/payroll/people/{boris}?period=2025-12");
    let seen = owner.get("/payroll?period=2025-12").await;
    seen.is(200, "name=\"total\" value=\"3077\"");
    let bonus = [("period", "2025-12"), ("kind", "bonus"), ("amount", "10"), ("reason", "Thanks")];
    owner.post(&format!("/payroll/people/{boris}/amounts"), &bonus).await.redirects_to(&page);
    let pay = format!("/payroll/people/{boris}/paid");
    let stale = owner.post(&pay, &[("period", "2025-12"), ("version", "1"), ("amount", "30.77")]).await;
    stale.is(409, CHANGED_BY_ANOTHER).is(409, "value=\"30.77\"").is(409, "Now: 40.77");
    let close = async |total: &str, version: &str| {
        owner.post("/payroll/close", &[("period", "2025-12"), ("total", total), ("version", version)]).await
    };
    close("3077", "1").await.is(409, "Someone changed this first").is(409, "name=\"total\" value=\"4077\"");
    let kept = owner.get("/payroll?period=2025-12").await;
    assert!(!kept.body.contains("Closed on"), "{}", kept.body);
    // Ten more for one person and ten less for another: the total is the same, but the month has changed.
    let (zoe, anna) = (cabinet.hire(1005, "Zoe", Role::Employee).await.id, cabinet.person(ANNA).await.id);
    let seen = owner.get("/payroll?period=2025-12").await;
    seen.is(200, "name=\"total\" value=\"4077\"").is(200, "name=\"version\" value=\"2\"");
    for (user, roubles) in [(boris, 10), (zoe, -10)] {
        let (day, amount) = ("2025-12-31".parse().unwrap(), Money::from_roubles(roubles));
        cabinet.app.payroll.add_manual(anna, user, day, amount, "Swapped").await.unwrap();
    }
    close("4077", "2").await.is(409, "Someone changed this first").is(409, "name=\"version\" value=\"4\"");
    // A month cannot be closed without its total and version.
    for unseen in [&[("period", "2025-12")][..], &[("period", "2025-12"), ("total", "4077")]] {
        owner.post("/payroll/close", unseen).await.is(400, "data-testid=\"oops\"");
    }
    assert!(!owner.get("/payroll?period=2025-12").await.body.contains("Closed on"));
    close("4077", "4").await.redirects_to("/payroll?period=2025-12");
    owner.get("/payroll?period=2025-12").await.is(200, "Closed on");
    assert!(cabinet.app.payroll.of_person(boris, january()).await.unwrap().lines.is_empty());
    cabinet.close().await;
}

/// Sends the same fields with the version that the page shows now.
async fn save_on_top(owner: &Browser, path: &str, mine: &[(&str, &str)], stale: &PageResponse) -> PageResponse {
    let form = stale.body.split(&format!("action=\"{path}\"")).nth(1).unwrap();
    let version = form.split("name=\"version\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    owner.post(path, &[mine, &[("version", version)]].concat()).await
}

/// The value of a field of the page.
fn value_of<'a>(page: &'a PageResponse, name: &str) -> &'a str {
    let field = page.body.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
    field.split('"').next().unwrap()
}

async fn slot_of(owner: &Browser, path: &str) -> String {
    let page = owner.get(path).await;
    let rest = page.body.split("data-testid=\"slot-").nth(1).unwrap();
    rest.split('"').next().unwrap().to_owned()
}
