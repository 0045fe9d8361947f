//! A Redis that goes away beneath a bot with a journal: whom it knows goes on, and all is in Redis when that is back.

use std::path::PathBuf;
use std::sync::Arc;

use opora::bot::{BotError, Instances, WebhookSettings};
use opora::instance::NotLeading;
use opora::key::DialogueKey;
use opora::prelude::*;
use opora::store::{self, ConversationRow, Filter, RedisStore, Store, StoreError};
use opora_testkit::proxy::Proxy;
use opora_testkit::redis_server::RedisServer;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::Semaphore;

use crate::decided::Tables;
use crate::runtime::effects::{Tries, purchase, slow_bank};
use crate::runtime::form::{AGE, NAME, form};
use crate::runtime::webhook::Server;
use crate::stage::{BOT, Person, Running, Stage, until};

mod left;
mod steps;
mod writes;

const ONE_MOMENT: &str = "One moment, please: I will answer as soon as I can.";
/// Short, so that no test waits for it.
const AWAY_AFTER_MS: &str = "away_after_ms=100";

/// Makes a test of each of these for a journal in a file of its own, and for one beside tables in either database.
macro_rules! on_every_journal {
    ($($name:ident,)*) => {
        mod in_a_file {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::journal::Scene::new().await).await;
            })*
        }

        crate::journal::on_both_databases! { $($name,)* }
    };
}
use on_every_journal;

/// Makes a test of each of these for a journal beside tables in either database.
macro_rules! on_both_databases {
    ($($name:ident,)*) => {
        mod beside_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let tables = crate::decided::Tables::in_a_file();
                super::$name(crate::journal::Scene::beside(tables).await).await;
            })*
        }

        mod beside_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let tables = crate::decided::Tables::in_a_schema().await;
                super::$name(crate::journal::Scene::beside(tables).await).await;
            })*
        }
    };
}
use on_both_databases;

/// A bot, its Redis, and a proxy between the two.
struct Scene {
    stage: Stage,
    server: RedisServer,
    proxy: Proxy,
    folder: tempfile::TempDir,
    /// The application's tables, if it has some: the journal is with them.
    tables: Option<Tables>,
    /// The Redis, past the proxy.
    redis: RedisStore,
}

impl Scene {
    /// With a journal in a file of its own.
    async fn new() -> Self {
        Self::of(None).await
    }

    /// With a journal beside the application's tables.
    async fn beside(tables: Tables) -> Self {
        Self::of(Some(tables)).await
    }

    async fn of(tables: Option<Tables>) -> Self {
        let server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
        let proxy = Proxy::before(server.port()).await;
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

    /// The number that a query finds in the journal.
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
        // The bot is the only one who holds the store.
        drop(store);
        Running::start(bot)
    }

    /// A bot that has asked a person for her name, so that it has a copy of her; and that then has no Redis.
    async fn asks_and_is_cut_off(&self, anna: &Person<'_>) -> Running {
        let store = self.store().await;
        let bot = self.bot_on(Arc::clone(&store));
        self.is_cut_off(anna, &store).await;
        bot
    }

    /// She is asked for her name, and then there is no Redis.
    async fn is_cut_off(&self, anna: &Person<'_>, store: &Arc<dyn Store>) {
        anna.says("/start").await;
        anna.hears_just(&[NAME]).await;
        self.is_quiet().await;
        self.proxy.cut_off(true);
        // What is asked from now on has surely not happened there.
        until("the bot has noticed", async || {
            store.labelled(BOT, 1, "none").await.is_err_and(|error| error.to_string().contains("is away"))
        })
        .await;
    }

    /// Nothing waits in Redis, so that everybody has a copy.
    async fn is_quiet(&self) {
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

    /// Everything of the journal is in Redis.
    async fn is_replayed(&self) {
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
    whom_the_bot_knows_goes_on_while_redis_is_away_and_others_are_told_once_to_wait,
    what_was_changed_in_redis_meanwhile_stands_and_the_person_is_asked_again,
    timers_that_were_set_while_redis_was_away_fire_once_there_or_here,
    a_redis_that_comes_back_empty_stops_the_bot_and_the_journal_is_kept,
    a_bot_that_starts_while_redis_is_away_waits_for_it_with_everybody,
    who_lost_the_lease_while_redis_was_away_stops_and_keeps_the_journal,
    work_that_was_asked_for_while_redis_was_away_has_the_same_key_when_it_is_back,
    a_bot_by_webhook_goes_on_while_redis_is_away_too,
}

async fn whom_the_bot_knows_goes_on_while_redis_is_away_and_others_are_told_once_to_wait(scene: Scene) {
    let anna = scene.stage.person("Anna").await;
    let boris = scene.stage.person_who(serde_json::json!({"first_name": "Boris", "language_code": "ru"})).await;
    let bot = scene.asks_and_is_cut_off(&anna).await;
    anna.says("Anna").await;
    anna.hears_just(&[NAME, AGE]).await;
    boris.says("/start").await;
    boris.hears("Одну минуту").await;
    boris.says("Boris").await;
    anna.says("33").await;
    anna.hears_just(&[NAME, AGE, "Anna is 33."]).await;
    until("Telegram need not keep it", async || scene.stage.unacknowledged() == 0).await;
    assert_eq!(boris.heard().await.len(), 1, "he is told once");

    scene.proxy.cut_off(false);
    boris.hears(AGE).await;
    assert_eq!(boris.heard().await[1..], [NAME, AGE], "in the order in which he wrote");
    scene.is_replayed().await;
    scene.is_quiet().await;
    assert_eq!(scene.row(&anna).await.version.0, 3);
    assert_eq!(scene.row(&anna).await.stored, None);
    let key = DialogueKey::private(BOT, anna.id);
    assert_eq!(scene.redis.operator().transitions_of(&key, 0, 9).await.unwrap().len(), 3);
    anna.says("/start").await;
    until("she begins anew", async || anna.heard().await.len() == 4).await;
    assert_eq!(scene.row(&anna).await.version.0, 4);
    bot.stops().await;
}

async fn a_bot_by_webhook_goes_on_while_redis_is_away_too(scene: Scene) {
    let (anna, boris) = (scene.stage.person("Anna").await, scene.stage.person("Boris").await);
    let (store, mut server) = (scene.store().await, Server::new(&scene.stage).await);
    let settings = WebhookSettings { instances: Instances::Alone, ..server.settings() };
    let (bot, webhook) = scene.stage.bot(&store).dialogue(form()).webhook(settings);
    server.mount(&webhook);
    let bot = Running::start(bot);
    scene.is_cut_off(&anna, &store).await;
    anna.says("Anna").await;
    anna.hears_just(&[NAME, AGE]).await;
    boris.says("/start").await;
    boris.hears_just(&[ONE_MOMENT]).await;
    until("Telegram need not keep it", async || scene.stage.unacknowledged() == 0).await;
    scene.proxy.cut_off(false);
    boris.hears_just(&[ONE_MOMENT, NAME]).await;
    scene.is_replayed().await;
    anna.says("33").await;
    anna.hears_just(&[NAME, AGE, "Anna is 33."]).await;
    assert_eq!((scene.row(&anna).await.version.0, scene.row(&boris).await.version.0), (3, 1));
    assert_eq!(scene.stage.polls(), 0);
    bot.stops().await;
}

async fn what_was_changed_in_redis_meanwhile_stands_and_the_person_is_asked_again(scene: Scene) {
    let anna = scene.stage.person("Anna").await;
    let bot = scene.asks_and_is_cut_off(&anna).await;
    anna.says("Anna").await;
    anna.hears_just(&[NAME, AGE]).await;
    // An operator puts her elsewhere.
    let mut row = scene.row(&anna).await;
    let stored = row.stored.as_mut().unwrap();
    stored.value = stored.value.replace("\"at\":\"name\"", "\"at\":\"age\",\"name\":\"Maria\"").into();
    assert!(scene.redis.operator().import(&row, true).await.unwrap());
    scene.proxy.cut_off(false);
    scene.is_replayed().await;
    // The dialogue has no question of its own there.
    anna.hears("Please answer once more").await;
    let parked = scene.redis.parked(Some(BOT), 9).await.unwrap();
    let [parked] = &parked[..] else { panic!("{parked:?}") };
    assert!(parked.kind == "state" && parked.reason.contains("conflict"), "{parked:?}");
    assert!(parked.body.contains("Anna"), "{parked:?}");
    anna.says("33").await;
    anna.hears("Maria is 33.").await;
    bot.stops().await;
}

async fn timers_that_were_set_while_redis_was_away_fire_once_there_or_here(scene: Scene) {
    let anna = scene.stage.person("Anna").await;
    let bot = scene.asks_and_is_cut_off(&anna).await;
    anna.says("/remind").await;
    anna.hears_just(&[NAME, "I will remind you", "reminder 1"]).await;
    scene.proxy.cut_off(false);
    scene.is_replayed().await;
    assert_eq!(scene.redis.statistics(Some(BOT)).await.unwrap().timers, 1);
    anna.hears_just(&[NAME, "I will remind you", "reminder 1", "reminder 2"]).await;
    bot.stops().await;
}

async fn work_that_was_asked_for_while_redis_was_away_has_the_same_key_when_it_is_back(scene: Scene) {
    let (tries, doors) = (Tries::default(), Arc::new(Semaphore::new(0)));
    let anna = scene.stage.person("Anna").await;
    let store = scene.store().await;
    let bot = scene.stage.bot(&store).dialogue(form()).dialogue(purchase());
    let bot = Running::start(slow_bank(bot, &tries, &doors));
    scene.is_cut_off(&anna, &store).await;
    anna.says("/buy x").await;
    until("the first try", async || tries.lock().len() == 1).await;
    scene.proxy.cut_off(false);
    until("the second try", async || tries.lock().len() == 2).await;
    doors.add_permits(1);
    anna.hears_just(&[NAME, "Paid: cash."]).await;
    let made = tries.lock().clone();
    assert_eq!(made[0], made[1]);
    bot.stops().await;
}

async fn a_redis_that_comes_back_empty_stops_the_bot_and_the_journal_is_kept(mut scene: Scene) {
    let anna = scene.stage.person("Anna").await;
    let bot = scene.asks_and_is_cut_off(&anna).await;
    anna.says("Anna").await;
    anna.hears_just(&[NAME, AGE]).await;
    scene.server.kill();
    let copy = scene.server.copy();
    scene.server.restore(None);
    scene.server.start_again();
    scene.proxy.cut_off(false);
    let ended = bot.ends().await;
    let Err(BotError::NotLeading(NotLeading::Store(why))) = ended else { panic!("{ended:?}") };
    // By what was seen of it, or by what the database knows of its Redis.
    let is_noticed = why.to_string().contains("is empty") || why.to_string().contains("it was emptied");
    assert!(is_noticed, "{why}");
    assert_eq!(scene.server.say(&["DBSIZE"]), redis::Value::Int(0), "nothing was written");

    // The data are restored: the journal is replayed before anything else.
    scene.server.kill();
    scene.server.restore(Some(&copy));
    scene.server.start_again();
    // Its process, which is this one, lives on: only so it is known that it does not work any more.
    until("the lease is cleared", async || scene.redis.operator().clear_lease(BOT).await.is_ok()).await;
    let bot = scene.bot().await;
    anna.says("33").await;
    anna.hears_just(&[NAME, AGE, "Anna is 33."]).await;
    scene.is_replayed().await;
    assert_eq!(scene.row(&anna).await.version.0, 3);
    bot.stops().await;
}

async fn a_bot_that_starts_while_redis_is_away_waits_for_it_with_everybody(scene: Scene) {
    scene.proxy.cut_off(true);
    let bot = scene.bot().await;
    let anna = scene.stage.person("Anna").await;
    anna.says("/start").await;
    anna.hears_just(&[ONE_MOMENT]).await;
    let store = &scene.redis;
    assert_eq!(store.statistics(None).await.unwrap().active, 0);
    scene.proxy.cut_off(false);
    anna.hears_just(&[ONE_MOMENT, NAME]).await;
    scene.is_replayed().await;
    assert_eq!(scene.row(&anna).await.version.0, 1);
    bot.stops().await;
}

async fn who_lost_the_lease_while_redis_was_away_stops_and_keeps_the_journal(scene: Scene) {
    let anna = scene.stage.person("Anna").await;
    let bot = scene.asks_and_is_cut_off(&anna).await;
    anna.says("Anna").await;
    anna.hears_just(&[NAME, AGE]).await;
    // Against its operator's word there is another instance.
    let mut other = scene.redis.lease(BOT).await.unwrap().unwrap();
    let seen = other.clone();
    (other.holder.token, other.holder.host) = ("other".to_owned(), "elsewhere".to_owned());
    scene.redis.claim(BOT, &other.holder, Some(&seen)).await.unwrap();
    scene.proxy.cut_off(false);
    let ended = bot.ends().await;
    let Err(BotError::NotLeading(NotLeading::Store(StoreError::Lost { what }))) = ended else { panic!("{ended:?}") };
    assert!(what.contains("elsewhere") && what.contains("journal"), "{what}");
    assert_eq!(scene.row(&anna).await.version.0, 1, "nothing was replayed");
}
