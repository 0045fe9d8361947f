//! Bots whose state is on a server, Redis or PostgreSQL: the bot is killed, or the server beneath it.
//!
//! The short form kills at a few failpoints, `cargo xtask soak` at all of them.

use std::time::Duration;

use opora::failpoints;
use opora_testkit::environment;
use rustix::process::Signal;
use tokio::time::Instant;

use super::account::Account;
use super::bots::{Part, written_by};
use super::keeper::Kind;
use super::kills::{Bot, COVERED, survives_kills_at};
use super::people::{Crowd, Manner, Story};
use super::process::Process;
use super::stage::{PATIENCE, Stage, until};

const MANNER: Manner = Manner { story: Story::Registration, patience: PATIENCE, thought: Duration::ZERO };

/// Which of a bot's servers is killed.
#[derive(Clone, Copy, Debug)]
enum Server {
    OfConversations,
    /// Of the application's tables, where they are elsewhere.
    OfTables,
}

/// So soon after its server a bot is back.
const RECOVERS_WITHIN: Duration = Duration::from_secs(20);

macro_rules! killed_at {
    ($kind:ident: $($name:ident: $failpoint:ident $bot:ident,)*) => {
        const SHORT: &[(&str, Bot)] = &[$((failpoints::$failpoint, Bot::$bot)),*];

        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            survives_kills_at(failpoints::$failpoint, Bot::$bot, Kind::$kind).await;
        })*

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn in_the_long_form_a_bot_survives_kills_everywhere_else() {
            survives_kills_at_all_but(SHORT, Kind::$kind).await;
        }
    };
}

mod redis {
    use super::*;

    killed_at! {
        Redis:
        a_bot_survives_kills_after_a_batch_was_stored: INTAKE_AFTER_RECEIVE Example,
        a_bot_survives_kills_before_a_commit: TURN_BEFORE_COMMIT InboxFirst,
        a_bot_survives_kills_after_a_commit: TURN_AFTER_COMMIT Example,
        a_bot_survives_kills_after_a_message_was_sent: OUTBOX_AFTER_SEND Example,
        a_bot_survives_kills_within_a_commit_of_its_store: STORE_IN_COMMIT Example,
        a_bot_survives_kills_after_a_file_was_fetched: EFFECT_AFTER_RUN Errand,
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bot_outlives_kills_of_its_server_and_nothing_is_lost() {
        outlives_kills_of(Server::OfConversations, Kind::Redis).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bot_whose_server_was_away_for_longer_than_its_lease_leads_again() {
        leads_again_after_its_lease(Kind::Redis).await;
    }
}

mod redis_as_aiogram {
    use super::*;

    killed_at! {
        RedisAsAiogram:
        a_bot_survives_kills_while_it_holds_locks: TURN_BEFORE_HANDLER Registration,
        with_the_inbox_first_a_bot_survives_kills_before_a_commit: TURN_BEFORE_COMMIT InboxFirst,
        a_bot_survives_kills_after_a_commit: TURN_AFTER_COMMIT Registration,
    }
}

/// Kills around the writes of turns are in [`decided`](super::decided), in both forms.
mod redis_and_postgres {
    use super::*;

    killed_at! {
        RedisAndPostgres:
        a_bot_survives_kills_after_a_message_was_sent: OUTBOX_AFTER_SEND Registration,
        a_bot_survives_kills_after_a_file_was_fetched: EFFECT_AFTER_RUN Errand,
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bot_outlives_kills_of_its_redis_and_writes_once() {
        outlives_kills_of(Server::OfConversations, Kind::RedisAndPostgres).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bot_outlives_kills_of_its_postgres_and_writes_once() {
        outlives_kills_of(Server::OfTables, Kind::RedisAndOwnPostgres).await;
    }
}

mod postgres {
    use super::*;

    killed_at! {
        Postgres:
        a_bot_survives_kills_after_a_batch_was_stored: INTAKE_AFTER_RECEIVE Example,
        a_bot_survives_kills_before_a_commit: TURN_BEFORE_COMMIT Example,
        with_the_inbox_first_a_bot_survives_kills_before_a_commit: TURN_BEFORE_COMMIT InboxFirst,
        a_bot_survives_kills_after_a_commit: TURN_AFTER_COMMIT Example,
        a_bot_survives_kills_after_a_message_was_sent: OUTBOX_AFTER_SEND Example,
        a_bot_survives_kills_within_a_commit_of_its_store: STORE_IN_COMMIT Example,
        a_bot_survives_kills_after_a_file_was_fetched: EFFECT_AFTER_RUN Errand,
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bot_outlives_kills_of_its_server_and_nothing_is_lost() {
        outlives_kills_of(Server::OfConversations, Kind::OwnPostgres).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_bot_whose_server_was_away_for_longer_than_its_lease_leads_again() {
        leads_again_after_its_lease(Kind::OwnPostgres).await;
    }
}

/// A Redis with the application's tables elsewhere: what turns write is written once, also when Redis is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_with_tables_in_a_file_outlives_kills_of_its_redis_and_writes_once() {
    outlives_kills_of(Server::OfConversations, Kind::RedisAndSqlite).await;
}

async fn survives_kills_at_all_but(short: &[(&str, Bot)], kind: Kind) {
    if environment::kills().is_none() {
        println!("skipped: this is for the long form");
        return;
    }
    let all = COVERED.iter().filter_map(|(failpoint, bot)| Some((*failpoint, on(kind, *bot)?)));
    for (failpoint, bot) in all.filter(|one| !short.contains(one)) {
        survives_kills_at(failpoint, bot, kind).await;
    }
}

/// Who is killed on a store of this kind in place of a bot; none if nobody comes to where that one is killed.
fn on(kind: Kind, bot: Bot) -> Option<Bot> {
    match (kind, bot) {
        // It knows neither tables elsewhere nor a mapping to aiogram's states, which the errand has not either.
        (Kind::RedisAndPostgres | Kind::RedisAsAiogram, Bot::Example) => Some(Bot::Registration),
        (Kind::RedisAsAiogram, Bot::Errand) => None,
        _ => Some(bot),
    }
}

/// What a bot tells of a turn whose server does not answer.
const AWAY: &str = "the store is away; the turn waits";

/// Kills a server in the middle of everything and starts it again, while the bot lives on.
async fn outlives_kills_of(server: Server, kind: Kind) {
    let (kills, people) = (environment::kills().unwrap_or(3), environment::people().unwrap_or(12));
    let stage = Stage::on(kind).await;
    // Its lease is to outlast the kills: who loses it may repeat what it was about to send.
    let part = Part { lease_ms: 30_000, ..Part::of(&stage, Story::Registration) };
    let is_pair = stage.keeper.database().is_some();
    let process = if is_pair { Process::playing(&part) } else { Process::registration(&stage, "") };
    process.leads().await;
    let crowd = Crowd::begin(&stage, people, MANNER).await;
    let mut slowest = Duration::ZERO;
    for _ in 0..kills {
        assert!(stage.goes_on(60, PATIENCE).await, "{:?}", process.told());
        let waited = process.count(AWAY);
        match server {
            Server::OfConversations => stage.keeper.kill(),
            Server::OfTables => stage.keeper.kill_database(),
        }
        // All may be in the midst of a turn whose update is acknowledged.
        let waiting = if is_pair { 1 } else { people / 2 };
        until("people are waiting", || stage.unacknowledged() >= waiting || process.count(AWAY) > waited).await;
        match server {
            Server::OfConversations => stage.keeper.start_again(),
            Server::OfTables => stage.keeper.start_database_again(),
        }
        let back = Instant::now();
        assert!(stage.goes_on(2 * i64::try_from(people).unwrap(), PATIENCE).await, "{:?}", process.told());
        slowest = slowest.max(back.elapsed());
    }
    let diaries = crowd.finish().await;
    process.stop(&stage).await;
    let mut account = Account::of(&stage, Story::Registration, &diaries, 0).await;
    if is_pair {
        account.writes(&written_by(&stage).await, &diaries);
    }
    println!(
        "{kind:?}: {kills} kills of the server {server:?}, {} dialogues, {} messages repeated, slowest recovery {} ms",
        account.walks,
        account.repeats,
        slowest.as_millis()
    );
    account.is_clean();
    assert!(slowest < RECOVERS_WITHIN, "{slowest:?}");
}

/// The server is away until the bot has given up its lease.
async fn leads_again_after_its_lease(kind: Kind) {
    let (stage, people) = (Stage::on(kind).await, 12);
    let process = Process::playing(&Part::of(&stage, Story::Registration));
    process.leads().await;
    let crowd = Crowd::begin(&stage, people, MANNER).await;
    assert!(stage.goes_on(100, PATIENCE).await);
    stage.keeper.kill();
    process.tells("lost the lease").await;
    // While it stands still it can be counted what was said and is not known as sent: so much may come twice.
    process.signal(Signal::STOP);
    stage.keeper.start_again();
    let store = stage.store().await;
    let in_the_act = stage.unsettled(&store).await.len();
    store.close().await.unwrap();
    process.signal(Signal::CONT);
    let back = Instant::now();
    assert!(stage.goes_on(100, PATIENCE).await, "{:?}", process.told());
    let recovery = back.elapsed();
    let diaries = crowd.finish().await;
    process.stop(&stage).await;
    let account = Account::of(&stage, Story::Registration, &diaries, in_the_act).await;
    println!("{kind:?}: {} messages repeated, recovery {} ms", account.repeats, recovery.as_millis());
    account.is_clean();
    assert!(recovery < RECOVERS_WITHIN, "{recovery:?}");
}
