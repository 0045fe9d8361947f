//! The only reader of the environment in this crate.
//!
//! A setting comes from the command line, else from the environment, else from `.env`, else from the configuration file,
//! else it has a default. What is wrong is listed at once, and no secret is ever repeated.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
#[cfg(debug_assertions)]
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use opora::store::with_data;
use tracing_subscriber::EnvFilter;

pub use self::files_address::{BucketAddress, FilesAddress};
pub use self::layers::{Layer, Layers};
pub use self::networks::{Networks, network_of};
pub use self::read::{Config, Mistakes, Secret, Updates};
use crate::domain::Address;

mod files_address;
mod layers;
mod networks;
mod places;
mod read;

/// The file that is read if none is named.
const USUAL_FILE: &str = "opora.toml";
const DOT_ENV: &str = ".env";
const ENVIRONMENT: &str = "the environment";

/// What the command line may say. Secrets are left out: others see a command line.
#[derive(Clone, Debug, Default, Args)]
pub struct Flags {
    /// The configuration file; `opora.toml` in the current directory unless given
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where files and the embedded database lie (`DATA_DIR`)
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<String>,
    /// The address that pages and the webhook listen on (`WEB_LISTEN`)
    #[arg(long, value_name = "ADDRESS")]
    pub web_listen: Option<String>,
    /// Where people reach the pages, for links in messages (`PUBLIC_URL`)
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// Another Bot API than Telegram's (`BOT_API_URL`)
    #[arg(long, value_name = "URL")]
    pub bot_api_url: Option<String>,
    /// Take updates by webhook at this address instead of polling (`WEBHOOK_URL`)
    #[arg(long, value_name = "URL")]
    pub webhook_url: Option<String>,
    /// telegram or off (`SEND_LIMITS`)
    #[arg(long, value_name = "LIMITS")]
    pub send_limits: Option<String>,
    /// The language of people whose own nobody knows: ru or en (`LANGUAGE`)
    #[arg(long, value_name = "LANGUAGE")]
    pub language: Option<String>,
}

/// Which database a command works on.
#[derive(Clone, Debug, Default, Args)]
pub struct DatabaseFlags {
    /// The database: `sqlite:<path>` or `postgres://…`; as the application finds it unless given. An address with a
    /// password is better kept in DATABASE_URL: others see a command line
    #[arg(long, value_name = "ADDRESS", global = true)]
    database: Option<String>,
    /// The configuration file of the application; `opora.toml` in the current directory unless given
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

/// Which database and files a command works on.
#[derive(Clone, Debug, Default, Args)]
pub struct StorageFlags {
    #[command(flatten)]
    database: DatabaseFlags,
}

/// Where the tables and the files are.
#[derive(Clone, Debug)]
pub struct Storage {
    pub database: Address,
    pub files: FilesAddress,
    pub data_dir: PathBuf,
}

/// Logs to standard error, from the default level up unless `RUST_LOG` says otherwise.
pub fn start_log(default_level: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default_level));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours).init();
}

/// Whether this process can show windows, under X11 or Wayland.
pub fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Everything that a running application needs, checked.
pub fn load(flags: &Flags) -> Result<Config, Mistakes> {
    Config::read(&layers(flags))
}

/// Where conversations are kept, and which variable says so: `STATE_URL`, else `REDIS_URL`, else `DATABASE_URL`, else
/// `opora.db` in `DATA_DIR`, else in `data`. `config` is the configuration file, if one is named.
pub fn state_address(config: Option<PathBuf>) -> anyhow::Result<(String, &'static str)> {
    Ok(places::state(&sound_layers(config)?))
}

/// Where the tables are, if `DATABASE_URL` says so. `config` is the configuration file, if one is named.
pub fn database_url(config: Option<PathBuf>) -> anyhow::Result<Option<String>> {
    Ok(sound_layers(config)?.get("DATABASE_URL").map(|given| given.value.to_owned()))
}

/// Where an aiogram bot keeps its states: `REDIS_URL`. An address on the command line shows its password to others.
pub fn redis_address(config: Option<PathBuf>) -> anyhow::Result<String> {
    let layers = sound_layers(config)?;
    let given = layers.get("REDIS_URL").map(|given| given.value.to_owned());
    given.context("--redis is missing, and so is REDIS_URL: where aiogram's Redis is")
}

/// Where a test wants the process to end; nothing in a release build asks.
#[cfg(debug_assertions)]
pub fn failpoints() -> String {
    std::env::var("OPORA_FAILPOINTS").unwrap_or_default()
}

/// By how many seconds a test wants the clock to be ahead; nothing in a release build asks.
#[cfg(debug_assertions)]
pub fn clock_ahead() -> anyhow::Result<Duration> {
    let Ok(seconds) = std::env::var("OPORA_CLOCK_AHEAD") else { return Ok(Duration::ZERO) };
    let seconds = seconds.parse().context("OPORA_CLOCK_AHEAD is no whole number of seconds")?;
    Ok(Duration::from_secs(seconds))
}

/// Everything that is set, the strongest first.
fn layers(flags: &Flags) -> Layers {
    let mut found = Layers::new(vec![flags.layer()]);
    for (layer, mistakes) in [Some(environment()), dot_env(), file(flags.config.as_deref())].into_iter().flatten() {
        found.add(layer, mistakes);
    }
    found
}

/// The same for a command that needs only some of it: what cannot be read is told before anything else.
fn sound_layers(config: Option<PathBuf>) -> Result<Layers, Mistakes> {
    let layers = layers(&Flags { config, ..Flags::default() });
    if layers.mistakes().is_empty() { Ok(layers) } else { Err(Mistakes(layers.mistakes().to_vec())) }
}

impl DatabaseFlags {
    /// Where the tables are, with the data directory in which it stands what was seen of them.
    pub fn address(self) -> anyhow::Result<Address> {
        let layers = sound_layers(self.config)?;
        let address = self.database.unwrap_or_else(|| places::database(&layers));
        // It may hold a password: it is not repeated.
        let address = Address::parse(&address);
        let address = address.context("the address of the database is neither sqlite:<path> nor postgres://…")?;
        Ok(address.with(|url| with_data(&url, places::data_dir(&layers))))
    }
}

impl StorageFlags {
    pub fn read(self) -> anyhow::Result<Storage> {
        let layers = sound_layers(self.database.config.clone())?;
        let files = places::files(&layers).map_err(Mistakes)?;
        let data_dir = places::data_dir(&layers).into();
        Ok(Storage { database: self.database.address()?, files, data_dir })
    }
}

impl Flags {
    fn layer(&self) -> Layer {
        let said = [
            ("DATA_DIR", &self.data_dir),
            ("WEB_LISTEN", &self.web_listen),
            ("PUBLIC_URL", &self.public_url),
            ("BOT_API_URL", &self.bot_api_url),
            ("WEBHOOK_URL", &self.webhook_url),
            ("SEND_LIMITS", &self.send_limits),
            ("LANGUAGE", &self.language),
        ];
        let values = said.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
        Layer { origin: "the command line".to_owned(), values: values.collect() }
    }
}

/// A place, and what is wrong with it.
type Read = (Layer, Vec<String>);

fn environment() -> Read {
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

fn dot_env() -> Option<Read> {
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
            // An error of this reader quotes the line, which may hold a secret.
            Err(_) => {
                mistakes.push(format!("{DOT_ENV} has a line that is not NAME=value"));
                // After a line that it cannot read this reader may find the same one for ever.
                break;
            }
        }
    }
    Some((layer, mistakes))
}

fn file(given: Option<&Path>) -> Option<Read> {
    let path = match given {
        Some(path) => path,
        None if Path::new(USUAL_FILE).is_file() => Path::new(USUAL_FILE),
        None => return None,
    };
    if path.is_file() {
        return Some(layers::of_file(path));
    }
    let missing = format!("there is no configuration file {}", path.display());
    Some((Layer { origin: path.display().to_string(), values: BTreeMap::new() }, vec![missing]))
}
