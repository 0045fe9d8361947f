//! An owner edits a person; the change is audited without personal data.

use opora::telegram::Telegram;
use workforce::audit;
use workforce::texts::Language;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{StorageKind, on_every_database};

on_every_database! {
    an_owner_edits_a_person,
}

async fn an_owner_edits_a_person(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let (owner, himself) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    let boris = cabinet.person(BORIS).await;
    let (page, edit) = (format!("/people/{}", boris.id), format!("/people/{}/edit", boris.id));
    owner.get(&page).await.is(200, &format!("href=\"{edit}\""));
    owner.get(&edit).await.is(200, "value=\"Boris\"");
    let version = boris.version.to_string();
    let form = |name: &'static str, phone: &'static str, version: &str| {
        let fields = [("name", name), ("phone", phone), ("email", "boris@example.com"), ("language", "ru")];
        fields.into_iter().map(|(k, v)| (k, v.to_owned())).chain([("version", version.to_owned())]).collect::<Vec<_>>()
    };
    let post = async |fields: Vec<(&'static str, String)>| {
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        owner.post(&edit, &fields).await
    };
    // A mistake says what to type, and keeps what was typed.
    let refused = post(form("Boris Petrov", "call me", &version)).await;
    refused.is(422, "+7 999 123-45-67").is(422, "value=\"call me\"");
    post(form("Boris Petrov", "8 999 123-45-67", &version)).await.redirects_to(&page);
    let now = cabinet.person(BORIS).await;
    assert_eq!((now.full_name.as_str(), now.phone.as_deref()), ("Boris Petrov", Some("+79991234567")));
    assert_eq!((now.email.as_deref(), now.language), (Some("boris@example.com"), Language::Ru));
    owner.get("/people?q=petrov").await.is(200, "Boris Petrov");
    // A form of the old version overwrites nothing.
    post(form("Boris Ivanov", "", &version)).await.is(409, "Someone changed this first");
    assert_eq!(cabinet.person(BORIS).await.full_name, "Boris Petrov");
    let lines = audit::about(&cabinet.app.domain, ("user", boris.id)).await.unwrap();
    let line = lines.last().unwrap();
    assert_eq!((line.action.as_str(), line.actor), ("person edited", Some(cabinet.person(ANNA).await.id)));
    assert_eq!(line.detail["fields"], serde_json::json!(["name", "phone", "email", "language"]));
    himself.get(&edit).await.is(403, "");
    cabinet.close().await;
}

#[tokio::test]
async fn a_person_is_called_from_the_page() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.person(BORIS).await);
    let page = format!("/people/{}", boris.id);
    let shown = owner.get(&page).await;
    shown.is(200, "data-testid=\"person-menu\"").is(200, "href=\"#overview\"");
    assert!(!shown.body.contains("href=\"tel:"), "no phone is known");
    let version = boris.version.to_string();
    let fields = [("name", "Boris"), ("phone", "+79991234567"), ("language", "en"), ("version", version.as_str())];
    owner.post(&format!("{page}/edit"), &fields).await.redirects_to(&page);
    owner.get(&page).await.is(200, "href=\"tel:+79991234567\"").is(200, "Changes saved");
    cabinet.close().await;
}

#[tokio::test]
async fn the_invitation_has_a_link_and_a_code() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    owner.get("/people").await.is(200, "href=\"/people/invite\"");
    owner.get("/people/invite").await.is(200, "hasn't told us the bot's username");
    let telegram = Telegram::new(&cabinet.emulator.token, &cabinet.emulator.base).unwrap();
    cabinet.app.learn_bot_name(&telegram).await.unwrap();
    let page = owner.get("/people/invite").await;
    page.is(200, "?start=work\"").is(200, "data-testid=\"qr\"").is(200, "data-copies=\"invitation\"");
    cabinet.signed_in(BORIS).await.get("/people/invite").await.is(403, "");
    cabinet.close().await;
}
