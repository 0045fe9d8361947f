//! The text format of Prometheus, version 0.0.4.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use opora::metrics::Metric;

use super::list;
use super::process::Usage;
use super::recorder::{Family, Recorder, Series};

/// The type of the text.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics, sorted by name and labels. Those of the process come last, where there is a `/proc`.
pub(super) fn render(recorder: &Recorder, usage: Option<&Usage>) -> String {
    let mut text = String::new();
    let mut families: Vec<_> = recorder.families().collect();
    families.sort_by_key(|family| family.metric.name);
    for family in families {
        head(&mut text, family.metric);
        samples(&mut text, family);
    }
    for (name, value) in usage.map(Usage::numbers).into_iter().flatten() {
        if let Some(metric) = list::PROCESS.iter().find(|metric| metric.name == name) {
            head(&mut text, metric);
            line(&mut text, name, "", &[], value);
        }
    }
    text
}

fn head(text: &mut String, Metric { name, kind, help, .. }: &Metric) {
    let help = help.replace('\\', r"\\").replace('\n', r"\n");
    text.extend(["# HELP ", name, " ", &help, "\n"]);
    text.extend(["# TYPE ", name, " ", &kind.to_string(), "\n"]);
}

fn samples(text: &mut String, family: &Family) {
    let name = family.metric.name;
    let mut all: Vec<_> = {
        let series = family.series.read();
        let labels = |key: &metrics::Key| -> Vec<_> {
            key.labels().map(|label| (label.key().to_owned(), label.value().to_owned())).collect()
        };
        series.iter().map(|(key, series)| (labels(key), series.clone())).collect()
    };
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (mut labels, series) in all {
        match series {
            Series::Counter(count) => line(text, name, "", &labels, count.load(Ordering::Relaxed)),
            Series::Gauge(bits) => line(text, name, "", &labels, Number(f64::from_bits(bits.load(Ordering::Relaxed)))),
            Series::Histogram(buckets) => {
                let mut count = 0;
                for (bound, up_to) in buckets.cumulative() {
                    labels.push(("le".to_owned(), Number(bound).to_string()));
                    line(text, name, "_bucket", &labels, up_to);
                    labels.pop();
                    count = up_to;
                }
                line(text, name, "_sum", &labels, Number(buckets.sum()));
                line(text, name, "_count", &labels, count);
            }
        }
    }
}

/// A line with one value.
fn line(text: &mut String, name: &str, suffix: &str, labels: &[(String, String)], value: impl std::fmt::Display) {
    text.extend([name, suffix]);
    for (index, (label, value)) in labels.iter().enumerate() {
        text.push(if index == 0 { '{' } else { ',' });
        text.extend([label, "=\"", &value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n"), "\""]);
    }
    if !labels.is_empty() {
        text.push('}');
    }
    // A string can always be written to.
    let _ = writeln!(text, " {value}");
}

/// A float as Prometheus reads it.
pub(super) struct Number(pub(super) f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            infinite if infinite.is_infinite() => f.write_str(if infinite > 0.0 { "+Inf" } else { "-Inf" }),
            number => write!(f, "{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_gauges_and_histograms_are_written() {
        let recorder = Recorder::new();
        metrics::with_local_recorder(&recorder, || {
            metrics::counter!("opora_sends_total", "outcome" => "sent").increment(3);
            metrics::gauge!("opora_dialogues", "dialogue" => "a \"b\"\n\\", "state" => "c").set(2.5);
            metrics::histogram!("opora_turn_seconds", "dialogue" => "shift").record(0.002);
        });
        let text = render(&recorder, None);
        for lines in [
            "# HELP opora_sends_total messages and other calls that came to an end\n# TYPE opora_sends_total counter\n\
             opora_sends_total{outcome=\"failed\"} 0\nopora_sends_total{outcome=\"sent\"} 3\n",
            "# TYPE opora_dialogues gauge\nopora_dialogues{dialogue=\"a \\\"b\\\"\\n\\\\\",state=\"c\"} 2.5\n",
            "opora_turn_seconds_bucket{dialogue=\"shift\",le=\"0.001\"} 0\n\
             opora_turn_seconds_bucket{dialogue=\"shift\",le=\"0.005\"} 1\n",
            "opora_turn_seconds_bucket{dialogue=\"shift\",le=\"+Inf\"} 1\n\
             opora_turn_seconds_sum{dialogue=\"shift\"} 0.002\nopora_turn_seconds_count{dialogue=\"shift\"} 1\n",
        ] {
            assert!(text.contains(lines), "{lines}\nis not in\n{text}");
        }
    }
}
