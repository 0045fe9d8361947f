//! Updates that an instance without the lease has delivered and that Redis loses before the leader reads them.

use opora::clock::Millis;
use opora::store::{
    Delivered, Incoming, LeaseAnswer, Mark, Origin, RedisLoss, RedisStore, Seq, Store, StoreError, StoreResult,
};
use opora_testkit::redis_server::RedisServer;

use super::{BOT, at_state, claim, holder, person, turn};
use crate::stage::until;

fn update(user: i64, update_id: i64) -> Incoming {
    let mark = Mark { bot: BOT, update_id, identity: "message".into() };
    Incoming { key: person(user), origin: Origin::Update(mark), body: "{}".into(), at: Millis(1) }
}

async fn deliver(store: &RedisStore, user: i64, update_id: i64) -> StoreResult<Delivered> {
    store.deliver(vec![update(user, update_id)]).await.map(|delivered| delivered[0])
}

/// A leader, and another instance that delivers updates and has its last-seen record in a folder.
struct Fixture {
    leader: RedisStore,
    other: RedisStore,
    folder: tempfile::TempDir,
    // Dropped last.
    server: RedisServer,
}

impl Fixture {
    async fn new(settings: &str) -> Self {
        let server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
        let folder = tempfile::tempdir().unwrap();
        let leader = RedisStore::open(&server.url()).await.unwrap();
        let address = format!("{}?data={}{settings}", server.url(), folder.path().display());
        let other = RedisStore::open(&address).await.unwrap();
        Self { leader, other, folder, server }
    }

    /// Two updates come to different partitions, after what the server keeps.
    async fn lose_two_deliveries(&mut self) {
        deliver(&self.other, 1, 11).await.unwrap();
        let kept = self.server.aof_bytes();
        deliver(&self.other, 1, 12).await.unwrap();
        deliver(&self.other, 2, 13).await.unwrap();
        self.server.lose_power(kept);
        self.server.start_again();
        let (leader, other) = (&self.leader, &self.other);
        until("Redis is back", async || leader.lease(BOT).await.is_ok() && other.lease(BOT).await.is_ok()).await;
    }

    async fn losses(&self) -> Vec<RedisLoss> {
        self.other.close().await.unwrap();
        RedisStore::losses(&self.server.url(), self.folder.path()).await.unwrap()
    }
}

#[tokio::test]
async fn lost_deliveries_are_reported_once() {
    let mut fixture = Fixture::new("").await;
    let epoch = claim(&fixture.leader, "leader").await;
    fixture.lose_two_deliveries().await;
    let refused = deliver(&fixture.other, 1, 14).await;
    assert!(
        matches!(&refused, Err(StoreError::Unavailable(why)) if why.to_string().contains("lost delivered updates")),
        "{refused:?}"
    );
    let Delivered::Behind(Seq(place)) = deliver(&fixture.other, 1, 14).await.unwrap() else {
        panic!("11 waits before it")
    };
    let waiting = fixture.leader.waiting_for(&person(1), Seq(0), 9).await.unwrap();
    assert_eq!(waiting.len(), 2);
    assert!(place > waiting[0].seq.0 + 16, "its place was not given before: {waiting:?}");
    // The leader has lost nothing, and no version is missing.
    assert_eq!(turn(&fixture.leader, epoch, 3, at_state("asked")).await.unwrap().version.0, 1);
    assert_eq!(fixture.losses().await, []);
}

#[tokio::test]
async fn lost_deliveries_stop_an_instance_with_after_loss_stop() {
    let mut fixture = Fixture::new("&after_loss=stop").await;
    fixture.lose_two_deliveries().await;
    for update_id in [14, 15] {
        let lost = deliver(&fixture.other, 1, update_id).await;
        let Err(StoreError::Lost { what }) = lost else { panic!("{lost:?}") };
        assert!(what.contains("about 2 are missing"), "{what}");
    }
    let lost = fixture.other.claim(BOT, &holder("other"), None).await;
    assert!(matches!(lost, Err(StoreError::Lost { .. })), "{lost:?}");
    assert_eq!(fixture.other.lease(BOT).await.unwrap(), None);
    assert_eq!(fixture.other.waiting(BOT, Seq(0), 9).await.unwrap().len(), 1, "nothing was written");
    let losses = fixture.losses().await;
    assert!(losses[0].is_only_deliveries && losses[0].missing == 2, "{losses:?}");
}

#[tokio::test]
async fn a_repeated_delivery_is_not_counted() {
    let fixture = Fixture::new("").await;
    for _ in 0..3 {
        deliver(&fixture.other, 1, 11).await.unwrap();
    }
    let counted: Vec<_> = (0..16)
        .map(|partition| fixture.server.command(&["HGET", &format!("{{opora:{partition}}}:{BOT}:room"), "delivered"]))
        .collect();
    let one = counted.iter().filter(|count| **count == redis::Value::BulkString(b"1".to_vec())).count();
    assert_eq!((one, counted.iter().filter(|count| **count == redis::Value::Nil).count()), (1, 15), "{counted:?}");
    // The leader takes over what the other instance has delivered.
    let granted = fixture.other.claim(BOT, &holder("other"), None).await.unwrap();
    assert!(matches!(granted, LeaseAnswer::Granted(_)), "{granted:?}");
}
