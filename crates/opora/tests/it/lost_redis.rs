//! A Redis that comes back empty or older: a bot notices before it writes anything.

use std::path::Path;
use std::sync::Arc;

use opora::bot::BotError;
use opora::store::{self, RedisStore, Store, StoreError};
use opora_testkit::redis_server::RedisServer;

use crate::runtime::form::{AGE, NAME, form};
use crate::stage::{Person, Running, Stage, until};

const DURABLE: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// A bot on a Redis of the test's own, with its last-seen record in a folder.
struct Fixture {
    stage: Stage,
    server: RedisServer,
    data: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        Self { stage: Stage::new().await, server: RedisServer::start(&DURABLE), data: tempfile::tempdir().unwrap() }
    }

    fn address(&self) -> String {
        format!("{}?data={}", self.server.url(), self.data.path().display())
    }

    async fn store(&self) -> Arc<dyn Store> {
        store::open(&self.address()).await.unwrap()
    }

    async fn bot(&self) -> Running {
        self.bot_on(self.store().await)
    }

    fn bot_on(&self, store: Arc<dyn Store>) -> Running {
        let bot = self.stage.bot(&store).dialogue(form());
        // The bot must be the only owner of the store.
        drop(store);
        Running::start(bot)
    }

    /// Completes the dialogue a few times, so that there are some changes.
    async fn talks(&self, person: &Person<'_>, times: usize) {
        for _ in 0..times {
            let received = person.received().await.len();
            for (text, answer) in [("/start", NAME), ("Anna", AGE), ("33", "Anna is 33.")] {
                person.says(text).await;
                until(answer, async || {
                    person.received().await.iter().skip(received).filter(|text| *text == answer).count() == 1
                })
                .await;
            }
        }
    }
}

/// Waits until the bot has ended because of lost data. Returns the message.
async fn lost(bot: Running) -> String {
    let ended = bot.ends().await;
    let Err(BotError::NotLeading(opora::instance::NotLeading::Store(StoreError::Lost { what }))) = ended else {
        panic!("it did not end by the loss: {ended:?}");
    };
    what
}

/// The number of missing changes in the message.
fn missing(what: &str) -> i64 {
    let before = what.split(" are missing").next().unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

async fn losses(fixture: &Fixture) -> Vec<opora::store::RedisLoss> {
    RedisStore::losses(&fixture.address(), fixture.data.path()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_stops_when_its_redis_is_emptied() {
    let fixture = Fixture::new().await;
    let bot = fixture.bot().await;
    let anna = fixture.stage.person("Anna").await;
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    fixture.server.command(&["FLUSHALL"]);
    anna.says("Anna").await;
    let what = lost(bot).await;
    assert!(what.contains("is empty") && what.contains("opora state accept"), "{what}");
    assert!(missing(&what) >= 2, "{what}");
    assert_eq!(anna.received().await, [NAME]);
    assert_eq!(fixture.stage.unacknowledged(), 1, "Telegram keeps what was said");
    assert_eq!(fixture.server.command(&["DBSIZE"]), redis::Value::Int(0), "nothing was written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_volume_is_noticed_at_the_start() {
    let mut fixture = Fixture::new().await;
    let bot = fixture.bot().await;
    let anna = fixture.stage.person("Anna").await;
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    bot.stops().await;
    fixture.server.kill();
    fixture.server.restore(None);
    fixture.server.start_again();
    let refused = store::open(&fixture.address()).await.map(drop).unwrap_err().to_string();
    assert!(refused.contains("is empty") && missing(&refused) >= 2, "{refused}");
    assert_eq!(fixture.server.command(&["DBSIZE"]), redis::Value::Int(0), "nothing was written");

    // The operator accepts the loss: the bot starts, and conversations begin above every former version.
    assert!(losses(&fixture).await[0].is_other_data);
    RedisStore::accept_losses(&fixture.address(), fixture.data.path()).await.unwrap();
    let bot = fixture.bot().await;
    anna.says("/start").await;
    anna.receives_exactly(&[NAME, NAME]).await;
    let rows = fixture.store().await.list(&Default::default(), None, 9).await.unwrap();
    assert!(rows[0].version.0 > 3, "{rows:?}");
    bot.stops().await;
    assert_eq!(losses(&fixture).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_accepted_older_copy_continues_above_all_versions() {
    let mut fixture = Fixture::new().await;
    let anna = fixture.stage.person("Anna").await;
    let bot = fixture.bot().await;
    fixture.talks(&anna, 1).await;
    bot.stops().await;
    fixture.server.kill();
    let copy = fixture.server.copy();
    fixture.server.start_again();
    let bot = fixture.bot().await;
    fixture.talks(&anna, 2).await;
    bot.stops().await;
    forget_when(fixture.data.path());
    fixture.server.kill();
    fixture.server.restore(Some(&copy));
    fixture.server.start_again();

    let what = lost(fixture.bot().await).await;
    assert!(what.contains("is older") && missing(&what) >= 6, "{what}");
    assert_eq!(anna.received().await.len(), 9);
    let [loss] = &losses(&fixture).await[..] else { panic!("one bot has lost something") };
    assert!(!loss.is_other_data && !loss.is_recent, "{loss:?}");
    RedisStore::accept_losses(&fixture.address(), fixture.data.path()).await.unwrap();
    let bot = fixture.bot().await;
    anna.says("/start").await;
    until("she is asked again", async || anna.received().await.len() == 10).await;
    let rows = fixture.store().await.list(&Default::default(), None, 9).await.unwrap();
    assert!(rows[0].version.0 > 9, "no version comes twice: {rows:?}");
    bot.stops().await;
}

/// Makes everything in the last-seen record look old enough to be on the disk.
fn forget_when(data: &Path) {
    let file = std::fs::read_dir(data).unwrap().next().unwrap().unwrap().path();
    let mut kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    for bot in kept["bots"].as_object_mut().unwrap().values_mut() {
        bot["flushed"] = bot["commits"].clone();
    }
    std::fs::write(file, kept.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_continues_after_losing_the_last_second() {
    let mut fixture = Fixture::new().await;
    let anna = fixture.stage.person("Anna").await;
    let store = fixture.store().await;
    let bot = fixture.bot_on(Arc::clone(&store));
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    until("the question is settled", async || store.statistics(None).await.unwrap().outbox == 0).await;
    let kept = fixture.server.aof_bytes();
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    until("her name is acknowledged", async || fixture.stage.unacknowledged() == 0).await;
    fixture.server.lose_power(kept);
    fixture.server.start_again();
    // Her name is lost, and she is not greeted as new: her next message is taken for the name.
    anna.says("Anna once more").await;
    anna.receives_exactly(&[NAME, AGE, AGE]).await;
    let looked = async || RedisStore::losses(&fixture.address(), fixture.data.path()).await;
    until("it is accepted", async || looked().await.is_ok_and(|losses| losses.is_empty())).await;
    bot.stops().await;
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_loss_stop_stops_the_bot_after_any_loss() {
    let mut fixture = Fixture::new().await;
    let anna = fixture.stage.person("Anna").await;
    let store = store::open(&format!("{}&after_loss=stop", fixture.address())).await.unwrap();
    let bot = fixture.bot_on(store);
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    let kept = fixture.server.aof_bytes();
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, AGE]).await;
    fixture.server.lose_power(kept);
    fixture.server.start_again();
    anna.says("33").await;
    let what = lost(bot).await;
    assert!((1..=4).contains(&missing(&what)), "{what}");
    assert_eq!(anna.received().await, [NAME, AGE]);
}
