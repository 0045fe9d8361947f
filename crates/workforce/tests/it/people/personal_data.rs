//! Export and deletion of a person's data, on a page and on the command line.

use opora::key::ConversationKey;
use opora::store::{Incoming, Mark, Origin, ParkedId, ParkedTurn};
use serde_json::{Value, json};
use workforce::audit;
use workforce::people::{self, forgetting};
use workforce::person::Status;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, Demo, until};
use crate::kit::firm::{NOON, StorageKind, TestStorage, on_every_database};
use crate::kit::stored_data;
use crate::onboarding::process::presses;
use crate::operator::run;
use crate::registration::in_process::{complete_registration, pending_document_id, registration_of};

on_every_database! {
    an_owner_exports_and_deletes_personal_data,
    the_bots_data_of_a_forgotten_person_is_deleted,
}

const VERA: i64 = 1003;

/// Vera is registered, approved, and in the middle of the questionnaire.
async fn prepare_vera(cabinet: &Cabinet) -> i64 {
    let chat = &cabinet.emulator;
    chat.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    complete_registration(chat, VERA).await;
    chat.receives(VERA, "Done! Your registration is awaiting approval.").await;
    let (person, documents) = registration_of(&cabinet.app, VERA).await;
    let (id, owner) = (person.id, cabinet.signed_in(ANNA).await);
    let approve = format!("/registrations/{id}/approve");
    owner
        .post(&approve, &[("mark", pending_document_id(&documents))])
        .await
        .redirects_to(&format!("/registrations?decided={}", person.id));
    chat.receives(VERA, "Welcome to the team!").await;
    presses(chat, VERA, "📝 Questionnaire").await;
    presses(chat, VERA, "I agree").await;
    chat.receives(VERA, "1/8").await;
    chat.says(VERA, "Verochka").await;
    chat.receives(VERA, "2/8").await;
    id
}

async fn an_owner_exports_and_deletes_personal_data(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let id = prepare_vera(&cabinet).await;
    let (owner, boris, vera) =
        (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await, cabinet.signed_in(VERA).await);
    let (page, documents) = (format!("/people/{id}"), registration_of(&cabinet.app, VERA).await.1);
    for path in ["export", "forget"] {
        boris.post(&format!("{page}/{path}"), &[("sure", "yes")]).await.is(403, "You don't have access to this page");
    }
    owner.get(&page).await.is(200, "Personal data");
    let given = owner.post(&format!("{page}/export"), &[]).await;
    assert_eq!(given.header("content-disposition"), format!("attachment; filename=\"person-{id}.json\""));
    let known: Value = serde_json::from_str(&given.body).unwrap();
    assert_eq!((&known["person"]["telegram_id"], &known["person"]["full_name"]), (&json!(VERA), &json!("Anna Smith")));
    assert_eq!(known["registration"]["documents"][0]["id"], documents[0].id);
    assert_eq!(known["onboarding"]["questionnaires"][0]["answers"][0]["answer"], "Verochka");

    let own = format!("/people/{}/forget", cabinet.person(ANNA).await.id);
    owner.get(&own).await.is(409, "isn't possible");
    owner.get(&format!("{page}/forget")).await.is(200, "This can't be undone.");
    owner.post(&format!("{page}/forget"), &[]).await.redirects_to(&page);
    assert_eq!(cabinet.person(VERA).await.status, Status::Verified, "the deletion was not confirmed");
    owner.post(&format!("{page}/forget"), &[("sure", "yes")]).await.redirects_to(&page);
    vera.get("/me").await.redirects_to("/sign-in?next=%2Fme");
    let left = owner.get(&page).await;
    left.is(200, &format!("#{id}")).is(200, "Personal data deleted").is(200, "No documents.");
    for gone in ["Anna Smith", "Verochka", "1003", "+7999"] {
        assert!(!left.body.contains(gone), "{gone}: {}", left.body);
    }
    owner.get(&format!("/documents/{}", documents[0].id)).await.is(404, "Page not found");
    assert!(cabinet.app.files.all().await.unwrap().is_empty());
    let lines = audit::about(&cabinet.app.domain, ("user", id)).await.unwrap();
    let by = Some(cabinet.person(ANNA).await.id);
    let last: Vec<_> = lines.iter().rev().take(2).map(|line| (line.action.as_str(), line.actor)).collect();
    assert_eq!(last, [("person forgotten", by), ("data exported", by)]);
    for path in ["unblock", "export", "forget"] {
        owner.post(&format!("{page}/{path}"), &[("sure", "yes")]).await.is(409, "isn't possible");
    }
    // A forgotten person who comes back is a newcomer.
    cabinet.emulator.says(VERA, "/cancel").await;
    cabinet.emulator.says(VERA, "/start").await;
    let asked = "Which language do you prefer?";
    let times = async || cabinet.emulator.texts(VERA).await.iter().filter(|text| text.contains(asked)).count();
    cabinet.emulator.until("a new registration begins", async |_| (times().await == 2).then_some(())).await;
    cabinet.close().await;
}

/// Texts that occur only in Vera's data.
const NAME: &str = "Verozhuravka Dlinnova";
const FAILED: &str = "Refusednotice";
const PARKED: &str = "Parkedwords";
const WAITING: &str = "Waitingwords";

/// Waits until Vera has this message this many times.
async fn wait_for_messages(chat: &Demo, words: &str, times: usize) {
    let heard = async |chat: &Demo| chat.texts(VERA).await.iter().filter(|text| text.contains(words)).count();
    chat.until(words, async |chat| (heard(chat).await >= times).then_some(())).await;
}

/// Vera was rejected and registers again: her new name is in a draft. She has blocked the bot, a message to her has
/// failed, one of her turns is parked, and one of her updates waits.
async fn prepare_interrupted_vera(cabinet: &Cabinet) -> i64 {
    let chat = &cabinet.emulator;
    chat.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    complete_registration(chat, VERA).await;
    chat.receives(VERA, "Done! Your registration is awaiting approval.").await;
    let (person, documents) = registration_of(&cabinet.app, VERA).await;
    let owner = cabinet.signed_in(ANNA).await;
    let decline = [("mark", pending_document_id(&documents)), ("reason", "The picture is dark.")];
    owner
        .post(&format!("/registrations/{}/reject", person.id), &decline)
        .await
        .redirects_to(&format!("/registrations?decided={}", person.id));
    wait_for_messages(chat, "Reason: The picture is dark.", 1).await;
    chat.says(VERA, "/start").await;
    wait_for_messages(chat, "Let's get to know each other.", 2).await;
    presses(chat, VERA, "English").await;
    wait_for_messages(chat, "To take you on, we need", 2).await;
    presses(chat, VERA, "I agree").await;
    wait_for_messages(chat, "What's your first and last name?", 2).await;
    chat.says(VERA, NAME).await;
    wait_for_messages(chat, "What's your phone number?", 2).await;
    chat.post(&format!("/chats/{VERA}/block"), json!({ "from": VERA })).await;
    cabinet.app.bot.post("notice", VERA, FAILED).await.unwrap();
    let (store, bot) = (cabinet.app.domain.store(), cabinet.app.bot_id);
    until("the message has failed", async || (store.statistics(Some(bot)).await.unwrap().failed > 0).then_some(()))
        .await;
    let (key, epoch) = (ConversationKey::private(bot, VERA), store.lease(bot).await.unwrap().unwrap().epoch);
    let parked = ParkedTurn {
        id: ParkedId(0),
        key: key.clone(),
        kind: "update".into(),
        body: json!({ "text": PARKED }).to_string(),
        reason: "the handler failed".into(),
        attempts: 3,
        at: NOON,
        retry: false,
    };
    store.park(epoch, Vec::new(), parked, Vec::new()).await.unwrap();
    let origin = Origin::Update(Mark { bot, update_id: 1, identity: "message:1".into() });
    let body = json!({ "text": WAITING }).to_string().into();
    store.receive(epoch, vec![Incoming { key, origin, body, at: NOON }]).await.unwrap();
    person.id
}

async fn the_bots_data_of_a_forgotten_person_is_deleted(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let id = prepare_interrupted_vera(&cabinet).await;
    let typed = [NAME, FAILED, PARKED, WAITING];
    let all = stored_data::dump(&cabinet.storage).await;
    typed.iter().for_each(|words| assert!(all.contains(words), "{words} is kept before"));
    // A page of an instance that does not lead leaves it to the leader.
    let other_instance = cabinet.second_instance().await;
    let person = cabinet.person(VERA).await;
    people::forget(&other_instance.domain, &other_instance.rooms, &other_instance.files, &person, None, NOON)
        .await
        .unwrap();
    forgetting::forget_pending(&other_instance).await.unwrap();
    assert_eq!(people::forget_queue::pending(&cabinet.app.domain).await.unwrap(), [VERA]);
    other_instance.domain.close().await.unwrap();
    forgetting::forget_pending(&cabinet.app).await.unwrap();
    assert!(people::forget_queue::pending(&cabinet.app.domain).await.unwrap().is_empty());
    let all = stored_data::dump(&cabinet.storage).await;
    typed.iter().for_each(|words| assert!(!all.contains(words), "{words} is kept"));
    let store = cabinet.app.domain.store();
    let statistics = store.statistics(Some(cabinet.app.bot_id)).await.unwrap();
    assert_eq!((statistics.parked, statistics.inbox, statistics.failed), (0, 0, 0));
    assert_eq!(cabinet.app.people.with_ids(&[id]).await.unwrap()[0].telegram_id, -id);
    cabinet.close().await;
}

#[tokio::test]
async fn the_command_line_exports_and_forgets() {
    let storage = TestStorage::new(StorageKind::Sqlite).await;
    let database = storage.database.url();
    let opora = async |arguments: &[&str]| {
        let folder = storage.folder.path().to_str().unwrap();
        run(&[("DATABASE_URL", database.as_str()), ("DATA_DIR", folder)], &[&["people"], arguments].concat()).await
    };
    opora(&["grant", "1001", "employee", "--name", "Anna"]).await.success();
    let known: Value = serde_json::from_str(&opora(&["export", "1001"]).await.success().stdout).unwrap();
    assert_eq!((&known["person"]["full_name"], &known["person"]["roles"]), (&json!("Anna"), &json!(["employee"])));
    opora(&["forget", "1001"]).await.fails_with(&["Forget Anna (1001)?", "--yes"]);
    let output = opora(&["forget", "1001", "--yes"]).await.success().stdout;
    assert_eq!(output, "1001 is forgotten; what was worked and paid stays under the number 1\n");
    let listed = opora(&["list"]).await.success().stdout;
    assert!(!listed.contains("Anna") && !listed.contains("1001") && listed.contains("#1"), "{listed}");
    for again in [&["forget", "1001", "--yes"][..], &["export", "1001"]] {
        opora(again).await.fails_with(&["no person has the Telegram id 1001"]);
    }
}
