//! A standby on a Redis that comes back empty or older: it knows what the leader has seen.

use opora::store::{Epoch, Lease, LeaseAnswer, RedisStore, Store, StoreError};
use opora_testkit::redis_server::RedisServer;
use redis::Value;

use super::{BOT, at_state, claim, holder, turn};

/// A leader and a standby, each with its own folder, as on two machines.
struct Fixture {
    leader: RedisStore,
    standby: RedisStore,
    epoch: Epoch,
    folders: [tempfile::TempDir; 2],
    settings: &'static str,
    // Dropped last.
    server: RedisServer,
}

impl Fixture {
    async fn new(settings: &'static str) -> Self {
        let server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let open =
            async |folder: &tempfile::TempDir| RedisStore::open(&address(&server, folder, settings)).await.unwrap();
        let (leader, standby) = (open(&folders[0]).await, open(&folders[1]).await);
        let epoch = claim(&leader, "leader").await;
        Self { leader, standby, epoch, folders, settings, server }
    }

    async fn leader_commits(&self) {
        for user in 1..=20 {
            turn(&self.leader, self.epoch, user, at_state("asked")).await.unwrap();
        }
        self.leader.renew(BOT, self.epoch).await.unwrap();
    }

    async fn standby_reads_lease(&self) -> Lease {
        match self.standby.claim(BOT, &holder("standby"), None).await.unwrap() {
            LeaseAnswer::Held(lease) => *lease,
            granted => panic!("{granted:?} although another instance leads"),
        }
    }

    /// The error of the standby's claim.
    async fn refused(&self, seen: Option<&Lease>) -> String {
        match self.standby.claim(BOT, &holder("standby"), seen).await {
            Err(StoreError::Lost { what }) => what,
            other => panic!("the loss is not noticed: {other:?}"),
        }
    }
}

fn address(server: &RedisServer, folder: &tempfile::TempDir, settings: &str) -> String {
    format!("{}?data={}{settings}", server.url(), folder.path().display())
}

#[tokio::test]
async fn an_unreadable_record_of_the_leader_stops_no_standby() {
    let fixture = Fixture::new("").await;
    let lease = format!("{{opora:lease:{BOT}}}");
    for damage in [&["HSET", &lease, "view", "{\"generation\":7}"][..], &["HDEL", &lease, "view"]] {
        fixture.server.command(damage);
        assert_eq!(fixture.standby_reads_lease().await.epoch, fixture.epoch);
        assert_eq!(fixture.standby.lease(BOT).await.unwrap().unwrap().epoch, fixture.epoch);
    }
    let seen = fixture.standby_reads_lease().await;
    let granted = fixture.standby.claim(BOT, &holder("standby"), Some(&seen)).await.unwrap();
    assert!(matches!(granted, LeaseAnswer::Granted(epoch) if epoch > fixture.epoch), "{granted:?}");
}

#[tokio::test]
async fn a_standby_refuses_an_emptied_redis() {
    for is_written_to in [true, false] {
        let fixture = Fixture::new("").await;
        if is_written_to {
            fixture.leader_commits().await;
        }
        fixture.standby_reads_lease().await;
        fixture.server.command(&["FLUSHALL"]);
        let what = fixture.refused(None).await;
        assert!(what.contains("is empty"), "{what}");
        assert_eq!(fixture.server.command(&["DBSIZE"]), Value::Int(0), "nothing was written");
        // Also after a restart.
        fixture.standby.close().await.unwrap();
        let again = RedisStore::open(&address(&fixture.server, &fixture.folders[1], fixture.settings)).await;
        assert!(matches!(again, Err(StoreError::Lost { .. })), "{again:?}");
        assert_eq!(fixture.server.command(&["DBSIZE"]), Value::Int(0));
    }
}

#[tokio::test]
async fn a_standby_with_after_loss_stop_refuses_an_older_redis() {
    let mut fixture = Fixture::new("&after_loss=stop").await;
    let kept = fixture.server.aof_bytes();
    fixture.leader_commits().await;
    fixture.standby_reads_lease().await;
    fixture.server.lose_power(kept);
    fixture.server.start_again();
    let seen = crate::stage::until_some("Redis is back", async || fixture.standby.lease(BOT).await.ok()).await.unwrap();
    assert_eq!(seen.renewals, 0, "it is older");
    let what = fixture.refused(Some(&seen)).await;
    assert!(what.contains("is older") && what.contains("about 20 are missing"), "{what}");
    assert_eq!(fixture.standby.lease(BOT).await.unwrap(), Some(seen), "nothing was written");
}

#[tokio::test]
async fn a_standby_continues_above_all_ids_after_a_small_loss() {
    let mut fixture = Fixture::new("").await;
    let kept = fixture.server.aof_bytes();
    let latest = claim(&fixture.leader, "once more").await;
    turn(&fixture.leader, latest, 1, at_state("asked")).await.unwrap();
    fixture.leader.renew(BOT, latest).await.unwrap();
    fixture.standby_reads_lease().await;
    fixture.server.lose_power(kept);
    fixture.server.start_again();
    let seen = crate::stage::until_some("Redis is back", async || fixture.standby.lease(BOT).await.ok()).await;
    let granted = fixture.standby.claim(BOT, &holder("standby"), seen.as_ref()).await.unwrap();
    let LeaseAnswer::Granted(epoch) = granted else { panic!("{granted:?}") };
    assert!(epoch > latest, "{epoch:?} was given before");
    let committed = turn(&fixture.standby, epoch, 1, at_state("asked")).await.unwrap();
    assert!(committed.version.0 > 2, "no version comes twice: {committed:?}");
}
