//! A Redis that comes back empty or older than it was: a bot notices before it writes anything.

use std::path::Path;
use std::sync::Arc;

use opora::bot::BotError;
use opora::store::{self, RedisStore, Store, StoreError};
use opora_testkit::redis_server::RedisServer;

use crate::runtime::form::{AGE, NAME, form};
use crate::stage::{Person, Running, Stage, until};

const DURABLE: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// A bot on a Redis of the test's own, which keeps what it has seen in a folder.
struct Scene {
    stage: Stage,
    server: RedisServer,
    data: tempfile::TempDir,
}

impl Scene {
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
        // The bot is the only one who holds the store.
        drop(store);
        Running::start(bot)
    }

    /// Goes through the dialogue and begins it again, so that there are some changes.
    async fn talks(&self, person: &Person<'_>, times: usize) {
        for _ in 0..times {
            let heard = person.heard().await.len();
            for (text, answer) in [("/start", NAME), ("Anna", AGE), ("33", "Anna is 33.")] {
                person.says(text).await;
                until(answer, async || {
                    person.heard().await.iter().skip(heard).filter(|text| *text == answer).count() == 1
                })
                .await;
            }
        }
    }
}

/// The bot has ended because something is missing; what it says.
async fn lost(bot: Running) -> String {
    let ended = bot.ends().await;
    let Err(BotError::NotLeading(opora::instance::NotLeading::Store(StoreError::Lost { what }))) = ended else {
        panic!("it did not end by the loss: {ended:?}");
    };
    what
}

/// How many changes the text says are missing.
fn missing(what: &str) -> i64 {
    let before = what.split(" are missing").next().unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

async fn losses(scene: &Scene) -> Vec<opora::store::RedisLoss> {
    RedisStore::losses(&scene.address(), scene.data.path()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_whose_redis_is_emptied_stops_and_takes_nobody_for_new() {
    let scene = Scene::new().await;
    let bot = scene.bot().await;
    let anna = scene.stage.person("Anna").await;
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    scene.server.say(&["FLUSHALL"]);
    anna.says("Anna").await;
    let what = lost(bot).await;
    assert!(what.contains("is empty") && what.contains("opora state accept"), "{what}");
    assert!(missing(&what) >= 2, "{what}");
    assert_eq!(anna.heard().await, [NAME]);
    assert_eq!(scene.stage.unacknowledged(), 1, "Telegram keeps what was said");
    assert_eq!(scene.server.say(&["DBSIZE"]), redis::Value::Int(0), "nothing was written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_volume_is_noticed_at_the_start() {
    let mut scene = Scene::new().await;
    let bot = scene.bot().await;
    let anna = scene.stage.person("Anna").await;
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    bot.stops().await;
    scene.server.kill();
    scene.server.restore(None);
    scene.server.start_again();
    let refused = store::open(&scene.address()).await.map(drop).unwrap_err().to_string();
    assert!(refused.contains("is empty") && missing(&refused) >= 2, "{refused}");
    assert_eq!(scene.server.say(&["DBSIZE"]), redis::Value::Int(0), "nothing was written");

    // The operator accepts it: the bot starts, and people begin anew above every version that there was.
    assert!(losses(&scene).await[0].is_other);
    RedisStore::accept_losses(&scene.address(), scene.data.path()).await.unwrap();
    let bot = scene.bot().await;
    anna.says("/start").await;
    anna.hears_just(&[NAME, NAME]).await;
    let rows = scene.store().await.list(&Default::default(), None, 9).await.unwrap();
    assert!(rows[0].version.0 > 3, "{rows:?}");
    bot.stops().await;
    assert_eq!(losses(&scene).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_copy_is_noticed_and_goes_on_above_all_versions_once_it_is_accepted() {
    let mut scene = Scene::new().await;
    let anna = scene.stage.person("Anna").await;
    let bot = scene.bot().await;
    scene.talks(&anna, 1).await;
    bot.stops().await;
    scene.server.kill();
    let copy = scene.server.copy();
    scene.server.start_again();
    let bot = scene.bot().await;
    scene.talks(&anna, 2).await;
    bot.stops().await;
    forget_when(scene.data.path());
    scene.server.kill();
    scene.server.restore(Some(&copy));
    scene.server.start_again();

    let what = lost(scene.bot().await).await;
    assert!(what.contains("is older") && missing(&what) >= 6, "{what}");
    assert_eq!(anna.heard().await.len(), 9);
    let [loss] = &losses(&scene).await[..] else { panic!("one bot has lost something") };
    assert!(!loss.is_other && !loss.is_recent, "{loss:?}");
    RedisStore::accept_losses(&scene.address(), scene.data.path()).await.unwrap();
    let bot = scene.bot().await;
    anna.says("/start").await;
    until("she is asked again", async || anna.heard().await.len() == 10).await;
    let rows = scene.store().await.list(&Default::default(), None, 9).await.unwrap();
    assert!(rows[0].version.0 > 9, "no version comes twice: {rows:?}");
    bot.stops().await;
}

/// Makes all that was seen look old enough to be on the disk.
fn forget_when(data: &Path) {
    let file = std::fs::read_dir(data).unwrap().next().unwrap().unwrap().path();
    let mut kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    for bot in kept["bots"].as_object_mut().unwrap().values_mut() {
        bot["settled"] = bot["commits"].clone();
    }
    std::fs::write(file, kept.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_moments_of_a_server_that_is_a_second_behind_are_counted_and_the_bot_goes_on() {
    let mut scene = Scene::new().await;
    let anna = scene.stage.person("Anna").await;
    let store = scene.store().await;
    let bot = scene.bot_on(Arc::clone(&store));
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    until("the question is settled", async || store.statistics(None).await.unwrap().outbox == 0).await;
    let kept = scene.server.kept_bytes();
    anna.says("Anna").await;
    anna.hears_just(&[NAME, AGE]).await;
    until("her name is acknowledged", async || scene.stage.unacknowledged() == 0).await;
    scene.server.lose_power(kept);
    scene.server.start_again();
    // Her name is gone, and she is not greeted as new: what she says now is taken for it.
    anna.says("Anna once more").await;
    anna.hears_just(&[NAME, AGE, AGE]).await;
    let looked = async || RedisStore::losses(&scene.address(), scene.data.path()).await;
    until("it is accepted", async || looked().await.is_ok_and(|losses| losses.is_empty())).await;
    bot.stops().await;
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_to_stop_after_any_loss_does() {
    let mut scene = Scene::new().await;
    let anna = scene.stage.person("Anna").await;
    let store = store::open(&format!("{}&after_loss=stop", scene.address())).await.unwrap();
    let bot = scene.bot_on(store);
    anna.says("/start").await;
    anna.hears_just(&[NAME]).await;
    let kept = scene.server.kept_bytes();
    anna.says("Anna").await;
    anna.hears_just(&[NAME, AGE]).await;
    scene.server.lose_power(kept);
    scene.server.start_again();
    anna.says("33").await;
    let what = lost(bot).await;
    assert!((1..=4).contains(&missing(&what)), "{what}");
    assert_eq!(anna.heard().await, [NAME, AGE]);
}
