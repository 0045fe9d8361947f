//! Cleaning during other work: neither waits for the other.

use std::time::{Duration, Instant};

use opora::store::{Cleaned, CleaningLimits, Commit, Filter, StateChange, Store};
use opora_testkit::postgres_server::query;
use sqlx::{Connection, PgConnection};

use super::{Fixture, NOW, person};

/// Limits that make everything old.
fn everything_is_old() -> CleaningLimits {
    let before = opora::clock::Millis(NOW.0 + 1);
    CleaningLimits { marks_before: before, records_before: before, max_parked: 10, mark_ttl: None }
}

#[tokio::test]
async fn a_slow_cleaning_does_not_delay_renewals() {
    let fixture = Fixture::new().await;
    query(
        &fixture.server.url,
        "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql
         AS $$BEGIN PERFORM pg_sleep(0.8); RETURN NULL; END$$",
    )
    .await;
    for table in ["marks", "posts", "transitions", "failed", "labels"] {
        let slow = format!("CREATE TRIGGER slow BEFORE DELETE ON opora_{table} EXECUTE FUNCTION slowly()");
        query(&fixture.server.url, &slow).await;
    }
    let began = Instant::now();
    let cleaning = fixture.store.clean(fixture.epoch, everything_is_old());
    tokio::pin!(cleaning);
    let mut longest = Duration::ZERO;
    let cleaned = loop {
        let asked = Instant::now();
        let renewal = fixture.store.renew(super::BOT, fixture.epoch);
        tokio::pin!(renewal);
        tokio::select! {
            biased;
            cleaned = &mut cleaning => break cleaned,
            renewed = &mut renewal => renewed.unwrap(),
        }
        longest = longest.max(asked.elapsed());
    };
    assert_eq!(cleaned.unwrap(), Cleaned::default());
    assert!(began.elapsed() >= Duration::from_secs(4), "the tables are slow");
    assert!(longest < Duration::from_millis(3_500), "a renewal waited for {longest:?}");
}

#[tokio::test]
async fn a_cleaning_skips_conversations_being_committed() {
    let fixture = Fixture::new().await;
    for user in 1..=3 {
        fixture.turn(user).await.unwrap();
        let version = super::version(&fixture.store, &person(user)).await.unwrap();
        let end = Commit { state: StateChange::Clear, ..Commit::new(person(user), version, NOW) };
        fixture.store.commit(fixture.epoch, end).await.unwrap();
    }
    let ended = async || {
        let all = Filter { ended: true, ..Filter::default() };
        let rows = fixture.store.list(&all, None, 10).await.unwrap();
        rows.into_iter().map(|row| row.key.user).collect::<Vec<_>>()
    };
    let mut committing = PgConnection::connect(&fixture.server.url).await.unwrap();
    let mut turn = committing.begin().await.unwrap();
    let locked = sqlx::query("SELECT 1 FROM opora_conversations WHERE key = $1 FOR UPDATE").bind(person(2).to_string());
    locked.execute(&mut *turn).await.unwrap();
    assert!(fixture.store.clean(fixture.epoch, everything_is_old()).await.unwrap().aged >= 2);
    assert_eq!(ended().await, [2]);
    turn.rollback().await.unwrap();
    assert_eq!(fixture.store.clean(fixture.epoch, everything_is_old()).await.unwrap().aged, 1);
    assert_eq!(ended().await, [0_i64; 0]);
}
