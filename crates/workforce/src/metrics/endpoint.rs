//! `GET /metrics`, and the listener of its own.

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use super::exposition;
use super::process::Usage;
use super::recorder::Recorder;
use crate::config::{MetricsSettings, Networks, Secret};
use crate::serve;
use crate::server::{Limits, Server, Timeouts};
use crate::web::constant_time_eq;

/// Connections of the listener: a few Prometheus servers, and a health check.
const MAX_CONNECTIONS: usize = 16;

/// The recorder, and where its numbers are served.
#[derive(Debug)]
pub struct Endpoint {
    recorder: Recorder,
    token: Option<Secret>,
    listener: Option<TcpListener>,
}

impl Endpoint {
    /// Installs the recorder, and listens if there is an address. None if metrics are not served.
    pub async fn open(settings: &MetricsSettings) -> anyhow::Result<Option<Self>> {
        let MetricsSettings { listen, token } = settings.clone();
        let listener = match listen {
            Some(wanted) => {
                let (listener, address) = serve::listen(wanted, "METRICS_LISTEN names another address").await?;
                tracing::info!(%address, needs_token = token.is_some(), "metrics have a listener");
                Some(listener)
            }
            None if token.is_some() => None,
            None => return Ok(None),
        };
        let recorder = Recorder::new();
        metrics::set_global_recorder(recorder.clone()).context("a recorder of metrics is installed already")?;
        Ok(Some(Self { recorder, token, listener }))
    }

    /// The path, if the server of the pages serves it.
    pub fn router_for_pages(&self) -> Router {
        if self.listener.is_none() { self.router() } else { Router::new() }
    }

    /// Starts the listener of its own, if there is one, with these routes besides.
    pub fn start(self, more: Router) -> Option<Server> {
        let router = self.router().merge(more);
        let limits = Limits::new(MAX_CONNECTIONS, Networks::default());
        Some(Server::start(self.listener?, router, limits, Timeouts::default()))
    }

    fn router(&self) -> Router {
        let state = (self.recorder.clone(), self.token.clone());
        Router::new().route("/metrics", get(scrape)).with_state(state)
    }
}

async fn scrape(State((recorder, token)): State<(Recorder, Option<Secret>)>, headers: HeaderMap) -> Response {
    if token.is_some_and(|token| !is_authorized(&headers, &token)) {
        let challenge = [(WWW_AUTHENTICATE, "Bearer")];
        return (StatusCode::UNAUTHORIZED, challenge, "this needs the token METRICS_TOKEN\n").into_response();
    }
    // Reading `/proc` blocks for a moment.
    let rendered = tokio::task::spawn_blocking(move || exposition::render(&recorder, Usage::read().as_ref())).await;
    match rendered {
        Ok(text) => ([(CONTENT_TYPE, exposition::CONTENT_TYPE), (CACHE_CONTROL, "no-store")], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics could not be rendered");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Whether the token is in the header, as `Bearer <token>`. Compared in constant time.
fn is_authorized(headers: &HeaderMap, token: &Secret) -> bool {
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some((scheme, given)) = given.and_then(|value| value.split_once(' ')) else { return false };
    scheme.eq_ignore_ascii_case("bearer") && constant_time_eq(given.trim(), &token.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bearer_of_the_token_is_authorized() {
        let token = Secret("a-good_token_of_32_characters_000".to_owned());
        let authorized = |value: &str| {
            let headers = [(AUTHORIZATION, value.parse().unwrap())].into_iter().collect();
            is_authorized(&headers, &token)
        };
        assert!(authorized("Bearer a-good_token_of_32_characters_000"));
        assert!(authorized("bearer a-good_token_of_32_characters_000"));
        for wrong in
            ["Bearer ", "Bearer a-good", "a-good_token_of_32_characters_000", "Basic a-good_token_of_32_characters_000"]
        {
            assert!(!authorized(wrong), "{wrong}");
        }
        assert!(!is_authorized(&HeaderMap::new(), &token));
    }
}
