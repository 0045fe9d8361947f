//! Consent to the processing of personal data: asked before anything personal, kept with its version and time.

use workforce::domain::Transaction;
use workforce::people;
use workforce::person::Role;
use workforce::registration::consent;
use workforce::settings;
use workforce::texts::Language;

use super::{PNG, answers_until_documents, finish_effects, person, registered_person, sends_everything};
use crate::kit::firm::{Firm, NOON, StorageKind, on_every_database};

on_every_database! {
    consent_is_kept_with_version_and_time,
    a_changed_text_is_shown_in_new_registrations,
}

async fn set_text(firm: &Firm, text: &'static str) {
    let write = firm.app.domain.write(move |db: &Transaction<'_, '_>| {
        Box::pin(settings::set(db, settings::CONSENT_TEXT_EN.name, text, None, NOON))
    });
    write.await.unwrap();
}

async fn consent_is_kept_with_version_and_time(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let anna = registered_person(&firm, "Anna").await;
    anna.transcript().contains("You agreed.").then_some(()).expect("the message shows the choice");
    let anna = person(&firm, &anna).await.unwrap();
    let text = consent::current_text(&firm.app, Language::En).await.unwrap();
    let kept = consent::of_person(firm.app.domain.read(), anna.id).await.unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].version.as_str(), kept[0].at), (consent::version(&text).as_str(), NOON));
    assert_eq!(kept[0].text, text);
    let exported = people::export(&firm.app.domain, &firm.app.rooms, &anna, None, NOON).await.unwrap();
    let exported = &exported["registration"]["consents"][0];
    assert_eq!(
        (exported["version"].as_str(), exported["given_at_ms"].as_i64()),
        (Some(&*kept[0].version), Some(NOON.0))
    );
    people::forget(&firm.app.domain, &firm.app.rooms, &firm.app.files, &anna, None, NOON).await.unwrap();
    assert!(consent::of_person(firm.app.domain.read(), anna.id).await.unwrap().is_empty());
}

/// A person who has agreed goes on with the old text; the next one reads the new text.
async fn a_changed_text_is_shown_in_new_registrations(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let (anna, boris) = (firm.stage.person("Anna"), firm.stage.person("Boris"));
    answers_until_documents(&anna).await;
    boris.sends("/start").await;
    boris.presses("English").await;
    boris.sees("To take you on, we need");
    set_text(&firm, "Our new rules.").await;
    anna.sends_photo().await;
    anna.sends_photo().await;
    finish_effects(&firm, PNG).await;
    anna.sees("Your registration is awaiting approval.");
    // Boris has read the old text only.
    boris.presses("I agree").await;
    boris.sees("The text changed while you were reading.");
    boris.sees("Our new rules.");
    boris.presses("I agree").await;
    boris.sees("What's your first and last name?");
    let anna = person(&firm, &anna).await.unwrap();
    let kept = consent::of_person(firm.app.domain.read(), anna.id).await.unwrap();
    assert_ne!(kept[0].version, consent::version("Our new rules."));
}

#[tokio::test]
async fn refusing_deletes_the_draft() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    anna.sends("/start").await;
    anna.presses("English").await;
    anna.presses("I don't agree").await;
    anna.sees("I can't register you without your consent");
    assert_eq!(anna.state().await, None);
    anna.sends("/start").await;
    anna.sees("Which language do you prefer?");
    assert!(person(&firm, &anna).await.is_none());
}

#[tokio::test]
async fn cancel_keeps_the_answers_and_says_so() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let anna = firm.stage.person("Anna");
    answers_until_documents(&anna).await;
    anna.sends("/cancel").await;
    anna.sees("Your answers are saved for a day; send /start to continue.");
    anna.sees("6 of 8 steps done");
    anna.presses("Continue").await;
    anna.sees("Send a photo of your passport");
    anna.sends("/cancel").await;
    anna.presses("Delete my answers").await;
    anna.sees("nothing was saved");
    assert_eq!(anna.state().await, None);
    sends_everything(&anna).await;
    finish_effects(&firm, PNG).await;
    anna.sees("Your registration is awaiting approval.");
}

#[tokio::test]
async fn leaving_a_rejection_decides_nothing() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let olga = firm.member("Olga", &[Role::Owner]).await;
    registered_person(&firm, "Anna").await;
    for leave in ["/cancel", "← Back"] {
        olga.presses("❌ Reject").await;
        olga.sees("Why are you rejecting Anna Smith?");
        olga.sees_button("🏠 Main menu");
        if leave.starts_with('/') {
            olga.sends(leave).await
        } else {
            olga.presses(leave).await
        }
        olga.sees("Anna Smith is still awaiting a decision");
        assert_eq!(olga.state().await, None);
        // The pressed card has no buttons any more; the list has a new one.
        olga.presses("📝 Registrations").await;
        olga.sees("waiting since Jan 1, 2026, 15:00");
    }
}
