//! A network to the server that is slow, or with half-open connections.

use std::sync::Arc;
use std::time::Duration;

use opora_testkit::proxy::Proxy;
use tokio::time::Instant;

use super::audit::Audit;
use super::backend::StoreKind;
use super::bots::Unsigned;
use super::in_process::{InProcessBot, registration_over};
use super::people::{Behaviour, Crowd, Scenario};
use super::stage::{Stage, TIMEOUT, until};

const BEHAVIOUR: Behaviour =
    Behaviour { scenario: Scenario::Registration, timeout: TIMEOUT, think_time: Duration::ZERO };

/// How soon after the network's return everyone must be answered.
const RECOVERS_WITHIN: Duration = Duration::from_secs(20);

on_every_store! {
    in redis on Redis:
    on_a_slow_network_people_do_not_wait_for_each_other,
    half_open_connections_are_noticed,
}
on_every_store! {
    in postgres on OwnPostgres:
    on_a_slow_network_people_do_not_wait_for_each_other,
    half_open_connections_are_noticed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    /// Rows in the application's tables.
    Signatures,
    None,
}

struct ProxiedBot {
    stage: Arc<Stage>,
    proxy: Proxy,
    bot: InProcessBot,
}

impl ProxiedBot {
    async fn start(kind: StoreKind, writes: Writes) -> Self {
        let stage = Stage::on(kind).await;
        let port = stage.backend.port();
        let proxy = Proxy::in_front_of(port).await;
        let address = stage.address().replace(&format!(":{port}"), &format!(":{}", proxy.port));
        let store = opora::store::open(&address).await.unwrap();
        let bot = registration_over(&stage, store).await;
        let bot = InProcessBot::run(if writes == Writes::None { bot.context(Unsigned) } else { bot });
        until("the bot polls", || stage.polls() > 0).await;
        Self { stage, proxy, bot }
    }

    /// Lets people finish and checks that nothing was lost or repeated.
    async fn ends_well(self, crowd: Crowd) {
        let diaries = crowd.finish().await;
        self.bot.stop_when_acknowledged(&self.stage).await;
        Audit::of(&self.stage, Scenario::Registration, &diaries, 0).await.assert_clean();
    }
}

async fn on_a_slow_network_people_do_not_wait_for_each_other(kind: StoreKind) {
    let people = 30;
    // Without the application's own statements, which run one after another in a transaction.
    let proxied = ProxiedBot::start(kind, Writes::None).await;
    let late = Duration::from_millis(50);
    proxied.proxy.delay(late);
    let began = Instant::now();
    let crowd = Crowd::begin(&proxied.stage, people, BEHAVIOUR).await;
    // A walk has at least six turns, and each needs at least one round trip.
    let turns = 6 * people;
    let one_after_another = 2 * late * u32::try_from(turns).unwrap();
    assert!(proxied.stage.sees_messages(i64::try_from(2 * turns).unwrap(), TIMEOUT).await);
    let took = began.elapsed();
    println!("{kind:?}: {turns} turns took {took:?}, one after another {one_after_another:?}");
    assert!(took < one_after_another / 2, "{took:?}: people wait for each other");
    proxied.proxy.resume();
    proxied.ends_well(crowd).await;
}

async fn half_open_connections_are_noticed(kind: StoreKind) {
    let people = 12;
    let proxied = ProxiedBot::start(kind, Writes::Signatures).await;
    let crowd = Crowd::begin(&proxied.stage, people, BEHAVIOUR).await;
    let two_each = i64::try_from(2 * people).unwrap();
    // Once for a moment, and once for longer than any request waits for an answer.
    for outage in [Duration::from_millis(100), Duration::from_secs(5)] {
        assert!(proxied.stage.sees_messages(two_each, TIMEOUT).await);
        proxied.proxy.blackhole();
        let silence = async { while proxied.stage.sees_messages(1, Duration::from_millis(500)).await {} };
        tokio::time::timeout(TIMEOUT, silence).await.expect("nothing comes through");
        tokio::time::sleep(outage).await;
        proxied.proxy.resume();
        let (free, before) = (Instant::now(), proxied.stage.last_message_ids());
        until("everyone is answered", || {
            proxied
                .stage
                .last_message_ids()
                .iter()
                .all(|(chat, last)| before.get(chat).is_none_or(|before| last > before))
        })
        .await;
        let recovery = free.elapsed();
        println!("{kind:?}: after {outage:?} everyone is answered within {recovery:?}");
        assert!(recovery < RECOVERS_WITHIN, "{recovery:?}");
    }
    proxied.ends_well(crowd).await;
}
