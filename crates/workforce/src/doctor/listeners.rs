//! Checks of the addresses on which the product listens.

use std::io::ErrorKind;
use std::net::SocketAddr;

use tokio::net::TcpListener;

use super::Finding;
use crate::config::Config;

/// Whether the pages' port is free.
pub(super) async fn check_pages(config: &Config) -> Finding {
    let reached = format!("people reach them at {}", config.public_url);
    check_listener("pages", config.web_listen, "WEB_LISTEN", &reached).await
}

/// Where metrics are served, and whether the port of their own listener is free.
pub(super) async fn check_metrics(config: &Config) -> Finding {
    let guard = if config.metrics.token.is_some() { "with the token" } else { "from this machine" };
    match config.metrics.listen {
        Some(address) => {
            let reached = format!("Prometheus asks for /metrics there, {guard}");
            check_listener("metrics", address, "METRICS_LISTEN", &reached).await
        }
        None if config.metrics.token.is_some() => {
            Finding::ok("metrics", format!("at {}/metrics, with the token", config.public_url))
        }
        None => Finding::ok("metrics", "not served; METRICS_LISTEN or METRICS_TOKEN would"),
    }
}

async fn check_listener(what: &'static str, address: SocketAddr, setting: &str, reached: &str) -> Finding {
    match TcpListener::bind(address).await {
        Ok(_) => Finding::ok(what, format!("{address} is free; {reached}")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let advice = format!("that is right if opora runs here; otherwise set {setting} to another address");
            Finding::note(what, format!("{address} is in use"), advice)
        }
        Err(error) => {
            let advice = format!("set {setting} to an address of this machine and a port above 1023");
            Finding::trouble(what, format!("{address}: {error}"), advice)
        }
    }
}
