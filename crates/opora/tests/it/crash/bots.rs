//! Bots that the example cannot be: with timers and effects, with a short lease, with a bug.
//!
//! They run in a process of their own, which is this test binary with one test to run and a part to play.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use opora::aiogram::{AiogramStore, Mapping, Unfit};
use opora::bot::WebhookSettings;
use opora::outbox::SendLimits;
use opora::prelude::*;
use opora::store::{Database, DomainWrites, RedisStore, Store, WriteError};
use opora::telegram::Telegram;
use opora_testkit::environment;
use serde_json::value::RawValue;

use super::bugs::{Bug, Spoilt, forget_notes};
use super::people::Story;
use super::stage::{Stage, TOKEN};
use crate::decided::apart::Apart;

/// What Telegram says to a webhook.
pub const WEBHOOK_SECRET: &str = "a-secret_of-a-crash_1";

/// What a child is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    pub api_url: String,
    pub state_url: String,
    pub database_url: Option<String>,
    pub files: String,
    pub failpoints: String,
    pub story: Story,
    pub lease_ms: u64,
    pub stop_ms: u64,
    pub album_quiet_ms: u64,
    pub at_once: bool,
    /// Where it listens, and which address Telegram calls; it polls if there is none.
    pub webhook: Option<(SocketAddr, String)>,
    pub bug: Option<Bug>,
}

impl Part {
    /// A bot for this story, without a bug.
    pub fn of(stage: &Stage, story: Story) -> Self {
        Self {
            api_url: stage.base.clone(),
            state_url: stage.address(),
            database_url: stage.keeper.database(),
            files: stage.files().display().to_string(),
            failpoints: String::new(),
            story,
            lease_ms: 1500,
            stop_ms: 10_000,
            album_quiet_ms: 500,
            at_once: true,
            webhook: None,
            bug: None,
        }
    }
}

/// Of every run of the whole binary this is a part too; without a part to play it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_plays_its_part() {
    play(|part, bot| match part.story {
        Story::Registration => bot.dialogue(registration()),
        Story::Errand => bot.dialogue(errand()),
        Story::Shopping => bot.dialogue(shopping()),
    })
    .await;
}

/// Runs a bot with these dialogues, if this process was given a part.
pub async fn play(dialogues: impl FnOnce(&Part, Bot) -> Bot) {
    play_over(|store| store, dialogues).await;
}

/// The same, with something before its store.
pub async fn play_over(
    before: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
    dialogues: impl FnOnce(&Part, Bot) -> Bot,
) {
    let Some(part) = environment::child() else { return };
    tracing_subscriber::fmt().with_env_filter("opora=info").with_ansi(false).with_writer(std::io::stderr).init();
    let part: Part = serde_json::from_str(&part).unwrap();
    opora::failpoints::arm_from(&part.failpoints).unwrap();
    let store: Arc<dyn Store> = if part.state_url.contains("layout=aiogram") {
        Arc::new(AiogramStore::open(&part.state_url, as_in_aiogram()).await.unwrap())
    } else {
        store(&part).await
    };
    let store = before(store);
    let mut bot = bot(&part, Arc::clone(&store));
    if part.state_url.starts_with("redis:") && part.database_url.is_none() {
        bot = bot.context(Unsigned);
    } else {
        prepare(&store).await;
    }
    let bot = dialogues(&part, bot);
    match part.webhook {
        Some((listen, url)) => run_by_webhook(bot, listen, url).await,
        None => bot.run().await.unwrap(),
    }
}

/// Runs a bot that Telegram calls. Calls that are under way in the end are not answered: they come again elsewhere.
async fn run_by_webhook(bot: Bot, listen: SocketAddr, url: String) {
    let (bot, webhook) = bot.webhook(WebhookSettings::new(url, WEBHOOK_SECRET));
    let listener = tokio::net::TcpListener::bind(listen).await.unwrap();
    let server = tokio::spawn(axum::serve(listener, webhook.router("/telegram")).into_future());
    bot.run().await.unwrap();
    server.abort();
}

async fn store(part: &Part) -> Arc<dyn Store> {
    if part.bug == Some(Bug::ForgetsNotes) {
        forget_notes(&part.state_url);
    }
    match (&part.database_url, part.bug) {
        (Some(database), Some(Bug::WritesApart)) => Arc::new(Apart {
            redis: RedisStore::open(&part.state_url).await.unwrap(),
            database: opora::store::open(database).await.unwrap(),
        }),
        (database, _) => opora::store::open_with_database(&part.state_url, database.as_deref()).await.unwrap(),
    }
}

fn bot(part: &Part, store: Arc<dyn Store>) -> Bot {
    let store = match part.bug {
        Some(bug) => Arc::new(Spoilt { inner: store, bug }),
        None => store,
    };
    let bot = Bot::new(TOKEN).api_url(&part.api_url).store(store).files(&part.files).send_limits(SendLimits::Off);
    let bot = bot.settings(|settings| {
        settings.lease.ttl = Duration::from_millis(part.lease_ms);
        settings.lease.look_every = Duration::from_millis(100);
        settings.stop.deadline = Duration::from_millis(part.stop_ms);
        settings.mailboxes.album_quiet = Duration::from_millis(part.album_quiet_ms);
        settings.mailboxes.at_once = part.at_once;
        settings.effects.backoff = Duration::from_millis(20);
    });
    match part.bug.and_then(|bug| bug.client(Telegram::new(TOKEN, &part.api_url).unwrap())) {
        Some(client) => bot.api(client),
        None => bot,
    }
}

/// Turns are not signed: the store has no tables of the application's.
pub struct Unsigned;

/// Who wrote, in the order of writing: the application's own table, which knows nothing of leases.
pub async fn writers(stage: &Stage) -> Vec<u32> {
    let processes = stage.keeper.numbers("SELECT process FROM writer ORDER BY id").await;
    processes.into_iter().map(|process| u32::try_from(process).unwrap()).collect()
}

/// Whose turns wrote, once for each write.
pub async fn written_by(stage: &Stage) -> Vec<i64> {
    stage.keeper.numbers("SELECT person FROM writer").await
}

/// Makes the application's own table.
pub async fn prepare(store: &Arc<dyn Store>) {
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

/// Writes the number of this process, and the person's.
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

/// The same dialogue as a bot of aiogram's would keep it.
fn as_in_aiogram() -> Mapping<Registration> {
    Mapping::new().write(|state, data| {
        let whole = serde_json::to_value(state).map_err(|error| Unfit::Other(error.into()))?;
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

/// The example's dialogue; every turn of it is signed.
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
        .otherwise(something_else)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "errand")]
#[serde(tag = "at", rename_all = "snake_case")]
enum Errand {
    Photo { walk: String },
    Fetching { walk: String },
    Waiting { walk: String },
}

/// Fetches a photo, and reminds some time later.
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

/// Notes three things in the order in which they are said.
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
