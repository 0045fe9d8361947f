//! The application's tables: migrated once, written atomically, and consistent for every writer.

use opora::store::{Refusal, WriteError};
use sea_orm::{ConnectionTrait, Statement};
use workforce::audit;
use workforce::domain::{Domain, NotWritten, Transaction};
use workforce::people::{self, Enrolment, Grant};
use workforce::person::{Role, Status};
use workforce::texts::Language;

use crate::kit::firm::{NOON, StorageKind, TestStorage, on_every_database};
use crate::kit::sql::execute;

on_every_database! {
    migrations_run_once_with_concurrent_starts,
    tables_of_a_newer_version_are_refused,
    tables_of_another_version_are_refused,
    a_write_is_atomic,
    registered_people_have_documents,
    documents_are_deleted_only_with_their_person,
    only_rejected_people_may_register_again,
    role_changes_are_audited,
}

async fn migrations_run_once_with_concurrent_starts(kind: StorageKind) {
    let storage = TestStorage::new(kind).await;
    let (one, other) = tokio::join!(Domain::migrate(&storage.database), Domain::migrate(&storage.database));
    let mut taken = [one.unwrap(), other.unwrap()].concat();
    taken.sort_unstable();
    assert!(taken.contains(&"people") && taken.windows(2).all(|two| two[0] != two[1]), "{taken:?}");
    assert!(Domain::migrate(&storage.database).await.unwrap().is_empty());
    storage.domain().await.close().await.unwrap();
}

async fn tables_of_a_newer_version_are_refused(kind: StorageKind) {
    let storage = TestStorage::with_tables(kind).await;
    let domain = storage.domain().await;
    run(&domain, "INSERT INTO migrations (name, number) VALUES ('teleport', 99)").await.unwrap();
    domain.close().await.unwrap();
    let refused = Domain::open(&storage.state, &storage.database).await.unwrap_err();
    assert!(format!("{refused:#}").contains("newer version"), "{refused:#}");
}

async fn tables_of_another_version_are_refused(kind: StorageKind) {
    let storage = TestStorage::with_tables(kind).await;
    let domain = storage.domain().await;
    run(&domain, "UPDATE migrations SET name = 'long_histories' WHERE name = 'people'").await.unwrap();
    domain.close().await.unwrap();
    let refused = Domain::open(&storage.state, &storage.database).await.unwrap_err();
    assert!(format!("{refused:#}").contains("another program or version"), "{refused:#}");
}

async fn a_write_is_atomic(kind: StorageKind) {
    let storage = TestStorage::with_tables(kind).await;
    let domain = storage.domain().await;
    let refused = domain
        .write(|db| {
            Box::pin(async move {
                people::grant(db, owner(), NOON).await?;
                Err(Refusal::because("second thoughts"))
            })
        })
        .await;
    assert!(matches!(refused, Err(NotWritten::Refused(why)) if why == "second thoughts"));
    assert_eq!(people(&domain).await, 0);
    domain.write(|db| Box::pin(people::grant(db, owner(), NOON))).await.unwrap();
    assert_eq!(people(&domain).await, 1);
    domain.close().await.unwrap();
}

async fn registered_people_have_documents(kind: StorageKind) {
    let storage = TestStorage::with_tables(kind).await;
    let domain = storage.domain().await;
    for (status, main, selfie) in [
        ("pending", "NULL", "NULL"),
        ("verified", "NULL", "NULL"),
        // These documents do not exist.
        ("pending", "'p1'", "'s1'"),
    ] {
        let row = user(status, "registration", main, selfie);
        assert!(run(&domain, &row).await.is_err(), "{row}");
    }
    run(&domain, &user("verified", "grant", "NULL", "NULL")).await.unwrap();
    domain.write(|db| Box::pin(async move { register(db, 5).await })).await.unwrap();
    let undocumented = "UPDATE users SET selfie_id = NULL WHERE telegram_id = 5";
    assert!(run(&domain, undocumented).await.is_err(), "{undocumented}");
    run(&domain, "UPDATE users SET status = 'rejected', selfie_id = NULL WHERE telegram_id = 5").await.unwrap();
    domain.close().await.unwrap();
}

async fn documents_are_deleted_only_with_their_person(kind: StorageKind) {
    let storage = TestStorage::with_tables(kind).await;
    let domain = storage.domain().await;
    domain.write(|db| Box::pin(async move { register(db, 5).await })).await.unwrap();
    assert!(run(&domain, "DELETE FROM documents WHERE id = 'p5'").await.is_err());
    run(&domain, "DELETE FROM users WHERE telegram_id = 5").await.unwrap();
    assert_eq!(count(&domain, "SELECT COUNT(*) FROM documents").await, 0);
    assert_eq!(count(&domain, "SELECT COUNT(*) FROM user_roles").await, 0);
    domain.close().await.unwrap();
}

async fn only_rejected_people_may_register_again(kind: StorageKind) {
    let storage = TestStorage::with_tables(kind).await;
    let domain = storage.domain().await;
    domain.write(|db| Box::pin(async move { register(db, 5).await })).await.unwrap();
    let twice = domain.write(|db| Box::pin(async move { people::enrol(db, enrolment(5), NOON).await.map(drop) })).await;
    assert!(matches!(twice, Err(NotWritten::Refused(why)) if why.contains("registered already")));
    let all = people::People::new(domain.clone());
    let person = all.by_telegram(5).await.unwrap().unwrap();
    assert_eq!((person.status, person.roles.has(Role::Applicant), person.version), (Status::Pending, true, 1));
    let id = person.id;
    domain.write(move |db| Box::pin(people::set_status(db, id, Status::Rejected, Some(1), NOON))).await.unwrap();
    domain.write(|db| Box::pin(async move { people::enrol(db, enrolment(5), NOON).await.map(drop) })).await.unwrap();
    let person = all.by_telegram(5).await.unwrap().unwrap();
    assert_eq!((person.status, person.version), (Status::Pending, 3));
    assert_eq!(all.with_status(Status::Pending).await.unwrap().len(), 1);
    domain.close().await.unwrap();
}

async fn role_changes_are_audited(kind: StorageKind) {
    let storage = TestStorage::with_tables(kind).await;
    let domain = storage.domain().await;
    domain.write(|db| Box::pin(people::grant(db, owner(), NOON))).await.unwrap();
    let another = Grant { telegram_id: 2, ..owner() };
    domain.write(|db| Box::pin(people::grant(db, another, NOON))).await.unwrap();
    domain.write(|db| Box::pin(people::revoke(db, 1, Role::Owner, NOON))).await.unwrap();
    let again = domain.write(|db| Box::pin(people::revoke(db, 1, Role::Owner, NOON))).await;
    assert!(matches!(again, Err(NotWritten::Refused(why)) if why == "1 is not owner"));
    let lines = audit::about(&domain, ("user", 1)).await.unwrap();
    let lines: Vec<_> = lines.iter().map(|line| (line.action.as_str(), line.at, line.detail["role"].clone())).collect();
    assert_eq!(lines, [("role granted", NOON, "owner".into()), ("role revoked", NOON, "owner".into())]);
    domain.close().await.unwrap();
}

fn owner() -> Grant {
    Grant { telegram_id: 1, full_name: "Anna".into(), role: Role::Owner, language: Language::Ru, by: None }
}

fn enrolment(telegram_id: i64) -> Enrolment {
    Enrolment {
        telegram_id,
        full_name: "Boris Kim".into(),
        phone: "+79991234567".into(),
        username: None,
        email: None,
        language: Language::Ru,
        main_document_id: format!("p{telegram_id}"),
        selfie_id: format!("s{telegram_id}"),
    }
}

/// Writes a registration as its room does.
async fn register(db: &Transaction<'_, '_>, telegram_id: i64) -> Result<(), WriteError> {
    for (letter, kind) in [('p', "passport"), ('s', "selfie")] {
        let row = format!(
            "INSERT INTO documents (id, kind, media_type, size_bytes, sha256, created_at) \
             VALUES ('{letter}{telegram_id}', '{kind}', 'image/jpeg', 3, 'ab', 0)"
        );
        db.execute_unprepared(&row).await?;
    }
    let id = people::enrol(db, enrolment(telegram_id), NOON).await?;
    let owned = format!("UPDATE documents SET user_id = {id} WHERE id IN ('p{telegram_id}', 's{telegram_id}')");
    db.execute_unprepared(&owned).await?;
    Ok(())
}

fn user(status: &str, enrolled_by: &str, main: &str, selfie: &str) -> String {
    format!(
        "INSERT INTO users (telegram_id, full_name, language, status, enrolled_by, main_document_id, selfie_id, \
         created_at, updated_at) VALUES (7, 'Vera', 'ru', '{status}', '{enrolled_by}', {main}, {selfie}, 0, 0)"
    )
}

async fn run(domain: &Domain, sql: &str) -> Result<(), NotWritten> {
    let sql = sql.to_owned();
    domain.write(move |db| Box::pin(execute(db, sql))).await
}

async fn people(domain: &Domain) -> i64 {
    count(domain, "SELECT COUNT(*) FROM users").await
}

async fn count(domain: &Domain, sql: &str) -> i64 {
    let backend = domain.read().get_database_backend();
    let row = domain.read().query_one_raw(Statement::from_string(backend, sql)).await.unwrap().unwrap();
    row.try_get_by_index(0).unwrap()
}
