//! What all rooms share, and how the bot and the pages are made of them.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use opora::bot::{Bot, Handle};
use opora::clock::Clock;
use opora::dialogue::Script;
use opora::telegram::{Api, ApiError, Telegram};
use opora::turn::{Context, Turn};
use sea_orm::{ConnectionTrait, DbErr};
use serde::Deserialize;

use crate::config::{Config, Networks};
use crate::domain::{self, Domain};
use crate::files::Files;
use crate::onboarding::Onboarding;
use crate::payroll::Payroll;
use crate::people::People;
use crate::person::Person;
use crate::rooms::Rooms;
use crate::settings::{ENABLE_TEST_USERS, Settings};
use crate::texts::{Language, Sentences};
use crate::web::{self, Downloads, Events, Guests, Limits, Routes};
use crate::{front, jobs};

/// Whoever sent a file waits: better to be asked to try again than to hear nothing for a minute.
const DOWNLOAD_ATTEMPTS: u32 = 5;

/// What every handler, page and job reaches: `turn.context::<App>()`, `State<App>`, and a job's argument. Clones are the
/// same one.
#[derive(Clone, Debug)]
pub struct App(Arc<Parts>);

/// What the application is made of.
#[derive(Debug)]
pub struct Parts {
    pub domain: Domain,
    pub people: People,
    pub settings: Settings,
    pub onboarding: Onboarding,
    pub payroll: Payroll,
    pub rooms: Rooms,
    /// Posts messages outside of turns while the bot runs.
    pub bot: Handle,
    /// The bot's number, with which its token begins.
    pub bot_id: i64,
    /// What the bot is called in Telegram, once Telegram has said so.
    bot_name: OnceLock<String>,
    pub clock: Clock,
    /// Tells open pages what has changed.
    pub events: Events,
    /// The runs of jobs.
    pub runs: jobs::Runs,
    /// How often pages may be asked for.
    pub limits: Limits,
    /// The requests of people who are not signed in.
    pub guests: Guests,
    /// The files that are on their way to people.
    pub downloads: Downloads,
    /// Who may say on whose behalf a page is asked for.
    pub trusted_proxies: Networks,
    /// Where people reach the pages, without a slash at its end.
    pub public_url: String,
    /// Where documents are kept.
    pub files: Files,
    /// Where downloads arrive and everything else that is kept in files.
    pub data_dir: PathBuf,
    /// The language of those whose own nobody knows.
    pub language: Language,
}

/// Who speaks in a turn.
#[derive(Clone, Debug)]
pub struct Speaker {
    /// None if nobody knows the account.
    pub person: Option<Person>,
    pub language: Language,
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl App {
    /// Whether people who are marked for it may sign in with any PIN.
    pub async fn allows_test_users(&self) -> Result<bool, DbErr> {
        self.settings.get(&ENABLE_TEST_USERS).await
    }

    /// The application over its domain, with a bot that is still to be put together.
    pub fn new(config: &Config, domain: Domain, rooms: Rooms, bot: Handle, clock: Clock) -> Self {
        Self(Arc::new(Parts {
            people: People::new(domain.clone()),
            settings: Settings::new(domain.clone()),
            onboarding: Onboarding::new(domain.clone(), clock.clone(), &config.data_dir),
            payroll: Payroll::new(domain.clone(), clock.clone()),
            domain,
            rooms,
            bot,
            bot_id: config.bot_token.0.split(':').next().and_then(|number| number.parse().ok()).unwrap_or_default(),
            bot_name: OnceLock::new(),
            clock,
            events: Events::default(),
            runs: jobs::Runs::default(),
            limits: Limits::default(),
            guests: Guests::default(),
            downloads: Downloads::default(),
            trusted_proxies: config.trusted_proxies.clone(),
            public_url: config.public_url.clone(),
            files: Files::at(&config.files),
            data_dir: config.data_dir.clone(),
            language: config.language,
        }))
    }

    /// The way to the bot from any browser; none before its name is known.
    pub fn bot_link(&self) -> Option<String> {
        self.bot_name.get().map(|name| format!("https://t.me/{name}"))
    }

    /// Asks Telegram what the bot is called.
    pub async fn learn_bot_name(&self, telegram: &Telegram) -> Result<(), ApiError> {
        #[derive(Deserialize)]
        struct Me {
            username: Option<String>,
        }
        let me = telegram.call("getMe", "{}", &[]).await?;
        if let Ok(Me { username: Some(name) }) = serde_json::from_str(me.get()) {
            self.bot_name.get_or_init(|| name);
        }
        Ok(())
    }

    /// Who speaks, and in which language to answer: the person's own choice, else Telegram's, else the application's.
    pub fn speaker(&self, turn: &Turn) -> impl Future<Output = Result<Speaker, DbErr>> + Send + use<> {
        // A turn cannot be lent over an await: what is asked of it is asked first.
        let (people, telegram_id, language) = (self.people.clone(), turn.key().user, self.language_of(turn));
        async move {
            let person = people.by_telegram(telegram_id).await?;
            let language = person.as_ref().map_or(language, |person| person.language);
            Ok(Speaker { person, language })
        }
    }

    /// The language of somebody whom nobody knows. When time speaks, the conversation remembers it.
    fn language_of(&self, turn: &Turn) -> Language {
        match turn.person() {
            Some(person) => person.language.as_deref().map_or(self.language, Language::of_code),
            None => Language::of_code(turn.language()),
        }
    }
}

/// The bot: every room's dialogues and work, then the front, which hears what nobody else does.
pub fn bot(app: &App, bot: Bot) -> Bot {
    let bot = app.rooms.iter().fold(bot, |bot, room| room.work(app, bot));
    let bot = web::live(app, jobs::work(app, bot));
    let bot = bot.script(script(&app.rooms)).context(app.clone());
    bot.files(app.data_dir.join("downloads")).attempts("download", DOWNLOAD_ATTEMPTS)
}

/// The script alone, for a stage.
pub fn script(rooms: &Rooms) -> Script {
    let script = rooms.iter().fold(Script::new(), |script, room| room.dialogues(script));
    let script = script.dialogue(front::dialogue(rooms)).texts(Sentences).guard(front::guard);
    script.languages(languages).passing(domain::is_passing)
}

/// The languages that people have chosen, for what the library says itself.
async fn languages(context: Arc<Context>, telegram_ids: Vec<i64>) -> HashMap<i64, String> {
    let Some(app) = context.get::<App>() else { return HashMap::new() };
    let chosen = app.people.languages(telegram_ids).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "languages could not be looked up");
        HashMap::new()
    });
    chosen.into_iter().map(|(telegram_id, language)| (telegram_id, language.code().to_owned())).collect()
}

/// The pages of all rooms in their frame, and `/health`.
pub fn router(app: &App) -> Router {
    let pages = web::framed(app, pages(&app.rooms).into_router());
    pages.merge(beside_pages().into_router()).with_state(app.clone())
}

/// Every route of the product but the webhook, which the library answers.
pub fn routes(rooms: &Rooms) -> Routes {
    pages(rooms).and(beside_pages())
}

fn pages(rooms: &Rooms) -> Routes {
    rooms.iter().fold(Routes::new(), |routes, room| routes.and(room.routes()))
}

/// What stands outside of the frame: for programs, not for people.
fn beside_pages() -> Routes {
    Routes::new().get("/health", health)
}

/// For whoever watches the process: 200 while the database answers.
async fn health(State(app): State<App>) -> (StatusCode, &'static str) {
    match app.domain.read().execute_unprepared("SELECT 1").await {
        Ok(_) => (StatusCode::OK, "ok\n"),
        Err(error) => {
            tracing::warn!(%error, "the database does not answer");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n")
        }
    }
}
