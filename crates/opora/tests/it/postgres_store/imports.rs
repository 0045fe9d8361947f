//! Imports of thousands of conversations.

use futures_util::future::join_all;
use opora::store::{ConversationRow, Mark, Store, Version};
use opora_testkit::postgres_server::PostgresServer;
use sqlx::{Connection, PgConnection};

use super::{BOT, Fixture, NOW, at_state, person, talk, version};

const PEOPLE: i64 = 10_000;
/// The size of a page of an import.
const PAGE: usize = 256;

fn row(user: i64) -> ConversationRow {
    ConversationRow { key: person(user), version: Version(1), stored: Some(at_state("talking")), updated_at: NOW }
}

/// The id of the next transaction.
async fn next_transaction(fixture: &Fixture<PostgresServer>) -> i64 {
    let mut connection = PgConnection::connect(&fixture.server.url()).await.unwrap();
    sqlx::query_scalar("SELECT pg_current_xact_id()::text::bigint").fetch_one(&mut connection).await.unwrap()
}

#[tokio::test]
async fn an_import_uses_few_transactions() {
    let fixture = Fixture::on(PostgresServer::start(&[])).await;
    let before = next_transaction(&fixture).await;
    let rows: Vec<_> = (1..=PEOPLE).map(row).collect();
    for page in rows.chunks(PAGE) {
        let done = join_all(page.iter().map(|row| fixture.store.operator().import(row, false))).await;
        assert!(done.iter().all(|done| matches!(done, Ok(true))), "{done:?}");
    }
    let transactions = next_transaction(&fixture).await - before;
    assert!(transactions < 200, "{transactions} transactions for {PEOPLE} conversations");
    assert_eq!(fixture.store.statistics(None).await.unwrap().active, PEOPLE);
    assert_eq!(version(&fixture.store, &person(PEOPLE)).await.unwrap(), Version(1));
}

#[tokio::test]
async fn each_conversation_of_a_page_has_its_own_result() {
    let fixture = Fixture::on(PostgresServer::start(&[])).await;
    fixture.store.commit(fixture.epoch, talk(person(2), Version(0))).await.unwrap();
    let rows = [row(3), row(2), row(1), row(1)];
    let done = join_all(rows.iter().map(|row| fixture.store.operator().import(row, false))).await;
    let done: Vec<bool> = done.into_iter().map(Result::unwrap).collect();
    assert_eq!(done, [true, false, true, false], "an existing conversation stays, even a very new one");
    let done = join_all(rows.iter().map(|row| fixture.store.operator().import(row, true))).await;
    assert!(done.iter().all(|done| matches!(done, Ok(true))), "{done:?}");
    let mut versions = Vec::new();
    for user in 1..=3 {
        versions.push(version(&fixture.store, &person(user)).await.unwrap());
    }
    assert_eq!(versions, [Version(3), Version(2), Version(2)], "no version comes twice");
    // A turn that began before must notice.
    let late = fixture.store.commit(fixture.epoch, talk(person(2), Version(1))).await;
    assert!(matches!(late, Err(opora::store::StoreError::Overtaken(_))), "{late:?}");
}

/// How many marks were read, by index or by scan.
async fn marks_read(connection: &mut PgConnection) -> i64 {
    let asked = "SELECT (seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes AS i
                 WHERE i.relid = t.relid))::bigint FROM pg_stat_user_tables AS t WHERE relname = 'opora_marks'";
    sqlx::query_scalar(asked).fetch_one(connection).await.unwrap()
}

#[tokio::test]
async fn an_open_uses_an_index_even_if_planned_on_empty_tables() {
    let fixture = Fixture::on(PostgresServer::start(&[])).await;
    let mut connection = PgConnection::connect(&fixture.server.url()).await.unwrap();
    // From here on the planner knows that there are no marks, and would prefer a scan.
    sqlx::query("VACUUM (ANALYZE) opora_marks").execute(&mut connection).await.unwrap();
    fixture.store.open(&person(1), None).await.unwrap();
    let many = "INSERT INTO opora_marks SELECT 0, n, 'message:1:1', 0 FROM generate_series(1, 2000) AS n";
    sqlx::query(many).execute(&mut connection).await.unwrap();
    for user in 1..=50 {
        let mark = Mark { bot: BOT, update_id: user, identity: "message:1:1".into() };
        fixture.store.open(&person(user), Some(&mark)).await.unwrap();
    }
    // The counts of a session are complete when it ends.
    fixture.store.close().await.unwrap();
    let read = marks_read(&mut connection).await;
    assert!(read < 100, "{read} marks were read for fifty unprocessed inputs");
}
