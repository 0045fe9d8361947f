//! A bot in the test's own process, where faults are easier to inject.

use std::sync::Arc;

use opora::bot::{Bot, BotError, Handle, Stop};
use opora::outbox::SendLimits;
use opora::store::Store;
use tokio::task::JoinHandle;

use super::bots::{Unsigned, create_table, registration};
use super::stage::{Stage, TOKEN, until};

pub struct InProcessBot {
    pub handle: Handle,
    stop: Stop,
    task: JoinHandle<Result<(), BotError>>,
}

impl InProcessBot {
    pub fn run(bot: Bot) -> Self {
        let (handle, stop) = (bot.handle(), Stop::new());
        let task = tokio::spawn(bot.run_until(stop.clone()));
        Self { handle, stop, task }
    }

    pub async fn stop(self) {
        self.stop.stop();
        self.task.await.unwrap().unwrap();
    }

    pub async fn stop_when_acknowledged(self, stage: &Stage) {
        until("every update is acknowledged", || stage.unacknowledged() == 0).await;
        self.stop().await;
    }
}

pub fn bot(stage: &Stage, store: Arc<dyn Store>) -> Bot {
    Bot::new(TOKEN).api_url(&stage.base).store(store).send_limits(SendLimits::Off)
}

pub async fn registration_bot(stage: &Stage) -> Bot {
    registration_over(stage, stage.store().await).await
}

/// The registration bot on this store. Its turns write signatures if the application has tables.
pub async fn registration_over(stage: &Stage, store: Arc<dyn Store>) -> Bot {
    let bot = bot(stage, Arc::clone(&store)).dialogue(registration());
    if stage.backend.has_tables() {
        create_table(&store).await;
        bot
    } else {
        bot.context(Unsigned)
    }
}
