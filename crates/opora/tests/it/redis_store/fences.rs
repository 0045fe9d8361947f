//! Who may write, also where a claim stopped half-way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opora::clock::Millis;
use opora::store::{LeaseAnswer, RedisCode, RedisStore, Store, StoreError, Version};
use opora_testkit::redis_server::RedisServer;

use super::{BOT, Bench, at_state, claim, fenced, holder, turn, version};

/// People of as many partitions as there are.
const PEOPLE: std::ops::RangeInclusive<i64> = 1..=64;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_epochs_only_the_later_writes() {
    let bench = Bench::new(RedisCode::Functions).await;
    let url = bench.server.url();
    let mut stores = vec![Arc::new(bench.store)];
    let mut epoch = bench.epoch;
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
        // Whatever room it tries.
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
async fn a_claimer_that_died_half_way_harms_nobody() {
    let bench = Bench::new(RedisCode::Functions).await;
    let dead = serde_json::to_string(&holder("dead")).unwrap();
    let lease = format!("{{opora:lease:{BOT}}}");
    bench.server.say(&["SET", "{opora}:epochs", "2"]);
    // What the dead one has seen is what stands in the lease already.
    bench.server.say(&["HSET", &lease, "epoch", "2", "renewals", "0", "holder", &dead, "token", "dead"]);
    for partition in 0..7 {
        bench.server.say(&["HSET", &format!("{{opora:{partition}}}:{BOT}:room"), "epoch", "2"]);
    }
    let mut refused = 0;
    for user in PEOPLE {
        match bench.turn(user, at_state("asked")).await {
            Ok(_) => {}
            Err(StoreError::Fenced { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 0 && refused < 64, "{refused} rooms of 64 refuse the former holder");
    fenced(bench.store.renew(BOT, bench.epoch).await);
    let next = RedisStore::open(&bench.server.url()).await.unwrap();
    let epoch = claim(&next, "next").await;
    for user in PEOPLE {
        fenced(bench.turn(user, at_state("asked")).await);
        turn(&next, epoch, user, at_state("asked")).await.unwrap();
    }
}

#[tokio::test]
async fn an_epoch_goes_above_all_that_a_room_has_seen() {
    let bench = Bench::new(RedisCode::Functions).await;
    bench.server.say(&["HSET", &format!("{{opora:5}}:{BOT}:room"), "epoch", "50"]);
    let next = RedisStore::open(&bench.server.url()).await.unwrap();
    let epoch = claim(&next, "next").await;
    assert!(epoch.0 > 50, "{epoch:?}");
    for user in PEOPLE {
        turn(&next, epoch, user, at_state("asked")).await.unwrap();
    }
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_made_again_at_once() {
    let bench = Bench::new(RedisCode::Functions).await;
    bench.store.release(BOT, bench.epoch).await.unwrap();
    // The lease is given, and then a room cannot be raised.
    let room = format!("{{opora:9}}:{BOT}:room");
    bench.server.say(&["HSET", &room, "held", "1", "floor", "not a number"]);
    let lost = bench.store.claim(BOT, &holder("lost"), None).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert_eq!(bench.store.lease(BOT).await.unwrap().unwrap().holder.token, "lost");
    bench.server.say(&["HDEL", &room, "held", "floor"]);
    let other = RedisStore::open(&bench.server.url()).await.unwrap();
    assert!(matches!(other.claim(BOT, &holder("other"), None).await.unwrap(), LeaseAnswer::Held(_)));
    let again = bench.store.claim(BOT, &holder("again"), None).await.unwrap();
    assert!(matches!(again, LeaseAnswer::Granted(_)), "{again:?}");
}

#[tokio::test]
async fn who_stands_by_asks_little() {
    let bench = Bench::new(RedisCode::Functions).await;
    let other = RedisStore::open(&bench.server.url()).await.unwrap();
    let seen = bench.store.lease(BOT).await.unwrap();
    bench.store.renew(BOT, bench.epoch).await.unwrap();
    let commands = || {
        let redis::Value::BulkString(told) = bench.server.say(&["INFO", "stats"]) else { panic!("a text") };
        let told = String::from_utf8(told).unwrap();
        let line = told.lines().find_map(|line| line.strip_prefix("total_commands_processed:")).unwrap();
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
    // What asks how many there were connects, and is one of them.
    assert!(asked <= 20 + 5, "{asked} commands for 20 looks");
    let seen = bench.store.lease(BOT).await.unwrap();
    let granted = other.claim(BOT, &holder("other"), seen.as_ref()).await.unwrap();
    assert!(matches!(granted, LeaseAnswer::Granted(epoch) if epoch > bench.epoch), "{granted:?}");
}

/// The same epoch, given to two by a server that has forgotten the first of them.
#[tokio::test]
async fn of_two_leases_with_one_epoch_only_the_later_is_one() {
    for code in [RedisCode::Functions, RedisCode::Scripts] {
        let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
        let former = RedisStore::open_with(&server.url(), code).await.unwrap();
        let later = RedisStore::open_with(&server.url(), code).await.unwrap();
        let kept = server.kept_bytes();
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
async fn an_epoch_that_a_room_knows_of_another_lease_is_not_gone_on_with() {
    let bench = Bench::new(RedisCode::Functions).await;
    let room = format!("{{opora:5}}:{BOT}:room");
    bench.server.say(&["HSET", &room, "epoch", "2", "token", "00000000000000ff"]);
    let next = RedisStore::open(&bench.server.url()).await.unwrap();
    let epoch = claim(&next, "next").await;
    assert!(epoch.0 > 2, "{epoch:?}");
    for user in PEOPLE {
        turn(&next, epoch, user, at_state("asked")).await.unwrap();
    }
}

#[tokio::test]
async fn a_lost_counter_of_epochs_turns_none_back() {
    let bench = Bench::new(RedisCode::Functions).await;
    let second = claim(&bench.store, "second").await;
    bench.server.say(&["DEL", "{opora}:epochs"]);
    assert!(claim(&bench.store, "third").await > second);
}

#[tokio::test]
async fn an_epoch_belongs_to_one_opening_of_the_store() {
    let bench = Bench::new(RedisCode::Functions).await;
    let other = RedisStore::open(&bench.server.url()).await.unwrap();
    fenced(turn(&other, bench.epoch, 1, at_state("asked")).await);
    let held = other.claim(BOT, &holder("other"), None).await.unwrap();
    assert!(matches!(held, LeaseAnswer::Held(lease) if lease.epoch == bench.epoch));
    bench.turn(1, at_state("asked")).await.unwrap();
}
