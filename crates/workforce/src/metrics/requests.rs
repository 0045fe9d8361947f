//! Metrics of requests for pages and of webhook calls.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use metrics::{Counter, Histogram};
use opora::clock::Stopwatch;

/// Labels of the status, by its first digit.
pub(super) const STATUS_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Handles, looked up once because a lookup hashes name and labels.
#[derive(Debug)]
struct RequestMeters {
    by_status: [Counter; 5],
    duration: Histogram,
}

/// Counts the requests of a router, and measures the time to the response.
pub fn measure(router: Router) -> Router {
    let meters = RequestMeters {
        by_status: STATUS_CLASSES.map(|class| metrics::counter!("opora_http_requests_total", "status" => class)),
        duration: metrics::histogram!("opora_http_request_seconds"),
    };
    router.layer(from_fn_with_state(Arc::new(meters), respond))
}

async fn respond(State(meters): State<Arc<RequestMeters>>, request: Request, next: Next) -> Response {
    let watch = Stopwatch::start();
    let response = next.run(request).await;
    meters.duration.record(watch.elapsed());
    let class = usize::from(response.status().as_u16() / 100);
    if let Some(count) = class.checked_sub(1).and_then(|index| meters.by_status.get(index)) {
        count.increment(1);
    }
    response
}
