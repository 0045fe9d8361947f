//! The only reader of the environment in this crate.
//!
//! A setting comes from the command line, else the environment, else `.env`, else the configuration file, else it has a
//! default. All mistakes are listed at once, and no secret is ever repeated.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(debug_assertions)]
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use opora::store::with_data_folder;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer as _};

pub use self::files_address::{BucketAddress, FilesAddress};
pub use self::layers::{Layer, Layers};
pub use self::log_file::LogFile;
pub use self::networks::{Networks, network_of};
pub use self::read::{Config, MetricsSettings, Mistakes, Secret, Updates, listen_address, schedule_settings};
use crate::domain::Address;

mod addresses;
mod files_address;
mod layers;
mod log_file;
mod networks;
mod read;

/// The default configuration file.
const DEFAULT_FILE: &str = "opora.toml";
const DOT_ENV: &str = ".env";
const ENVIRONMENT: &str = "the environment";

/// Settings on the command line. Secrets are left out: other users can see a command line.
#[derive(Clone, Debug, Default, Args)]
pub struct Flags {
    /// The configuration file; `opora.toml` in the current directory by default
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Directory of files and the embedded database (`DATA_DIR`)
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<String>,
    /// Address on which pages and webhook listen (`WEB_LISTEN`)
    #[arg(long, value_name = "ADDRESS")]
    pub web_listen: Option<String>,
    /// Address on which /metrics is served; a port alone is one of this machine only (`METRICS_LISTEN`)
    #[arg(long, value_name = "ADDRESS")]
    pub metrics_listen: Option<String>,
    /// Public address of the pages, for links in messages (`PUBLIC_URL`)
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// A Bot API other than Telegram's (`BOT_API_URL`)
    #[arg(long, value_name = "URL")]
    pub bot_api_url: Option<String>,
    /// Receive updates by webhook at this address instead of polling (`WEBHOOK_URL`)
    #[arg(long, value_name = "URL")]
    pub webhook_url: Option<String>,
    /// telegram or off (`SEND_LIMITS`)
    #[arg(long, value_name = "LIMITS")]
    pub send_limits: Option<String>,
    /// Language of people whose own language is unknown: ru or en (`LANGUAGE`)
    #[arg(long, value_name = "LANGUAGE")]
    pub language: Option<String>,
}

/// The database of a command.
#[derive(Clone, Debug, Default, Args)]
pub struct DatabaseFlags {
    /// The database: `sqlite:<path>` or `postgres://…`; by default that of the application. An address with a password
    /// belongs in DATABASE_URL: other users can see a command line
    #[arg(long, value_name = "ADDRESS", global = true)]
    database: Option<String>,
    /// The application's configuration file; `opora.toml` in the current directory by default
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

/// The database and files of a command.
#[derive(Clone, Debug, Default, Args)]
pub struct StorageFlags {
    #[command(flatten)]
    database: DatabaseFlags,
}

/// The addresses of tables and files.
#[derive(Clone, Debug)]
pub struct Storage {
    pub database: Address,
    pub files: FilesAddress,
    pub data_dir: PathBuf,
}

/// Starts logging to standard error, at the default level unless `RUST_LOG` says otherwise.
pub fn start_log(default_level: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default_level));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours).init();
}

/// Starts the demo's log: warnings on standard error, so that the welcome stays in sight, and everything else in a file
/// that is named later. Lines before that are dropped.
pub fn start_demo_log() -> Arc<LogFile> {
    let file = Arc::new(LogFile::default());
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let warnings =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let everything = tracing_subscriber::fmt::layer().with_writer(Arc::clone(&file)).with_ansi(false);
    tracing_subscriber::registry()
        .with(warnings.with_filter(LevelFilter::WARN))
        .with(everything.with_filter(filter))
        .init();
    file
}

/// Whether this process can show windows, by X11 or Wayland.
pub fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// The checked configuration of a running application.
pub fn load(flags: &Flags) -> Result<Config, Mistakes> {
    Config::read(&layers(flags))
}

/// The address of the conversations, and the variable that names it: `STATE_URL`, else `REDIS_URL`, else
/// `DATABASE_URL`, else `opora.db` in `DATA_DIR`, else in `data`. `config` is the configuration file, if one is given.
pub fn state_address(config: Option<PathBuf>) -> anyhow::Result<(String, &'static str)> {
    Ok(addresses::state(&valid_layers(config)?))
}

/// The address of the tables, if `DATABASE_URL` is set. `config` is the configuration file, if one is given.
pub fn database_url(config: Option<PathBuf>) -> anyhow::Result<Option<String>> {
    Ok(valid_layers(config)?.get("DATABASE_URL").map(|given| given.value.to_owned()))
}

/// The Redis of an aiogram bot: `REDIS_URL`. On the command line its password would be visible to other users.
pub fn redis_address(config: Option<PathBuf>) -> anyhow::Result<String> {
    let layers = valid_layers(config)?;
    let given = layers.get("REDIS_URL").map(|given| given.value.to_owned());
    given.context("--redis is missing, and so is REDIS_URL: the address of aiogram's Redis")
}

/// The failpoints that a test arms; debug builds only.
#[cfg(debug_assertions)]
pub fn failpoints() -> String {
    std::env::var("OPORA_FAILPOINTS").unwrap_or_default()
}

/// By how many seconds a test sets the clock ahead; debug builds only.
#[cfg(debug_assertions)]
pub fn clock_ahead() -> anyhow::Result<Duration> {
    let Ok(seconds) = std::env::var("OPORA_CLOCK_AHEAD") else { return Ok(Duration::ZERO) };
    let seconds = seconds.parse().context("OPORA_CLOCK_AHEAD is not a whole number of seconds")?;
    Ok(Duration::from_secs(seconds))
}

/// All sources of settings, the strongest first.
fn layers(flags: &Flags) -> Layers {
    let mut found = Layers::new(vec![flags.layer()]);
    for (layer, mistakes) in [Some(environment()), dot_env(), file(flags.config.as_deref())].into_iter().flatten() {
        found.add(layer, mistakes);
    }
    found
}

/// Like `layers`, for commands that need only some settings; fails if any source cannot be read.
fn valid_layers(config: Option<PathBuf>) -> Result<Layers, Mistakes> {
    let layers = layers(&Flags { config, ..Flags::default() });
    if layers.mistakes().is_empty() { Ok(layers) } else { Err(Mistakes(layers.mistakes().to_vec())) }
}

impl DatabaseFlags {
    /// The bot of the application: the number at the start of BOT_TOKEN. None without a token.
    pub fn bot_id(&self) -> anyhow::Result<Option<i64>> {
        let layers = valid_layers(self.config.clone())?;
        Ok(layers.get("BOT_TOKEN").and_then(|token| token.value.split(':').next()?.parse().ok()))
    }

    /// The address of the tables, with the data directory that holds their last-seen record.
    pub fn address(self) -> anyhow::Result<Address> {
        let layers = valid_layers(self.config)?;
        let address = self.database.unwrap_or_else(|| addresses::database(&layers));
        // The address may hold a password, so the error does not repeat it.
        let address = Address::parse(&address);
        let address = address.context("the address of the database is neither sqlite:<path> nor postgres://…")?;
        Ok(address.with(|url| with_data_folder(&url, addresses::data_dir(&layers))))
    }
}

impl StorageFlags {
    pub fn read(self) -> anyhow::Result<Storage> {
        let layers = valid_layers(self.database.config.clone())?;
        let files = addresses::files(&layers).map_err(Mistakes)?;
        let data_dir = addresses::data_dir(&layers).into();
        Ok(Storage { database: self.database.address()?, files, data_dir })
    }
}

impl Flags {
    fn layer(&self) -> Layer {
        let given = [
            ("DATA_DIR", &self.data_dir),
            ("WEB_LISTEN", &self.web_listen),
            ("METRICS_LISTEN", &self.metrics_listen),
            ("PUBLIC_URL", &self.public_url),
            ("BOT_API_URL", &self.bot_api_url),
            ("WEBHOOK_URL", &self.webhook_url),
            ("SEND_LIMITS", &self.send_limits),
            ("LANGUAGE", &self.language),
        ];
        let values = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
        Layer { origin: "the command line".to_owned(), values: values.collect() }
    }
}

/// A source of settings, and its mistakes.
type LayerAndMistakes = (Layer, Vec<String>);

fn environment() -> LayerAndMistakes {
    let (mut values, mut mistakes) = (BTreeMap::new(), Vec::new());
    for name in layers::NAMES {
        match std::env::var_os(name).map(OsString::into_string) {
            Some(Ok(value)) => _ = values.insert((*name).to_owned(), value),
            Some(Err(_)) => mistakes.push(format!("{name} in {ENVIRONMENT} is not UTF-8")),
            None => {}
        }
    }
    (Layer { origin: ENVIRONMENT.to_owned(), values }, mistakes)
}

fn dot_env() -> Option<LayerAndMistakes> {
    let mut layer = Layer { origin: DOT_ENV.to_owned(), values: BTreeMap::new() };
    let lines = match dotenvy::from_path_iter(DOT_ENV) {
        Ok(lines) => lines,
        Err(error) if error.not_found() => return None,
        Err(error) => return Some((layer, vec![format!("{DOT_ENV} cannot be read: {error}")])),
    };
    let mut mistakes = Vec::new();
    for line in lines {
        match line {
            Ok((name, value)) => _ = layer.values.insert(name, value),
            // The reader's error quotes the line, which may hold a secret.
            Err(_) => {
                mistakes.push(format!("{DOT_ENV} has a line that is not NAME=value"));
                // After an invalid line this reader may return the same line forever.
                break;
            }
        }
    }
    Some((layer, mistakes))
}

fn file(given: Option<&Path>) -> Option<LayerAndMistakes> {
    let path = match given {
        Some(path) => path,
        None if Path::new(DEFAULT_FILE).is_file() => Path::new(DEFAULT_FILE),
        None => return None,
    };
    if path.is_file() {
        return Some(layers::of_file(path));
    }
    let missing = format!("there is no configuration file {}", path.display());
    Some((Layer { origin: path.display().to_string(), values: BTreeMap::new() }, vec![missing]))
}
