//! A PostgreSQL that is emptied under a decision store: the bot stops, and no turn is blamed.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::BotError;
use opora::instance::NotLeading;
use opora::prelude::*;
use opora::store::{Store, StoreError};

use super::{Fixture, Tables};
use crate::stage::{BOT, Running, Stage};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "notes")]
enum Notes {
    Waiting,
}

/// Stores who sent a message.
fn notes() -> Dialogue<Notes> {
    async fn begin(turn: &mut Turn, _: Command) -> Step<Notes> {
        turn.say("Yes?");
        Ok(Next::Go(Notes::Waiting))
    }
    async fn note(turn: &mut Turn, _: String) -> Step<Notes> {
        let person = turn.key().user;
        turn.transact(move |database| {
            Box::pin(async move {
                sqlx::query("INSERT INTO notes VALUES ($1)").bind(person).execute(database.postgres()).await?;
                Ok(())
            })
        });
        turn.say("Noted.");
        Ok(Next::Stay)
    }
    Dialogue::new().start(command("notes"), begin).on(Notes::WAITING, text(), note)
}

async fn start(stage: &Stage, fixture: &Fixture) -> Running {
    let store: Arc<dyn Store> = Arc::new(fixture.store().await);
    let bot = stage.bot(&store).dialogue(notes());
    Running::start(bot.settings(|settings| settings.lease.ttl = Duration::from_secs(3)))
}

/// Waits until the bot has ended because the database is another one.
async fn ends_lost(bot: Running) {
    let ended = bot.ends().await;
    let Err(BotError::NotLeading(NotLeading::Store(StoreError::Lost { what }))) = ended else { panic!("{ended:?}") };
    assert!(what.contains("is empty"), "{what}");
}

async fn empty(fixture: &Fixture) {
    let Tables::Schema(space) = &fixture.tables else { panic!("the tables are elsewhere") };
    space.empty().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_to_an_emptied_database_stops_the_bot() {
    let (stage, fixture) = (Stage::new().await, Fixture::new(Tables::in_a_schema().await).await);
    let bot = start(&stage, &fixture).await;
    let anna = stage.person("Anna").await;
    anna.says("/notes").await;
    anna.says("first").await;
    anna.receives_exactly(&["Yes?", "Noted."]).await;
    empty(&fixture).await;
    anna.says("second").await;
    ends_lost(bot).await;
    assert_eq!(anna.received().await, ["Yes?", "Noted."]);
    let redis = fixture.plain_redis().await;
    assert_eq!(redis.parked(Some(BOT), 9).await.unwrap(), []);
    let waits = redis.statistics(Some(BOT)).await.unwrap().inbox;
    assert!(stage.unacknowledged() > 0 || waits == 1, "it is kept, with Telegram or in Redis");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_bot_notices_that_its_database_was_emptied() {
    let (stage, fixture) = (Stage::new().await, Fixture::new(Tables::in_a_schema().await).await);
    let bot = start(&stage, &fixture).await;
    let anna = stage.person("Anna").await;
    anna.says("/notes").await;
    anna.receives_exactly(&["Yes?"]).await;
    empty(&fixture).await;
    ends_lost(bot).await;
}
