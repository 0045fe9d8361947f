//! Bots whose store is on a server, Redis or PostgreSQL. The bot is killed, or the server.
//!
//! A normal test run kills at a few failpoints, `cargo xtask soak` at all of them.

use std::time::Duration;

use opora::failpoints;
use opora_testkit::environment;
use rustix::process::Signal;
use tokio::time::Instant;

use super::audit::Audit;
use super::backend::StoreKind;
use super::bots::{ChildConfig, writing_people};
use super::kills::{Bot, COVERED, survives_kills_at};
use super::people::{Behaviour, Crowd, Scenario};
use super::process::Process;
use super::stage::{Stage, TIMEOUT, until};

const BEHAVIOUR: Behaviour =
    Behaviour { scenario: Scenario::Registration, timeout: TIMEOUT, think_time: Duration::ZERO };

/// The server that is killed.
#[derive(Clone, Copy, Debug)]
enum Server {
    OfConversations,
    /// The server of the application's tables, if it is another one.
    OfTables,
}

/// How soon after the server's return a bot must answer again.
const RECOVERS_WITHIN: Duration = Duration::from_secs(20);

macro_rules! killed_at {
    ($kind:ident: $($name:ident: $failpoint:ident $bot:ident,)*) => {
        const SHORT: &[(&str, Bot)] = &[$((failpoints::$failpoint, Bot::$bot)),*];

        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            survives_kills_at(failpoints::$failpoint, Bot::$bot, StoreKind::$kind).await;
        })*

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn soak_a_bot_survives_kills_at_all_other_failpoints() {
            survives_kills_at_all_but(SHORT, StoreKind::$kind).await;
        }
    };
}

mod redis {
    use super::*;

    killed_at! {
        Redis:
        survives_kills_after_a_batch_was_stored: INTAKE_AFTER_RECEIVE Example,
        survives_kills_before_a_commit: TURN_BEFORE_COMMIT InboxFirst,
        survives_kills_after_a_commit: TURN_AFTER_COMMIT Example,
        survives_kills_after_a_message_was_sent: OUTBOX_AFTER_SEND Example,
        survives_kills_within_a_commit: STORE_IN_COMMIT Example,
        survives_kills_after_a_download: EFFECT_AFTER_RUN Errand,
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bot_survives_kills_of_its_server() {
        survives_kills_of(Server::OfConversations, StoreKind::Redis).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bot_leads_again_after_a_long_outage_of_its_server() {
        leads_again_after_its_lease(StoreKind::Redis).await;
    }
}

mod redis_as_aiogram {
    use super::*;

    killed_at! {
        RedisAsAiogram:
        survives_kills_while_it_holds_locks: TURN_BEFORE_HANDLER Registration,
        inbox_first_survives_kills_before_a_commit: TURN_BEFORE_COMMIT InboxFirst,
        survives_kills_after_a_commit: TURN_AFTER_COMMIT Registration,
    }
}

/// Kills around the SQL writes of turns are in [`decisions`](super::decisions).
mod redis_and_postgres {
    use super::*;

    killed_at! {
        RedisAndPostgres:
        survives_kills_after_a_message_was_sent: OUTBOX_AFTER_SEND Registration,
        survives_kills_after_a_download: EFFECT_AFTER_RUN Errand,
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bot_survives_kills_of_its_redis_and_writes_once() {
        survives_kills_of(Server::OfConversations, StoreKind::RedisAndPostgres).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bot_survives_kills_of_its_postgres_and_writes_once() {
        survives_kills_of(Server::OfTables, StoreKind::RedisAndOwnPostgres).await;
    }
}

mod postgres {
    use super::*;

    killed_at! {
        Postgres:
        survives_kills_after_a_batch_was_stored: INTAKE_AFTER_RECEIVE Example,
        survives_kills_before_a_commit: TURN_BEFORE_COMMIT Example,
        inbox_first_survives_kills_before_a_commit: TURN_BEFORE_COMMIT InboxFirst,
        survives_kills_after_a_commit: TURN_AFTER_COMMIT Example,
        survives_kills_after_a_message_was_sent: OUTBOX_AFTER_SEND Example,
        survives_kills_within_a_commit: STORE_IN_COMMIT Example,
        survives_kills_after_a_download: EFFECT_AFTER_RUN Errand,
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bot_survives_kills_of_its_server() {
        survives_kills_of(Server::OfConversations, StoreKind::OwnPostgres).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bot_leads_again_after_a_long_outage_of_its_server() {
        leads_again_after_its_lease(StoreKind::OwnPostgres).await;
    }
}

/// Turns write once, also when Redis is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_sqlite_a_bot_survives_kills_of_redis_and_writes_once() {
    survives_kills_of(Server::OfConversations, StoreKind::RedisAndSqlite).await;
}

async fn survives_kills_at_all_but(short: &[(&str, Bot)], kind: StoreKind) {
    if environment::soak_kills().is_none() {
        println!("skipped: only in a soak run");
        return;
    }
    let all = COVERED.iter().filter_map(|(failpoint, bot)| Some((*failpoint, on(kind, *bot)?)));
    for (failpoint, bot) in all.filter(|one| !short.contains(one)) {
        survives_kills_at(failpoint, bot, kind).await;
    }
}

/// The bot that is killed on a store of this kind instead of `bot`. None if the bot cannot run on it.
fn on(kind: StoreKind, bot: Bot) -> Option<Bot> {
    match (kind, bot) {
        // The example knows neither other tables nor aiogram's states. The errand has no mapping to aiogram's states.
        (StoreKind::RedisAndPostgres | StoreKind::RedisAsAiogram, Bot::Example) => Some(Bot::Registration),
        (StoreKind::RedisAsAiogram, Bot::Errand) => None,
        _ => Some(bot),
    }
}

/// The log line of a turn whose server does not answer.
const AWAY: &str = "the store is unavailable; the turn waits";

/// Kills a server while the bot works, and starts it again.
async fn survives_kills_of(server: Server, kind: StoreKind) {
    let (kills, people) = (environment::soak_kills().unwrap_or(3), environment::soak_people().unwrap_or(12));
    let stage = Stage::on(kind).await;
    // The lease must outlast the kills: a bot that loses it may repeat messages.
    let config = ChildConfig { lease_ms: 30_000, ..ChildConfig::of(&stage, Scenario::Registration) };
    let is_pair = stage.backend.database().is_some();
    let process = if is_pair { Process::child(&config) } else { Process::registration(&stage, "") };
    process.wait_until_leading().await;
    let crowd = Crowd::begin(&stage, people, BEHAVIOUR).await;
    let mut slowest = Duration::ZERO;
    for _ in 0..kills {
        assert!(stage.sees_messages(60, TIMEOUT).await, "{:?}", process.log_lines());
        let waited = process.count(AWAY);
        match server {
            Server::OfConversations => stage.backend.kill(),
            Server::OfTables => stage.backend.kill_database(),
        }
        // All people may be in a turn whose update is acknowledged.
        let waiting = if is_pair { 1 } else { people / 2 };
        until("people are waiting", || stage.unacknowledged() >= waiting || process.count(AWAY) > waited).await;
        match server {
            Server::OfConversations => stage.backend.start_again(),
            Server::OfTables => stage.backend.start_database_again(),
        }
        let back = Instant::now();
        assert!(stage.sees_messages(2 * i64::try_from(people).unwrap(), TIMEOUT).await, "{:?}", process.log_lines());
        slowest = slowest.max(back.elapsed());
    }
    let diaries = crowd.finish().await;
    process.stop(&stage).await;
    let mut audit = Audit::of(&stage, Scenario::Registration, &diaries, 0).await;
    if is_pair {
        audit.check_writes(&writing_people(&stage).await, &diaries);
    }
    println!(
        "{kind:?}: {kills} kills of the server {server:?}, {} dialogues, {} messages repeated, slowest recovery {} ms",
        audit.walks,
        audit.repeats,
        slowest.as_millis()
    );
    audit.assert_clean();
    assert!(slowest < RECOVERS_WITHIN, "{slowest:?}");
}

/// The server is away until the bot has lost its lease.
async fn leads_again_after_its_lease(kind: StoreKind) {
    let (stage, people) = (Stage::on(kind).await, 12);
    let process = Process::child(&ChildConfig::of(&stage, Scenario::Registration));
    process.wait_until_leading().await;
    let crowd = Crowd::begin(&stage, people, BEHAVIOUR).await;
    assert!(stage.sees_messages(100, TIMEOUT).await);
    stage.backend.kill();
    process.wait_for_log("lost the lease").await;
    // While the bot is paused, unsettled messages can be counted. So many may come twice.
    process.signal(Signal::STOP);
    stage.backend.start_again();
    let store = stage.store().await;
    let unrecorded = stage.unsettled(&store).await.len();
    store.close().await.unwrap();
    process.signal(Signal::CONT);
    let back = Instant::now();
    assert!(stage.sees_messages(100, TIMEOUT).await, "{:?}", process.log_lines());
    let recovery = back.elapsed();
    let diaries = crowd.finish().await;
    process.stop(&stage).await;
    let audit = Audit::of(&stage, Scenario::Registration, &diaries, unrecorded).await;
    println!("{kind:?}: {} messages repeated, recovery {} ms", audit.repeats, recovery.as_millis());
    audit.assert_clean();
    assert!(recovery < RECOVERS_WITHIN, "{recovery:?}");
}
