//! Messages to the staff of a site: preview, progress, results, cancelling.

use opora::jobs::{JobFilter, JobState};
use serde_json::json;
use workforce::person::{Permission, Person, Role};
use workforce::sites::{BroadcastDraft, DeliveryState, Sites};

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, until};
use crate::kit::firm::StorageKind;
use crate::overview::business_pages::{MAY, make_site};
use crate::shifts::{Workplace, about_contract, person};
use crate::sites::permissions::hire_may;

const MESSAGE: &str = "We open at ten\ntomorrow <early>";

#[tokio::test]
async fn a_message_reaches_the_chosen_staff_once() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, sites) = (cabinet.signed_in(ANNA).await, Sites::of_app(&cabinet.app));
    let site = make_site(&cabinet, &owner).await;
    let path = format!("/sites/{site}/broadcast");
    owner.get(&path).await.is(200, "no one has an active contract for this site");
    let (anna, boris, may) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, hire_may(&cabinet).await);
    for worker in [&boris, &may] {
        sites.create_contract(&anna, worker.id, about_contract(&[site], true)).await.unwrap();
    }
    // May has blocked the bot.
    cabinet.signed_in(MAY).await;
    cabinet.emulator.post(&format!("/chats/{MAY}/block"), json!({ "from": MAY })).await;

    let (to_boris, to_may) = (format!("person{}", boris.id), format!("person{}", may.id));
    owner.post(&path, &[("text", ""), (&to_boris, "on")]).await.is(422, "Write a message of up to 3,500 characters");
    owner.post(&path, &[("text", "Hello")]).await.is(422, "Choose at least one person.").is(422, "Hello");
    let form = [("text", MESSAGE), (to_boris.as_str(), "on"), (to_may.as_str(), "on")];
    let preview = owner.post(&path, &form).await;
    preview.is(200, "2 people will get this message").is(200, "Send to 2 people").is(200, "tomorrow &lt;early&gt;");
    assert!(sites.broadcasts(site).await.unwrap().is_empty(), "a preview sends nothing");

    let confirmed = [&form[..], &[("confirmed", "on"), ("once", "a-request")]].concat();
    owner.post(&path, &confirmed).await.redirects_to(&path);
    owner.post(&path, &confirmed).await.redirects_to(&path);
    let page = until("all results", async || {
        let page = owner.get(&path).await;
        page.body.contains("Sent: 1 of 2 · blocked the bot: 1").then_some(page)
    });
    page.await.is(200, "Anna");
    assert_eq!(sites.broadcasts(site).await.unwrap().len(), 1, "a second click sends nothing");
    let texts = cabinet.emulator.texts(BORIS).await;
    let got: Vec<&String> = texts.iter().filter(|text| text.contains(MESSAGE)).collect();
    assert_eq!(got.len(), 1, "{texts:?}");
    cabinet.close().await;
}

#[tokio::test]
async fn a_delayed_message_keeps_its_result() {
    let (cabinet, site, anna, boris) = staffed_site().await;
    let sites = Sites::of_app(&cabinet.app);
    cabinet.emulator.post("/faults", json!({ "method": "sendMessage", "times": 1, "retry_after": 2 })).await;
    let draft = BroadcastDraft { text: "Hello".into(), recipients: vec![boris] };
    sites.send_broadcast(&anna, site, draft).await.unwrap();
    let count = async |state| sites.broadcasts(site).await.unwrap()[0].count(state);
    until("the message is posted", async || (count(DeliveryState::Waiting).await == 0).then_some(())).await;
    let filter = JobFilter { bot: cabinet.app.bot_id, name: Some("broadcast".to_owned()), ..JobFilter::default() };
    let jobs = async || cabinet.app.domain.store().operator().jobs(&filter, None, 10).await.unwrap();
    until("the job runs again", async || (jobs().await[0].attempt > 1).then_some(())).await;
    assert_eq!(count(DeliveryState::Unknown).await, 0, "another run waits for the same result");
    until("it is sent", async || (count(DeliveryState::Sent).await == 1).then_some(())).await;
    until("the job completes", async || (jobs().await[0].state == JobState::Completed).then_some(())).await;
    cabinet.close().await;
}

#[tokio::test]
async fn a_failure_has_its_own_reason() {
    let (cabinet, site, anna, boris) = staffed_site().await;
    let (sites, actor) = (Sites::of_app(&cabinet.app), json!({ "from": BORIS }));
    // Another message to him failed at the same time, because he had blocked the bot.
    cabinet.emulator.post(&format!("/chats/{BORIS}/block"), actor.clone()).await;
    cabinet.app.bot.post("another message", BORIS, "Another message").await.unwrap();
    let store = cabinet.app.domain.store();
    until("the other message has failed", async || {
        let failed = store.operator().failed(cabinet.app.bot_id, None, 1).await.unwrap();
        (!failed.is_empty()).then_some(())
    })
    .await;
    cabinet.emulator.post(&format!("/chats/{BORIS}/unblock"), actor).await;
    let refused = json!({ "method": "sendMessage", "status": 400, "description": "Bad Request: no reason" });
    cabinet.emulator.post("/faults", refused).await;
    let draft = BroadcastDraft { text: "Hello".into(), recipients: vec![boris] };
    sites.send_broadcast(&anna, site, draft).await.unwrap();
    let result = until("a result", async || {
        let broadcast = sites.broadcasts(site).await.unwrap().remove(0);
        (broadcast.left() == 0).then_some(broadcast)
    });
    let result = result.await;
    assert_eq!((result.count(DeliveryState::Failed), result.count(DeliveryState::Blocked)), (1, 0));
    cabinet.close().await;
}

#[tokio::test]
async fn messages_need_the_permission_for_employees() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, sites) = (cabinet.signed_in(ANNA).await, Sites::of_app(&cabinet.app));
    let site = make_site(&cabinet, &owner).await;
    let (anna, boris, may) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await, hire_may(&cabinet).await);
    let path = format!("/sites/{site}/broadcast");
    let manager = cabinet.signed_in(MAY).await;
    let to_boris = format!("person{}", boris.id);
    let form = [("text", "Hello"), (to_boris.as_str(), "on"), ("confirmed", "on")];
    sites.set_permissions(&anna, may.id, site, vec![Permission::View, Permission::Edit]).await.unwrap();
    manager.get(&path).await.is(403, "");
    manager.post(&path, &form).await.is(403, "");
    sites.set_permissions(&anna, may.id, site, vec![Permission::View, Permission::Employees]).await.unwrap();
    // A person without a contract here cannot be written to.
    manager.post(&path, &form).await.is(422, "There is no one to write to yet");
    cabinet.close().await;
}

#[tokio::test]
async fn what_is_not_sent_yet_can_be_cancelled() {
    let workplace = Workplace::open(StorageKind::Sqlite).await;
    let site = workplace.site("Shop", 10_000).await;
    let other = workplace.site("Depot", 10_000).await;
    let daria = workplace.worker("Daria", &[site], |_| {}).await;
    let daria = person(&workplace.firm, &daria).await;
    let stranger = workplace.firm.member("Glen", &[Role::Employee]).await;
    let stranger = person(&workplace.firm, &stranger).await;
    let (sites, owner) = (&workplace.sites, &workplace.owner);
    // No bot runs here, so the message waits.
    let draft = BroadcastDraft { text: "Hello".into(), recipients: vec![daria.id, stranger.id, daria.id] };
    let id = sites.send_broadcast(owner, site, draft).await.unwrap();
    let count = async |state| sites.broadcasts(site).await.unwrap()[0].count(state);
    assert_eq!(count(DeliveryState::Waiting).await, 1, "people without a contract and repeated ones are left out");
    sites.cancel_broadcast(owner, other, id).await.unwrap_err();
    assert_eq!(count(DeliveryState::Waiting).await, 1, "a broadcast belongs to its site");
    sites.cancel_broadcast(owner, site, id).await.unwrap();
    assert_eq!((count(DeliveryState::Waiting).await, count(DeliveryState::Cancelled).await), (0, 1));
    sites.cancel_broadcast(owner, site, id).await.unwrap();
    let lines = workplace.rows("SELECT action FROM audit WHERE action LIKE 'broadcast%' ORDER BY id").await;
    assert_eq!(lines, [["broadcast sent"], ["broadcast cancelled"]]);
}

/// A site where Boris works. Returns the site, the owner and the id of Boris.
async fn staffed_site() -> (Cabinet, i64, Person, i64) {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let site = make_site(&cabinet, &owner).await;
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await.id);
    let contract = about_contract(&[site], true);
    Sites::of_app(&cabinet.app).create_contract(&anna, boris, contract).await.unwrap();
    (cabinet, site, anna, boris)
}
