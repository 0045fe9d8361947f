//! An instance that only ever stood by, on a Redis that comes back empty or older: it knows what the leader has seen.

use opora::store::{Epoch, Lease, LeaseAnswer, RedisStore, Store, StoreError};
use opora_testkit::redis_server::RedisServer;
use redis::Value;

use super::{BOT, at_state, claim, holder, turn};

/// A leader and a standby, each with a folder of its own, as on two machines.
struct Scene {
    leader: RedisStore,
    standby: RedisStore,
    epoch: Epoch,
    folders: [tempfile::TempDir; 2],
    settings: &'static str,
    // Dropped last.
    server: RedisServer,
}

impl Scene {
    async fn new(settings: &'static str) -> Self {
        let server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let open =
            async |folder: &tempfile::TempDir| RedisStore::open(&address(&server, folder, settings)).await.unwrap();
        let (leader, standby) = (open(&folders[0]).await, open(&folders[1]).await);
        let epoch = claim(&leader, "leader").await;
        Self { leader, standby, epoch, folders, settings, server }
    }

    async fn leader_works(&self) {
        for user in 1..=20 {
            turn(&self.leader, self.epoch, user, at_state("asked")).await.unwrap();
        }
        self.leader.renew(BOT, self.epoch).await.unwrap();
    }

    async fn standby_looks(&self) -> Lease {
        match self.standby.claim(BOT, &holder("standby"), None).await.unwrap() {
            LeaseAnswer::Held(lease) => *lease,
            granted => panic!("{granted:?} although somebody leads"),
        }
    }

    /// What a claim of the standby is refused with.
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
async fn a_view_that_cannot_be_read_stops_no_standby() {
    let scene = Scene::new("").await;
    let lease = format!("{{opora:lease:{BOT}}}");
    for spoil in [&["HSET", &lease, "view", "{\"generation\":7}"][..], &["HDEL", &lease, "view"]] {
        scene.server.say(spoil);
        assert_eq!(scene.standby_looks().await.epoch, scene.epoch);
        assert_eq!(scene.standby.lease(BOT).await.unwrap().unwrap().epoch, scene.epoch);
    }
    let seen = scene.standby_looks().await;
    let granted = scene.standby.claim(BOT, &holder("standby"), Some(&seen)).await.unwrap();
    assert!(matches!(granted, LeaseAnswer::Granted(epoch) if epoch > scene.epoch), "{granted:?}");
}

#[tokio::test]
async fn who_stood_by_takes_no_emptied_redis_for_new() {
    for is_written_to in [true, false] {
        let scene = Scene::new("").await;
        if is_written_to {
            scene.leader_works().await;
        }
        scene.standby_looks().await;
        scene.server.say(&["FLUSHALL"]);
        let what = scene.refused(None).await;
        assert!(what.contains("is empty"), "{what}");
        assert_eq!(scene.server.say(&["DBSIZE"]), Value::Int(0), "nothing was written");
        // Also after a restart.
        scene.standby.close().await.unwrap();
        let again = RedisStore::open(&address(&scene.server, &scene.folders[1], scene.settings)).await;
        assert!(matches!(again, Err(StoreError::Lost { .. })), "{again:?}");
        assert_eq!(scene.server.say(&["DBSIZE"]), Value::Int(0));
    }
}

#[tokio::test]
async fn who_stood_by_goes_on_with_no_older_redis_where_that_is_not_wanted() {
    let mut scene = Scene::new("&after_loss=stop").await;
    let kept = scene.server.kept_bytes();
    scene.leader_works().await;
    scene.standby_looks().await;
    scene.server.lose_power(kept);
    scene.server.start_again();
    let seen = crate::stage::until_some("Redis is back", async || scene.standby.lease(BOT).await.ok()).await.unwrap();
    assert_eq!(seen.renewals, 0, "it is older");
    let what = scene.refused(Some(&seen)).await;
    assert!(what.contains("is older") && what.contains("about 20 are missing"), "{what}");
    assert_eq!(scene.standby.lease(BOT).await.unwrap(), Some(seen), "nothing was written");
}

#[tokio::test]
async fn who_stood_by_goes_on_after_the_last_moments_were_lost_above_all_that_was_given() {
    let mut scene = Scene::new("").await;
    let kept = scene.server.kept_bytes();
    let latest = claim(&scene.leader, "once more").await;
    turn(&scene.leader, latest, 1, at_state("asked")).await.unwrap();
    scene.leader.renew(BOT, latest).await.unwrap();
    scene.standby_looks().await;
    scene.server.lose_power(kept);
    scene.server.start_again();
    let seen = crate::stage::until_some("Redis is back", async || scene.standby.lease(BOT).await.ok()).await;
    let granted = scene.standby.claim(BOT, &holder("standby"), seen.as_ref()).await.unwrap();
    let LeaseAnswer::Granted(epoch) = granted else { panic!("{granted:?}") };
    assert!(epoch > latest, "{epoch:?} was given before");
    let committed = turn(&scene.standby, epoch, 1, at_state("asked")).await.unwrap();
    assert!(committed.version.0 > 2, "no version comes twice: {committed:?}");
}
