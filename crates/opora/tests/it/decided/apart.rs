//! The same two stores without a record and without a fence: what the tests of this folder then find.

use opora::store::{Answer, Commit, Committed, DomainWrites, Epoch, RedisStore, Store, StoreError, Version};

use super::{Bench, Tables, claim, found_again, is_taken, note, turn, writing_turn};

/// Writes first, and then commits to Redis: nothing binds the two.
#[derive(Debug)]
pub struct Apart {
    pub redis: RedisStore,
    pub database: std::sync::Arc<dyn Store>,
}

// Named by its path, for its methods have the names of `Store`'s.
impl opora::store::StoreLayer for Apart {
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

async fn apart(bench: &Bench) -> Apart {
    let database = opora::store::open(&bench.tables.url()).await.unwrap();
    Apart { redis: RedisStore::open(&bench.redis_url()).await.unwrap(), database }
}

#[tokio::test]
async fn without_a_record_an_update_writes_twice() {
    let bench = Bench::new(Tables::in_a_file()).await;
    let store = apart(&bench).await;
    let epoch = claim(&store, "first").await;
    let redis = std::sync::Arc::clone(&bench.redis);
    let note_and_kill = DomainWrites::new(move |database| {
        Box::pin(async move {
            note(1).run(database).await?;
            redis.lock().kill();
            Ok(())
        })
    });
    let half = Commit { writes: Some(note_and_kill), ..turn(1, 11, Version(0)) };
    assert!(matches!(store.commit(epoch, half).await, Err(StoreError::Unavailable(_))));
    bench.redis.lock().start_again();
    found_again(&store).await;
    assert!(!is_taken(&store, 1, 11).await, "nobody knows of the turn");
    store.commit(epoch, writing_turn(1, 11, Version(0))).await.unwrap();
    assert_eq!(bench.tables.notes().await, 2);
}

#[tokio::test]
async fn without_a_fence_a_former_leader_writes_on() {
    let bench = Bench::new(Tables::in_a_file()).await;
    let (old, new) = (apart(&bench).await, apart(&bench).await);
    let old_epoch = claim(&old, "old").await;
    claim(&new, "new").await;
    let late = old.commit(old_epoch, writing_turn(1, 11, Version(0))).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    assert_eq!(bench.tables.notes().await, 1);
}
