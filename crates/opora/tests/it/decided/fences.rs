//! Who lost the lease writes nothing more to the database.

use opora::store::{Commit, Store, StoreError, Version};
use sqlx::{Connection, PgConnection};

use super::{Bench, Tables, claim, standing, write_turn, writing_turn};

super::on_both_databases! {
    a_former_leader_writes_nothing,
    a_leader_of_whom_only_redis_knows_writes_nothing,
}

const FENCE: &str = "SELECT epoch FROM opora_fences";

async fn a_former_leader_writes_nothing(tables: Tables) {
    let bench = Bench::new(tables).await;
    let (old, new) = (bench.store().await, bench.store().await);
    let old_epoch = claim(&old, "old").await;
    write_turn(&old, old_epoch, 1, 11).await.unwrap();
    let new_epoch = claim(&new, "new").await;
    assert_eq!(bench.tables.number(FENCE).await, new_epoch.0);
    fenced(old.commit(old_epoch, writing_turn(1, 12, Version(1))).await);
    assert_eq!(bench.tables.notes().await, 1);
    write_turn(&new, new_epoch, 1, 12).await.unwrap();
    assert_eq!(standing(&new, 1).await.0, Version(2));
}

async fn a_leader_of_whom_only_redis_knows_writes_nothing(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    bench.tables.say("UPDATE opora_fences SET epoch = epoch + 1").await;
    fenced(store.commit(epoch, writing_turn(1, 11, Version(0))).await);
    assert_eq!(bench.tables.notes().await, 0);
    assert_eq!(standing(&store, 1).await, (Version(0), None));
}

/// It had asked Redis, and was then held up before the database until another had taken over.
#[tokio::test]
async fn a_leader_that_was_paused_on_its_way_to_the_database_writes_nothing() {
    let bench = Bench::new(Tables::in_a_schema().await).await;
    let (old, new) = (bench.store().await, bench.store().await);
    let old_epoch = claim(&old, "old").await;
    let mut gate = PgConnection::connect(&bench.tables.url()).await.unwrap();
    // Readers pass, writers wait.
    sqlx::raw_sql("BEGIN; LOCK TABLE opora_decisions IN EXCLUSIVE MODE").execute(&mut gate).await.unwrap();
    let held_up = tokio::spawn(async move { old.commit(old_epoch, writing_turn(1, 11, Version(0))).await });
    waits(&bench).await;
    let new_epoch = claim(&new, "new").await;
    sqlx::raw_sql("ROLLBACK").execute(&mut gate).await.unwrap();
    fenced(held_up.await.unwrap());
    assert_eq!(bench.tables.notes().await, 0);
    write_turn(&new, new_epoch, 1, 11).await.unwrap();
    assert_eq!((bench.tables.notes().await, standing(&new, 1).await.0), (1, Version(1)));
}

/// Waits until somebody waits before the gate.
async fn waits(bench: &Bench) {
    const WAITS: &str = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'opora_decisions'::regclass";
    let waiting = async {
        while bench.tables.number(WAITS).await == 0 {
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
async fn a_turn_without_writes_is_for_redis_alone() {
    let bench = Bench::new(Tables::in_a_file()).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    let mut gate = sqlx::SqliteConnection::connect(&bench.tables.url()).await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut gate).await.unwrap();
    let plain = Commit { writes: None, ..writing_turn(1, 11, Version(0)) };
    store.commit(epoch, plain).await.unwrap();
    assert_eq!(standing(&store, 1).await.0, Version(1), "whoever reads waits for no writer");
    sqlx::raw_sql("ROLLBACK").execute(&mut gate).await.unwrap();
}
