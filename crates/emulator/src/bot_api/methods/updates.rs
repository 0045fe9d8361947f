//! `setWebhook`, `deleteWebhook` and `getWebhookInfo`. `getUpdates` is in [`crate::delivery::polling`].

use serde::Deserialize;
use serde_json::json;

use crate::bot_api::MethodResult;
use crate::bot_api::call::Call;
use crate::bot_api::error::ApiError;
use crate::world::World;
use crate::world::profile::Webhook;
use crate::world::update::AllowedUpdates;

const DEFAULT_CONNECTIONS: u32 = 40;

#[derive(Debug, Deserialize)]
pub struct SetWebhook {
    url: Option<String>,
    certificate: Option<String>,
    ip_address: Option<String>,
    max_connections: Option<u32>,
    allowed_updates: Option<Vec<String>>,
    drop_pending_updates: Option<bool>,
    secret_token: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct DeleteWebhook {
    drop_pending_updates: Option<bool>,
}

/// Unlike Telegram this takes plain HTTP and any port: a bot under test listens on its own machine.
pub fn set_webhook(world: &mut World, call: &Call) -> MethodResult {
    let given: SetWebhook = call.parameters.read()?;
    let url = given.url.unwrap_or_default();
    if url.is_empty() {
        return remove(world, given.drop_pending_updates.unwrap_or(false));
    }
    if reqwest::Url::parse(&url).ok().is_none_or(|url| !matches!(url.scheme(), "http" | "https")) {
        return Err(ApiError::bad_request("bad webhook: An HTTPS URL must be provided for webhook"));
    }
    if let Some(secret) = &given.secret_token {
        let spelled = secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if !spelled || secret.len() > 256 {
            return Err(ApiError::bad_request("secret token contains unallowed characters"));
        }
    }
    if let Some(names) = given.allowed_updates {
        allow(world, names);
    }
    world.profile.webhook = Some(Webhook {
        url,
        secret_token: given.secret_token,
        max_connections: given.max_connections.unwrap_or(DEFAULT_CONNECTIONS).clamp(1, 100),
        ip_address: given.ip_address,
        has_custom_certificate: given.certificate.is_some() || call.upload("certificate").is_some(),
        last_error: None,
    });
    changed(world, given.drop_pending_updates.unwrap_or(false), "Webhook was set")
}

pub fn delete_webhook(world: &mut World, call: &Call) -> MethodResult {
    let given: DeleteWebhook = call.parameters.read()?;
    remove(world, given.drop_pending_updates.unwrap_or(false))
}

pub fn webhook_info(world: &mut World, _: &Call) -> MethodResult {
    Ok(world.webhook_info().to_string().into())
}

/// Stores which updates the bot wants from now on.
pub fn allow(world: &mut World, names: Vec<String>) {
    let allowed = AllowedUpdates::new(names);
    if world.queue.allowed != allowed {
        world.save("allowed_updates", &allowed);
        world.queue.allowed = allowed;
    }
}

fn remove(world: &mut World, drop_pending: bool) -> MethodResult {
    if world.profile.webhook.take().is_none() {
        if drop_pending {
            drop_updates(world);
        }
        return described("Webhook is already deleted");
    }
    changed(world, drop_pending, "Webhook was deleted")
}

fn changed(world: &mut World, drop_pending: bool, description: &str) -> MethodResult {
    world.webhook_generation += 1;
    world.webhook_changed = true;
    if drop_pending {
        drop_updates(world);
    }
    world.queue.clear_in_flight();
    world.profile_changed();
    world.events.publish("webhook", || json!({"webhook": world.webhook_info()}));
    world.updates_ready.notify_waiters();
    described(description)
}

fn drop_updates(world: &mut World) {
    let dropped = world.queue.clear();
    world.forget_updates(&dropped);
}

/// `true` with a description beside the result.
fn described(description: &str) -> MethodResult {
    Ok(format!("true,\"description\":\"{description}\"").into())
}
