//! Statistics that do not read conversations.

use opora::store::{Filter, Store};
use sqlx::{Connection, PgConnection};

use super::{BOT, Fixture};
use crate::stage::until;

#[tokio::test]
async fn statistics_read_no_conversations() {
    let fixture = Fixture::new().await;
    let mut connection = PgConnection::connect(&fixture.server.url).await.unwrap();
    let mut there = 0;
    for many in [10, 1_000] {
        for user in there + 1..=many {
            fixture.turn(user).await.unwrap();
        }
        there = many;
        // A reader of a conversation has to wait now.
        let mut locked = connection.begin().await.unwrap();
        let lock = "LOCK TABLE opora_conversations IN ACCESS EXCLUSIVE MODE";
        sqlx::query(lock).execute(&mut *locked).await.unwrap();
        let counted = fixture.store.statistics(Some(BOT)).await.unwrap();
        assert_eq!((counted.active, counted.by_state.len()), (many, 1));
        // The counters: one row per writer and state.
        let rows = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM opora_state_counts");
        let rows = rows.fetch_one(&mut *locked).await.unwrap();
        assert!(rows < 10, "{rows} rows count {many} conversations");
        locked.rollback().await.unwrap();
    }

    // A list of conversations is such a reader.
    let mut locked = connection.begin().await.unwrap();
    sqlx::query("LOCK TABLE opora_conversations IN ACCESS EXCLUSIVE MODE").execute(&mut *locked).await.unwrap();
    let (all, watched) = (Filter::default(), tokio::sync::Mutex::new(locked));
    let listing = fixture.store.list(&all, None, 1);
    let waits = until("the list waits for the lock", async || {
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'opora_conversations'::regclass";
        let waiting = sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut **watched.lock().await).await.unwrap();
        waiting > 0
    });
    tokio::select! {
        biased;
        () = waits => {}
        listed = listing => panic!("it was listed behind a lock: {listed:?}"),
    }
    watched.into_inner().rollback().await.unwrap();
}
