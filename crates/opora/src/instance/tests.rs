//! Leading, standing by, takeover and renewal.

use super::*;
use crate::store::{Answer, Holder, MemoryStore, StoreLayer};
use crate::testing::faulty::{Fault, FaultyStore};

const BOT: i64 = 1;

fn quick() -> LeaseSettings {
    LeaseSettings { ttl: Duration::from_secs(30), poll_interval: Duration::from_millis(100), if_held: IfHeld::StandBy }
}

/// Claims a lease for a process on another machine.
async fn held_elsewhere(store: &Arc<dyn Store>) -> Epoch {
    let holder = Holder {
        host: "elsewhere".into(),
        boot_id: "another".into(),
        ..lease_holder::this_holder(Millis(0), LEASE_TTL)
    };
    match store.claim(BOT, &holder, None).await.unwrap() {
        LeaseAnswer::Granted(epoch) => epoch,
        LeaseAnswer::Held(lease) => panic!("held by {lease:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_takes_over_after_the_whole_lease() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let earlier = held_elsewhere(&store).await;
    let clock = Clock::manual(Millis(0));
    let standby = {
        let store = Arc::clone(&store);
        let clock = clock.clone();
        tokio::spawn(async move { lead(&store, BOT, &quick(), &clock, &CancellationToken::new()).await })
    };
    for _ in 0..29 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        clock.advance(Duration::from_secs(1));
    }
    assert!(!standby.is_finished());
    clock.advance(Duration::from_secs(2));
    let leadership = standby.await.unwrap().unwrap();
    assert!(leadership.epoch > earlier);
    assert!(matches!(store.renew(BOT, earlier).await, Err(StoreError::Fenced { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_renewed_lease_survives_clock_jumps() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let epoch = held_elsewhere(&store).await;
    let clock = Clock::manual(Millis(0));
    let stop = CancellationToken::new();
    let standby = {
        let store = Arc::clone(&store);
        let clock = clock.clone();
        let stop = stop.clone();
        tokio::spawn(async move { lead(&store, BOT, &quick(), &clock, &stop).await })
    };
    for _ in 0..10 {
        store.renew(BOT, epoch).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        clock.advance(Duration::from_secs(29));
    }
    assert!(!standby.is_finished());
    stop.cancel();
    assert!(matches!(standby.await.unwrap(), Err(NotLeading::Stopped)));
}

#[tokio::test(start_paused = true)]
async fn a_holder_whose_process_is_gone_is_replaced_at_once() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let gone = Holder { process_start: 1, ..lease_holder::this_holder(Millis(0), LEASE_TTL) };
    store.claim(BOT, &gone, None).await.unwrap();
    let clock = Clock::manual(Millis(0));
    let settings = quick();
    let stop = CancellationToken::new();
    let leading = lead(&store, BOT, &settings, &clock, &stop);
    let leadership = tokio::time::timeout(Duration::from_millis(50), leading).await.unwrap().unwrap();
    assert_eq!(leadership.epoch, Epoch(2));
}

/// A store whose claims take 40 seconds.
#[derive(Debug)]
struct SlowClaims {
    store: MemoryStore,
    clock: Clock,
}

impl StoreLayer for SlowClaims {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    fn claim<'a>(&'a self, bot: i64, holder: &'a Holder, seen: Option<&'a Lease>) -> Answer<'a, LeaseAnswer> {
        Box::pin(async move {
            let answer = self.store.claim(bot, holder, seen).await;
            self.clock.advance(Duration::from_secs(40));
            answer
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_after_a_slow_claim_is_renewed_at_once() {
    let clock = Clock::manual(Millis(0));
    let store: Arc<dyn Store> = Arc::new(SlowClaims { store: MemoryStore::new(), clock: clock.clone() });
    let leadership = lead(&store, BOT, &quick(), &clock, &CancellationToken::new()).await.unwrap();
    assert_eq!(leadership.remaining()(), quick().ttl, "nothing would be sent until the first renewal");
}

#[tokio::test(start_paused = true)]
async fn without_standby_the_error_names_the_holder() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    held_elsewhere(&store).await;
    let settings = LeaseSettings { if_held: IfHeld::Exit, ..quick() };
    let refused = lead(&store, BOT, &settings, &Clock::manual(Millis(0)), &CancellationToken::new()).await;
    let message = refused.unwrap_err().to_string();
    assert!(
        message.contains(&format!("process {} on elsewhere, since 1970-01-01 00:00:00 UTC", std::process::id())),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_fenced_leader_learns_it_at_its_next_renewal() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let clock = Clock::manual(Millis(0));
    let leadership = lead(&store, BOT, &quick(), &clock, &CancellationToken::new()).await.unwrap();
    let remaining = leadership.remaining();
    assert_eq!(remaining(), LEASE_TTL);
    store.operator().clear_lease(BOT).await.unwrap();
    leadership.lost.cancelled().await;
    assert_eq!(remaining(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_free_at_once() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let clock = Clock::manual(Millis(0));
    let stop = CancellationToken::new();
    lead(&store, BOT, &quick(), &clock, &stop).await.unwrap().release().await;
    let again = tokio::time::timeout(Duration::from_millis(50), lead(&store, BOT, &quick(), &clock, &stop)).await;
    assert_eq!(again.unwrap().unwrap().epoch, Epoch(2));
}

/// Advances both clocks.
async fn seconds_pass(clock: &Clock, seconds: u32) {
    for _ in 0..seconds {
        tokio::time::sleep(Duration::from_secs(1)).await;
        clock.advance(Duration::from_secs(1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_is_not_waited_for() {
    let faulty = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    faulty.fail_next("claim", 1, Fault::After);
    let (clock, settings, stop) = (Clock::manual(Millis(0)), quick(), CancellationToken::new());
    let leading = lead(&store, BOT, &settings, &clock, &stop);
    let leadership = tokio::time::timeout(Duration::from_secs(1), leading).await.unwrap().unwrap();
    assert_eq!(leadership.epoch, Epoch(2), "the lost grant is replaced, without waiting for its end");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_hangs_is_repeated() {
    let faulty = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let clock = Clock::manual(Millis(0));
    let leadership = lead(&store, BOT, &quick(), &clock, &CancellationToken::new()).await.unwrap();
    faulty.fail_next("renew", 1, Fault::Stall);
    seconds_pass(&clock, 60).await;
    assert!(!leadership.lost.is_cancelled());
    assert!(leadership.remaining()() > Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_leader_without_answers_gives_up_when_the_lease_expires() {
    let faulty = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let clock = Clock::manual(Millis(0));
    let leadership = lead(&store, BOT, &quick(), &clock, &CancellationToken::new()).await.unwrap();
    faulty.fail_until_cleared("renew", Fault::Stall);
    seconds_pass(&clock, 29).await;
    assert!(!leadership.lost.is_cancelled());
    seconds_pass(&clock, 3).await;
    assert!(leadership.lost.is_cancelled());
    assert_eq!(leadership.remaining()(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_paused_asks_the_store_once_more() {
    let faulty = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let clock = Clock::manual(Millis(0));
    let leadership = lead(&store, BOT, &quick(), &clock, &CancellationToken::new()).await.unwrap();
    faulty.fail_next("renew", 1, Fault::Stall);
    seconds_pass(&clock, 16).await;
    // The machine sleeps for an hour, and no other instance takes over.
    clock.advance(Duration::from_secs(3600));
    seconds_pass(&clock, 20).await;
    assert!(!leadership.lost.is_cancelled());
    assert!(leadership.remaining()() > Duration::ZERO);
}
