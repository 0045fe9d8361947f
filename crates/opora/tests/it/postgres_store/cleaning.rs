//! A cleaning beside all else: nothing waits for it, and it waits for nobody.

use std::time::{Duration, Instant};

use opora::store::{Bounds, Cleaned, Commit, Filter, StateChange, Store};
use opora_testkit::postgres_server::query;
use sqlx::{Connection, PgConnection};

use super::{Bench, NOW, person};

/// Everything that there is by now is old.
fn all_is_old() -> Bounds {
    let before = opora::clock::Millis(NOW.0 + 1);
    Bounds { marks_before: before, records_before: before, parked_most: 10, marks_live: None }
}

#[tokio::test]
async fn a_renewal_goes_between_the_tables_of_a_slow_cleaning() {
    let bench = Bench::new().await;
    query(
        &bench.server.url,
        "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql
         AS $$BEGIN PERFORM pg_sleep(0.8); RETURN NULL; END$$",
    )
    .await;
    for table in ["marks", "posts", "transitions", "failed", "labels"] {
        let slow = format!("CREATE TRIGGER slow BEFORE DELETE ON opora_{table} EXECUTE FUNCTION slowly()");
        query(&bench.server.url, &slow).await;
    }
    let began = Instant::now();
    let cleaning = bench.store.clean(bench.epoch, all_is_old());
    tokio::pin!(cleaning);
    let mut longest = Duration::ZERO;
    let cleaned = loop {
        let asked = Instant::now();
        let renewal = bench.store.renew(super::BOT, bench.epoch);
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
async fn a_cleaning_leaves_alone_whose_turn_is_being_committed() {
    let bench = Bench::new().await;
    for user in 1..=3 {
        bench.turn(user).await.unwrap();
        let version = super::version(&bench.store, &person(user)).await.unwrap();
        let end = Commit { state: StateChange::Clear, ..Commit::new(person(user), version, NOW) };
        bench.store.commit(bench.epoch, end).await.unwrap();
    }
    let ended = async || {
        let all = Filter { ended: true, ..Filter::default() };
        let rows = bench.store.list(&all, None, 10).await.unwrap();
        rows.into_iter().map(|row| row.key.user).collect::<Vec<_>>()
    };
    let mut committing = PgConnection::connect(&bench.server.url).await.unwrap();
    let mut turn = committing.begin().await.unwrap();
    let locked = sqlx::query("SELECT 1 FROM opora_conversations WHERE key = $1 FOR UPDATE").bind(person(2).to_string());
    locked.execute(&mut *turn).await.unwrap();
    assert!(bench.store.clean(bench.epoch, all_is_old()).await.unwrap().aged >= 2);
    assert_eq!(ended().await, [2]);
    turn.rollback().await.unwrap();
    assert_eq!(bench.store.clean(bench.epoch, all_is_old()).await.unwrap().aged, 1);
    assert_eq!(ended().await, [0_i64; 0]);
}
