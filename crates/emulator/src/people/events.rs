//! The stream of everything that happens, as a WebSocket.

use std::time::Duration;

use axum::extract::WebSocketUpgrade;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::response::Response;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::At;

/// A connection that says nothing for longer may be cut by something in between.
const PING_EVERY: Duration = Duration::from_secs(20);

pub(super) async fn stream(at: At, upgrade: WebSocketUpgrade) -> Response {
    let events = at.bot.world().events.subscribe();
    upgrade.on_upgrade(move |socket| forward(socket, events))
}

async fn forward(mut socket: WebSocket, mut events: Receiver<Utf8Bytes>) {
    let mut ping = tokio::time::interval(PING_EVERY);
    loop {
        let message = tokio::select! {
            event = events.recv() => match event {
                Ok(text) => Message::Text(text),
                // Too slow a reader starts anew from a fresh state rather than seeing gaps.
                Err(RecvError::Lagged(_)) => Message::Text(r#"{"event":"lagged"}"#.into()),
                Err(RecvError::Closed) => return,
            },
            _ = ping.tick() => Message::Ping(Default::default()),
            heard = socket.recv() => match heard {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
        };
        if socket.send(message).await.is_err() {
            return;
        }
    }
}
