//! State that all rooms share, and the bot and the pages assembled from the rooms.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use chrono_tz::Tz;
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
use crate::front;
use crate::jobs::ConfiguredSchedules;
use crate::onboarding::Onboarding;
use crate::payroll::Payroll;
use crate::people::People;
use crate::person::Person;
use crate::rooms::Rooms;
use crate::settings::{ENABLE_TEST_USERS, Settings, TIME_ZONE};
use crate::sites::FollowedPages;
use crate::texts::{Language, Sentences};
use crate::web::{self, Downloads, Events, Guests, Limits, Routes};

/// Attempts of a download. The sender waits meanwhile, so an early "try again" beats a minute of silence.
const DOWNLOAD_ATTEMPTS: u32 = 5;

/// The application's shared state: `turn.context::<App>()`, `State<App>`, and a job's argument. Clones share it.
#[derive(Clone, Debug)]
pub struct App(Arc<Parts>);

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
    /// The bot's id: the number at the start of its token.
    pub bot_id: i64,
    /// The bot's username, once Telegram has told it.
    bot_name: OnceLock<String>,
    pub clock: Clock,
    /// Tells open pages what has changed.
    pub events: Events,
    /// Pages of broadcasts whose results are not known yet.
    pub broadcasts: FollowedPages,
    /// Request limits of the pages.
    pub limits: Limits,
    /// Requests of people who are not signed in.
    pub guests: Guests,
    /// Downloads in progress.
    pub downloads: Downloads,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Networks,
    /// Public address of the pages, without a trailing slash.
    pub public_url: String,
    /// The page on which people talk to the bot instead of Telegram. Only the demo has one.
    pub chat_page: Option<String>,
    /// Where documents are kept.
    pub files: Files,
    /// Directory for downloads and other files.
    pub data_dir: PathBuf,
    /// Language of people whose own language is unknown.
    pub language: Language,
    /// The schedules of the configuration.
    pub schedules: ConfiguredSchedules,
    /// By whose clock the schedules of this process tick, once they are made.
    schedule_zone: OnceLock<Tz>,
}

/// The person who sent the input of a turn.
#[derive(Clone, Debug)]
pub struct Speaker {
    /// None if the account is unknown.
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
    /// Whether test users may sign in with any PIN.
    pub async fn allows_test_users(&self) -> Result<bool, DbErr> {
        self.settings.get(&ENABLE_TEST_USERS).await
    }

    /// Assembles the shared state around an open domain. The bot is built later, by [`bot`].
    pub fn new(config: &Config, domain: Domain, rooms: Rooms, bot: Handle, clock: Clock) -> Self {
        let bot_id = config.bot_token.0.split(':').next().and_then(|number| number.parse().ok()).unwrap_or_default();
        let domain = domain.for_bot(bot_id);
        Self(Arc::new(Parts {
            people: People::new(domain.clone()),
            settings: Settings::new(domain.clone()),
            onboarding: Onboarding::new(domain.clone(), clock.clone(), &config.data_dir),
            payroll: Payroll::new(domain.clone(), clock.clone()),
            domain,
            rooms,
            bot,
            bot_id,
            bot_name: OnceLock::new(),
            clock,
            events: Events::default(),
            broadcasts: FollowedPages::default(),
            limits: Limits::default(),
            guests: Guests::default(),
            downloads: Downloads::default(),
            trusted_proxies: config.trusted_proxies.clone(),
            public_url: config.public_url.clone(),
            chat_page: config.chat_page.clone(),
            files: Files::at(&config.files),
            data_dir: config.data_dir.clone(),
            language: config.language,
            schedules: config.schedules.clone(),
            schedule_zone: OnceLock::new(),
        }))
    }

    /// The clock of the schedules: that of the business, as it was set when this was asked first.
    pub async fn schedule_zone(&self) -> Result<Tz, DbErr> {
        if let Some(zone) = self.schedule_zone.get() {
            return Ok(*zone);
        }
        let zone = self.settings.get(&TIME_ZONE).await?;
        Ok(*self.schedule_zone.get_or_init(|| zone))
    }

    /// The link to the bot: the demo's chat page, or a `t.me` link once the bot's username is known.
    pub fn bot_link(&self) -> Option<String> {
        let link = || self.bot_name.get().map(|name| format!("https://t.me/{name}"));
        self.chat_page.clone().or_else(link)
    }

    /// Asks Telegram for the bot's username.
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

    /// The speaker, with the language of the answer: the person's choice, else Telegram's, else the application's.
    pub fn speaker(&self, turn: &Turn) -> impl Future<Output = Result<Speaker, DbErr>> + Send + use<> {
        // A turn cannot be borrowed across an await, so everything is read from it first.
        let (people, telegram_id, language) = (self.people.clone(), turn.key().user, self.language_of(turn));
        async move {
            let person = people.by_telegram(telegram_id).await?;
            let language = person.as_ref().map_or(language, |person| person.language);
            Ok(Speaker { person, language })
        }
    }

    /// The language of an unknown person. A timer has no person; the conversation remembers the language.
    fn language_of(&self, turn: &Turn) -> Language {
        match turn.person() {
            Some(person) => person.language.as_deref().map_or(self.language, Language::of_code),
            None => Language::of_code(turn.language()),
        }
    }
}

/// Adds the dialogues, effects and jobs of all rooms to the bot. The front comes last and handles the remaining inputs.
pub fn bot(app: &App, bot: Bot) -> Bot {
    let bot = app.rooms.iter().fold(bot, |bot, room| room.effects(app, bot));
    let bot = web::register_live_effect(app, bot).workers(app.rooms.jobs().workers());
    let bot = bot.script(script(&app.rooms)).context(app.clone());
    bot.files(app.data_dir.join("downloads")).effect_attempts("download", DOWNLOAD_ATTEMPTS)
}

/// The script alone, for tests without a bot.
pub fn script(rooms: &Rooms) -> Script {
    let script = rooms.iter().fold(Script::new(), |script, room| room.dialogues(script));
    let script = script.dialogue(front::dialogue()).texts(Sentences).guard(front::guard);
    script.languages(languages).transient_errors(domain::is_transient)
}

/// The languages that people have chosen, for texts of the library.
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
    let pages = web::with_frame(app, pages(&app.rooms).into_router());
    pages.merge(service_routes().into_router()).with_state(app.clone())
}

/// `/health` alone, for the listener of the metrics.
pub fn health_router(app: &App) -> Router {
    service_routes().into_router().with_state(app.clone())
}

/// All routes of the product, except the metrics, and the webhook, which the library serves.
pub fn routes(rooms: &Rooms) -> Routes {
    pages(rooms).and(service_routes())
}

fn pages(rooms: &Rooms) -> Routes {
    rooms.iter().fold(Routes::new(), |routes, room| routes.and(room.routes()))
}

/// Routes outside the frame of the pages: for programs, not for people.
fn service_routes() -> Routes {
    Routes::new().get("/health", health)
}

/// `GET /health`, for monitoring: 200 while the database answers.
async fn health(State(app): State<App>) -> (StatusCode, &'static str) {
    match app.domain.read().execute_unprepared("SELECT 1").await {
        Ok(_) => (StatusCode::OK, "ok\n"),
        Err(error) => {
            tracing::warn!(%error, "the database does not answer");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n")
        }
    }
}
