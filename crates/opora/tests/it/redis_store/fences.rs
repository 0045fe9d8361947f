//! Which instance may write, also after an interrupted claim.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opora::clock::Millis;
use opora::store::{LeaseAnswer, RedisCode, RedisStore, Store, StoreError, Version};
use opora_testkit::redis_server::RedisServer;

use super::{BOT, Fixture, at_state, claim, fenced, holder, turn, version};

/// People in all partitions.
const PEOPLE: std::ops::RangeInclusive<i64> = 1..=64;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_later_of_two_epochs_writes() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let url = fixture.server.url();
    let mut stores = vec![Arc::new(fixture.store)];
    let mut epoch = fixture.epoch;
    let mut turns = [0_i64; 65];
    for round in 0..6 {
        let (old, is_over) = (Arc::clone(&stores[round]), Arc::new(AtomicBool::new(false)));
        let leader = tokio::spawn({
            let (old, is_over) = (Arc::clone(&old), Arc::clone(&is_over));
            async move {
                let mut done = Vec::new();
                for user in PEOPLE.cycle() {
                    let was_over = is_over.load(Ordering::SeqCst);
                    match turn(&old, epoch, user, at_state("asked")).await {
                        Ok(_) if was_over => panic!("an epoch that is over has written"),
                        Ok(_) => done.push(user),
                        Err(StoreError::Fenced { .. }) => return done,
                        Err(error) => panic!("{error}"),
                    }
                }
                done
            }
        });
        tokio::time::sleep(std::time::Duration::from_millis(15)).await;
        let new = Arc::new(RedisStore::open(&url).await.unwrap());
        let next = claim(&new, &format!("round {round}")).await;
        is_over.store(true, Ordering::SeqCst);
        assert!(next > epoch);
        for user in leader.await.unwrap() {
            turns[user as usize] += 1;
        }
        // In every partition.
        for user in PEOPLE {
            fenced(turn(&old, epoch, user, at_state("asked")).await);
        }
        epoch = next;
        stores.push(new);
    }
    for user in PEOPLE {
        let now = version(&stores[0], user).await.unwrap();
        assert_eq!(now, Version(turns[user as usize]), "every turn that was answered is there, and no other");
    }
}

#[tokio::test]
async fn a_claim_that_died_half_way_does_no_harm() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let dead = serde_json::to_string(&holder("dead")).unwrap();
    let lease = format!("{{opora:lease:{BOT}}}");
    fixture.server.command(&["SET", "{opora}:epochs", "2"]);
    // The dead instance has seen the lease as it is.
    fixture.server.command(&["HSET", &lease, "epoch", "2", "renewals", "0", "holder", &dead, "token", "dead"]);
    for partition in 0..7 {
        fixture.server.command(&["HSET", &format!("{{opora:{partition}}}:{BOT}:room"), "epoch", "2"]);
    }
    let mut refused = 0;
    for user in PEOPLE {
        match fixture.turn(user, at_state("asked")).await {
            Ok(_) => {}
            Err(StoreError::Fenced { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 0 && refused < 64, "{refused} partitions of 64 refuse the former leader");
    fenced(fixture.store.renew(BOT, fixture.epoch).await);
    let next = RedisStore::open(&fixture.server.url()).await.unwrap();
    let epoch = claim(&next, "next").await;
    for user in PEOPLE {
        fenced(fixture.turn(user, at_state("asked")).await);
        turn(&next, epoch, user, at_state("asked")).await.unwrap();
    }
}

#[tokio::test]
async fn an_epoch_rises_above_every_partition() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    fixture.server.command(&["HSET", &format!("{{opora:5}}:{BOT}:room"), "epoch", "50"]);
    let next = RedisStore::open(&fixture.server.url()).await.unwrap();
    let epoch = claim(&next, "next").await;
    assert!(epoch.0 > 50, "{epoch:?}");
    for user in PEOPLE {
        turn(&next, epoch, user, at_state("asked")).await.unwrap();
    }
}

#[tokio::test]
async fn a_claim_with_a_lost_answer_is_repeated_at_once() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    fixture.store.release(BOT, fixture.epoch).await.unwrap();
    // The lease is granted, and then a partition's epoch cannot be raised.
    let header = format!("{{opora:9}}:{BOT}:room");
    fixture.server.command(&["HSET", &header, "held", "1", "floor", "not a number"]);
    let lost = fixture.store.claim(BOT, &holder("lost"), None).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert_eq!(fixture.store.lease(BOT).await.unwrap().unwrap().holder.token, "lost");
    fixture.server.command(&["HDEL", &header, "held", "floor"]);
    let other = RedisStore::open(&fixture.server.url()).await.unwrap();
    assert!(matches!(other.claim(BOT, &holder("other"), None).await.unwrap(), LeaseAnswer::Held(_)));
    let again = fixture.store.claim(BOT, &holder("again"), None).await.unwrap();
    assert!(matches!(again, LeaseAnswer::Granted(_)), "{again:?}");
}

#[tokio::test]
async fn a_standby_sends_few_commands() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let other = RedisStore::open(&fixture.server.url()).await.unwrap();
    let seen = fixture.store.lease(BOT).await.unwrap();
    fixture.store.renew(BOT, fixture.epoch).await.unwrap();
    let commands = || {
        let redis::Value::BulkString(info) = fixture.server.command(&["INFO", "stats"]) else { panic!("a text") };
        let info = String::from_utf8(info).unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix("total_commands_processed:")).unwrap();
        line.trim().parse::<i64>().unwrap()
    };
    let before = commands();
    for look in 0..20 {
        // At first it has seen nothing, then a lease that was renewed since.
        let seen = seen.as_ref().filter(|_| look > 0);
        let held = other.claim(BOT, &holder("other"), seen).await.unwrap();
        assert!(matches!(held, LeaseAnswer::Held(lease) if lease.renewals == 1));
    }
    let asked = commands() - before;
    // The query for the count connects and is counted too.
    assert!(asked <= 20 + 5, "{asked} commands for 20 looks");
    let seen = fixture.store.lease(BOT).await.unwrap();
    let granted = other.claim(BOT, &holder("other"), seen.as_ref()).await.unwrap();
    assert!(matches!(granted, LeaseAnswer::Granted(epoch) if epoch > fixture.epoch), "{granted:?}");
}

/// A server that lost its data has given the same epoch to two instances.
#[tokio::test]
async fn of_two_leases_with_one_epoch_only_the_later_is_valid() {
    for code in [RedisCode::Functions, RedisCode::Scripts] {
        let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
        let former = RedisStore::open_with(&server.url(), code).await.unwrap();
        let later = RedisStore::open_with(&server.url(), code).await.unwrap();
        let kept = server.aof_bytes();
        let epoch = claim(&former, "former").await;
        turn(&former, epoch, 1, at_state("asked")).await.unwrap();
        server.lose_power(kept);
        server.start_again();
        crate::stage::until("Redis is back", async || {
            later.lease(BOT).await.is_ok() && former.lease(BOT).await.is_ok()
        })
        .await;
        assert_eq!(claim(&later, "later").await, epoch, "it is given again");
        fenced(former.renew(BOT, epoch).await);
        for user in PEOPLE {
            fenced(turn(&former, epoch, user, at_state("asked")).await);
        }
        fenced(former.settle(epoch, Vec::new(), Millis(1)).await);
        fenced(former.receive(epoch, Vec::new()).await);
        fenced(former.release(BOT, epoch).await);
        for user in PEOPLE {
            assert_eq!(turn(&later, epoch, user, at_state("asked")).await.unwrap().version, Version(1));
        }
        later.renew(BOT, epoch).await.unwrap();
        later.release(BOT, epoch).await.unwrap();
    }
}

#[tokio::test]
async fn an_epoch_of_another_lease_is_not_reused() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let header = format!("{{opora:5}}:{BOT}:room");
    fixture.server.command(&["HSET", &header, "epoch", "2", "token", "00000000000000ff"]);
    let next = RedisStore::open(&fixture.server.url()).await.unwrap();
    let epoch = claim(&next, "next").await;
    assert!(epoch.0 > 2, "{epoch:?}");
    for user in PEOPLE {
        turn(&next, epoch, user, at_state("asked")).await.unwrap();
    }
}

#[tokio::test]
async fn a_lost_epoch_counter_lowers_no_epoch() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let second = claim(&fixture.store, "second").await;
    fixture.server.command(&["DEL", "{opora}:epochs"]);
    assert!(claim(&fixture.store, "third").await > second);
}

#[tokio::test]
async fn an_epoch_belongs_to_one_opened_store() {
    let fixture = Fixture::new(RedisCode::Functions).await;
    let other = RedisStore::open(&fixture.server.url()).await.unwrap();
    fenced(turn(&other, fixture.epoch, 1, at_state("asked")).await);
    let held = other.claim(BOT, &holder("other"), None).await.unwrap();
    assert!(matches!(held, LeaseAnswer::Held(lease) if lease.epoch == fixture.epoch));
    fixture.turn(1, at_state("asked")).await.unwrap();
}
