//! People while Redis is away from a decision store.

use std::time::Duration;

use opora::bot::Settings;
use opora::store;
use opora_testkit::redis_server::RedisServer;

use super::Tables;
use crate::runtime::form::{AGE, NAME, form};
use crate::stage::{BOT, Running, Stage, until};

const ONE_MOMENT: &str = "One moment, please: I will answer as soon as I can.";
/// Short, so that it runs out while Redis is away.
const LEASE: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_told_once_to_wait_for_redis() {
    let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let (stage, tables) = (Stage::new().await, Tables::in_a_file());
    let store = store::open_with_database(&server.url(), Some(&tables.url())).await.unwrap();
    let settings = |settings: &mut Settings| {
        settings.lease.ttl = LEASE;
        settings.polling.tell_people_to_wait = true;
    };
    let bot = stage.bot(&store).dialogue(form()).settings(settings);
    let handle = bot.handle();
    let bot = Running::start(bot);
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    anna.says("/start").await;
    anna.receives_exactly(&[NAME]).await;
    // Unsettled messages would be sent again.
    until("nothing waits", async || {
        let numbers = store.statistics(Some(BOT)).await.unwrap();
        (numbers.inbox, numbers.outbox) == (0, 0) && stage.unacknowledged() == 0
    })
    .await;
    server.kill();
    // The bot still believes that it leads.
    anna.says("Anna").await;
    anna.receives_exactly(&[NAME, ONE_MOMENT]).await;
    until("it leads no more", async || !handle.is_running()).await;
    boris.says("/start").await;
    boris.receives_exactly(&[ONE_MOMENT]).await;
    assert!(stage.unacknowledged() > 0, "what they wrote is with Telegram");
    server.start_again();
    anna.receives_exactly(&[NAME, ONE_MOMENT, AGE]).await;
    boris.receives_exactly(&[ONE_MOMENT, NAME]).await;
    until("nothing is left with Telegram", async || stage.unacknowledged() == 0).await;
    bot.stops().await;
}
