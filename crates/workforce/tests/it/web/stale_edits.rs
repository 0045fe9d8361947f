//! Two people edit the same at once: whoever comes second sees both, loses nothing, and may save on top.

use workforce::money::Money;
use workforce::person::{Permission, Role};
use workforce::sites::Sites;

use crate::kit::cabinet::{Answer, Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::Kind;
use crate::overview::running_a_business::{MAY, changed, make_site};
use crate::payroll::{january, post_352};

const TOLD: &str = "Somebody else has changed this while you were writing.";

#[tokio::test]
async fn a_stale_contract_is_shown_with_what_was_typed_and_what_is_stored() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let boris = cabinet.person(BORIS).await.id;
    let (page, ticked) = (format!("/people/{boris}/contracts"), format!("site{site}"));
    owner.post(&page, &[("status", "active"), ("rate", "300"), (&ticked, "on")]).await.leads_to(&page);
    let path = format!("/contracts/{}", Sites::of_app(&cabinet.app).contracts_of(boris).await.unwrap()[0].id);
    let first = [("status", "suspended"), ("rate", "350"), ("version", "1")];
    owner.post(&path, &first).await.leads_to(&page);
    let mine = [("status", "active"), ("rate", "400"), (&ticked, "on"), ("allows_spontaneous", "on")];
    let stale = owner.post(&path, &[&mine[..], &[("version", "1")]].concat()).await;
    stale.is(409, TOLD).is(409, "value=\"400\"").is(409, "Now: 350.00").is(409, "Now: suspended");
    stale.is(409, &format!("data-testid=\"now-{ticked}\">Now: not ticked")).is(409, "Save mine on top");
    on_top(&owner, &path, &mine, &stale).await.leads_to(&page);
    let stands = Sites::of_app(&cabinet.app).contracts_of(boris).await.unwrap().remove(0);
    assert_eq!((stands.about.rate_kopecks, stands.about.sites, stands.version), (Some(40_000), vec![site], 3));
    // A mistake loses nothing either.
    let wrong = [("status", "active"), ("rate", "much"), (ticked.as_str(), "on"), ("version", "3")];
    owner.post(&path, &wrong).await.is(422, "value=\"much\"").is(422, "Please check this.");
    // What is gone meanwhile has no form: what was typed is shown all the same.
    owner.post(&format!("{path}/delete"), &[("version", "3")]).await.leads_to(&page);
    let late = [("status", "active"), ("rate", "450"), ("version", "3")];
    owner.post(&path, &late).await.is(409, "You had written: 450");
    cabinet.close().await;
}

#[tokio::test]
async fn a_stale_slot_and_its_task_are_shown_with_what_was_typed_and_what_is_stored() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await.to_string();
    let slot = [("day", "2026-01-07"), ("starts", "09:00"), ("ends", "18:00"), ("penalises_lateness", "on")];
    let with = |more: &[(&'static str, &'static str)]| [&slot[..], more].concat();
    let new = [&with(&[("capacity", "2")])[..], &[("site", site.as_str())]].concat();
    owner.post("/calendar/slots", &new).await.leads_to(&format!("/calendar?site={site}&day=2026-01-07"));
    let id = slot_of(&owner, &format!("/calendar?site={site}&day=2026-01-07")).await;
    let path = format!("/calendar/slots/{id}");
    owner.post(&path, &with(&[("capacity", "3"), ("version", "1")])).await.leads_to(&path);
    let mine = with(&[("capacity", "5"), ("title", "Cashier")]);
    let stale = owner.post(&path, &[&mine[..], &[("version", "1")]].concat()).await;
    stale.is(409, TOLD).is(409, "value=\"5\"").is(409, "Now: 3").is(409, "value=\"Cashier\"");
    on_top(&owner, &path, &mine, &stale).await.leads_to(&path);
    owner.get(&path).await.is(200, "0/5").is(200, "value=\"Cashier\"");
    // A drag onto another day of what somebody has changed: the day is kept as what was wanted.
    let moved = owner.post(&format!("{path}/move"), &[("day", "2026-01-09"), ("version", "1")]).await;
    moved.is(409, TOLD).is(409, "value=\"2026-01-09\"").is(409, "Now: 2026-01-07");

    owner.post(&format!("{path}/tasks"), &[("text", "Bring the keys"), ("amount", "-40")]).await.leads_to(&path);
    let task = Sites::of_app(&cabinet.app).tasks(site.parse().unwrap(), false).await.unwrap()[0].id;
    let task = format!("{path}/tasks/{task}");
    owner.post(&task, &[("text", "Bring all keys"), ("amount", "-50"), ("version", "1")]).await.leads_to(&path);
    owner.get(&path).await.is(200, "Bring all keys").is(200, "−50.00");
    let mine = [("text", "Bring a torch"), ("amount", "-40")];
    let stale = owner.post(&task, &[&mine[..], &[("version", "1")]].concat()).await;
    stale.is(409, TOLD).is(409, "value=\"Bring a torch\"").is(409, "Now: Bring all keys").is(409, "Now: -50.00");
    on_top(&owner, &task, &mine, &stale).await.leads_to(&path);
    owner.post(&task, &[("text", ""), ("amount", "many"), ("version", "3")]).await.is(422, "value=\"many\"");
    owner.post(&format!("{task}/delete"), &[("version", "3")]).await.leads_to(&path);
    let page = owner.get(&path).await;
    page.is(200, "Deleted tasks").is(200, "Undo the deletion");
    assert!(!page.body.contains("data-testid=\"edit-task\""), "{}", page.body);
    owner.post(&format!("{task}/restore"), &[]).await.leads_to(&path);
    owner.get(&path).await.is(200, "data-testid=\"edit-task\"").is(200, "Bring a torch");
    cabinet.close().await;
}

#[tokio::test]
async fn a_stale_site_can_be_saved_on_top_or_left_as_it_is() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let path = format!("/sites/{}", make_site(&cabinet, &owner).await);
    let first = [&changed(&[("name", "Cafe Two")])[..], &[("version", "1")]].concat();
    owner.post(&path, &first).await.leads_to(&path);
    let mine = changed(&[("name", "Cafe Three")]);
    let stale = owner.post(&path, &[&mine[..], &[("version", "1")]].concat()).await;
    stale.is(409, TOLD).is(409, "value=\"Cafe Three\"").is(409, "Now: Cafe Two").is(409, "Leave it as it is now");
    on_top(&owner, &path, &mine, &stale).await.leads_to(&path);
    owner.get(&path).await.is(200, "<h1>Cafe Three</h1>");
    cabinet.close().await;
}

#[tokio::test]
async fn a_manager_without_rates_keeps_the_typed_words_when_an_owner_has_changed_the_rate() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let may = cabinet.hire(MAY, "May", Role::Manager).await;
    cabinet.emulator.post("/users", serde_json::json!({"id": MAY, "first_name": "May", "language_code": "en"})).await;
    let (owner, manager) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(MAY).await);
    let site = make_site(&cabinet, &owner).await;
    let (doors, anna) = (Sites::of_app(&cabinet.app), cabinet.person(ANNA).await);
    let may_do = vec![Permission::View, Permission::Edit, Permission::Schedule];
    doors.permit(&anna, may.id, site, may_do).await.unwrap();

    let path = format!("/sites/{site}");
    owner.post(&path, &[&changed(&[("rate", "120")])[..], &[("version", "1")]].concat()).await.leads_to(&path);
    let mine = changed(&[("address", "Lenin street, 2")]);
    let stale = manager.post(&path, &[&mine[..], &[("version", "1")]].concat()).await;
    stale.is(409, TOLD).is(409, "value=\"Lenin street, 2\"");
    // What she may not change is sent as it is by now.
    assert_eq!(value_of(&stale, "rate"), "120.00");
    let mine = changed(&[("address", "Lenin street, 2"), ("rate", "120.00")]);
    on_top(&manager, &path, &mine, &stale).await.leads_to(&path);
    let stands = doors.of(site).await.unwrap().unwrap();
    assert_eq!((stands.about.address.as_str(), stands.about.rate_kopecks), ("Lenin street, 2", 12_000));
    let greedy = [&changed(&[("rate", "999")])[..], &[("version", "3")]].concat();
    manager.post(&path, &greedy).await.is(403, "This page is for others");

    let slot = [("day", "2026-01-07"), ("starts", "09:00"), ("ends", "18:00"), ("capacity", "2")];
    let with = |more: &[(&'static str, &'static str)]| [&slot[..], more].concat();
    let here = site.to_string();
    let new = [&with(&[("rate", "100")])[..], &[("site", here.as_str())]].concat();
    owner.post("/calendar/slots", &new).await.leads_to(&format!("/calendar?site={site}&day=2026-01-07"));
    let id = slot_of(&owner, &format!("/calendar?site={site}&day=2026-01-07")).await;
    let path = format!("/calendar/slots/{id}");
    owner.post(&path, &with(&[("rate", "120"), ("version", "1")])).await.leads_to(&path);
    let stale = manager.post(&path, &with(&[("rate", "100.00"), ("title", "Cashier"), ("version", "1")])).await;
    stale.is(409, TOLD).is(409, "value=\"Cashier\"");
    assert_eq!(value_of(&stale, "rate"), "120.00");
    let mine = with(&[("rate", "120.00"), ("title", "Cashier")]);
    on_top(&manager, &path, &mine, &stale).await.leads_to(&path);
    let stands = doors.slot(id.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((stands.about.title.as_str(), stands.about.rate_kopecks), ("Cashier", Some(12_000)));
    manager.post(&path, &with(&[("rate", "999"), ("version", "3")])).await.is(403, "This page is for others");
    cabinet.close().await;
}

#[tokio::test]
async fn a_mistake_in_a_form_does_not_hide_that_somebody_else_has_changed_it_meanwhile() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let path = format!("/sites/{}", make_site(&cabinet, &owner).await);
    let first = [&changed(&[("name", "Cafe Two")])[..], &[("version", "1")]].concat();
    owner.post(&path, &first).await.leads_to(&path);
    // Whoever sends a mistake has looked at the first version still, and so has whoever mends it.
    let mistaken = [&changed(&[("rate", "much")])[..], &[("version", "1")]].concat();
    let again = owner.post(&path, &mistaken).await;
    again.is(422, "value=\"much\"");
    on_top(&owner, &path, &changed(&[]), &again).await.is(409, TOLD).is(409, "Now: Cafe Two");
    cabinet.close().await;
}

#[tokio::test]
async fn pay_that_changed_meanwhile_is_neither_paid_nor_closed_as_it_was_seen() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    post_352(&cabinet.app, boris, "2025-12-31").await;
    let page = format!("/payroll/people/{boris}?period=2025-12");
    let seen = owner.get("/payroll?period=2025-12").await;
    seen.is(200, "name=\"total\" value=\"3077\"");
    let bonus = [("period", "2025-12"), ("kind", "bonus"), ("amount", "10"), ("reason", "Thanks")];
    owner.post(&format!("/payroll/people/{boris}/amounts"), &bonus).await.leads_to(&page);
    let pay = format!("/payroll/people/{boris}/paid");
    let stale = owner.post(&pay, &[("period", "2025-12"), ("version", "1"), ("amount", "30.77")]).await;
    stale.is(409, TOLD).is(409, "value=\"30.77\"").is(409, "Now: 40.77");
    let close = async |total: &str, version: &str| {
        owner.post("/payroll/close", &[("period", "2025-12"), ("total", total), ("version", version)]).await
    };
    close("3077", "1").await.is(409, "Somebody was faster").is(409, "name=\"total\" value=\"4077\"");
    let kept = owner.get("/payroll?period=2025-12").await;
    assert!(!kept.body.contains("Closed since"), "{}", kept.body);
    // Ten more for one and ten less for another: the total is the same, and the month is not.
    let (zoe, anna) = (cabinet.hire(1005, "Zoe", Role::Employee).await.id, cabinet.person(ANNA).await.id);
    let seen = owner.get("/payroll?period=2025-12").await;
    seen.is(200, "name=\"total\" value=\"4077\"").is(200, "name=\"version\" value=\"2\"");
    for (user, roubles) in [(boris, 10), (zoe, -10)] {
        let (day, amount) = ("2025-12-31".parse().unwrap(), Money::from_roubles(roubles));
        cabinet.app.payroll.add_manual(anna, user, day, amount, "Swapped").await.unwrap();
    }
    close("4077", "2").await.is(409, "Somebody was faster").is(409, "name=\"version\" value=\"4\"");
    // Nobody closes a month unseen.
    for unseen in [&[("period", "2025-12")][..], &[("period", "2025-12"), ("total", "4077")]] {
        owner.post("/payroll/close", unseen).await.is(400, "data-testid=\"oops\"");
    }
    assert!(!owner.get("/payroll?period=2025-12").await.body.contains("Closed since"));
    close("4077", "4").await.leads_to("/payroll?period=2025-12");
    owner.get("/payroll?period=2025-12").await.is(200, "Closed since");
    assert!(cabinet.app.payroll.of_person(boris, january()).await.unwrap().lines.is_empty());
    cabinet.close().await;
}

/// Sends the same once more, with the version that the page shows by now.
async fn on_top(owner: &Browser, path: &str, mine: &[(&str, &str)], stale: &Answer) -> Answer {
    let form = stale.body.split(&format!("action=\"{path}\"")).nth(1).unwrap();
    let version = form.split("name=\"version\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    owner.post(path, &[mine, &[("version", version)]].concat()).await
}

/// What stands in a field of the page.
fn value_of<'a>(page: &'a Answer, name: &str) -> &'a str {
    let field = page.body.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
    field.split('"').next().unwrap()
}

async fn slot_of(owner: &Browser, path: &str) -> String {
    let page = owner.get(path).await;
    let rest = page.body.split("href=\"/calendar/slots/").nth(1).unwrap();
    rest.split('"').next().unwrap().to_owned()
}
