//! A PostgreSQL that is emptied beneath a bot whose conversations are in Redis: it stops, and no turn is at fault.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::BotError;
use opora::instance::NotLeading;
use opora::prelude::*;
use opora::store::{Store, StoreError};

use super::{Bench, Tables};
use crate::stage::{BOT, Running, Stage};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "notes")]
enum Notes {
    Waiting,
}

/// Notes who says something.
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

async fn starts(stage: &Stage, bench: &Bench) -> Running {
    let store: Arc<dyn Store> = Arc::new(bench.store().await);
    let bot = stage.bot(&store).dialogue(notes());
    Running::start(bot.settings(|settings| settings.lease.ttl = Duration::from_secs(3)))
}

/// The bot has ended because the database is not what it was.
async fn ends_lost(bot: Running) {
    let ended = bot.ends().await;
    let Err(BotError::NotLeading(NotLeading::Store(StoreError::Lost { what }))) = ended else { panic!("{ended:?}") };
    assert!(what.contains("is empty"), "{what}");
}

async fn is_emptied(bench: &Bench) {
    let Tables::Schema(space) = &bench.tables else { panic!("the tables are elsewhere") };
    space.is_emptied().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_writes_to_an_emptied_database_stops_the_bot_and_is_not_given_up() {
    let (stage, bench) = (Stage::new().await, Bench::new(Tables::in_a_schema().await).await);
    let bot = starts(&stage, &bench).await;
    let anna = stage.person("Anna").await;
    anna.says("/notes").await;
    anna.says("first").await;
    anna.hears_just(&["Yes?", "Noted."]).await;
    is_emptied(&bench).await;
    anna.says("second").await;
    ends_lost(bot).await;
    assert_eq!(anna.heard().await, ["Yes?", "Noted."]);
    let redis = bench.plain_redis().await;
    assert_eq!(redis.parked(Some(BOT), 9).await.unwrap(), []);
    let waits = redis.statistics(Some(BOT)).await.unwrap().inbox;
    assert!(stage.unacknowledged() > 0 || waits == 1, "it is kept, with Telegram or in Redis");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_to_which_nobody_writes_notices_that_its_database_was_emptied() {
    let (stage, bench) = (Stage::new().await, Bench::new(Tables::in_a_schema().await).await);
    let bot = starts(&stage, &bench).await;
    let anna = stage.person("Anna").await;
    anna.says("/notes").await;
    anna.hears_just(&["Yes?"]).await;
    is_emptied(&bench).await;
    ends_lost(bot).await;
}
