//! A Redis that goes away under a bot with a journal: known conversations continue, and are replayed when Redis is
//! back.

use std::path::PathBuf;
use std::sync::Arc;

use opora::bot::{BotError, Instances, WebhookSettings};
use opora::instance::NotLeading;
use opora::key::ConversationKey;
use opora::prelude::*;
use opora::store::{self, ConversationRow, Filter, RedisStore, Store, StoreError};
use opora_testkit::proxy::Proxy;
use opora_testkit::redis_server::RedisServer;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::Semaphore;

use crate::decisions::Tables;
use crate::runtime::effects::{Attempts, purchase, slow_bank};
use crate::runtime::form::{AGE, NAME, form};
use crate::runtime::webhook::Server;
use crate::stage::{BOT, Person, Running, Stage, until};

mod atomicity;
mod interrupted_replay;
mod jobs;
mod writes;

const ONE_MOMENT: &str = "One moment, please: I will answer as soon as I can.";
/// Short, so that tests do not wait for it, and longer than a busy machine lets an answer wait.
const AWAY_AFTER_MS: &str = "away_after_ms=250";

/// Makes a test of each function for a journal in a file of its own, and for one in either database.
macro_rules! on_every_journal {
    ($($name:ident,)*) => {
        mod in_a_file {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::journal::Fixture::new().await).await;
            })*
        }

        crate::journal::on_both_databases! { $($name,)* }
    };
}
use on_every_journal;

/// Makes a test of each function for a journal in either database of the application.
macro_rules! on_both_databases {
    ($($name:ident,)*) => {
        mod beside_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let tables = crate::decisions::Tables::in_a_file();
                super::$name(crate::journal::Fixture::beside(tables).await).await;
            })*
        }

        mod beside_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let tables = crate::decisions::Tables::in_a_schema().await;
                super::$name(crate::journal::Fixture::beside(tables).await).await;
            })*
        }
    };
}
use on_both_databases;

/// A bot, its Redis, and a proxy between them.
struct Fixture {
    stage: Stage,
    server: RedisServer,
    proxy: Proxy,
    folder: tempfile::TempDir,
    /// The application's tables, if it has some. The journal is with them.
    tables: Option<Tables>,
    /// The Redis, without the proxy.
    redis: RedisStore,
}

impl Fixture {
    /// With a journal in a file of its own.
    async fn new() -> Self {
        Self::of(None).await
    }

    /// With a journal in the application's database.
    async fn beside(tables: Tables) -> Self {
        Self::of(Some(tables)).await
    }

    async fn of(tables: Option<Tables>) -> Self {
        let server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
        let proxy = Proxy::in_front_of(server.port()).await;
        let redis = RedisStore::open(&server.url()).await.unwrap();
        Self { stage: Stage::new().await, server, proxy, folder: tempfile::tempdir().unwrap(), tables, redis }
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal.db")
    }

    async fn store(&self) -> Arc<dyn Store> {
        let redis = format!("redis://127.0.0.1:{}/0?{AWAY_AFTER_MS}", self.proxy.port);
        let data = self.folder.path().display();
        let opened = match &self.tables {
            None => store::open(&format!("{redis}&journal={}", self.journal().display())).await,
            Some(tables) => {
                let address = format!("{redis}&journal=database&data={data}");
                store::open_with_database(&address, Some(&tables.url())).await
            }
        };
        opened.unwrap()
    }

    /// The number that a query of the journal's database returns.
    async fn number(&self, query: &'static str) -> i64 {
        if let Some(tables) = &self.tables {
            return tables.number(query).await;
        }
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(self.journal()).read_only(true);
        let mut journal = SqliteConnection::connect_with(&options).await.unwrap();
        sqlx::query_scalar(query).fetch_one(&mut journal).await.unwrap()
    }

    async fn bot(&self) -> Running {
        self.bot_on(self.store().await)
    }

    fn bot_on(&self, store: Arc<dyn Store>) -> Running {
        let bot = self.stage.bot(&store).dialogue(form()).dialogue(reminder());
        // The bot must be the only owner of the store.
        drop(store);
        Running::start(bot)
    }

    /// A bot that has asked a person for her name, so that it has a local copy. Then Redis goes away.
    async fn start_and_cut_off(&self, anna: &Person<'_>) -> Running {
        let store = self.store().await;
        let bot = self.bot_on(Arc::clone(&store));
        self.cut_off_after_question(anna, &store).await;
        bot
    }

    /// She is asked for her name. Then Redis goes away.
    async fn cut_off_after_question(&self, anna: &Person<'_>, store: &Arc<dyn Store>) {
        anna.says("/start").await;
        anna.receives_exactly(&[NAME]).await;
        self.wait_until_idle().await;
        self.proxy.cut_off(true);
        // From now on it is certain that a request does not reach Redis. Another bot's request is never answered by
        // the journal, as one of this bot may be as soon as it has its lease there.
        until("the bot has noticed", async || {
            let answer = store.labelled(BOT + 1, 1, "none").await;
            let is_away = answer.as_ref().is_err_and(|error| error.to_string().contains("is away"));
            if !is_away {
                // Shown if the test fails: does Redis still answer, or does nothing come back?
                eprintln!("Redis is not away yet: {answer:?}");
            }
            is_away
        })
        .await;
    }

    /// Waits until nothing is left to do in Redis, so that every conversation has a local copy.
    async fn wait_until_idle(&self) {
        until("nothing waits", async || {
            let numbers = self.redis.statistics(Some(BOT)).await.unwrap();
            (numbers.inbox, numbers.outbox) == (0, 0) && self.stage.unacknowledged() == 0
        })
        .await;
    }

    async fn row(&self, person: &Person<'_>) -> ConversationRow {
        let filter = Filter { user: Some(person.id), ended: true, ..Filter::default() };
        self.redis.list(&filter, None, 9).await.unwrap().remove(0)
    }

    /// Waits until the whole journal is in Redis.
    async fn wait_until_replayed(&self) {
        const LEFT: &str = "SELECT (SELECT count(*) FROM opora_journal_entries) + (SELECT count(*) FROM opora_inbox)
            + (SELECT count(*) FROM opora_conversations)";
        until("the journal is empty", async || self.number(LEFT).await == 0).await;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "reminder")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Reminder {
    Waiting,
}

/// Reminds after a moment, and once more.
fn reminder() -> Dialogue<Reminder> {
    async fn start(turn: &mut Turn, _: Command) -> Step<Reminder> {
        turn.say("I will remind you");
        turn.timer("remind", std::time::Duration::from_secs(1), &1);
        Ok(Next::Go(Reminder::Waiting))
    }
    async fn remind(turn: &mut Turn, timer: Timer) -> Step<Reminder> {
        let times: u8 = timer.body()?;
        turn.say(format!("reminder {times}"));
        if times == 2 {
            return Ok(Next::End);
        }
        turn.timer("remind", std::time::Duration::from_secs(4), &2);
        Ok(Next::Stay)
    }
    Dialogue::new().start(command("remind"), start).on(Reminder::WAITING, timer("remind"), remind)
}

on_every_journal! {
    known_conversations_continue_while_redis_is_away,
    a_change_in_redis_wins_over_the_journal,
    timers_set_during_an_outage_fire_once,
    an_empty_redis_stops_the_bot_and_keeps_the_journal,
    a_bot_started_without_redis_makes_people_wait,
    a_bot_that_lost_its_lease_stops_and_keeps_the_journal,
    effects_of_an_outage_keep_their_key,
    a_webhook_bot_continues_while_redis_is_away,
}

async fn known_conversations_continue_while_redis_is_away(fixture: Fixture) {
    let anna = fixture.stage.person("Anna").await;
    let boris = fixture.stage.person_with(serde_json::json!({"first_name": "Boris", "language_code": "ru"})).await;
    let bot = fixture.start_and_cut_off(&anna).await;
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    boris.says("/start").await;
    boris.receives("Одну минуту").await;
    boris.says("Boris").await;
    anna.says("33").await;
    anna.receives_exactly(&[NAME, AGE, "Anna is 33."]).await;
    until("Telegram need not keep it", async || fixture.stage.unacknowledged() == 0).await;
    assert_eq!(boris.received().await.len(), 1, "he is told once");

    fixture.proxy.cut_off(false);
    boris.receives(AGE).await;
    assert_eq!(boris.received().await[1..], [NAME, AGE], "in the order in which he wrote");
    fixture.wait_until_replayed().await;
    fixture.wait_until_idle().await;
    assert_eq!(fixture.row(&anna).await.version.0, 3);
    assert_eq!(fixture.row(&anna).await.stored, None);
    let key = ConversationKey::private(BOT, anna.id);
    assert_eq!(fixture.redis.operator().transitions_of(&key, 0, 9).await.unwrap().len(), 3);
    anna.says("/start").await;
    until("she starts again", async || anna.received().await.len() == 4).await;
    assert_eq!(fixture.row(&anna).await.version.0, 4);
    bot.stops().await;
}

async fn a_webhook_bot_continues_while_redis_is_away(fixture: Fixture) {
    let (anna, boris) = (fixture.stage.person("Anna").await, fixture.stage.person("Boris").await);
    let (store, mut server) = (fixture.store().await, Server::new(&fixture.stage).await);
    let settings = WebhookSettings { instances: Instances::LeaderOnly, ..server.settings() };
    let (bot, webhook) = fixture.stage.bot(&store).dialogue(form()).webhook(settings);
    server.mount(&webhook);
    let bot = Running::start(bot);
    fixture.cut_off_after_question(&anna, &store).await;
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    boris.says("/start").await;
    boris.receives_exactly(&[ONE_MOMENT]).await;
    until("Telegram need not keep it", async || fixture.stage.unacknowledged() == 0).await;
    fixture.proxy.cut_off(false);
    boris.receives_exactly(&[ONE_MOMENT, NAME]).await;
    fixture.wait_until_replayed().await;
    anna.says("33").await;
    anna.receives_exactly(&[NAME, AGE, "Anna is 33."]).await;
    assert_eq!((fixture.row(&anna).await.version.0, fixture.row(&boris).await.version.0), (3, 1));
    assert_eq!(fixture.stage.polls(), 0);
    bot.stops().await;
}

async fn a_change_in_redis_wins_over_the_journal(fixture: Fixture) {
    let anna = fixture.stage.person("Anna").await;
    let bot = fixture.start_and_cut_off(&anna).await;
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    // An operator changes her state in Redis.
    let mut row = fixture.row(&anna).await;
    let stored = row.stored.as_mut().unwrap();
    stored.value = stored.value.replace("\"at\":\"name\"", "\"at\":\"age\",\"name\":\"Maria\"").into();
    assert!(fixture.redis.operator().import(&row, true).await.unwrap());
    fixture.proxy.cut_off(false);
    fixture.wait_until_replayed().await;
    // The dialogue has no question for that state.
    anna.receives("Please answer once more").await;
    let parked = fixture.redis.parked(Some(BOT), 9).await.unwrap();
    let [parked] = &parked[..] else { panic!("{parked:?}") };
    assert!(parked.kind == "state" && parked.reason.contains("conflict"), "{parked:?}");
    assert!(parked.body.contains("Anna"), "{parked:?}");
    anna.says("33").await;
    anna.receives("Maria is 33.").await;
    bot.stops().await;
}

async fn timers_set_during_an_outage_fire_once(fixture: Fixture) {
    let anna = fixture.stage.person("Anna").await;
    let bot = fixture.start_and_cut_off(&anna).await;
    anna.says("/remind").await;
    anna.receives_exactly(&[NAME, "I will remind you", "reminder 1"]).await;
    fixture.proxy.cut_off(false);
    fixture.wait_until_replayed().await;
    assert_eq!(fixture.redis.statistics(Some(BOT)).await.unwrap().timers, 1);
    anna.receives_exactly(&[NAME, "I will remind you", "reminder 1", "reminder 2"]).await;
    bot.stops().await;
}

async fn effects_of_an_outage_keep_their_key(fixture: Fixture) {
    let (attempts, permits) = (Attempts::default(), Arc::new(Semaphore::new(0)));
    let anna = fixture.stage.person("Anna").await;
    let store = fixture.store().await;
    let bot = fixture.stage.bot(&store).dialogue(form()).dialogue(purchase());
    let bot = Running::start(slow_bank(bot, &attempts, &permits));
    fixture.cut_off_after_question(&anna, &store).await;
    anna.says("/buy x").await;
    until("the first try", async || attempts.lock().len() == 1).await;
    fixture.proxy.cut_off(false);
    until("the second try", async || attempts.lock().len() == 2).await;
    permits.add_permits(1);
    anna.receives_exactly(&[NAME, "Paid: cash."]).await;
    let made = attempts.lock().clone();
    assert_eq!(made[0], made[1]);
    bot.stops().await;
}

async fn an_empty_redis_stops_the_bot_and_keeps_the_journal(mut fixture: Fixture) {
    let anna = fixture.stage.person("Anna").await;
    let bot = fixture.start_and_cut_off(&anna).await;
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    fixture.server.kill();
    let copy = fixture.server.copy();
    fixture.server.restore(None);
    fixture.server.start_again();
    fixture.proxy.cut_off(false);
    let ended = bot.ends().await;
    let Err(BotError::NotLeading(NotLeading::Store(why))) = ended else { panic!("{ended:?}") };
    // Noticed by the last-seen record, or by the generation in the database.
    let is_noticed = why.to_string().contains("is empty") || why.to_string().contains("it was emptied");
    assert!(is_noticed, "{why}");
    assert_eq!(fixture.server.command(&["DBSIZE"]), redis::Value::Int(0), "nothing was written");

    // The data are restored: the journal is replayed before anything else.
    fixture.server.kill();
    fixture.server.restore(Some(&copy));
    fixture.server.start_again();
    // The process of the old lease is this one and still runs, so the operator clears the lease.
    until("the lease is cleared", async || fixture.redis.operator().clear_lease(BOT).await.is_ok()).await;
    let bot = fixture.bot().await;
    anna.says("33").await;
    anna.receives_exactly(&[NAME, AGE, "Anna is 33."]).await;
    fixture.wait_until_replayed().await;
    assert_eq!(fixture.row(&anna).await.version.0, 3);
    bot.stops().await;
}

async fn a_bot_started_without_redis_makes_people_wait(fixture: Fixture) {
    fixture.proxy.cut_off(true);
    let bot = fixture.bot().await;
    let anna = fixture.stage.person("Anna").await;
    anna.says("/start").await;
    anna.receives_exactly(&[ONE_MOMENT]).await;
    let store = &fixture.redis;
    assert_eq!(store.statistics(None).await.unwrap().active, 0);
    fixture.proxy.cut_off(false);
    anna.receives_exactly(&[ONE_MOMENT, NAME]).await;
    fixture.wait_until_replayed().await;
    assert_eq!(fixture.row(&anna).await.version.0, 1);
    bot.stops().await;
}

async fn a_bot_that_lost_its_lease_stops_and_keeps_the_journal(fixture: Fixture) {
    let anna = fixture.stage.person("Anna").await;
    let bot = fixture.start_and_cut_off(&anna).await;
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    // Another instance leads, against the operator's promise.
    let mut other = fixture.redis.lease(BOT).await.unwrap().unwrap();
    let seen = other.clone();
    (other.holder.token, other.holder.host) = ("other".to_owned(), "elsewhere".to_owned());
    fixture.redis.claim(BOT, &other.holder, Some(&seen)).await.unwrap();
    fixture.proxy.cut_off(false);
    let ended = bot.ends().await;
    let Err(BotError::NotLeading(NotLeading::Store(StoreError::Lost { what }))) = ended else { panic!("{ended:?}") };
    assert!(what.contains("elsewhere") && what.contains("journal"), "{what}");
    assert_eq!(fixture.row(&anna).await.version.0, 1, "nothing was replayed");
}
