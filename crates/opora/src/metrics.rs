//! The metrics of the library: names, labels and meaning.
//!
//! The library reports through the facade of the crate `metrics`; the program installs a recorder of its choice.
//! [`ALL`] lists every metric that the library reports. Handles are registered when a bot starts to lead, so install
//! the recorder before. [The guide](crate::guide::production#metrics) shows how.

use std::fmt;

use metrics::Unit;

mod list;

pub use self::list::ALL;

/// A metric: its name, its labels and what it means.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name, as Prometheus wants it: with the unit last, and `_total` for a counter.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: MetricKind,
    /// Its labels.
    pub labels: &'static [MetricLabel],
    /// What it measures.
    pub help: &'static str,
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricKind {
    /// A number that only rises.
    Counter,
    /// A number that rises and falls.
    Gauge,
    /// Samples, counted in buckets with these upper bounds.
    Histogram(&'static [f64]),
}

/// A label of a metric. The number of its values is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricLabel {
    /// Its name.
    pub name: &'static str,
    /// Its values. Empty if the program's own names are the values, such as those of its dialogues.
    pub values: &'static [&'static str],
}

impl Metric {
    /// A counter.
    pub const fn counter(name: &'static str, labels: &'static [MetricLabel], help: &'static str) -> Self {
        Self { name, kind: MetricKind::Counter, labels, help }
    }

    /// A gauge.
    pub const fn gauge(name: &'static str, labels: &'static [MetricLabel], help: &'static str) -> Self {
        Self { name, kind: MetricKind::Gauge, labels, help }
    }

    /// A histogram with these upper bounds of its buckets.
    pub const fn histogram(
        name: &'static str,
        bounds: &'static [f64],
        labels: &'static [MetricLabel],
        help: &'static str,
    ) -> Self {
        Self { name, kind: MetricKind::Histogram(bounds), labels, help }
    }

    /// Kind, name and labels: `counter opora_turns_total{outcome}`.
    #[must_use]
    pub fn signature(&self) -> String {
        let labels: Vec<_> = self.labels.iter().map(|label| label.name).collect();
        let labels = labels.join(",");
        let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
        format!("{} {}{labels}", self.kind, self.name)
    }

    /// Gives its description to the recorder.
    pub fn describe(&self) {
        let unit = self.unit();
        match self.kind {
            MetricKind::Counter => metrics::describe_counter!(self.name, unit, self.help),
            MetricKind::Gauge => metrics::describe_gauge!(self.name, unit, self.help),
            MetricKind::Histogram(_) => metrics::describe_histogram!(self.name, unit, self.help),
        }
    }

    /// The unit, which the name ends with.
    fn unit(&self) -> Unit {
        let name = self.name.trim_end_matches("_total");
        match name.rsplit('_').next() {
            Some("seconds") => Unit::Seconds,
            Some("bytes") => Unit::Bytes,
            _ => Unit::Count,
        }
    }

    /// The metric as a row of a Markdown table with the columns name, kind, labels and meaning.
    #[must_use]
    pub fn table_row(&self) -> String {
        let labels: Vec<_> = self.labels.iter().map(ToString::to_string).collect();
        let labels = labels.join("; ");
        let space = if labels.is_empty() { "" } else { " " };
        format!("| `{}` | {} |{space}{labels} | {} |", self.name, self.kind, self.help)
    }
}

impl MetricLabel {
    /// A label with these values.
    pub const fn of(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, values }
    }

    /// A label whose values are names in the program.
    pub const fn by_name(name: &'static str) -> Self {
        Self { name, values: &[] }
    }
}

impl fmt::Display for MetricKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        })
    }
}

/// As in the table: the name and the values, each as code.
impl fmt::Display for MetricLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.name)?;
        for (index, value) in self.values.iter().enumerate() {
            write!(f, "{} `{value}`", if index == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

/// Gives the descriptions of all metrics of the library to the recorder. Call it once, after the recorder is installed.
pub fn describe() {
    ALL.iter().for_each(Metric::describe);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use opora_testkit::emitted_metrics::emitted_metrics;

    use super::*;

    #[test]
    fn the_library_reports_exactly_the_listed_metrics() {
        let listed: BTreeSet<_> = ALL.iter().map(Metric::signature).collect();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(emitted_metrics(&sources), listed);
    }

    #[test]
    fn the_guide_lists_exactly_these_metrics() {
        let guide = include_str!("guide/production.md");
        let is_row = |line: &&str| line.starts_with("| `opora_");
        let listed: Vec<_> = guide.lines().filter(is_row).map(ToOwned::to_owned).collect();
        let rows: Vec<_> = ALL.iter().map(Metric::table_row).collect();
        assert_eq!(listed, rows, "the table under Metrics should be:\n{}", rows.join("\n"));
    }

    #[test]
    fn names_and_buckets_are_as_prometheus_wants_them() {
        for metric in ALL {
            let Metric { name, kind, help, .. } = metric;
            assert!(name.starts_with("opora_") && !help.is_empty() && !help.contains(['\n', '|']), "{name}");
            assert_eq!(*kind == MetricKind::Counter, name.ends_with("_total"), "{name}");
            assert_eq!(ALL.iter().filter(|other| other.name == *name).count(), 1, "{name}");
            if let MetricKind::Histogram(bounds) = kind {
                assert!(bounds.is_sorted_by(|one, next| one < next) && name.ends_with("_seconds"), "{name}");
            }
        }
    }
}
