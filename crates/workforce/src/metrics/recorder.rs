//! Keeps the numbers of all metrics, in atomics.
//!
//! A histogram has fixed buckets, so its memory does not grow with its samples and nothing has to be drained. A metric
//! has a limited number of series; reports beyond it are counted and go nowhere. Memory is bounded by both.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Label, Metadata, SharedString, Unit};
use opora::metrics::{Metric, MetricKind};
use parking_lot::RwLock;

use super::list;

/// How many series a metric may have: combinations of label values.
const MAX_SERIES: usize = 512;

/// All series of the listed metrics, except those of the process.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<HashMap<&'static str, Family>>);

/// A metric and its series.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) metric: &'static Metric,
    pub(super) series: RwLock<HashMap<Key, Series>>,
}

/// The numbers of one series.
#[derive(Clone, Debug)]
pub(super) enum Series {
    Counter(Arc<AtomicU64>),
    /// The bits of a float.
    Gauge(Arc<AtomicU64>),
    Histogram(Arc<Buckets>),
}

/// The samples of a histogram, counted by bucket.
#[derive(Debug)]
pub(super) struct Buckets {
    bounds: &'static [f64],
    /// One more than there are bounds: the last is for samples above all of them.
    counts: Box<[AtomicU64]>,
    /// The bits of a float.
    sum: AtomicU64,
}

impl Recorder {
    /// A recorder of all metrics that code reports. Series whose labels are known begin at 0.
    pub fn new() -> Self {
        let families = list::reported().map(|metric| (metric.name, Family { metric, series: RwLock::default() }));
        let recorder = Self(Arc::new(families.collect()));
        for family in recorder.0.values() {
            for labels in known_labels(family.metric) {
                recorder.series(&Key::from_parts(family.metric.name, labels));
            }
        }
        metrics::with_local_recorder(&recorder, || {
            metrics::gauge!("opora_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1);
        });
        recorder
    }

    pub(super) fn families(&self) -> impl Iterator<Item = &Family> {
        self.0.values()
    }

    /// The series of a key. None if the metric is not listed, or has too many series.
    fn series(&self, key: &Key) -> Option<Series> {
        let family = self.0.get(key.name())?;
        if let Some(series) = family.series.read().get(key) {
            return Some(series.clone());
        }
        let mut all = family.series.write();
        if !family.has_labels_of(key) {
            return None;
        }
        if all.len() >= MAX_SERIES {
            metrics::with_local_recorder(self, || metrics::counter!("opora_metric_series_refused_total").increment(1));
            return None;
        }
        Some(all.entry(key.clone()).or_insert_with(|| Series::new(family.metric.kind)).clone())
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

/// Descriptions are in the list.
impl metrics::Recorder for Recorder {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        match self.series(key) {
            Some(Series::Counter(count)) => Counter::from_arc(count),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        match self.series(key) {
            Some(Series::Gauge(value)) => Gauge::from_arc(value),
            _ => Gauge::noop(),
        }
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        match self.series(key) {
            Some(Series::Histogram(buckets)) => Histogram::from_arc(buckets),
            _ => Histogram::noop(),
        }
    }
}

impl Family {
    /// Whether a key has the labels of the metric.
    fn has_labels_of(&self, key: &Key) -> bool {
        let labels = self.metric.labels;
        key.labels().len() == labels.len() && key.labels().zip(labels).all(|(given, label)| given.key() == label.name)
    }
}

impl Series {
    fn new(kind: MetricKind) -> Self {
        match kind {
            MetricKind::Counter => Self::Counter(Arc::default()),
            MetricKind::Gauge => Self::Gauge(Arc::default()),
            MetricKind::Histogram(bounds) => Self::Histogram(Arc::new(Buckets::new(bounds))),
        }
    }
}

impl Buckets {
    fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::default()).collect();
        Self { bounds, counts, sum: AtomicU64::default() }
    }

    /// The upper bound of each bucket with the number of samples up to it, the last for all samples.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        let sums = self.counts.iter().scan(0, |sum, count| {
            *sum += count.load(Ordering::Relaxed);
            Some(*sum)
        });
        bounds.zip(sums)
    }

    pub(super) fn sum(&self) -> f64 {
        f64::from_bits(self.sum.load(Ordering::Relaxed))
    }
}

impl HistogramFn for Buckets {
    fn record(&self, sample: f64) {
        let index = self.bounds.partition_point(|bound| *bound < sample);
        if let Some(count) = self.counts.get(index) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let add = |sum| Some((f64::from_bits(sum) + sample).to_bits());
        // It always adds, so it never fails.
        let _ = self.sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

/// All combinations of label values. None if the values of a label are not in the list.
fn known_labels(metric: &Metric) -> Vec<Vec<Label>> {
    metric.labels.iter().fold(vec![Vec::new()], |combinations, label| {
        let with = |value: &'static str| {
            combinations.iter().map(move |labels| [&labels[..], &[Label::new(label.name, value)]].concat())
        };
        label.values.iter().flat_map(|value| with(value)).collect()
    })
}

#[cfg(test)]
mod tests {
    use metrics::with_local_recorder;

    use super::*;

    impl Recorder {
        fn number_of_series(&self, name: &str) -> usize {
            self.0[name].series.read().len()
        }

        fn count(&self, key: &Key) -> u64 {
            match self.series(key) {
                Some(Series::Counter(count)) => count.load(Ordering::Relaxed),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn series_are_limited_and_refused_ones_counted() {
        let recorder = Recorder::new();
        with_local_recorder(&recorder, || {
            for state in 0..MAX_SERIES + 5 {
                metrics::gauge!("opora_dialogues", "dialogue" => "order", "state" => state.to_string()).set(1);
            }
        });
        assert_eq!(recorder.number_of_series("opora_dialogues"), MAX_SERIES);
        assert_eq!(recorder.count(&Key::from_name("opora_metric_series_refused_total")), 5);
    }

    #[test]
    fn unlisted_names_labels_and_kinds_go_nowhere() {
        let recorder = Recorder::new();
        with_local_recorder(&recorder, || {
            metrics::counter!("someone_elses_total").increment(1);
            metrics::counter!("opora_updates_total", "user" => "Anna").increment(1);
            metrics::gauge!("opora_updates_total").set(7);
        });
        assert_eq!(recorder.number_of_series("opora_updates_total"), 1);
        assert_eq!(recorder.count(&Key::from_name("opora_updates_total")), 0);
    }

    #[test]
    fn samples_are_counted_up_to_their_bound() {
        let buckets = Buckets::new(&[0.1, 1.0]);
        [0.05, 0.1, 0.5, 3.0].into_iter().for_each(|sample| buckets.record(sample));
        let counted: Vec<_> = buckets.cumulative().collect();
        assert_eq!(counted, [(0.1, 2), (1.0, 3), (f64::INFINITY, 4)]);
        assert!((buckets.sum() - 3.65).abs() < 1e-9);
    }

    #[test]
    fn known_labels_are_all_combinations() {
        let recorder = Recorder::new();
        assert_eq!(recorder.number_of_series("opora_turns_total"), 4);
        assert_eq!(recorder.number_of_series("opora_unhandled_total"), 40);
        assert_eq!(recorder.number_of_series("opora_updates_total"), 1);
        assert_eq!(recorder.number_of_series("opora_turn_seconds"), 0);
    }
}
