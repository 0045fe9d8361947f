//! What an attack has cost, and whether that is within the limits.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// How long something took, again and again.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<Duration>);

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub bot_usual: Times,
    pub bot_attacked: Times,
    pub turns_unanswered: usize,
    pub pages: Times,
    pub pages_refused: usize,
    pub health: Times,
    pub health_refused: usize,
    pub memory_before_kb: u64,
    pub memory_peak_kb: u64,
    /// Most of them that were open at once.
    pub idle_open: usize,
    pub downloads_begun: usize,
    /// Those beyond what one person may have.
    pub downloads_refused: usize,
    pub sockets_open: usize,
    /// Attempts to sign in by the status that they were answered with; 0 for none.
    pub attempts: BTreeMap<u16, usize>,
}

impl Times {
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn p50(&self) -> Duration {
        self.nth(50)
    }

    pub fn p99(&self) -> Duration {
        self.nth(99)
    }

    /// The time within which so many hundredths of all are.
    fn nth(&self, hundredths: usize) -> Duration {
        let at = (self.0.len() * hundredths).div_ceil(100).max(1) - 1;
        self.0.get(at).copied().unwrap_or_default()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<34}{:>8}{:>10}{:>10}{:>9}", "", "count", "p50 ms", "p99 ms", "failed")?;
        for (name, times, failed) in [
            ("the bot before the attack", &self.bot_usual, 0),
            ("the bot during the attack", &self.bot_attacked, self.turns_unanswered),
            ("pages of people who are signed in", &self.pages, self.pages_refused),
            ("/health", &self.health, self.health_refused),
        ] {
            let (p50, p99) = (ms(times.p50()), ms(times.p99()));
            writeln!(f, "{name:<34}{:>8}{p50:>10.1}{p99:>10.1}{failed:>9}", times.count())?;
        }
        writeln!(f, "memory: {} MB before, {} MB at most", self.memory_before_kb / 1024, self.memory_peak_kb / 1024)?;
        writeln!(f, "idle connections: {} at once", self.idle_open)?;
        let (begun, refused) = (self.downloads_begun, self.downloads_refused);
        writeln!(f, "unread downloads: {begun} begun, {refused} more refused")?;
        writeln!(f, "WebSockets: {} at once", self.sockets_open)?;
        let attempts: Vec<_> = self.attempts.iter().map(|(status, count)| format!("{status}: {count}")).collect();
        write!(f, "attempts to sign in: {}", attempts.join(", "))
    }
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
