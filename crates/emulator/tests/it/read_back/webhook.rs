//! The webhook: set, asked about, deleted.

use std::time::{Duration, Instant};

use frankenstein::types::AllowedUpdate;
use frankenstein::updates::WebhookInfo;
use serde_json::{Value, json};

use super::scene::Scene;
use crate::stage::TIMEOUT;

/// An address without a listener: port 9 takes no connections.
fn nowhere() -> Value {
    json!({
        "url": "http://127.0.0.1:9/hook", "ip_address": "127.0.0.1", "max_connections": 7,
        "allowed_updates": ["message", "chat_member"], "drop_pending_updates": true, "secret_token": "a-Secret_1",
    })
}

pub async fn set(scene: &Scene) {
    scene.stage.says(scene.anna, "Before").await;
    assert!(scene.upload::<bool>("setWebhook", nowhere(), &[("certificate", "own.pem", b"-----BEGIN")]).await);
    let info: WebhookInfo = scene.ask("getWebhookInfo", json!({})).await;
    assert_eq!((info.url.as_str(), info.has_custom_certificate), ("http://127.0.0.1:9/hook", true));
    assert_eq!((info.pending_update_count, info.max_connections), (0, Some(7)));
    assert_eq!(info.ip_address.as_deref(), Some("127.0.0.1"));
    assert_eq!(info.allowed_updates, Some(vec![AllowedUpdate::Message, AllowedUpdate::ChatMember]));
}

pub async fn info(scene: &Scene) {
    let none: WebhookInfo = scene.ask("getWebhookInfo", json!({})).await;
    assert_eq!((none.url.as_str(), none.has_custom_certificate, none.max_connections), ("", false, None));
    scene.does("setWebhook", nowhere()).await;
    scene.stage.says(scene.anna, "Anybody?").await;
    let started = Instant::now();
    loop {
        let info: WebhookInfo = scene.ask("getWebhookInfo", json!({})).await;
        if info.last_error_date.is_some() {
            assert!(info.last_error_message.is_some_and(|message| !message.is_empty()));
            assert_eq!(info.pending_update_count, 1);
            return;
        }
        assert!(started.elapsed() < TIMEOUT, "no failed delivery was noted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub async fn delete(scene: &Scene) {
    scene.does("setWebhook", nowhere()).await;
    scene.does("deleteWebhook", json!({"drop_pending_updates": true})).await;
    let info: WebhookInfo = scene.ask("getWebhookInfo", json!({})).await;
    assert_eq!((info.url.as_str(), info.pending_update_count), ("", 0));
}
