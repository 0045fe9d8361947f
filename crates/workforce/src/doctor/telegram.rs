//! Checks of the Bot API and of the clock.

use std::time::Duration;

use chrono::DateTime;
use opora::clock::Clock;
use opora::telegram::{Api, ApiError, RefusalKind, Telegram, redact_address};
use reqwest::header::DATE;
use serde::Deserialize;

use super::Finding;
use crate::config::{Config, Updates};

/// Timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A larger difference makes times in messages wrong.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(30);

const UNREACHABLE: &str = "check BOT_API_URL, and that this machine reaches it: name, firewall, proxy";

#[derive(Deserialize)]
struct Bot {
    username: String,
}

#[derive(Deserialize)]
struct WebhookInfo {
    url: String,
    pending_update_count: u64,
    last_error_message: Option<String>,
}

/// Whether the token is valid, and how updates arrive.
pub(super) async fn check(config: &Config) -> Vec<Finding> {
    let telegram = match Telegram::new(&config.bot_token.0, &config.bot_api_url) {
        Ok(telegram) => telegram.request_timeout(REQUEST_TIMEOUT),
        Err(error) => return vec![Finding::trouble("bot", error.to_string(), "check BOT_TOKEN and BOT_API_URL")],
    };
    let bot = match ask::<Bot>(&telegram, "getMe").await {
        Ok(bot) => Finding::ok("bot", format!("@{} at {}", bot.username, redact_address(&config.bot_api_url))),
        Err(error) => return vec![refused(config, &error)],
    };
    match ask::<WebhookInfo>(&telegram, "getWebhookInfo").await {
        Ok(info) => vec![bot, updates(config, &info)],
        Err(error) => vec![bot, refused(config, &error)],
    }
}

/// Compares this machine's clock with the Bot API's.
pub(super) async fn check_clock(config: &Config) -> Finding {
    let date = async {
        let client = reqwest::Client::builder().timeout(REQUEST_TIMEOUT).build()?;
        let answer = client.head(&config.bot_api_url).send().await?;
        Ok::<_, reqwest::Error>(answer.headers().get(DATE).and_then(|date| date.to_str().ok()).map(str::to_owned))
    };
    let api_time = date.await.ok().flatten().and_then(|date| DateTime::parse_from_rfc2822(&date).ok());
    let Some(api_time) = api_time else {
        return Finding::note(
            "clock",
            "could not be compared: the Bot API sent no time",
            "compare it by hand: date -u",
        );
    };
    // The header has whole seconds.
    let difference = Clock::machine().now().0 - api_time.timestamp_millis();
    let seconds = difference.unsigned_abs() / 1000;
    if seconds > MAX_CLOCK_DIFFERENCE.as_secs() {
        let way = if difference > 0 { "ahead" } else { "behind" };
        let found = format!("this machine is {seconds} s {way} of the Bot API");
        return Finding::trouble("clock", found, "synchronize the clock by NTP: timedatectl set-ntp true");
    }
    Finding::ok("clock", "agrees with the Bot API")
}

async fn ask<T: for<'de> Deserialize<'de>>(telegram: &Telegram, method: &str) -> Result<T, ApiError> {
    let answer = telegram.call(method, "{}", &[]).await?;
    serde_json::from_str(answer.get()).map_err(|error| ApiError::Unsure(error.to_string().into()))
}

fn refused(config: &Config, error: &ApiError) -> Finding {
    match error.refusal() {
        Some(RefusalKind::Unauthorized) => {
            let advice = "BOT_TOKEN is wrong or was revoked: @BotFather shows the present one under API Token";
            Finding::trouble("bot", "the Bot API does not know this token", advice)
        }
        _ => Finding::trouble(
            "bot",
            format!("{} does not work: {error}", redact_address(&config.bot_api_url)),
            UNREACHABLE,
        ),
    }
}

fn updates(config: &Config, info: &WebhookInfo) -> Finding {
    let waiting = info.pending_update_count;
    if let (Updates::Webhook { .. }, Some(error)) = (&config.updates, &info.last_error_message) {
        let advice = "check the balancer in front of WEB_LISTEN: its certificate, its path, and that it answers";
        return Finding::note("updates", format!("{waiting} wait; Telegram's last call failed: {error}"), advice);
    }
    match (&config.updates, info.url.is_empty()) {
        (Updates::Polling, true) => Finding::ok("updates", format!("by polling; {waiting} wait")),
        (Updates::Polling, false) => {
            let advice = "the start removes it; if another program needs it, this one needs another token";
            Finding::note("updates", format!("a webhook is set, and WEBHOOK_URL is not; {waiting} wait"), advice)
        }
        (Updates::Webhook { url, .. }, _) if *url == info.url => {
            Finding::ok("updates", format!("by webhook at {url}; {waiting} wait"))
        }
        (Updates::Webhook { url, .. }, _) => {
            Finding::note("updates", format!("by webhook at {url}, which is not set yet"), "the start sets it")
        }
    }
}
