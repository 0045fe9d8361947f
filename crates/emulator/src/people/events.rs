//! The stream of everything that happens, as a WebSocket.

use std::time::Duration;

use axum::extract::WebSocketUpgrade;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::response::Response;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::BotPath;

/// Proxies may cut a connection that is silent for longer.
const PING_EVERY: Duration = Duration::from_secs(20);

pub(super) async fn stream(at: BotPath, upgrade: WebSocketUpgrade) -> Response {
    let events = at.bot.world().events.subscribe();
    upgrade.on_upgrade(move |socket| forward(socket, events))
}

async fn forward(mut socket: WebSocket, mut events: Receiver<Utf8Bytes>) {
    let mut ping = tokio::time::interval(PING_EVERY);
    loop {
        let message = tokio::select! {
            event = events.recv() => match event {
                Ok(text) => Message::Text(text),
                // A page that is too slow then loads everything again, so that it sees no gaps.
                Err(RecvError::Lagged(_)) => Message::Text(r#"{"event":"lagged"}"#.into()),
                Err(RecvError::Closed) => return,
            },
            _ = ping.tick() => Message::Ping(Default::default()),
            received = socket.recv() => match received {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
        };
        if socket.send(message).await.is_err() {
            return;
        }
    }
}
