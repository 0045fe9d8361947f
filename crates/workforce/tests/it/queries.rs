//! How many queries something takes: what sqlx tells the log is counted. Each test is a process of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, Registry};

#[derive(Clone, Debug, Default)]
pub struct Queries(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for Queries {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "sqlx::query" {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Queries {
    /// From now on queries are counted.
    pub fn counted() -> Self {
        let queries = Self::default();
        tracing::subscriber::set_global_default(Registry::default().with(queries.clone())).unwrap();
        queries
    }

    /// How many queries this takes. The bot asks for itself meanwhile, so the least of several tries counts.
    pub async fn of<T>(&self, mut doing: impl AsyncFnMut() -> T) -> usize {
        let mut least = usize::MAX;
        for _ in 0..5 {
            let before = self.0.load(Ordering::Relaxed);
            doing().await;
            least = least.min(self.0.load(Ordering::Relaxed) - before);
        }
        least
    }
}
