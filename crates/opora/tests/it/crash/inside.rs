//! A bot within the test's own process, where faults are easier to bring about.

use std::sync::Arc;

use opora::bot::{Bot, BotError, Handle, Stop};
use opora::outbox::SendLimits;
use opora::store::Store;
use tokio::task::JoinHandle;

use super::bots::{prepare, registration};
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

/// The registration, with its state on the disk.
pub async fn registration_bot(stage: &Stage) -> Bot {
    let store = stage.store().await;
    prepare(&store).await;
    bot(stage, store).dialogue(registration())
}
