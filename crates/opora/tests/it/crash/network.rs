//! A way to the server that is slow, or on which nothing comes through any more although nobody has ended it.

use std::sync::Arc;
use std::time::Duration;

use opora_testkit::proxy::Proxy;
use tokio::time::Instant;

use super::account::Account;
use super::bots::Unsigned;
use super::inside::{Inside, registration_over};
use super::keeper::Kind;
use super::people::{Crowd, Manner, Story};
use super::stage::{PATIENCE, Stage, until};

const MANNER: Manner = Manner { story: Story::Registration, patience: PATIENCE, thought: Duration::ZERO };

/// So soon after the way is free again everybody is answered.
const RECOVERS_WITHIN: Duration = Duration::from_secs(20);

mod redis {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn on_a_slow_way_nobody_waits_for_another_and_nothing_is_lost() {
        nobody_waits_for_another_on_a_slow_way(Kind::Redis).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn connections_that_are_half_dead_are_found_out_and_nothing_is_lost() {
        half_dead_connections_are_found_out(Kind::Redis).await;
    }
}

mod postgres {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn on_a_slow_way_nobody_waits_for_another_and_nothing_is_lost() {
        nobody_waits_for_another_on_a_slow_way(Kind::OwnPostgres).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn connections_that_are_half_dead_are_found_out_and_nothing_is_lost() {
        half_dead_connections_are_found_out(Kind::OwnPostgres).await;
    }
}

/// What turns write besides their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    /// What the application has tables for.
    Signatures,
    None,
}

/// A bot whose store is behind a proxy.
struct Behind {
    stage: Arc<Stage>,
    proxy: Proxy,
    bot: Inside,
}

impl Behind {
    async fn start(kind: Kind, writes: Writes) -> Self {
        let stage = Stage::on(kind).await;
        let port = stage.keeper.port();
        let proxy = Proxy::before(port).await;
        let address = stage.address().replace(&format!(":{port}"), &format!(":{}", proxy.port));
        let store = opora::store::open(&address).await.unwrap();
        let bot = registration_over(&stage, store).await;
        let bot = Inside::run(if writes == Writes::None { bot.context(Unsigned) } else { bot });
        until("the bot polls", || stage.polls() > 0).await;
        Self { stage, proxy, bot }
    }

    /// Nothing was lost and nothing doubled.
    async fn ends_well(self, crowd: Crowd) {
        let diaries = crowd.finish().await;
        self.bot.end_when_quiet(&self.stage).await;
        Account::of(&self.stage, Story::Registration, &diaries, 0).await.is_clean();
    }
}

async fn nobody_waits_for_another_on_a_slow_way(kind: Kind) {
    let people = 30;
    // The application's own statements go one after another, in one transaction.
    let behind = Behind::start(kind, Writes::None).await;
    let late = Duration::from_millis(50);
    behind.proxy.delay(late);
    let began = Instant::now();
    let crowd = Crowd::begin(&behind.stage, people, MANNER).await;
    // A walk is six turns and more; each takes a way there and back at least.
    let turns = 6 * people;
    let one_after_another = 2 * late * u32::try_from(turns).unwrap();
    assert!(behind.stage.goes_on(i64::try_from(2 * turns).unwrap(), PATIENCE).await);
    let took = began.elapsed();
    println!("{kind:?}: {turns} turns took {took:?}, one after another {one_after_another:?}");
    assert!(took < one_after_another / 2, "{took:?}: people wait for each other");
    behind.proxy.let_pass();
    behind.ends_well(crowd).await;
}

async fn half_dead_connections_are_found_out(kind: Kind) {
    let people = 12;
    let behind = Behind::start(kind, Writes::Signatures).await;
    let crowd = Crowd::begin(&behind.stage, people, MANNER).await;
    let everybody = i64::try_from(2 * people).unwrap();
    // For a moment, and for longer than anybody waits for an answer.
    for outage in [Duration::from_millis(100), Duration::from_secs(5)] {
        assert!(behind.stage.goes_on(everybody, PATIENCE).await);
        behind.proxy.swallow();
        let silence = async { while behind.stage.goes_on(1, Duration::from_millis(500)).await {} };
        tokio::time::timeout(PATIENCE, silence).await.expect("nothing comes through");
        tokio::time::sleep(outage).await;
        behind.proxy.let_pass();
        let (free, before) = (Instant::now(), behind.stage.last_said());
        until("everybody is answered", || {
            behind.stage.last_said().iter().all(|(chat, last)| before.get(chat).is_none_or(|before| last > before))
        })
        .await;
        let recovery = free.elapsed();
        println!("{kind:?}: after {outage:?} everybody is answered within {recovery:?}");
        assert!(recovery < RECOVERS_WITHIN, "{recovery:?}");
    }
    behind.ends_well(crowd).await;
}
