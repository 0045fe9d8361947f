//! A leader that lost its lease writes nothing more to the database.

use opora::store::{Commit, Store, StoreError, Version};
use sqlx::{Connection, PgConnection};

use super::{Fixture, Tables, claim, version_and_state, write_turn, writing_turn};

super::on_both_databases! {
    a_former_leader_writes_nothing,
    a_leader_fenced_only_in_redis_writes_nothing,
}

const FENCE: &str = "SELECT epoch FROM opora_fences";

async fn a_former_leader_writes_nothing(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let (old, new) = (fixture.store().await, fixture.store().await);
    let old_epoch = claim(&old, "old").await;
    write_turn(&old, old_epoch, 1, 11).await.unwrap();
    let new_epoch = claim(&new, "new").await;
    assert_eq!(fixture.tables.number(FENCE).await, new_epoch.0);
    fenced(old.commit(old_epoch, writing_turn(1, 12, Version(1))).await);
    assert_eq!(fixture.tables.notes().await, 1);
    write_turn(&new, new_epoch, 1, 12).await.unwrap();
    assert_eq!(version_and_state(&new, 1).await.0, Version(2));
}

async fn a_leader_fenced_only_in_redis_writes_nothing(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    fixture.tables.execute("UPDATE opora_fences SET epoch = epoch + 1").await;
    fenced(store.commit(epoch, writing_turn(1, 11, Version(0))).await);
    assert_eq!(fixture.tables.notes().await, 0);
    assert_eq!(version_and_state(&store, 1).await, (Version(0), None));
}

/// It had asked Redis, and was delayed before the database until another instance had taken over.
#[tokio::test]
async fn a_leader_paused_before_the_database_writes_nothing() {
    let fixture = Fixture::new(Tables::in_a_schema().await).await;
    let (old, new) = (fixture.store().await, fixture.store().await);
    let old_epoch = claim(&old, "old").await;
    let mut gate = PgConnection::connect(&fixture.tables.url()).await.unwrap();
    // Readers pass, writers wait.
    sqlx::raw_sql("BEGIN; LOCK TABLE opora_decisions IN EXCLUSIVE MODE").execute(&mut gate).await.unwrap();
    let held_up = tokio::spawn(async move { old.commit(old_epoch, writing_turn(1, 11, Version(0))).await });
    wait_for_waiter(&fixture).await;
    let new_epoch = claim(&new, "new").await;
    sqlx::raw_sql("ROLLBACK").execute(&mut gate).await.unwrap();
    fenced(held_up.await.unwrap());
    assert_eq!(fixture.tables.notes().await, 0);
    write_turn(&new, new_epoch, 1, 11).await.unwrap();
    assert_eq!((fixture.tables.notes().await, version_and_state(&new, 1).await.0), (1, Version(1)));
}

/// Waits until a session waits for the lock.
async fn wait_for_waiter(fixture: &Fixture) {
    const WAITS: &str = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'opora_decisions'::regclass";
    let waiting = async {
        while fixture.tables.number(WAITS).await == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(4), waiting).await.expect("it comes to the database");
}

#[track_caller]
fn fenced<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    assert!(matches!(answer, Err(StoreError::Fenced { .. })), "should be fenced: {answer:?}");
}

/// A turn without writes needs no database.
#[tokio::test]
async fn a_turn_without_writes_needs_no_database() {
    let fixture = Fixture::new(Tables::in_a_file()).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    let mut gate = sqlx::SqliteConnection::connect(&fixture.tables.url()).await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut gate).await.unwrap();
    let plain = Commit { writes: None, ..writing_turn(1, 11, Version(0)) };
    store.commit(epoch, plain).await.unwrap();
    assert_eq!(version_and_state(&store, 1).await.0, Version(1), "readers do not wait for writers");
    sqlx::raw_sql("ROLLBACK").execute(&mut gate).await.unwrap();
}
