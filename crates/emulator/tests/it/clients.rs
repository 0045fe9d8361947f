//! Client libraries from their registries, each led through the same walk: none should tell the emulator from Telegram.
//!
//! A library's bot (`tests/clients`, `bench/bots/teloxide-walk`) runs as its own process and uses nothing but the
//! library; the test is the person it talks to. What the libraries do differently is in [`library`].

mod bot;
mod library;
mod walk;

use self::library::{AIOGRAM, GRAMMY, PYTHON_TELEGRAM_BOT, TELEGRAF, TELOXIDE};
use self::walk::Transport;

#[tokio::test]
async fn aiogram_takes_it_for_telegram() {
    walk::whole(&AIOGRAM, Transport::Polling).await;
}

#[tokio::test]
async fn python_telegram_bot_takes_it_for_telegram() {
    walk::whole(&PYTHON_TELEGRAM_BOT, Transport::Polling).await;
}

#[tokio::test]
async fn grammy_takes_it_for_telegram() {
    walk::whole(&GRAMMY, Transport::Polling).await;
}

#[tokio::test]
async fn telegraf_takes_it_for_telegram() {
    walk::whole(&TELEGRAF, Transport::Polling).await;
}

/// Its bot takes minutes to build.
mod all_teloxide {
    use super::{TELOXIDE, Transport, walk};

    #[tokio::test]
    async fn teloxide_takes_it_for_telegram() {
        walk::whole(&TELOXIDE, Transport::Polling).await;
    }
}

#[tokio::test]
async fn aiogram_takes_its_webhook_for_telegrams() {
    walk::whole(&AIOGRAM, Transport::Webhook).await;
}

#[tokio::test]
async fn grammy_takes_its_webhook_for_telegrams() {
    walk::whole(&GRAMMY, Transport::Webhook).await;
}
