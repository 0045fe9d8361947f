//! Bots that the example cannot be: with timers and effects, with a short lease, with a bug.
//!
//! Each runs in a child process: this test binary, with one test to run and a [`ChildConfig`].

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use opora::aiogram::{AiogramStore, DataError, Mapping};
use opora::bot::WebhookSettings;
use opora::outbox::SendLimits;
use opora::prelude::*;
use opora::store::{Database, DomainWrites, RedisStore, Store, WriteError};
use opora::telegram::Telegram;
use opora_testkit::environment;
use serde_json::value::RawValue;

use super::bugs::{Bug, BuggyStore, remove_sent_logs};
use super::people::Scenario;
use super::stage::{Stage, TOKEN};
use crate::decisions::separate_stores::SeparateStores;

/// The secret that Telegram sends with webhook calls.
pub const WEBHOOK_SECRET: &str = "a-secret_of-a-crash_1";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChildConfig {
    pub api_url: String,
    pub state_url: String,
    pub database_url: Option<String>,
    pub files: String,
    pub failpoints: String,
    pub scenario: Scenario,
    pub lease_ms: u64,
    pub stop_ms: u64,
    pub album_quiet_ms: u64,
    pub at_once: bool,
    /// The listening address, and the address that Telegram calls. None: the bot polls.
    pub webhook: Option<(SocketAddr, String)>,
    pub bug: Option<Bug>,
}

impl ChildConfig {
    /// A bot with this dialogue, without a bug.
    pub fn of(stage: &Stage, scenario: Scenario) -> Self {
        Self {
            api_url: stage.base.clone(),
            state_url: stage.address(),
            database_url: stage.backend.database(),
            files: stage.files().display().to_string(),
            failpoints: String::new(),
            scenario,
            lease_ms: 1500,
            stop_ms: 10_000,
            album_quiet_ms: 500,
            at_once: true,
            webhook: None,
            bug: None,
        }
    }
}

/// The entry point of child processes. In a normal test run it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_runs_a_bot() {
    run_child(|config, bot| match config.scenario {
        Scenario::Registration => bot.dialogue(registration()),
        Scenario::Errand => bot.dialogue(errand()),
        Scenario::Shopping => bot.dialogue(shopping()),
    })
    .await;
}

/// Runs a bot with these dialogues if this is a child process.
pub async fn run_child(dialogues: impl FnOnce(&ChildConfig, Bot) -> Bot) {
    run_child_on(|store| store, dialogues).await;
}

/// Like [`run_child`], with a layer in front of its store.
pub async fn run_child_on(
    before: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    dialogues: impl FnOnce(&ChildConfig, Bot) -> Bot,
) {
    let Some(config) = environment::child() else { return };
    tracing_subscriber::fmt().with_env_filter("opora=info").with_ansi(false).with_writer(std::io::stderr).init();
    let config: ChildConfig = serde_json::from_str(&config).unwrap();
    opora::failpoints::arm_from(&config.failpoints).unwrap();
    let store: Arc<dyn Store> = if config.state_url.contains("layout=aiogram") {
        Arc::new(AiogramStore::open(&config.state_url, as_in_aiogram()).await.unwrap())
    } else {
        store(&config).await
    };
    let store = before(store);
    let mut bot = bot(&config, Arc::clone(&store));
    if config.state_url.starts_with("redis:") && config.database_url.is_none() {
        bot = bot.context(Unsigned);
    } else {
        create_table(&store).await;
    }
    let bot = dialogues(&config, bot);
    match config.webhook {
        Some((listen, url)) => run_by_webhook(bot, listen, url).await,
        None => bot.run().await.unwrap(),
    }
}

/// Runs a bot by webhook. Calls that are unanswered at its end come again to another instance.
async fn run_by_webhook(bot: Bot, listen: SocketAddr, url: String) {
    let (bot, webhook) = bot.webhook(WebhookSettings::new(url, WEBHOOK_SECRET));
    let listener = tokio::net::TcpListener::bind(listen).await.unwrap();
    let server = tokio::spawn(axum::serve(listener, webhook.router("/telegram")).into_future());
    bot.run().await.unwrap();
    server.abort();
}

async fn store(config: &ChildConfig) -> Arc<dyn Store> {
    if config.bug == Some(Bug::ForgetsSentLog) {
        remove_sent_logs(&config.state_url);
    }
    match (&config.database_url, config.bug) {
        (Some(database), Some(Bug::WritesSeparately)) => Arc::new(SeparateStores {
            redis: RedisStore::open(&config.state_url).await.unwrap(),
            database: opora::store::open(database).await.unwrap(),
        }),
        (database, _) => opora::store::open_with_database(&config.state_url, database.as_deref()).await.unwrap(),
    }
}

fn bot(config: &ChildConfig, store: Arc<dyn Store>) -> Bot {
    let store = match config.bug {
        Some(bug) => Arc::new(BuggyStore { inner: store, bug }),
        None => store,
    };
    let bot = Bot::new(TOKEN).api_url(&config.api_url).store(store).files(&config.files).send_limits(SendLimits::Off);
    let bot = bot.settings(|settings| {
        settings.lease.ttl = Duration::from_millis(config.lease_ms);
        settings.lease.poll_interval = Duration::from_millis(100);
        settings.stop.deadline = Duration::from_millis(config.stop_ms);
        settings.mailboxes.album_quiet = Duration::from_millis(config.album_quiet_ms);
        settings.mailboxes.direct_updates = config.at_once;
        settings.effects.backoff = Duration::from_millis(20);
    });
    match config.bug.and_then(|bug| bug.client(Telegram::new(TOKEN, &config.api_url).unwrap())) {
        Some(client) => bot.api(client),
        None => bot,
    }
}

/// Turns write no signatures, because the application has no tables.
pub struct Unsigned;

/// The processes that wrote, in order, from the application's own table.
pub async fn writers(stage: &Stage) -> Vec<u32> {
    let processes = stage.backend.query_numbers("SELECT process FROM writer ORDER BY id").await;
    processes.into_iter().map(|process| u32::try_from(process).unwrap()).collect()
}

/// The people whose turns wrote, once for each write.
pub async fn writing_people(stage: &Stage) -> Vec<i64> {
    stage.backend.query_numbers("SELECT person FROM writer").await
}

pub async fn create_table(store: &Arc<dyn Store>) {
    let table = DomainWrites::new(move |database| {
        Box::pin(async move {
            if database.is_postgres() {
                let table = "CREATE TABLE IF NOT EXISTS writer
                             (id BIGSERIAL PRIMARY KEY, process BIGINT, person BIGINT)";
                sqlx::query(table).execute(database.postgres()).await?;
            } else {
                let table = "CREATE TABLE IF NOT EXISTS writer
                             (id INTEGER PRIMARY KEY AUTOINCREMENT, process INTEGER, person INTEGER)";
                sqlx::query(table).execute(database.sqlite()).await?;
            }
            Ok(())
        })
    });
    store.write(table).await.unwrap();
}

/// Writes a row with the ids of this process and the person.
pub fn signature(person: i64) -> DomainWrites {
    DomainWrites::new(move |database| Box::pin(write_signature(database, person)))
}

fn sign(turn: &mut Turn) {
    if turn.find_context::<Unsigned>().is_none() {
        let person = turn.key().user;
        turn.transact(move |database| Box::pin(write_signature(database, person)));
    }
}

async fn write_signature(database: &mut Database<'_>, person: i64) -> Result<(), WriteError> {
    let process = i64::from(std::process::id());
    let sign = "INSERT INTO writer (process, person) VALUES ($1, $2)";
    if database.is_postgres() {
        sqlx::query(sign).bind(process).bind(person).execute(database.postgres()).await?;
    } else {
        sqlx::query(sign).bind(process).bind(person).execute(database.sqlite()).await?;
    }
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "registration")]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum Registration {
    Language,
    Name,
    Phone(Phone),
    Passport(Passport),
    Selfie(Selfie),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phone {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passport {
    name: String,
    phone: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selfie {
    name: String,
    phone: String,
    passport: String,
}

/// The same dialogue in the layout of an aiogram bot.
fn as_in_aiogram() -> Mapping<Registration> {
    Mapping::new().write(|state, data| {
        let whole = serde_json::to_value(state).map_err(|error| DataError::Other(error.into()))?;
        for (name, value) in whole.as_object().into_iter().flatten() {
            data.set(name, value)?;
        }
        Ok(match state {
            Registration::Language => "Registration:language",
            Registration::Name => "Registration:name",
            Registration::Phone(_) => "Registration:phone",
            Registration::Passport(_) => "Registration:passport",
            Registration::Selfie(_) => "Registration:selfie",
        })
    })
}

/// The example's dialogue. Every turn writes a signature.
pub fn registration() -> Dialogue<Registration> {
    async fn start(turn: &mut Turn, _: Command) -> Step<Registration> {
        sign(turn);
        turn.say(Say::text("Choose your language").buttons([[Button::raw("English", "lang:en")]]));
        Ok(Next::Go(Registration::Language))
    }
    async fn language(turn: &mut Turn, _: Press) -> Step<Registration> {
        sign(turn);
        turn.say("What is your name?");
        Ok(Next::Go(Registration::Name))
    }
    async fn name(turn: &mut Turn, name: String) -> Step<Registration> {
        sign(turn);
        turn.say("Your phone?");
        Ok(Next::Go(Registration::Phone(Phone { name })))
    }
    async fn phone(turn: &mut Turn, state: Phone, phone: String) -> Step<Registration> {
        sign(turn);
        if !phone.starts_with('+') {
            turn.say("invalid: a phone number starts with +");
            return Ok(Next::Stay);
        }
        turn.say("Send a photo of your passport");
        Ok(Next::Go(Registration::Passport(Passport { name: state.name, phone })))
    }
    async fn passport(turn: &mut Turn, state: Passport, photo: Photo) -> Step<Registration> {
        sign(turn);
        turn.say("Now a selfie");
        let Passport { name, phone } = state;
        Ok(Next::Go(Registration::Selfie(Selfie { name, phone, passport: photo.file_id })))
    }
    async fn selfie(turn: &mut Turn, state: Selfie, photo: Photo) -> Step<Registration> {
        let Selfie { name, phone, passport } = state;
        sign(turn);
        turn.say(format!("done {name} {phone} {passport} {}", photo.file_id));
        Ok(Next::End)
    }
    async fn something_else(turn: &mut Turn, _: Registration, _: Input) -> Step<Registration> {
        turn.say("invalid: this is not what I asked for");
        Ok(Next::Stay)
    }
    Dialogue::new()
        .start(command("start"), start)
        .on(Registration::LANGUAGE, button("lang:"), language)
        .on(Registration::NAME, text(), name)
        .on(Registration::PHONE, text(), phone)
        .on(Registration::PASSPORT, photo(), passport)
        .on(Registration::SELFIE, photo(), selfie)
        .fallback(something_else)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "errand")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Errand {
    Photo { walk: String },
    Fetching { walk: String },
    Waiting { walk: String },
}

/// Downloads a photo and sends a reminder a moment later.
fn errand() -> Dialogue<Errand> {
    async fn start(turn: &mut Turn, command: Command) -> Step<Errand> {
        turn.say("Send a photo");
        Ok(Next::Go(Errand::Photo { walk: command.argument }))
    }
    async fn fetch(turn: &mut Turn, walk: String, photo: Photo) -> Step<Errand> {
        turn.download(photo.file_id, 1_000_000);
        Ok(Next::Go(Errand::Fetching { walk }))
    }
    async fn fetched(turn: &mut Turn, walk: String, outcome: Outcome) -> Step<Errand> {
        let brought: Box<RawValue> = outcome.result?;
        let file: opora::effects::Downloaded = serde_json::from_str(brought.get())?;
        let bytes = tokio::fs::metadata(&file.path).await?.len();
        turn.say(format!("fetched {bytes} bytes of {}", file.file_id));
        turn.timer("remind", Duration::from_millis(50), &walk);
        Ok(Next::Go(Errand::Waiting { walk }))
    }
    async fn remind(turn: &mut Turn, walk: String, _: Timer) -> Step<Errand> {
        turn.say(format!("time is up for {walk}"));
        Ok(Next::End)
    }
    Dialogue::new()
        .start(command("start"), start)
        .on(Errand::PHOTO, photo(), fetch)
        .on(Errand::FETCHING, outcome("download"), fetched)
        .on(Errand::WAITING, timer("remind"), remind)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "shopping")]
#[serde(rename_all = "snake_case")]
enum Shopping {
    First,
    Second,
    Third,
}

/// Confirms three things in the order in which they were sent.
fn shopping() -> Dialogue<Shopping> {
    async fn start(turn: &mut Turn, _: Command) -> Step<Shopping> {
        turn.say("Three things, please");
        Ok(Next::Go(Shopping::First))
    }
    async fn first(turn: &mut Turn, thing: String) -> Step<Shopping> {
        turn.say(format!("noted {thing}"));
        Ok(Next::Go(Shopping::Second))
    }
    async fn second(turn: &mut Turn, thing: String) -> Step<Shopping> {
        turn.say(format!("noted {thing}"));
        Ok(Next::Go(Shopping::Third))
    }
    async fn third(turn: &mut Turn, thing: String) -> Step<Shopping> {
        turn.say(format!("noted {thing}"));
        Ok(Next::End)
    }
    Dialogue::new()
        .start(command("start"), start)
        .on(Shopping::FIRST, text(), first)
        .on(Shopping::SECOND, text(), second)
        .on(Shopping::THIRD, text(), third)
}
