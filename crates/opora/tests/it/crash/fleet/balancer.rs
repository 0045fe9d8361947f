//! A load balancer for webhooks: round robin, with a retry at the next instance after a refusal, a 503 or a timeout.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use parking_lot::Mutex;

const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// How long an instance may take before another one is called.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// A handle. Clones share the balancer.
#[derive(Clone)]
pub struct Balancer {
    pub url: Arc<str>,
    targets: Arc<Mutex<Vec<String>>>,
    next: Arc<AtomicUsize>,
    retried: Arc<AtomicUsize>,
    http: reqwest::Client,
}

impl Balancer {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/telegram", listener.local_addr().unwrap()).into();
        let http = reqwest::Client::builder().no_proxy().timeout(ANSWERS_WITHIN).build().unwrap();
        let (targets, next, retried) = Default::default();
        let balancer = Self { url, targets, next, retried, http };
        let router = Router::new().fallback(forward).with_state(balancer.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        balancer
    }

    pub fn set_targets(&self, targets: Vec<String>) {
        *self.targets.lock() = targets;
    }

    /// How often another instance had to be asked.
    pub fn retried(&self) -> usize {
        self.retried.load(Ordering::Relaxed)
    }
}

async fn forward(State(balancer): State<Balancer>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let targets = balancer.targets.lock().clone();
    let first = balancer.next.fetch_add(1, Ordering::Relaxed);
    for turn in 0..targets.len() {
        let mut call = balancer.http.post(&targets[(first + turn) % targets.len()]).body(body.clone());
        if let Some(secret) = headers.get(SECRET_HEADER) {
            call = call.header(SECRET_HEADER, secret);
        }
        match call.send().await {
            Ok(answer) if answer.status() != StatusCode::SERVICE_UNAVAILABLE => return answer.status(),
            _ => balancer.retried.fetch_add(1, Ordering::Relaxed),
        };
    }
    StatusCode::BAD_GATEWAY
}
