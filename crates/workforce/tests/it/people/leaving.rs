//! What is known of a person is given out and deleted, on a page and on the command line.

use opora::key::DialogueKey;
use opora::store::{Incoming, Mark, Origin, Parked, ParkedId};
use serde_json::{Value, json};
use workforce::audit;
use workforce::people::{self, forgetting};
use workforce::person::Status;

use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, Demo, until};
use crate::kit::firm::{Ground, Kind, NOON, on_every_database};
use crate::kit::remains;
use crate::onboarding::process::presses;
use crate::operator::run;
use crate::registration::live::{gives_all_of, mark, written};

on_every_database! {
    an_owner_gives_out_and_deletes_what_is_known_of_somebody,
    what_the_bot_keeps_of_a_forgotten_person_goes,
}

const VERA: i64 = 1003;

/// Vera is registered, approved, and in the middle of the questionnaire.
async fn vera_works_here(cabinet: &Cabinet) -> i64 {
    let chat = &cabinet.emulator;
    chat.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    gives_all_of(chat, VERA).await;
    chat.hears(VERA, "Done! Your registration is being looked at.").await;
    let (person, documents) = written(&cabinet.app, VERA).await;
    let (id, owner) = (person.id, cabinet.signed_in(ANNA).await);
    let approve = format!("/registrations/{id}/approve");
    owner.post(&approve, &[("mark", mark(&documents))]).await.leads_to("/registrations");
    chat.hears(VERA, "There is a short questionnaire").await;
    presses(chat, VERA, "📝 Questionnaire").await;
    presses(chat, VERA, "I agree").await;
    chat.hears(VERA, "1/8").await;
    chat.says(VERA, "Verochka").await;
    chat.hears(VERA, "2/8").await;
    id
}

async fn an_owner_gives_out_and_deletes_what_is_known_of_somebody(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let id = vera_works_here(&cabinet).await;
    let (owner, boris, vera) =
        (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await, cabinet.signed_in(VERA).await);
    let (page, documents) = (format!("/people/{id}"), written(&cabinet.app, VERA).await.1);
    for path in ["export", "forget"] {
        boris.post(&format!("{page}/{path}"), &[("sure", "yes")]).await.is(403, "This page is for others");
    }
    owner.get(&page).await.is(200, "Personal data");
    let given = owner.post(&format!("{page}/export"), &[]).await;
    assert_eq!(given.header("content-disposition"), format!("attachment; filename=\"person-{id}.json\""));
    let known: Value = serde_json::from_str(&given.body).unwrap();
    assert_eq!((&known["person"]["telegram_id"], &known["person"]["full_name"]), (&json!(VERA), &json!("Anna Smith")));
    assert_eq!(known["registration"]["documents"][0]["id"], documents[0].id);
    assert_eq!(known["onboarding"]["questionnaires"][0]["answers"][0]["answer"], "Verochka");

    let own = format!("/people/{}/forget", cabinet.person(ANNA).await.id);
    owner.get(&own).await.is(409, "not possible");
    owner.get(&format!("{page}/forget")).await.is(200, "This cannot be undone.");
    owner.post(&format!("{page}/forget"), &[]).await.leads_to(&page);
    assert_eq!(cabinet.person(VERA).await.status, Status::Verified, "nobody was sure");
    owner.post(&format!("{page}/forget"), &[("sure", "yes")]).await.leads_to(&page);
    vera.get("/me").await.leads_to("/sign-in?next=%2Fme");
    let left = owner.get(&page).await;
    left.is(200, &format!("#{id}")).is(200, "Forgotten: personal data deleted").is(200, "There are no documents.");
    for gone in ["Anna Smith", "Verochka", "1003", "+7999"] {
        assert!(!left.body.contains(gone), "{gone}: {}", left.body);
    }
    owner.get(&format!("/documents/{}", documents[0].id)).await.is(404, "There is no such page");
    assert!(cabinet.app.files.all().await.unwrap().is_empty());
    let lines = audit::about(&cabinet.app.domain, ("user", id)).await.unwrap();
    let by = Some(cabinet.person(ANNA).await.id);
    let last: Vec<_> = lines.iter().rev().take(2).map(|line| (line.action.as_str(), line.actor)).collect();
    assert_eq!(last, [("person forgotten", by), ("data exported", by)]);
    for path in ["unblock", "export", "forget"] {
        owner.post(&format!("{page}/{path}"), &[("sure", "yes")]).await.is(409, "not possible");
    }
    // Whoever comes back is somebody new.
    cabinet.emulator.says(VERA, "/cancel").await;
    cabinet.emulator.says(VERA, "/start").await;
    let asked = "Which language shall I speak?";
    let times = async || cabinet.emulator.texts(VERA).await.iter().filter(|text| text.contains(asked)).count();
    cabinet.emulator.until("a new registration begins", async |_| (times().await == 2).then_some(())).await;
    cabinet.close().await;
}

/// What Vera says and is told, and nobody else.
const NAME: &str = "Verozhuravka Dlinnova";
const FAILED: &str = "Refusednotice";
const PARKED: &str = "Parkedwords";
const WAITING: &str = "Waitingwords";

/// Waits until Vera has heard this so many times.
async fn hears_times(chat: &Demo, words: &str, times: usize) {
    let heard = async |chat: &Demo| chat.texts(VERA).await.iter().filter(|text| text.contains(words)).count();
    chat.until(words, async |chat| (heard(chat).await >= times).then_some(())).await;
}

/// Vera was declined and registers again: her new name is in a draft. She has blocked the bot, a message to her has failed,
/// one of her turns is parked, and an update of hers waits.
async fn vera_leaves_in_the_middle(cabinet: &Cabinet) -> i64 {
    let chat = &cabinet.emulator;
    chat.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    gives_all_of(chat, VERA).await;
    chat.hears(VERA, "Done! Your registration is being looked at.").await;
    let (person, documents) = written(&cabinet.app, VERA).await;
    let owner = cabinet.signed_in(ANNA).await;
    let decline = [("mark", mark(&documents)), ("reason", "The picture is dark.")];
    owner.post(&format!("/registrations/{}/reject", person.id), &decline).await.leads_to("/registrations");
    hears_times(chat, "Reason: The picture is dark.", 1).await;
    chat.says(VERA, "/start").await;
    hears_times(chat, "Let us get to know each other.", 2).await;
    presses(chat, VERA, "English").await;
    hears_times(chat, "What is your first and last name?", 2).await;
    chat.says(VERA, NAME).await;
    hears_times(chat, "Your phone number?", 2).await;
    chat.post(&format!("/chats/{VERA}/block"), json!({ "from": VERA })).await;
    cabinet.app.bot.post("notice", VERA, FAILED).await.unwrap();
    let (store, bot) = (cabinet.app.domain.store(), cabinet.app.bot_id);
    until("the message has failed", async || (store.statistics(Some(bot)).await.unwrap().failed > 0).then_some(()))
        .await;
    let (key, epoch) = (DialogueKey::private(bot, VERA), store.lease(bot).await.unwrap().unwrap().epoch);
    let parked = Parked {
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

async fn what_the_bot_keeps_of_a_forgotten_person_goes(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let id = vera_leaves_in_the_middle(&cabinet).await;
    let typed = [NAME, FAILED, PARKED, WAITING];
    let all = remains::everything(&cabinet.ground).await;
    typed.iter().for_each(|words| assert!(all.contains(words), "{words} is kept before"));
    // A page of an instance that stands by leaves it to the one that leads.
    let beside = cabinet.beside().await;
    let person = cabinet.person(VERA).await;
    people::forget(&beside.domain, &beside.rooms, &beside.files, &person, None, NOON).await.unwrap();
    forgetting::forget_waiting(&beside).await.unwrap();
    assert_eq!(people::to_forget::waiting(&cabinet.app.domain).await.unwrap(), [VERA]);
    beside.domain.close().await.unwrap();
    forgetting::forget_waiting(&cabinet.app).await.unwrap();
    assert!(people::to_forget::waiting(&cabinet.app.domain).await.unwrap().is_empty());
    let all = remains::everything(&cabinet.ground).await;
    typed.iter().for_each(|words| assert!(!all.contains(words), "{words} is kept"));
    let store = cabinet.app.domain.store();
    let statistics = store.statistics(Some(cabinet.app.bot_id)).await.unwrap();
    assert_eq!((statistics.parked, statistics.inbox, statistics.failed), (0, 0, 0));
    assert_eq!(cabinet.app.people.with_ids(&[id]).await.unwrap()[0].telegram_id, -id);
    cabinet.close().await;
}

#[tokio::test]
async fn the_command_line_gives_out_and_forgets_too() {
    let ground = Ground::new(Kind::Sqlite).await;
    let database = ground.database.url();
    let opora = async |arguments: &[&str]| {
        let folder = ground.folder.path().to_str().unwrap();
        run(&[("DATABASE_URL", database.as_str()), ("DATA_DIR", folder)], &[&["people"], arguments].concat()).await
    };
    opora(&["grant", "1001", "employee", "--name", "Anna"]).await.well();
    let known: Value = serde_json::from_str(&opora(&["export", "1001"]).await.well().stdout).unwrap();
    assert_eq!((&known["person"]["full_name"], &known["person"]["roles"]), (&json!("Anna"), &json!(["employee"])));
    opora(&["forget", "1001"]).await.complains(&["Forget Anna (1001)?", "--yes"]);
    let told = opora(&["forget", "1001", "--yes"]).await.well().stdout;
    assert_eq!(told, "1001 is forgotten; what was worked and paid stays under the number 1\n");
    let listed = opora(&["list"]).await.well().stdout;
    assert!(!listed.contains("Anna") && !listed.contains("1001") && listed.contains("#1"), "{listed}");
    for again in [&["forget", "1001", "--yes"][..], &["export", "1001"]] {
        opora(again).await.complains(&["nobody with the Telegram id 1001 is known"]);
    }
}
