//! How many queries something takes: what sqlx tells the log is counted. Each test is a process of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, Registry};

#[derive(Clone, Debug, Default)]
pub struct Queries {
    count: Arc<AtomicUsize>,
    is_resting: Arc<AtomicBool>,
}

impl<S: Subscriber> Layer<S> for Queries {
    fn register_callsite(&self, event: &'static Metadata<'static>) -> Interest {
        if is_query(event) { Interest::sometimes() } else { Interest::never() }
    }

    fn enabled(&self, event: &Metadata<'_>, _: Context<'_, S>) -> bool {
        is_query(event) && !self.is_resting.load(Ordering::Relaxed)
    }

    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Queries {
    /// From now on queries are counted.
    pub fn counted() -> Self {
        let queries = Self::default();
        tracing::subscriber::set_global_default(Registry::default().with(queries.clone())).unwrap();
        queries
    }

    /// From now on they are not, and cost nothing by it.
    pub fn rest(&self) {
        self.is_resting.store(true, Ordering::Relaxed);
    }

    /// How many queries this takes. The bot asks for itself meanwhile, so the least of several tries counts.
    pub async fn of<T>(&self, mut doing: impl AsyncFnMut() -> T) -> usize {
        let mut least = usize::MAX;
        for _ in 0..5 {
            let before = self.count.load(Ordering::Relaxed);
            doing().await;
            least = least.min(self.count.load(Ordering::Relaxed) - before);
        }
        least
    }
}

fn is_query(event: &Metadata<'_>) -> bool {
    event.target() == "sqlx::query"
}
