//! Two openings of one store, as two instances have them: what both bring is kept once, and one hears of the other.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use opora::clock::Millis;
use opora::key::DialogueKey;
use opora::store::{
    Commit, Delivered, Incoming, LeaseAnswer, Mark, Opened, Origin, PostgresStore, RedisStore, Seq, Store, Taken,
};
use opora::testing::holder;
use opora_testkit::postgres_server::PostgresSpace;
use opora_testkit::redis_server::RedisSpace;

const BOT: i64 = 7_000_000_001;

/// Two openings of one Redis.
pub async fn two_in_redis() -> (RedisSpace, [Arc<dyn Store>; 2]) {
    let space = RedisSpace::new();
    let open = async || Arc::new(RedisStore::open(&space.url).await.unwrap()) as Arc<dyn Store>;
    let stores = [open().await, open().await];
    (space, stores)
}

/// Two openings of one PostgreSQL.
pub async fn two_in_postgres() -> (PostgresSpace, [Arc<dyn Store>; 2]) {
    let space = PostgresSpace::new().await;
    let open = async || Arc::new(PostgresStore::open(&space.url).await.unwrap()) as Arc<dyn Store>;
    let stores = [open().await, open().await];
    (space, stores)
}

fn mark(update_id: i64) -> Mark {
    Mark { bot: BOT, update_id, identity: format!("message:{update_id}").into() }
}

fn update(user: i64, update_id: i64) -> Incoming {
    let (key, origin) = (DialogueKey::private(BOT, user), Origin::Update(mark(update_id)));
    Incoming { key, origin, body: "{}".into(), at: Millis(1) }
}

/// Takes the one update of a person that waits.
async fn take(store: &dyn Store, epoch: opora::store::Epoch, user: i64, update_id: i64) {
    let key = DialogueKey::private(BOT, user);
    let rows = store.waiting_for(&key, Seq(i64::MIN), 9).await.unwrap();
    assert_eq!(rows.len(), 1, "{rows:?}");
    let Opened::At { version, .. } = store.open(&key, None).await.unwrap() else { panic!("asked without a mark") };
    let takes = vec![Taken::Update { seq: rows[0].seq, mark: mark(update_id) }];
    store.commit(epoch, Commit { takes, ..Commit::new(key, version, Millis(1)) }).await.unwrap();
}

async fn an_update_that_two_bring_is_kept_once_also_while_its_turn_commits([here, there]: [Arc<dyn Store>; 2]) {
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

async fn batches_that_two_bring_in_another_order_are_kept_once([here, there]: [Arc<dyn Store>; 2]) {
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

async fn what_one_announces_the_other_hears([here, there]: [Arc<dyn Store>; 2]) {
    let keys: Vec<_> = (1..=1000).map(|user| DialogueKey::private(BOT, user)).collect();
    let mut news = here.listen(BOT).await.unwrap();
    there.announce(BOT + 1, vec![DialogueKey::private(BOT + 1, 1)]).await.unwrap();
    there.announce(BOT, keys.clone()).await.unwrap();
    let mut heard = Vec::new();
    let hearing = async {
        while heard.len() < keys.len() {
            heard.extend(news.next().await.expect("the connection lasts"));
        }
    };
    tokio::time::timeout(Duration::from_secs(30), hearing).await.expect("something is heard");
    assert_eq!(heard, keys);
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
    an_update_that_two_bring_is_kept_once_also_while_its_turn_commits,
    batches_that_two_bring_in_another_order_are_kept_once,
    what_one_announces_the_other_hears,
}
