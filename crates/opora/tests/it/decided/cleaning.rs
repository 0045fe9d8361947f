//! What is cleaned away in Redis while a turn is decided in SQL: the turn is carried out all the same.

use std::sync::Arc;
use std::time::Duration;

use opora::clock::Millis;
use opora::key::DialogueKey;
use opora::store::{
    Bounds, Commit, DecidedStore, DomainWrites, Epoch, Filter, RedisStore, StateChange, Store, StoreError, Version,
};
use sqlx::{Connection, PgConnection};

use super::{
    Bench, NOW, Tables, claim, found_again, is_taken, key, note, note_and_kill, standing, turn, unsent, write_turn,
};

super::on_both_databases! {
    what_is_decided_while_ended_conversations_are_cleaned_away_is_carried_out,
    what_may_be_decided_is_carried_out_before_ended_conversations_are_cleaned_away,
}

/// Whoever has ended goes.
const BOUNDS: Bounds =
    Bounds { marks_before: Millis(0), records_before: Millis(NOW.0 + 1), parked_most: 9, marks_live: None };

/// Somebody else in the chat, and so in the same room, who has ended at a higher version than the next one begins from.
async fn somebody_has_ended(store: &DecidedStore, epoch: Epoch) {
    let other = DialogueKey { user: 2, ..key(1) };
    for from in 0..3 {
        let end = Commit { state: StateChange::Clear, ..Commit::new(other.clone(), Version(from), NOW) };
        store.commit(epoch, end).await.unwrap();
    }
}

async fn has_somebody_ended(redis: &RedisStore) -> bool {
    let filter = Filter { user: Some(2), ended: true, ..Filter::default() };
    !redis.list(&filter, None, 9).await.unwrap().is_empty()
}

async fn what_is_decided_while_ended_conversations_are_cleaned_away_is_carried_out(tables: Tables) {
    let bench = Bench::new(tables).await;
    let (store, redis) = (Arc::new(bench.store().await), bench.plain_redis().await);
    let epoch = claim(&*store, "first").await;
    somebody_has_ended(&store, epoch).await;
    let (cleans, looks) = (Arc::clone(&store), bench.plain_redis().await);
    let writes = DomainWrites::new(move |database| {
        Box::pin(async move {
            note(1).run(database).await?;
            let cleaning = tokio::spawn(async move { cleans.clean(epoch, BOUNDS).await });
            // The cleaning is over, as far as it waits for nothing of this; or it has given up.
            while !cleaning.is_finished() && has_somebody_ended(&looks).await {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok(())
        })
    });
    store.commit(epoch, Commit { writes: Some(writes), ..turn(1, 11, Version(0)) }).await.unwrap();
    assert_eq!(standing(&redis, 1).await, (Version(1), Some("after-11".into())));
    assert!(is_taken(&redis, 1, 11).await);
    assert_eq!(unsent(&redis).await, ["after-11"]);
    assert_eq!(bench.tables.notes().await, 1);
    // The next one cleans.
    store.clean(epoch, BOUNDS).await.unwrap();
    assert!(!has_somebody_ended(&redis).await);
    write_turn(&*store, epoch, 1, 12).await.unwrap();
}

async fn what_may_be_decided_is_carried_out_before_ended_conversations_are_cleaned_away(tables: Tables) {
    let bench = Bench::new(tables).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    somebody_has_ended(&store, epoch).await;
    let half = Commit { writes: Some(note_and_kill(&bench, 1)), ..turn(1, 11, Version(0)) };
    let unsure = store.commit(epoch, half).await;
    assert!(matches!(unsure, Err(StoreError::Unavailable(_))), "{unsure:?}");
    bench.redis.lock().start_again();
    found_again(&store).await;
    store.clean(epoch, BOUNDS).await.unwrap();
    let redis = bench.plain_redis().await;
    assert!(!has_somebody_ended(&redis).await);
    assert_eq!(standing(&redis, 1).await, (Version(1), Some("after-11".into())));
    assert!(is_taken(&redis, 1, 11).await);
    assert_eq!(bench.tables.notes().await, 1);
}

/// A decision may stand, and another one that hangs keeps the database from saying so. A lock is waited for twice as long.
#[tokio::test]
async fn a_cleaning_waits_no_longer_for_what_may_be_decided_than_for_what_is() {
    let bench = Bench::new(Tables::in_a_schema().await).await;
    let store = bench.store().await;
    let epoch = claim(&store, "first").await;
    somebody_has_ended(&store, epoch).await;
    let half = Commit { writes: Some(note_and_kill(&bench, 1)), ..turn(1, 11, Version(0)) };
    store.commit(epoch, half).await.unwrap_err();
    bench.redis.lock().start_again();
    found_again(&store).await;
    let mut hangs = PgConnection::connect(&bench.tables.url()).await.unwrap();
    sqlx::raw_sql("BEGIN; SELECT epoch FROM opora_fences FOR SHARE").execute(&mut hangs).await.unwrap();
    let cleaned = tokio::time::timeout(Duration::from_millis(1_800), store.clean(epoch, BOUNDS)).await;
    let redis = bench.plain_redis().await;
    assert!(matches!(&cleaned, Ok(Ok(cleaned)) if cleaned.aged == 0), "{cleaned:?}");
    assert!(has_somebody_ended(&redis).await, "it is done later");
    sqlx::raw_sql("ROLLBACK").execute(&mut hangs).await.unwrap();
    store.clean(epoch, BOUNDS).await.unwrap();
    assert!(!has_somebody_ended(&redis).await);
    assert_eq!(standing(&redis, 1).await, (Version(1), Some("after-11".into())));
}
