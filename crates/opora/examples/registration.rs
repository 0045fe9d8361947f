//! A registration in five steps: language, name, phone, passport, selfie.
//!
//! It is the dialogue that `bench/` measures on several frameworks. Settings are environment variables: `BOT_TOKEN`;
//! `BOT_API_URL` for another server than Telegram's; `STATE_URL`: `memory:`, `sqlite:<path>`, `postgres://…` or
//! `redis://…`; `DATA_DIR` or `RUN_DIR`: the folder for the bot's local files, unless `STATE_URL` has `data=`;
//! `SEND_LIMITS`: `telegram` or `off`. With `WEBHOOK_URL`, an address that ends in `/telegram`, updates come by
//! webhook, with `WEBHOOK_SECRET`, to `WEBHOOK_LISTEN`. A balancer may stand before several instances.

use std::env;
use std::error::Error;
use std::future::IntoFuture;
use std::time::Duration;

use opora::bot::WebhookSettings;
use opora::prelude::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "registration")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Registration {
    Language,
    Name,
    Phone(Phone),
    Passport(Passport),
    Selfie(Selfie),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Phone {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Passport {
    name: String,
    phone: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Selfie {
    name: String,
    phone: String,
    passport: String,
}

async fn start(turn: &mut Turn, _: Command) -> Step<Registration> {
    let languages = [Button::raw("English", "lang:en"), Button::raw("Русский", "lang:ru")];
    turn.say(Say::text("Choose your language").buttons([languages]));
    Ok(Next::Go(Registration::Language))
}

async fn language(turn: &mut Turn, _: Press) -> Step<Registration> {
    turn.say("What is your name?");
    Ok(Next::Go(Registration::Name))
}

async fn name(turn: &mut Turn, name: String) -> Step<Registration> {
    turn.say("Your phone?");
    Ok(Next::Go(Registration::Phone(Phone { name })))
}

async fn phone(turn: &mut Turn, state: Phone, phone: String) -> Step<Registration> {
    if !phone.starts_with('+') {
        turn.say("invalid: a phone number starts with +");
        return Ok(Next::Stay);
    }
    turn.say("Send a photo of your passport");
    Ok(Next::Go(Registration::Passport(Passport { name: state.name, phone })))
}

async fn passport(turn: &mut Turn, state: Passport, photo: Photo) -> Step<Registration> {
    turn.say("Now a selfie");
    let Passport { name, phone } = state;
    Ok(Next::Go(Registration::Selfie(Selfie { name, phone, passport: photo.file_id })))
}

async fn selfie(turn: &mut Turn, state: Selfie, photo: Photo) -> Step<Registration> {
    let Selfie { name, phone, passport } = state;
    turn.say(format!("done {name} {phone} {passport} {}", photo.file_id));
    Ok(Next::End)
}

async fn something_else(turn: &mut Turn, _: Registration, _: Input) -> Step<Registration> {
    turn.say("invalid: this is not what I asked for");
    Ok(Next::Stay)
}

fn registration() -> Dialogue<Registration> {
    Dialogue::new()
        .start(command("start"), start)
        .on(Registration::LANGUAGE, button("lang:"), language)
        .on(Registration::NAME, text(), name)
        .on(Registration::PHONE, text(), phone)
        .on(Registration::PASSPORT, photo(), passport)
        .on(Registration::SELFIE, photo(), selfie)
        .fallback(something_else)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_env_filter(env::var("RUST_LOG").unwrap_or("warn".into()))
        .with_writer(std::io::stderr)
        .init();
    if let Ok(failpoints) = env::var("FAILPOINTS") {
        opora::failpoints::arm_from(&failpoints)?;
    }
    let setting = |name: &str, default: &str| env::var(name).unwrap_or(default.to_owned());
    let folder = env::var("DATA_DIR").or_else(|_| env::var("RUN_DIR")).ok();
    let mut address = setting("STATE_URL", "sqlite:registration.db");
    if let Some(folder) = folder.filter(|folder| !folder.is_empty()) {
        address = opora::store::with_data_folder(&address, &folder);
    }
    let store = opora::store::open(&address).await?;
    let bot = Bot::new(env::var("BOT_TOKEN").map_err(|_| "BOT_TOKEN is not set")?)
        .api_url(setting("BOT_API_URL", opora::telegram::TELEGRAM))
        .send_limits(setting("SEND_LIMITS", "telegram").parse()?)
        .store(store)
        .dialogue(registration());
    let Ok(url) = env::var("WEBHOOK_URL") else { return Ok(bot.run().await?) };
    let secret = env::var("WEBHOOK_SECRET").map_err(|_| "WEBHOOK_SECRET is not set")?;
    let (bot, webhook) = bot.webhook(WebhookSettings::new(url, secret));
    let listener = tokio::net::TcpListener::bind(setting("WEBHOOK_LISTEN", "127.0.0.1:8443")).await?;
    let (running, ended) = tokio::sync::oneshot::channel::<()>();
    let server = axum::serve(listener, webhook.router("/telegram")).with_graceful_shutdown(async {
        let _ = ended.await;
    });
    let server = tokio::spawn(server.into_future());
    bot.run().await?;
    // The last calls are answered; idle connections are not waited for.
    drop(running);
    let _ = tokio::time::timeout(Duration::from_secs(1), server).await;
    Ok(())
}
