//! A form that is sent twice takes effect once, and both requests get the same response.

use workforce::sites::Sites;

use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{StorageKind, on_databases};
use crate::overview::business_pages::{make_site, site_form_with};
use crate::payroll::january;

on_databases! { [sqlite Sqlite, postgres Postgres]
    a_bonus_sent_twice_is_added_once,
}

/// The idempotency key in a page's forms.
async fn idempotency_key(browser: &Browser, path: &str) -> String {
    let page = browser.get(path).await;
    page.is(200, "name=\"once\" value=\"");
    page.body.split("name=\"once\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

async fn a_bonus_sent_twice_is_added_once(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    let (month, path) = (format!("/payroll/people/{boris}?period=2026-01"), format!("/payroll/people/{boris}/amounts"));
    let once = idempotency_key(&owner, &month).await;
    let send = async |kind: &str, amount: &str, once: &str| {
        let fields = [("period", "2026-01"), ("kind", kind), ("amount", amount), ("reason", "A cup"), ("once", once)];
        owner.post(&path, &fields).await.redirects_to(&month);
    };
    let amounts = async || {
        let lines = cabinet.app.payroll.of_person(boris, january()).await.unwrap().lines;
        let mut amounts: Vec<_> = lines.iter().map(|line| line.amount.kopecks()).collect();
        amounts.sort_unstable();
        amounts
    };
    send("deduction", "100", &once).await;
    send("deduction", "100", &once).await;
    assert_eq!(amounts().await, [-10_000]);
    // Also when both are processed at once.
    tokio::join!(send("bonus", "500", &once), send("bonus", "500", &once));
    assert_eq!(amounts().await, [-10_000, 50_000]);
    // A reloaded page, or other values, mean another bonus.
    send("bonus", "600", &once).await;
    let again = idempotency_key(&owner, &month).await;
    assert_ne!(again, once);
    send("bonus", "500", &again).await;
    assert_eq!(amounts().await, [-10_000, 50_000, 50_000, 60_000]);
    // A refused form was not used, and can be sent again.
    let wrong = [("period", "2026-01"), ("kind", "bonus"), ("amount", "much"), ("reason", "A cup"), ("once", &again)];
    owner.post(&path, &wrong).await.is(422, "value=\"much\"");
    cabinet.close().await;
}

#[tokio::test]
async fn forms_sent_twice_create_one_thing() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await.id);
    let (site, room) = (make_site(&cabinet, &owner).await, Sites::of_app(&cabinet.app));
    let page = format!("/sites/{site}/tasks");
    let once = idempotency_key(&owner, &page).await;
    for _ in 0..2 {
        owner.post(&page, &[("text", "Sweep"), ("price", "free"), ("once", &once)]).await.redirects_to(&page);
    }
    assert_eq!(room.tasks(site, true).await.unwrap().len(), 1);

    let (page, ticked) = (format!("/people/{boris}/contracts"), format!("site{site}"));
    let once = idempotency_key(&owner, &page).await;
    for _ in 0..2 {
        let contract = [("status", "active"), ("rate", "300"), (ticked.as_str(), "on"), ("once", &once)];
        owner.post(&page, &contract).await.redirects_to(&page);
    }
    assert_eq!(room.contracts_of(boris).await.unwrap().len(), 1);

    let once = idempotency_key(&owner, "/sites").await;
    let other = [&site_form_with(&[("name", "The other place")])[..], &[("once", once.as_str())]].concat();
    let made = owner.post("/sites", &other).await;
    assert!(made.header("location").starts_with("/sites/"), "{}", made.header("location"));
    owner.post("/sites", &other).await.redirects_to("/sites");
    assert_eq!(room.list().await.unwrap().len(), 2);
    cabinet.close().await;
}
