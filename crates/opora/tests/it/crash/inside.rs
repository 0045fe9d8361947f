//! A bot within the test's own process, where faults are easier to bring about.

use std::sync::Arc;

use opora::bot::{Bot, BotError, Handle, Stop};
use opora::outbox::SendLimits;
use opora::store::Store;
use tokio::task::JoinHandle;

use super::bots::{Unsigned, prepare, registration};
use super::stage::{Stage, TOKEN, until};

/// A running bot.
pub struct Inside {
    pub handle: Handle,
    stop: Stop,
    task: JoinHandle<Result<(), BotError>>,
}

impl Inside {
    pub fn run(bot: Bot) -> Self {
        let (handle, stop) = (bot.handle(), Stop::new());
        let task = tokio::spawn(bot.run_until(stop.clone()));
        Self { handle, stop, task }
    }

    /// Stops it in order.
    pub async fn end(self) {
        self.stop.stop();
        self.task.await.unwrap().unwrap();
    }

    /// Stops it when every update is acknowledged.
    pub async fn end_when_quiet(self, stage: &Stage) {
        until("every update is acknowledged", || stage.unacknowledged() == 0).await;
        self.end().await;
    }
}

/// A bot that talks to the stage and keeps its state there.
pub fn bot(stage: &Stage, store: Arc<dyn Store>) -> Bot {
    Bot::new(TOKEN).api_url(&stage.base).store(store).send_limits(SendLimits::Off)
}

/// The registration, with its state in the stage's store.
pub async fn registration_bot(stage: &Stage) -> Bot {
    registration_over(stage, stage.store().await).await
}

/// The same, however that store is reached. Its turns are signed where there are tables for it.
pub async fn registration_over(stage: &Stage, store: Arc<dyn Store>) -> Bot {
    let bot = bot(stage, Arc::clone(&store)).dialogue(registration());
    if stage.keeper.has_tables() {
        prepare(&store).await;
        bot
    } else {
        bot.context(Unsigned)
    }
}
