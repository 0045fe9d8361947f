//! Decisions on registrations, in the bot and through the room's public functions.

use std::sync::Arc;
use std::time::Duration;

use opora::jobs::{JobFilter, JobState};
use workforce::audit;
use workforce::person::{Role, Status};
use workforce::registration::{DecisionError, DocumentStatus, Registrations};
use workforce::settings::{self, QUIET_HOURS, TIME_ZONE};

use super::in_process::pending_document_id;
use super::{PNG, finish_effects, person, registered_person, sends_everything};
use crate::kit::firm::{Firm, NOON, StorageKind, on_every_database};

on_every_database! {
    the_second_owner_is_told_who_approved,
    of_two_simultaneous_decisions_one_counts,
    rejected_people_read_why_and_may_register_again,
    the_list_is_ordered_by_waiting_time_and_limited,
    a_decider_with_quiet_hours_is_told_in_the_morning,
}

const MORNING: Duration = Duration::from_secs(10 * 3600);

/// In Vladivostok it is 22:00. Petr has no quiet hours.
async fn a_decider_with_quiet_hours_is_told_in_the_morning(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let (olga, petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Owner]).await);
    for (name, value) in [(TIME_ZONE.name, "Asia/Vladivostok"), (QUIET_HOURS.name, "22-8")] {
        let set = firm.app.domain.write(move |db| Box::pin(settings::set(db, name, value, None, NOON)));
        set.await.unwrap();
    }
    petr.sends("/quiet").await;
    petr.presses("No quiet hours").await;
    registered_person(&firm, "Anna").await;
    petr.sees("New registration: Anna Smith");
    assert!(!olga.transcript().contains("New registration"), "{}", olga.transcript());
    let waiting = async || {
        firm.stage.run_jobs(&firm.app.rooms.jobs().workers()).await;
        let name = Some("registration-waiting".to_owned());
        let filter = JobFilter { bot: firm.app.bot_id, name, ..JobFilter::default() };
        let mut jobs = firm.app.domain.store().operator().jobs(&filter, None, 10).await.unwrap();
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        let job = jobs.remove(0);
        (job.state, job.run_at)
    };
    assert_eq!(waiting().await, (JobState::Scheduled, NOON.plus(MORNING)));
    firm.stage.clock().advance(MORNING);
    // No bot takes messages here, so it is tried again after five seconds.
    let again = Duration::from_secs(5);
    assert_eq!(waiting().await, (JobState::Scheduled, NOON.plus(MORNING + again)));
    petr.presses("✅ Approve").await;
    firm.stage.clock().advance(again);
    assert_eq!(waiting().await.0, JobState::Completed, "it is decided");
}

async fn the_second_owner_is_told_who_approved(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let (olga, petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Superadmin]).await);
    let anna = registered_person(&firm, "Anna").await;
    olga.sees("New registration: Anna Smith");
    petr.sees("New registration: Anna Smith");
    olga.presses("🪪 Documents").await;
    olga.sees("(photo) Passport: Anna Smith");
    olga.sees("(photo) Selfie: Anna Smith");
    olga.presses("✅ Approve").await;
    olga.sees("Approved: Anna Smith");
    anna.sees("Welcome to the team!");
    anna.sees("Please fill in a short questionnaire");
    petr.presses("✅ Approve").await;
    petr.sees_toast("Already approved by Olga.");

    let person = person(&firm, &anna).await.unwrap();
    assert_eq!((person.status, person.roles.iter().collect::<Vec<_>>()), (Status::Verified, vec![Role::Employee]));
    let documents = Registrations::of_app(&firm.app).documents_of(person.id).await.unwrap();
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

/// The card of the owner who decided, and that of an owner who came later.
#[tokio::test]
async fn a_decided_card_has_no_buttons() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let (olga, petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Owner]).await);
    registered_person(&firm, "Anna").await;
    olga.sees_button("✅ Approve");
    for owner in [&olga, &petr] {
        owner.presses("✅ Approve").await;
        let shown = owner.transcript().replace("(presses [✅ Approve])", "");
        assert!(!shown.contains("✅ Approve") && !shown.contains("❌ Reject"), "{shown}");
    }
    registered_person(&firm, "Vera").await;
    olga.presses("❌ Reject").await;
    let shown = olga.transcript().replace("(presses [❌ Reject])", "");
    assert!(!shown.contains("❌ Reject"), "{shown}");
}

/// The reason comes in a message of its own, and Olga may have scrolled past the card.
#[tokio::test]
async fn a_card_shows_the_rejection_or_who_was_faster() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let (olga, petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Owner]).await);
    registered_person(&firm, "Anna").await;
    olga.presses("❌ Reject").await;
    olga.sends("The passport is not readable.").await;
    olga.sees("Rejected: Anna Smith\nReason: The passport is not readable.");
    assert!(!olga.transcript().contains("New registration: Anna Smith"), "{}", olga.transcript());
    registered_person(&firm, "Vera").await;
    olga.presses("❌ Reject").await;
    petr.presses("✅ Approve").await;
    olga.sends("The passport is not readable.").await;
    olga.sees("Anna Smith\n\nAlready approved by Petr.");
}

async fn of_two_simultaneous_decisions_one_counts(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let (olga, petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Owner]).await);
    let anna = registered_person(&firm, "Anna").await;
    let id = person(&firm, &anna).await.unwrap().id;
    let (olga, petr) = (person(&firm, &olga).await.unwrap().id, person(&firm, &petr).await.unwrap().id);
    let registrations = Arc::new(Registrations::of_app(&firm.app));
    let other = Arc::clone(&registrations);
    let looked_at = pending_document_id(&registrations.documents_of(id).await.unwrap()).to_owned();
    let again = looked_at.clone();
    let approving = tokio::spawn(async move { registrations.approve(olga, id, &looked_at).await });
    let rejecting = tokio::spawn(async move { other.reject(petr, id, &again, "the picture is dark").await });
    let (approved, rejected) = (approving.await.unwrap(), rejecting.await.unwrap());
    let status = person(&firm, &anna).await.unwrap().status;
    match (approved, rejected) {
        (Ok(()), Err(DecisionError::NotWaiting(Some(decided)))) => {
            assert!(decided.is_approved && decided.by.unwrap().id == olga && status == Status::Verified);
        }
        (Err(DecisionError::NotWaiting(Some(decided))), Ok(())) => {
            assert!(!decided.is_approved && decided.by.unwrap().id == petr && status == Status::Rejected);
        }
        other => panic!("one decides: {other:?}"),
    }
}

async fn rejected_people_read_why_and_may_register_again(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let (olga, petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Owner]).await);
    let anna = registered_person(&firm, "Anna").await;
    olga.presses("❌ Reject").await;
    olga.sees("Why are you rejecting Anna Smith?");
    olga.sends(&"x".repeat(400)).await;
    olga.sees("1 to 300 characters");
    olga.sends("The passport is not readable.").await;
    olga.sees("Rejected: Anna Smith");
    anna.sees("Reason: The passport is not readable.");
    let first = person(&firm, &anna).await.unwrap();
    assert_eq!((first.status, first.roles.has(Role::Employee)), (Status::Rejected, false));

    sends_everything_again(&anna).await;
    finish_effects(&firm, PNG).await;
    anna.sees("Your registration is awaiting approval.");
    // A button of the first registration does not decide on the second.
    petr.presses_older("✅ Approve", 1).await;
    petr.sees_toast("has changed since");
    olga.presses("✅ Approve").await;
    olga.sees("Approved: Anna Smith");
    let person = person(&firm, &anna).await.unwrap();
    assert_eq!((person.id, person.status), (first.id, Status::Verified));
    let documents = Registrations::of_app(&firm.app).documents_of(person.id).await.unwrap();
    let rejected = documents.iter().filter(|document| document.reason.is_some()).count();
    assert_eq!((documents.len(), rejected), (4, 2));
}

async fn sends_everything_again(anna: &opora::testing::chat::ChatUser) {
    anna.sends("/start").await;
    anna.sees("Your last registration was rejected: The passport is not readable.");
    sends_everything(anna).await;
}

#[tokio::test]
async fn only_deciders_see_the_list_of_registrations() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let (olga, vera) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Vera", &[Role::Manager]).await);
    olga.sends("/start").await;
    olga.presses("📝 Registrations").await;
    olga.sees("No registrations awaiting approval.");
    let anna = registered_person(&firm, "Anna").await;
    olga.sends("/start").await;
    olga.presses("📝 Registrations · 1").await;
    olga.sees("waiting since Jan 1, 2026, 15:00");
    olga.sees("1 registration awaiting approval.");
    let user = anna.key().user;
    for data in ["reg:waiting".to_owned(), format!("reg:approve:{user}:"), format!("reg:papers:{user}:")] {
        vera.presses_data(&data).await;
        vera.sees_toast("You don't have permission");
        vera.sees_nothing();
    }
    let registrations = Registrations::of_app(&firm.app);
    let (anna, vera) = (person(&firm, &anna).await.unwrap().id, person(&firm, &vera).await.unwrap().id);
    assert!(matches!(registrations.approve(vera, anna, "").await, Err(DecisionError::NotAllowed)));
    let waiting = registrations.waiting(9).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].documents.len()), (1, 2));
}

/// A person who was rejected and registers again waits since then.
async fn the_list_is_ordered_by_waiting_time_and_limited(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let olga = firm.member("Olga", &[Role::Owner]).await;
    let anna = registered_person(&firm, "Anna").await;
    olga.presses("❌ Reject").await;
    olga.sends("The passport is not readable.").await;
    let (boris, vera) = (firm.stage.person("Boris"), firm.stage.person("Vera"));
    for someone in [&boris, &vera] {
        firm.stage.advance(Duration::from_secs(60)).await;
        sends_everything(someone).await;
        finish_effects(&firm, PNG).await;
    }
    firm.stage.advance(Duration::from_secs(60)).await;
    sends_everything_again(&anna).await;
    finish_effects(&firm, PNG).await;
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
    let firm = Firm::open(StorageKind::Sqlite).await;
    let (olga, petr) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Petr", &[Role::Owner]).await);
    let anna = registered_person(&firm, "Anna").await;
    tokio::join!(olga.presses("✅ Approve"), petr.presses("✅ Approve"));
    let approved = [&olga, &petr].map(|one| one.answers().iter().filter(|text| text.contains("Approved")).count());
    assert_eq!(approved.iter().sum::<usize>(), 1);
    assert_eq!(anna.answers().iter().filter(|text| text.contains("Welcome")).count(), 1);
}
