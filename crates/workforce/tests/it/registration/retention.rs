//! Old personal data is forgotten after the time that the owner has set.

use std::time::Duration;

use workforce::audit;
use workforce::domain::Transaction;
use workforce::people;
use workforce::person::{Role, Status};
use workforce::registration::Registrations;
use workforce::settings;

use super::in_process::pending_document_id;
use super::{person, registered_person, stored_files};
use crate::kit::firm::{Firm, NOON, StorageKind, on_every_database};

on_every_database! {
    rejected_people_and_documents_of_blocked_ones_are_forgotten,
    without_the_setting_nothing_is_forgotten,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn set_days(firm: &Firm, days: &'static str) {
    let write = firm.app.domain.write(move |db: &Transaction<'_, '_>| {
        Box::pin(settings::set(db, settings::RETENTION_DAYS.name, days, None, NOON))
    });
    write.await.unwrap();
}

/// Anna is rejected, Boris works here, Vera is blocked after she was approved.
async fn decided(firm: &Firm) -> [i64; 3] {
    let olga = firm.member("Olga", &[Role::Owner]).await;
    let olga = person(firm, &olga).await.unwrap().id;
    let registrations = Registrations::of_app(&firm.app);
    let mut ids = Vec::new();
    for name in ["Anna", "Boris", "Vera"] {
        let someone = registered_person(firm, name).await;
        let id = person(firm, &someone).await.unwrap().id;
        let documents = registrations.documents_of(id).await.unwrap();
        let looked_at = pending_document_id(&documents);
        match name {
            "Anna" => registrations.reject(olga, id, looked_at, "The picture is dark.").await.unwrap(),
            _ => registrations.approve(olga, id, looked_at).await.unwrap(),
        }
        ids.push(id);
    }
    let vera = ids[2];
    let block = firm.app.domain.write(move |db: &Transaction<'_, '_>| {
        Box::pin(people::set_status(db, vera, Status::Blocked, Some(olga), NOON))
    });
    block.await.unwrap();
    [ids[0], ids[1], ids[2]]
}

async fn rejected_people_and_documents_of_blocked_ones_are_forgotten(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let [anna, boris, vera] = decided(&firm).await;
    set_days(&firm, "30").await;
    firm.stage.advance(DAY * 30).await;
    firm.run_job("retention").await;
    assert_eq!(stored_files(&firm).await.len(), 6, "the last day is not over");
    firm.stage.advance(Duration::from_secs(1)).await;
    for _ in 0..2 {
        firm.run_job("retention").await;
        let find = async |id| firm.app.people.by_id(id).await.unwrap().unwrap();
        let (anna, boris, vera) = (find(anna).await, find(boris).await, find(vera).await);
        assert_eq!((anna.full_name, anna.telegram_id), (format!("#{}", anna.id), -anna.id));
        assert_eq!((boris.status, vera.status), (Status::Verified, Status::Blocked));
        assert_eq!(vera.full_name, "Anna Smith", "a blocked person stays blocked under the name");
        assert_eq!(stored_files(&firm).await.len(), 2, "only the documents of a member are left");
    }
    let registrations = Registrations::of_app(&firm.app);
    assert!(registrations.documents_of(vera).await.unwrap().is_empty());
    assert_eq!(registrations.documents_of(boris).await.unwrap().len(), 2);
    for (id, action) in [(anna, "person forgotten"), (vera, "documents forgotten")] {
        let lines = audit::about(&firm.app.domain, ("user", id)).await.unwrap();
        assert_eq!(lines.iter().filter(|line| line.action == action).count(), 1, "{lines:?}");
    }
}

async fn without_the_setting_nothing_is_forgotten(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    decided(&firm).await;
    firm.stage.advance(DAY * 1000).await;
    firm.run_job("retention").await;
    assert_eq!(stored_files(&firm).await.len(), 6);
}

/// A member without documents is rejected by an unblock. Work and pay keep the name.
#[tokio::test]
async fn a_former_member_is_not_forgotten_as_a_whole() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let [_, _, vera] = decided(&firm).await;
    let reject = firm
        .app
        .domain
        .write(move |db: &Transaction<'_, '_>| Box::pin(people::set_status(db, vera, Status::Rejected, None, NOON)));
    reject.await.unwrap();
    set_days(&firm, "30").await;
    firm.stage.advance(DAY * 31).await;
    firm.run_job("retention").await;
    assert_eq!(firm.app.people.by_id(vera).await.unwrap().unwrap().full_name, "Anna Smith");
}

/// The person changed after the job had read the row, for example by registering again.
#[tokio::test]
async fn a_person_who_changed_meanwhile_is_not_forgotten() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let [anna, _, vera] = decided(&firm).await;
    for id in [anna, vera] {
        let read = firm.app.people.by_id(id).await.unwrap().unwrap();
        let touch = firm.app.domain.write(move |db: &Transaction<'_, '_>| {
            Box::pin(people::set_username(db, id, Some(format!("user{id}")), NOON))
        });
        touch.await.unwrap();
        assert!(!people::forget_unchanged(&firm.app, &read, NOON).await.unwrap());
        assert!(!people::forget_documents(&firm.app, &read, NOON, |_, _| panic!("nothing is deleted")).await.unwrap());
    }
    assert_eq!(stored_files(&firm).await.len(), 6);
}
