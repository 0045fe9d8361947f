//! `opora run`: bot, pages and jobs in one process, until told to stop.
//!
//! Order of the stop: the bot stops schedule and intake, running turns, outbox and lease. Then the pages close, after
//! their last responses, and the listener of the metrics; then the store, Redis first, and the database. Unfinished
//! work is in the store and is done after the next start.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use opora::bot::{Bot, Stop, Webhook, WebhookSettings};
use opora::clock::Clock;
use opora::telegram::{Api, Telegram};
use tokio::net::TcpListener;

use crate::application::{self, App};
use crate::config::{self, Config, DatabaseFlags, Flags, Updates};
use crate::domain::Domain;
use crate::files::installation;
use crate::metrics::{self, Endpoint};
use crate::rooms::Rooms;
use crate::server::{self, Limits, Server, Timeouts};
use crate::{background, failpoints, front, jobs, people, private, serve, settings, web};

/// Time for responses in progress when the pages close.
const PAGES_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Retry interval of `getMe` while Telegram is away.
const GET_ME_RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// The application, assembled and not yet running.
#[derive(Debug)]
pub struct Product {
    pub app: App,
    config: Config,
    bot: Bot,
    webhook: Option<(String, Webhook)>,
    limits: Limits,
    metrics: Option<Endpoint>,
}

/// `opora run`.
pub async fn run(flags: Flags) -> anyhow::Result<()> {
    let config = config::load(&flags)?;
    failpoints::arm()?;
    let (listener, address) = serve::listen(config.web_listen, "WEB_LISTEN names another address").await?;
    let stop = Stop::on_signals().context("cannot listen for signals")?;
    let product = Product::open(config, Rooms::all()).await?;
    let updates = if product.webhook.is_some() { "webhook" } else { "polling" };
    let (version, public_url) = (env!("CARGO_PKG_VERSION"), &product.app.public_url);
    tracing::info!(version, %address, public_url, updates, database = %product.config.database, "opora starts");
    let pages = product.router();
    product.run(listener, pages, stop).await
}

/// The connection limit of the pages: `wanted`, or less if the bot would run out of file descriptors.
fn connection_limit(wanted: usize) -> usize {
    let descriptors = server::raise_descriptor_limit();
    let connections = server::connections_for(descriptors, wanted);
    tracing::info!(connections, descriptors, "connection limit of the pages");
    connections
}

/// `opora migrate`.
pub async fn migrate(database: DatabaseFlags) -> anyhow::Result<()> {
    let address = database.address()?;
    let applied = Domain::migrate(&address).await?;
    match applied.as_slice() {
        [] => println!("{address} is up to date"),
        steps => println!("{address} is up to date now: {}", steps.join(", ")),
    }
    Ok(())
}

impl Product {
    /// Opens the database and the store, and assembles the application.
    pub async fn open(config: Config, rooms: Rooms) -> anyhow::Result<Self> {
        // Before anything that reports metrics.
        let metrics = Endpoint::open(&config.metrics).await?;
        make_private(&config).await?;
        let domain = Domain::open(&config.state, &config.database).await?;
        let clock = clock()?;
        let bot = Bot::new(&config.bot_token.0).api_url(&config.bot_api_url).send_limits(config.send_limits);
        let bot =
            bot.settings(|settings| settings.polling.tell_people_to_wait = config.only_instance).clock(clock.clone());
        let app = App::new(&config, domain, rooms, bot.handle(), clock);
        installation::begin(&app).await;
        let bot = application::bot(&app, bot.store(app.domain.store().clone()));
        let bot = schedule_jobs(&app, &config, bot).await?;
        let (bot, webhook) = match &config.updates {
            Updates::Polling => (bot, None),
            Updates::Webhook { url, path, secret } => {
                let (bot, webhook) = bot.webhook(WebhookSettings::new(url, &secret.0));
                (bot, Some((path.clone(), webhook)))
            }
        };
        let limits = Limits::new(connection_limit(config.web_connections), config.trusted_proxies.clone());
        Ok(Self { app, config, bot, webhook, limits, metrics })
    }

    /// The pages, and the webhook if there is one; the metrics if they have no listener of their own.
    pub fn router(&self) -> Router {
        let mut router = application::router(&self.app);
        if let Some((path, webhook)) = &self.webhook {
            router = router.merge(webhook.router(path));
        }
        match &self.metrics {
            Some(endpoint) => metrics::measure(router).merge(endpoint.router_for_pages()),
            None => router,
        }
    }

    /// Lifts the limit per address: all clients are on this machine.
    #[must_use]
    pub fn on_this_machine_only(self) -> Self {
        Self { limits: Limits::local(self.limits.total), ..self }
    }

    /// Runs until `stop`, then closes everything.
    pub async fn run(self, listener: TcpListener, router: Router, stop: Stop) -> anyhow::Result<()> {
        let Self { app, config, bot, limits, metrics, .. } = self;
        let pages = Server::start(listener, router, limits, Timeouts::default());
        let metrics = metrics.and_then(|endpoint| endpoint.start(application::health_router(&app)));
        let background = app.clone();
        let background = tokio::spawn(async move {
            let begun =
                async { tokio::join!(offer_commands(&config), jobs::enqueue_at_start(&background, &config.schedules)) };
            tokio::join!(
                begun,
                learn_bot_name(&config, &background),
                web::relay_events(&background),
                web::send_waiting_pins(&background),
                people::forgetting::run(&background),
                settings::keep_currency(&background.settings),
                background::watch(&background)
            )
        });
        let ran = bot.run_until(stop).await;
        background.abort();
        pages.close(PAGES_CLOSE_TIMEOUT).await;
        tracing::info!("the pages are closed");
        if let Some(metrics) = metrics {
            metrics.close(PAGES_CLOSE_TIMEOUT).await;
            tracing::info!("the metrics are closed");
        }
        app.domain.close().await?;
        tracing::info!("the database is closed");
        ran.context("the bot cannot run")
    }
}

/// Adds the schedules, by the clock of the business, and the limits of the queues.
async fn schedule_jobs(app: &App, config: &Config, bot: Bot) -> anyhow::Result<Bot> {
    let zone = app.schedule_zone().await?;
    let schedules = app.rooms.jobs().schedules(&config.schedules, zone)?;
    Ok(schedules.into_iter().fold(jobs::limit_queues(bot, config.send_limits), Bot::schedule))
}

/// Removes other users' access to files that older versions created.
async fn make_private(config: &Config) -> anyhow::Result<()> {
    let data_dir = config.data_dir.clone();
    let database = config.database.file().map(Path::to_owned);
    let tightened = tokio::task::spawn_blocking(move || private::tighten(&data_dir, database.as_deref())).await??;
    if let Some(first) = tightened.first() {
        let (files, example) = (tightened.len(), first.display());
        tracing::warn!(files, %example, "other users of this machine could read these files; they are private now");
    }
    Ok(())
}

/// The clock of bot, pages and jobs.
#[cfg(debug_assertions)]
fn clock() -> anyhow::Result<Clock> {
    let ahead = config::clock_ahead()?;
    if !ahead.is_zero() {
        tracing::warn!(seconds = ahead.as_secs(), "the clock is ahead, for a test");
    }
    Ok(Clock::machine_ahead(ahead))
}

#[cfg(not(debug_assertions))]
fn clock() -> anyhow::Result<Clock> {
    Ok(Clock::machine())
}

/// Asks Telegram for the bot's username until it answers. Pages link to the bot by it.
async fn learn_bot_name(config: &Config, app: &App) {
    let Ok(telegram) = Telegram::new(&config.bot_token.0, &config.bot_api_url) else { return };
    while let Err(error) = app.learn_bot_name(&telegram).await {
        tracing::debug!(%error, "the bot's name is not known yet");
        tokio::time::sleep(GET_ME_RETRY_INTERVAL).await;
    }
}

/// Sets the list of commands in Telegram. Everything works without it, so a failure is only logged.
async fn offer_commands(config: &Config) {
    let Ok(telegram) = Telegram::new(&config.bot_token.0, &config.bot_api_url) else { return };
    for call in front::commands(config.language) {
        if let Err(error) = telegram.call("setMyCommands", &call.to_string(), &[]).await {
            tracing::warn!(%error, "the list of commands could not be set");
            return;
        }
    }
}
