//! The answers on a person's page, and the offer after an approval on a page.

use serde_json::json;

use super::process::presses;
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::StorageKind;
use crate::registration::in_process::{complete_registration, pending_document_id, registration_of};

const VERA: i64 = 1003;

#[tokio::test]
async fn only_owners_read_answers_on_the_persons_page() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let file = "[[questions]]\nid = \"car\"\nkind = \"text\"\nskippable = true\nru = \"Машина?\"\nen = \"Which <car>?\"\n\
                [[questions]]\nid = \"days\"\nkind = \"number\"\nmin = 0\nmax = 7\nru = \"Сколько дней?\"\nen = \"How many days?\"\n\
                [[questions]]\nid = \"more\"\nkind = \"text\"\nskippable = true\nru = \"Ещё?\"\nen = \"Anything else?\"\n";
    std::fs::write(cabinet.app.data_dir.join("questionnaire.toml"), file).unwrap();
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    let page = format!("/people/{}", cabinet.person(BORIS).await.id);
    owner.get(&page).await.is(200, "Questionnaire").is(200, "Not started yet.");
    let own = owner.get(&format!("/people/{}", cabinet.person(ANNA).await.id)).await;
    assert!(!own.body.contains("Questionnaire"), "owners are not asked: {}", own.body);

    let chat = &cabinet.emulator;
    chat.says(BORIS, "/start").await;
    presses(chat, BORIS, "📝 Questionnaire").await;
    presses(chat, BORIS, "I agree").await;
    chat.receives(BORIS, "1/3").await;
    chat.says(BORIS, "An <old> one").await;
    chat.receives(BORIS, "2/3").await;
    owner.get(&page).await.is(200, "in progress").is(200, "1 of 3 questions answered").is(200, "An &lt;old&gt; one");
    chat.says(BORIS, "5").await;
    chat.receives(BORIS, "3/3").await;
    presses(chat, BORIS, "Skip").await;
    chat.receives(BORIS, "You've completed the questionnaire.").await;
    let shown = owner.get(&page).await;
    shown
        .is(200, "completed")
        .is(200, "2 of 3 questions answered, 1 skipped")
        .is(200, "Which &lt;car&gt;?")
        .is(200, "(skipped)");
    owner.post("/me/language", &[("language", "ru")]).await.redirects_to("/me");
    owner.get(&page).await.is(200, "Машина?").is(200, "заполнена").is(200, "(пропущено)");
    boris.get(&page).await.is(403, "You don't have access to this page");
    cabinet.close().await;
}

#[tokio::test]
async fn approval_on_a_page_offers_the_questionnaire() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let chat = &cabinet.emulator;
    chat.post("/users", json!({"id": VERA, "first_name": "Vera", "language_code": "en"})).await;
    complete_registration(chat, VERA).await;
    chat.receives(VERA, "Done! Your registration is awaiting approval.").await;
    let (vera, documents) = registration_of(&cabinet.app, VERA).await;
    owner.get("/registrations").await.is(200, "Anna Smith");
    let approve = format!("/registrations/{}/approve", vera.id);
    owner
        .post(&approve, &[("mark", pending_document_id(&documents))])
        .await
        .redirects_to(&format!("/registrations?decided={}", vera.id));
    chat.receives(VERA, "Welcome to the team! Your registration has been approved.").await;
    presses(chat, VERA, "📝 Questionnaire").await;
    chat.receives(VERA, "The questionnaire has 8 questions.").await;
    cabinet.close().await;
}
