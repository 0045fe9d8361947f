//! The webhook: workers that deliver the queue to the bot's address, each one update at a time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use crate::bot_api;
use crate::harness::{Harness, QueuedUpdate, World};
use crate::parameters::Parameters;

/// How long an update waits after it could not be delivered.
const RETRY_AFTER: Duration = Duration::from_millis(100);
/// Poll interval at which an idle worker checks that its webhook is still set.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Sets the webhook, or removes it, and starts its workers.
pub fn set(harness: &Arc<Harness>, world: &mut World, url: Option<String>, parameters: &Parameters) {
    if parameters.drops_pending_updates {
        world.queue.clear();
    }
    world.webhook_generation += 1;
    world.webhook.clone_from(&url);
    let Some(url) = url else { return };
    let client = Client::builder(TokioExecutor::new()).build_http();
    for _ in 0..parameters.max_connections {
        let (harness, client, url) = (Arc::clone(harness), client.clone(), url.clone());
        let generation = world.webhook_generation;
        tokio::spawn(async move { Worker { harness, client, url, generation }.run().await });
    }
    world.is_bot_ready = true;
    harness.bot_ready.notify_waiters();
}

struct Worker {
    harness: Arc<Harness>,
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    generation: u64,
}

/// The next task of a worker.
enum Task {
    Deliver(QueuedUpdate),
    Wait,
    End,
}

impl Worker {
    async fn run(self) {
        loop {
            // Registered before the check, so that no update between check and wait is missed.
            let news = self.harness.news.notified();
            match self.task() {
                Task::End => return,
                // After the wait, with or without a notification, the loop checks again.
                Task::Wait => _ = tokio::time::timeout(POLL_INTERVAL, news).await,
                Task::Deliver(update) => self.deliver(update).await,
            }
        }
    }

    fn task(&self) -> Task {
        let mut world = self.harness.world();
        if world.webhook_generation != self.generation || world.is_done {
            return Task::End;
        }
        world.queue.pop_front().map_or(Task::Wait, Task::Deliver)
    }

    /// Delivers an update, and runs the method call in the answer, if there is one.
    async fn deliver(&self, update: QueuedUpdate) {
        let Some(answer) = self.post(update.json.clone()).await else { return self.put_back(update).await };
        let Ok(json) = serde_json::from_slice::<Value>(&answer) else { return };
        if let Some(method) = json["method"].as_str() {
            bot_api::act(&self.harness, &method.to_ascii_lowercase(), Parameters::of_json(&json));
        }
    }

    /// The body of a successful answer.
    async fn post(&self, json: String) -> Option<Bytes> {
        let request = Request::post(&self.url).header("content-type", "application/json");
        let request = request.body(Full::new(Bytes::from(json))).ok()?;
        let response = self.client.request(request).await.ok().filter(|response| response.status().is_success())?;
        Some(response.into_body().collect().await.ok()?.to_bytes())
    }

    /// Puts an update back into its place in the queue, to be tried again.
    async fn put_back(&self, update: QueuedUpdate) {
        {
            let mut world = self.harness.world();
            let place = world.queue.partition_point(|other| other.id < update.id);
            world.queue.insert(place, update);
        }
        tokio::time::sleep(RETRY_AFTER).await;
        self.harness.news.notify_waiters();
    }
}
