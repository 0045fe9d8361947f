//! Counts SQL queries, through the events that sqlx logs. Each test is its own process, so the counter is global.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, Registry};

#[derive(Clone, Debug, Default)]
pub struct QueryCounter {
    count: Arc<AtomicUsize>,
    is_stopped: Arc<AtomicBool>,
}

impl<S: Subscriber> Layer<S> for QueryCounter {
    fn register_callsite(&self, event: &'static Metadata<'static>) -> Interest {
        if is_query(event) { Interest::sometimes() } else { Interest::never() }
    }

    fn enabled(&self, event: &Metadata<'_>, _: Context<'_, S>) -> bool {
        is_query(event) && !self.is_stopped.load(Ordering::Relaxed)
    }

    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

impl QueryCounter {
    /// Installs the counter as the global subscriber.
    pub fn install() -> Self {
        let queries = Self::default();
        tracing::subscriber::set_global_default(Registry::default().with(queries.clone())).unwrap();
        queries
    }

    /// Stops counting, so that queries cost nothing extra.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// The number of queries that `run` makes: the lowest of five runs, because the bot makes queries in the
    /// background.
    pub async fn count<T>(&self, mut run: impl AsyncFnMut() -> T) -> usize {
        let mut fewest = usize::MAX;
        for _ in 0..5 {
            let before = self.count.load(Ordering::Relaxed);
            run().await;
            fewest = fewest.min(self.count.load(Ordering::Relaxed) - before);
        }
        fewest
    }
}

fn is_query(event: &Metadata<'_>) -> bool {
    event.target() == "sqlx::query"
}
