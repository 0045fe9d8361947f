//! Two handles of one store, as two instances have them: what both deliver is stored once, and announcements arrive.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{
    Commit, Delivered, Incoming, InputRef, LeaseAnswer, Mark, Opened, Origin, PostgresStore, RedisStore, Seq, Store,
};
use opora::testing::holder;
use opora_testkit::postgres_server::PostgresSchema;
use opora_testkit::redis_server::RedisNamespace;

const BOT: i64 = 7_000_000_001;

pub async fn two_in_redis() -> (RedisNamespace, [Arc<dyn Store>; 2]) {
    let space = RedisNamespace::new();
    let open = async || Arc::new(RedisStore::open(&space.url).await.unwrap()) as Arc<dyn Store>;
    let stores = [open().await, open().await];
    (space, stores)
}

pub async fn two_in_postgres() -> (PostgresSchema, [Arc<dyn Store>; 2]) {
    let space = PostgresSchema::new().await;
    let open = async || Arc::new(PostgresStore::open(&space.url).await.unwrap()) as Arc<dyn Store>;
    let stores = [open().await, open().await];
    (space, stores)
}

fn mark(update_id: i64) -> Mark {
    Mark { bot: BOT, update_id, identity: format!("message:{update_id}").into() }
}

fn update(user: i64, update_id: i64) -> Incoming {
    let (key, origin) = (ConversationKey::private(BOT, user), Origin::Update(mark(update_id)));
    Incoming { key, origin, body: "{}".into(), at: Millis(1) }
}

/// Processes the only waiting update of a person.
async fn take(store: &dyn Store, epoch: opora::store::Epoch, user: i64, update_id: i64) {
    let key = ConversationKey::private(BOT, user);
    let rows = store.waiting_for(&key, Seq(i64::MIN), 9).await.unwrap();
    assert_eq!(rows.len(), 1, "{rows:?}");
    let Opened::At { version, .. } = store.open(&key, None).await.unwrap() else { panic!("asked without a mark") };
    let processed = vec![InputRef::Update { seq: rows[0].seq, mark: mark(update_id) }];
    store.commit(epoch, Commit { processed, ..Commit::new(key, version, Millis(1)) }).await.unwrap();
}

async fn an_update_delivered_by_both_is_stored_once([here, there]: [Arc<dyn Store>; 2]) {
    let holder = holder("token");
    let Ok(LeaseAnswer::Granted(epoch)) = here.claim(BOT, &holder, None).await else { panic!("no lease") };
    for id in 1..=150 {
        let user = 100 + id % 4;
        let turn = async {
            here.deliver(vec![update(user, id)]).await.unwrap();
            take(&*here, epoch, user, id).await;
        };
        let (_, brought) = tokio::join!(turn, there.deliver(vec![update(user, id)]));
        brought.unwrap();
        assert_eq!(here.backlog(BOT, 9).await.unwrap(), 0, "update {id} waits although it was taken");
        assert_eq!(there.deliver(vec![update(user, id)]).await.unwrap(), [Delivered::Known]);
    }
}

async fn batches_in_different_orders_are_stored_once([here, there]: [Arc<dyn Store>; 2]) {
    for round in 0..20 {
        let ids: Vec<_> = (1..=30).map(|id| 100 * round + id).collect();
        let batch = |ids: &[i64]| ids.iter().map(|id| update(id % 7, *id)).collect::<Vec<_>>();
        let turned: Vec<_> = ids.iter().rev().copied().collect();
        let (one, other) = tokio::join!(here.deliver(batch(&ids)), there.deliver(batch(&turned)));
        one.unwrap();
        other.unwrap();
        let waiting = here.backlog(BOT, 10_000).await.unwrap();
        assert_eq!(waiting, 30 * (usize::try_from(round).unwrap() + 1));
    }
}

async fn announcements_reach_the_other_instance([here, there]: [Arc<dyn Store>; 2]) {
    let keys: Vec<_> = (1..=1000).map(|user| ConversationKey::private(BOT, user)).collect();
    let mut news = here.listen(BOT).await.unwrap();
    there.announce(BOT + 1, vec![ConversationKey::private(BOT + 1, 1)]).await.unwrap();
    there.announce(BOT, keys.clone()).await.unwrap();
    let mut received = Vec::new();
    let receiving = async {
        while received.len() < keys.len() {
            received.extend(news.next().await.expect("the connection lasts"));
        }
    };
    tokio::time::timeout(Duration::from_secs(30), receiving).await.expect("the announcements arrive");
    assert_eq!(received, keys);
    for store in [here, there] {
        store.close().await.unwrap();
    }
}

macro_rules! on_both {
    ($($promise:ident,)*) => {
        mod redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let (_space, stores) = super::two_in_redis().await;
                super::$promise(stores).await;
            })*
        }

        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                let (_space, stores) = super::two_in_postgres().await;
                super::$promise(stores).await;
            })*
        }
    };
}

on_both! {
    an_update_delivered_by_both_is_stored_once,
    batches_in_different_orders_are_stored_once,
    announcements_reach_the_other_instance,
}
