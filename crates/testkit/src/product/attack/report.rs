//! The measurements of an attack.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Measured durations, sorted.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Vec<Duration>);

#[derive(Clone, Debug, Default)]
pub struct AttackReport {
    pub bot_before: Latencies,
    pub bot_during: Latencies,
    pub turns_unanswered: usize,
    pub pages: Latencies,
    pub pages_refused: usize,
    pub health: Latencies,
    pub health_refused: usize,
    pub memory_before_kb: u64,
    pub memory_peak_kb: u64,
    /// The most connections that were open at once.
    pub idle_open: usize,
    pub downloads_begun: usize,
    /// Downloads beyond the limit of one person.
    pub downloads_refused: usize,
    pub sockets_open: usize,
    /// Attempts to sign in by their status; 0 for no answer.
    pub attempts: BTreeMap<u16, usize>,
}

impl Latencies {
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn p50(&self) -> Duration {
        self.percentile(50)
    }

    pub fn p99(&self) -> Duration {
        self.percentile(99)
    }

    /// The duration below which this percentage of all lies.
    fn percentile(&self, percent: usize) -> Duration {
        let at = (self.0.len() * percent).div_ceil(100).max(1) - 1;
        self.0.get(at).copied().unwrap_or_default()
    }
}

impl fmt::Display for AttackReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<34}{:>8}{:>10}{:>10}{:>9}", "", "count", "p50 ms", "p99 ms", "failed")?;
        for (name, times, failed) in [
            ("the bot before the attack", &self.bot_before, 0),
            ("the bot during the attack", &self.bot_during, self.turns_unanswered),
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
