//! The list of metrics of the product: those of the library, of the pages and of the process.

use opora::metrics::{Metric, MetricLabel};

use super::requests::STATUS_CLASSES;
use crate::server::CUT_REASONS;

/// Upper bounds for the duration of a request: 1 ms to 30 s.
const REQUESTS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

const NO_LABELS: &[MetricLabel] = &[];
const VERSION: &[MetricLabel] = &[MetricLabel::by_name("version")];
const STATUS: &[MetricLabel] = &[MetricLabel::of("status", &STATUS_CLASSES)];
const CUT: &[MetricLabel] = &[MetricLabel::of("reason", &CUT_REASONS)];

/// Metrics that the application reports.
pub const APPLICATION: &[Metric] = &[
    Metric::gauge("opora_build_info", VERSION, "1, with the version of the program"),
    Metric::counter("opora_http_requests_total", STATUS, "requests for pages, and calls of the webhook, by status"),
    Metric::histogram("opora_http_request_seconds", REQUESTS, NO_LABELS, "from a request's head to its response"),
    Metric::counter("opora_http_connections_cut_total", CUT, "connections that were refused or cut"),
    Metric::counter("opora_metric_series_refused_total", NO_LABELS, "reports under labels beyond the limit of series"),
];

/// Metrics of the process, read from `/proc` when Prometheus asks. Their names are those of other Prometheus clients.
pub const PROCESS: &[Metric] = &[
    Metric::gauge("process_start_time_seconds", NO_LABELS, "start of the process, in seconds since 1970"),
    Metric::counter("process_cpu_seconds_total", NO_LABELS, "processor time, user and system"),
    Metric::gauge("process_resident_memory_bytes", NO_LABELS, "resident memory"),
    Metric::gauge("process_virtual_memory_bytes", NO_LABELS, "virtual memory"),
    Metric::gauge("process_threads", NO_LABELS, "threads"),
    Metric::gauge("process_open_fds", NO_LABELS, "open files and sockets"),
    Metric::gauge("process_max_fds", NO_LABELS, "limit of open files and sockets"),
];

/// The metrics that code reports as things happen.
pub fn reported() -> impl Iterator<Item = &'static Metric> {
    opora::metrics::ALL.iter().chain(APPLICATION)
}

/// All metrics of the product.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    reported().chain(PROCESS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use opora_testkit::emitted_metrics::emitted_metrics;

    use super::*;

    #[test]
    fn the_application_reports_exactly_the_listed_metrics() {
        let listed: BTreeSet<_> = APPLICATION.iter().map(Metric::signature).collect();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(emitted_metrics(&sources), listed);
    }

    #[test]
    fn the_operators_page_lists_exactly_these_metrics() {
        let page = include_str!("../../../../docs/operating.md");
        let is_row =
            |line: &&str| ["counter", "gauge", "histogram"].iter().any(|kind| line.contains(&format!("` | {kind} |")));
        let listed: Vec<_> = page.lines().filter(is_row).map(ToOwned::to_owned).collect();
        let rows: Vec<_> = all().map(Metric::table_row).collect();
        assert_eq!(listed, rows, "the table under Metrics should be:\n{}", rows.join("\n"));
    }

    #[test]
    fn every_name_is_there_once() {
        let names: BTreeSet<_> = all().map(|metric| metric.name).collect();
        assert_eq!(names.len(), all().count());
    }
}
