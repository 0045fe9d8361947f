//! Deciding on registrations, in the bot and by the front door that pages use.

use std::sync::Arc;
use std::time::Duration;

use workforce::audit;
use workforce::person::{Role, Status};
use workforce::registration::{DocumentStatus, NotDecided, Registrations};

use super::live::mark;
use super::{PNG, person, registered, sends_everything, works};
use crate::kit::firm::{Firm, Kind, on_every_database};

on_every_database! {
    an_owner_approves_and_the_second_one_is_told_who_did,
    of_two_who_decide_at_once_one_does,
    who_is_rejected_hears_why_and_may_register_again,
    those_who_wait_longest_come_first_and_no_more_are_loaded_than_are_shown,
}

async fn an_owner_approves_and_the_second_one_is_told_who_did(kind: Kind) {
    let firm = Firm::open(kind).await;
    let (olga, petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Superadmin]).await);
    let anna = registered(&firm, "Anna").await;
    olga.sees("New registration: Anna Smith");
    petr.sees("New registration: Anna Smith");
    olga.presses("🪪 Documents").await;
    olga.sees("(photo) Passport: Anna Smith");
    olga.sees("(photo) Selfie: Anna Smith");
    olga.presses("✅ Approve").await;
    olga.sees("Approved: Anna Smith");
    anna.sees("Welcome to the team!");
    anna.sees("There is a short questionnaire");
    petr.presses("✅ Approve").await;
    petr.sees_toast("Already approved by Olga.");
    petr.presses("❌ Reject").await;
    petr.sees_toast("Already approved by Olga.");
    olga.presses("✅ Approve").await;
    olga.sees_toast("Already approved by Olga.");

    let person = person(&firm, &anna).await.unwrap();
    assert_eq!((person.status, person.roles.iter().collect::<Vec<_>>()), (Status::Verified, vec![Role::Employee]));
    let documents = Registrations::of_app(&firm.app).of(person.id).await.unwrap();
    assert!(documents.iter().all(|document| document.status == DocumentStatus::Approved) && documents.len() == 2);
    let lines = audit::about(&firm.app.domain, ("user", person.id)).await.unwrap();
    let olga = super::person(&firm, &olga).await.unwrap();
    assert!(lines.iter().any(|line| line.actor == Some(olga.id) && line.detail["status"] == "verified"), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.action == "status changed").count(), 1, "{lines:?}");
    anna.presses("🏠 Main menu").await;
    anna.sees("Anna Smith");
    anna.presses("📝 Questionnaire").await;
    anna.sees("Do you agree?");
}

async fn of_two_who_decide_at_once_one_does(kind: Kind) {
    let firm = Firm::open(kind).await;
    let (olga, petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Owner]).await);
    let anna = registered(&firm, "Anna").await;
    let id = person(&firm, &anna).await.unwrap().id;
    let (olga, petr) = (person(&firm, &olga).await.unwrap().id, person(&firm, &petr).await.unwrap().id);
    let registrations = Arc::new(Registrations::of_app(&firm.app));
    let other = Arc::clone(&registrations);
    let looked_at = mark(&registrations.of(id).await.unwrap()).to_owned();
    let again = looked_at.clone();
    let approving = tokio::spawn(async move { registrations.approve(olga, id, &looked_at).await });
    let rejecting = tokio::spawn(async move { other.reject(petr, id, &again, "the picture is dark").await });
    let (approved, rejected) = (approving.await.unwrap(), rejecting.await.unwrap());
    let status = person(&firm, &anna).await.unwrap().status;
    match (approved, rejected) {
        (Ok(()), Err(NotDecided::NotWaiting(Some(decided)))) => {
            assert!(decided.is_approved && decided.by.unwrap().id == olga && status == Status::Verified);
        }
        (Err(NotDecided::NotWaiting(Some(decided))), Ok(())) => {
            assert!(!decided.is_approved && decided.by.unwrap().id == petr && status == Status::Rejected);
        }
        other => panic!("one decides: {other:?}"),
    }
}

async fn who_is_rejected_hears_why_and_may_register_again(kind: Kind) {
    let firm = Firm::open(kind).await;
    let olga = firm.member("Olga", &[Role::Owner]).await;
    let anna = registered(&firm, "Anna").await;
    olga.presses("❌ Reject").await;
    olga.sees("Why do you reject Anna Smith?");
    olga.sends(&"x".repeat(400)).await;
    olga.sees("1 to 300 characters");
    olga.sends("The passport is not readable.").await;
    olga.sees("Rejected: Anna Smith");
    anna.sees("Reason: The passport is not readable.");
    let first = person(&firm, &anna).await.unwrap();
    assert_eq!((first.status, first.roles.has(Role::Employee)), (Status::Rejected, false));

    sends_everything_again(&anna).await;
    works(&firm, PNG).await;
    anna.sees("Your registration is being looked at.");
    // A button of the first registration does not decide on the second.
    olga.presses_nth("✅ Approve", 1).await;
    olga.sees_toast("out of date");
    olga.presses("✅ Approve").await;
    olga.sees("Approved: Anna Smith");
    let person = person(&firm, &anna).await.unwrap();
    assert_eq!((person.id, person.status), (first.id, Status::Verified));
    let documents = Registrations::of_app(&firm.app).of(person.id).await.unwrap();
    let rejected = documents.iter().filter(|document| document.reason.is_some()).count();
    assert_eq!((documents.len(), rejected), (4, 2));
}

async fn sends_everything_again(anna: &opora::testing::chat::Someone) {
    anna.sends("/start").await;
    anna.sees("Your last registration was declined: The passport is not readable.");
    sends_everything(anna).await;
}

#[tokio::test]
async fn the_list_shows_who_waits_to_those_who_decide_and_to_nobody_else() {
    let firm = Firm::open(Kind::Sqlite).await;
    let (olga, vera) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Vera", &[Role::Manager]).await);
    olga.sends("/start").await;
    olga.presses("📝 Registrations").await;
    olga.sees("No registrations are waiting.");
    let anna = registered(&firm, "Anna").await;
    olga.sends("/start").await;
    olga.presses("📝 Registrations").await;
    olga.sees("waiting since 01.01.2026 12:00 UTC");
    olga.sees("1 registration is waiting.");
    let user = anna.key().user;
    for data in ["reg:waiting".to_owned(), format!("reg:approve:{user}:"), format!("reg:papers:{user}:")] {
        vera.presses_data(&data).await;
        vera.sees_toast("your role does not include it");
        vera.sees_nothing();
    }
    let registrations = Registrations::of_app(&firm.app);
    let (anna, vera) = (person(&firm, &anna).await.unwrap().id, person(&firm, &vera).await.unwrap().id);
    assert!(matches!(registrations.approve(vera, anna, "").await, Err(NotDecided::NotAllowed)));
    let waiting = registrations.waiting(9).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].documents.len()), (1, 2));
}

/// Who was rejected and comes again waits since then, and not since the first time.
async fn those_who_wait_longest_come_first_and_no_more_are_loaded_than_are_shown(kind: Kind) {
    let firm = Firm::open(kind).await;
    let olga = firm.member("Olga", &[Role::Owner]).await;
    let anna = registered(&firm, "Anna").await;
    olga.presses("❌ Reject").await;
    olga.sends("The passport is not readable.").await;
    let (boris, vera) = (firm.stage.person("Boris"), firm.stage.person("Vera"));
    for someone in [&boris, &vera] {
        firm.stage.passes(Duration::from_secs(60)).await;
        sends_everything(someone).await;
        works(&firm, PNG).await;
    }
    firm.stage.passes(Duration::from_secs(60)).await;
    sends_everything_again(&anna).await;
    works(&firm, PNG).await;
    let registrations = Registrations::of_app(&firm.app);
    assert_eq!(registrations.count().await.unwrap(), 3);
    let in_turn = [&boris, &vera, &anna].map(|someone| someone.key().user);
    for most in [9, 2] {
        let waiting = registrations.waiting(most).await.unwrap();
        assert!(waiting.iter().all(|one| one.documents.len() == 2), "{waiting:?}");
        let ids: Vec<_> = waiting.into_iter().map(|one| one.person.telegram_id).collect();
        assert_eq!(ids, in_turn[..ids.len()]);
        assert_eq!(ids.len() as u64, most.min(3));
    }
}

#[tokio::test]
async fn two_owners_press_at_once_and_one_decides() {
    let firm = Firm::open(Kind::Sqlite).await;
    let (olga, petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Owner]).await);
    let anna = registered(&firm, "Anna").await;
    tokio::join!(olga.presses("✅ Approve"), petr.presses("✅ Approve"));
    let approved = [&olga, &petr].map(|one| one.answers().iter().filter(|text| text.contains("Approved")).count());
    assert_eq!(approved.iter().sum::<usize>(), 1);
    assert_eq!(anna.answers().iter().filter(|text| text.contains("Welcome")).count(), 1);
}
