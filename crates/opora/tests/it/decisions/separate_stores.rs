//! The same two stores without decision records and without a fence, to show what the tests of this folder detect.

use opora::store::{Answer, Commit, Committed, DomainWrites, Epoch, RedisStore, Store, StoreError, Version};

use super::{Fixture, Tables, claim, found_again, is_processed, note, turn, writing_turn};

/// Runs the writes first, then commits to Redis, as two separate steps.
#[derive(Debug)]
pub struct SeparateStores {
    pub redis: RedisStore,
    pub database: std::sync::Arc<dyn Store>,
}

// By its path, because its methods are named like those of `Store`.
impl opora::store::StoreLayer for SeparateStores {
    fn inner(&self) -> &dyn Store {
        &self.redis
    }

    fn commit(&self, epoch: Epoch, mut commit: Commit) -> Answer<'_, Committed> {
        Box::pin(async move {
            if let Some(writes) = commit.writes.take() {
                self.database.write(writes).await?;
                opora::failpoints::hit(opora::failpoints::STORE_AFTER_WRITES).await;
            }
            self.inner().commit(epoch, commit).await
        })
    }

    fn write(&self, writes: DomainWrites) -> Answer<'_, ()> {
        self.database.write(writes)
    }
}

async fn separate_stores(fixture: &Fixture) -> SeparateStores {
    let database = opora::store::open(&fixture.tables.url()).await.unwrap();
    SeparateStores { redis: RedisStore::open(&fixture.redis_url()).await.unwrap(), database }
}

#[tokio::test]
async fn without_a_record_an_update_writes_twice() {
    let fixture = Fixture::new(Tables::in_a_file()).await;
    let store = separate_stores(&fixture).await;
    let epoch = claim(&store, "first").await;
    let redis = std::sync::Arc::clone(&fixture.redis);
    let note_and_kill = DomainWrites::new(move |database| {
        Box::pin(async move {
            note(1).run(database).await?;
            redis.lock().kill();
            Ok(())
        })
    });
    let half = Commit { writes: Some(note_and_kill), ..turn(1, 11, Version(0)) };
    assert!(matches!(store.commit(epoch, half).await, Err(StoreError::Unavailable(_))));
    fixture.redis.lock().start_again();
    found_again(&store).await;
    assert!(!is_processed(&store, 1, 11).await, "the turn is unknown");
    store.commit(epoch, writing_turn(1, 11, Version(0))).await.unwrap();
    assert_eq!(fixture.tables.notes().await, 2);
}

#[tokio::test]
async fn without_a_fence_a_former_leader_still_writes() {
    let fixture = Fixture::new(Tables::in_a_file()).await;
    let (old, new) = (separate_stores(&fixture).await, separate_stores(&fixture).await);
    let old_epoch = claim(&old, "old").await;
    claim(&new, "new").await;
    let late = old.commit(old_epoch, writing_turn(1, 11, Version(0))).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    assert_eq!(fixture.tables.notes().await, 1);
}
