//! A cleaning of Redis while a turn is decided in SQL: the turn is carried out all the same.

use std::sync::Arc;
use std::time::Duration;

use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{
    CleaningLimits, Commit, DecisionStore, DomainWrites, Epoch, Filter, RedisStore, StateChange, Store, StoreError,
    Version,
};
use sqlx::{Connection, PgConnection};

use super::{
    Fixture, NOW, Tables, claim, found_again, is_processed, key, note, note_and_kill, turn, unsent, version_and_state,
    write_turn,
};

super::on_both_databases! {
    a_turn_decided_during_a_cleaning_is_carried_out,
    an_unsure_decision_is_carried_out_before_a_cleaning,
}

/// Removes all ended conversations.
const BOUNDS: CleaningLimits =
    CleaningLimits { marks_before: Millis(0), records_before: Millis(NOW.0 + 1), max_parked: 9, mark_ttl: None };

/// Another person in the chat, and so in the same partition, whose conversation has ended at a higher version.
async fn end_another_conversation(store: &DecisionStore, epoch: Epoch) {
    let other = ConversationKey { user: 2, ..key(1) };
    for from in 0..3 {
        let end = Commit { state: StateChange::Clear, ..Commit::new(other.clone(), Version(from), NOW) };
        store.commit(epoch, end).await.unwrap();
    }
}

async fn has_ended_conversation(redis: &RedisStore) -> bool {
    let filter = Filter { user: Some(2), ended: true, ..Filter::default() };
    !redis.list(&filter, None, 9).await.unwrap().is_empty()
}

async fn a_turn_decided_during_a_cleaning_is_carried_out(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let (store, redis) = (Arc::new(fixture.store().await), fixture.plain_redis().await);
    let epoch = claim(&*store, "first").await;
    end_another_conversation(&store, epoch).await;
    let (cleans, looks) = (Arc::clone(&store), fixture.plain_redis().await);
    let writes = DomainWrites::new(move |database| {
        Box::pin(async move {
            note(1).run(database).await?;
            let cleaning = tokio::spawn(async move { cleans.clean(epoch, BOUNDS).await });
            // The cleaning has finished what it can without this turn, or has given up.
            while !cleaning.is_finished() && has_ended_conversation(&looks).await {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok(())
        })
    });
    store.commit(epoch, Commit { writes: Some(writes), ..turn(1, 11, Version(0)) }).await.unwrap();
    assert_eq!(version_and_state(&redis, 1).await, (Version(1), Some("after-11".into())));
    assert!(is_processed(&redis, 1, 11).await);
    assert_eq!(unsent(&redis).await, ["after-11"]);
    assert_eq!(fixture.tables.notes().await, 1);
    // The next cleaning removes it.
    store.clean(epoch, BOUNDS).await.unwrap();
    assert!(!has_ended_conversation(&redis).await);
    write_turn(&*store, epoch, 1, 12).await.unwrap();
}

async fn an_unsure_decision_is_carried_out_before_a_cleaning(tables: Tables) {
    let fixture = Fixture::new(tables).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    end_another_conversation(&store, epoch).await;
    let half = Commit { writes: Some(note_and_kill(&fixture, 1)), ..turn(1, 11, Version(0)) };
    let unsure = store.commit(epoch, half).await;
    assert!(matches!(unsure, Err(StoreError::Unavailable(_))), "{unsure:?}");
    fixture.redis.lock().start_again();
    found_again(&store).await;
    store.clean(epoch, BOUNDS).await.unwrap();
    let redis = fixture.plain_redis().await;
    assert!(!has_ended_conversation(&redis).await);
    assert_eq!(version_and_state(&redis, 1).await, (Version(1), Some("after-11".into())));
    assert!(is_processed(&redis, 1, 11).await);
    assert_eq!(fixture.tables.notes().await, 1);
}

/// A decision may be stored, and another one that hangs blocks the database's answer. A lock is waited for twice as
/// long.
#[tokio::test]
async fn a_cleaning_waits_only_briefly_for_unsure_decisions() {
    let fixture = Fixture::new(Tables::in_a_schema().await).await;
    let store = fixture.store().await;
    let epoch = claim(&store, "first").await;
    end_another_conversation(&store, epoch).await;
    let half = Commit { writes: Some(note_and_kill(&fixture, 1)), ..turn(1, 11, Version(0)) };
    store.commit(epoch, half).await.unwrap_err();
    fixture.redis.lock().start_again();
    found_again(&store).await;
    let mut hangs = PgConnection::connect(&fixture.tables.url()).await.unwrap();
    sqlx::raw_sql("BEGIN; SELECT epoch FROM opora_fences FOR SHARE").execute(&mut hangs).await.unwrap();
    let cleaned = tokio::time::timeout(Duration::from_millis(1_800), store.clean(epoch, BOUNDS)).await;
    let redis = fixture.plain_redis().await;
    assert!(matches!(&cleaned, Ok(Ok(cleaned)) if cleaned.aged == 0), "{cleaned:?}");
    assert!(has_ended_conversation(&redis).await, "it is done later");
    sqlx::raw_sql("ROLLBACK").execute(&mut hangs).await.unwrap();
    store.clean(epoch, BOUNDS).await.unwrap();
    assert!(!has_ended_conversation(&redis).await);
    assert_eq!(version_and_state(&redis, 1).await, (Version(1), Some("after-11".into())));
}
