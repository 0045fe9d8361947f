//! Captures a bot's log for a test.

use std::fmt::{Debug, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber, span};

/// The captured lines from a level on, info by default: the message, then the fields as `name=value`.
///
/// Captures only events of this thread, so the test's runtime must have no other.
pub struct LogCapture {
    lines: Arc<Mutex<Vec<String>>>,
    _guard: DefaultGuard,
}

impl LogCapture {
    pub fn begin() -> Self {
        Self::begin_at(Level::INFO)
    }

    pub fn begin_at(level: Level) -> Self {
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let _guard = tracing::subscriber::set_default(Writer { level, lines: Arc::clone(&lines) });
        Self { lines, _guard }
    }

    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().clone()
    }

    pub fn has(&self, words: &[&str]) -> bool {
        self.find(words).is_some()
    }

    /// The index of the first line that contains all of these words.
    pub fn find(&self, words: &[&str]) -> Option<usize> {
        self.lines.lock().iter().position(|line| words.iter().all(|word| line.contains(word)))
    }
}

struct Writer {
    level: Level,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Subscriber for Writer {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        *metadata.level() <= self.level && (target == "opora" || target.starts_with("opora::"))
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.lines.lock().push(format!("{}{}", line.message, line.fields));
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            let _ = write!(self.fields, " {}={value:?}", field.name());
        }
    }
}
