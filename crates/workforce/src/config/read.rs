//! Reads and checks the settings.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;

use opora::bot::SendLimits;
use opora::store::with_data_folder;
use reqwest::Url;

use super::FilesAddress;
use super::layers::Layers;
use super::{ENVIRONMENT, Networks, addresses};
use crate::domain::Address;
use crate::jobs::ConfiguredSchedules;
use crate::texts::Language;

pub use self::metrics::{MetricsSettings, listen_address};
pub use self::schedules::schedule_settings;
use self::secret::MAKE_SECRET;
pub use self::secret::Secret;

mod metrics;
mod schedules;
mod secret;

/// The configuration of a running application.
#[derive(Clone)]
pub struct Config {
    pub bot_token: Secret,
    pub bot_api_url: String,
    pub updates: Updates,
    /// No other instance runs this bot. While the conversations are unreachable, people who write are told to wait.
    pub only_instance: bool,
    pub send_limits: SendLimits,
    /// The address of the conversations. It may hold a password.
    pub state: String,
    /// The address of the tables.
    pub database: Address,
    /// The address of the cache; without one it is in this process.
    pub cache: Option<Secret>,
    pub files: FilesAddress,
    pub data_dir: PathBuf,
    pub web_listen: SocketAddr,
    /// Maximum number of connections of the pages and the webhook.
    pub web_connections: usize,
    pub metrics: MetricsSettings,
    /// Times of jobs that differ from the usual ones.
    pub schedules: ConfiguredSchedules,
    /// Public address of the pages, without a trailing slash.
    pub public_url: String,
    /// The page on which people talk to the bot instead of Telegram. Only the demo has one.
    pub chat_page: Option<String>,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Networks,
    /// Language of people whose own language is unknown.
    pub language: Language,
}

/// How updates arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Updates {
    Polling,
    /// By calls to this URL, which has this path.
    Webhook {
        url: String,
        path: String,
        secret: Secret,
    },
}

/// All mistakes of the settings, each as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the configuration is invalid:\n  {}", .0.join("\n  "))]
pub struct Mistakes(pub Vec<String>);

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { database, data_dir, web_listen, public_url, language, .. } = self;
        let mut shown = f.debug_struct("Config");
        shown.field("database", database).field("data_dir", data_dir).field("web_listen", web_listen);
        shown.field("public_url", public_url).field("language", language).finish_non_exhaustive()
    }
}

impl Config {
    /// The default number of connections.
    pub const DEFAULT_CONNECTIONS: usize = 4096;

    /// Reads the settings and finds all mistakes at once.
    pub fn read(layers: &Layers) -> Result<Self, Mistakes> {
        let mut reader = SettingsReader { layers, mistakes: layers.mistakes().to_vec() };
        let read = reader.read_all();
        // If a value is missing, there is a mistake that says why.
        read.filter(|_| reader.mistakes.is_empty()).ok_or(Mistakes(reader.mistakes))
    }
}

struct SettingsReader<'a> {
    layers: &'a Layers,
    mistakes: Vec<String>,
}

const TOKEN: &str = "@BotFather gives one, of the form 123456789:AA…";
const PROXIES: &str = "a list of addresses and networks, such as 127.0.0.1, 10.0.0.0/8";
const LISTEN: &str = "an address and a port, such as 127.0.0.1:8080";
const WEB_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

impl SettingsReader<'_> {
    /// Reads every setting, even after mistakes.
    fn read_all(&mut self) -> Option<Config> {
        let bot_token = self.token();
        let bot_api_url = self.url("BOT_API_URL").unwrap_or_else(|| opora::telegram::TELEGRAM.to_owned());
        let updates = self.updates();
        let only_instance = self.parsed("ONLY_INSTANCE", "true or false").unwrap_or_default();
        let send_limits = self.parsed("SEND_LIMITS", "telegram or off");
        let state = self.state();
        let database = self.database();
        self.check_one_sql_database(&state, database.as_ref());
        self.one_of("CACHE_URL", &["redis://", "rediss://"]);
        let cache = addresses::cache(self.layers).map(Secret);
        let data_dir = addresses::data_dir(self.layers);
        let files = self.files();
        let web_listen = self.parsed("WEB_LISTEN", LISTEN).unwrap_or(WEB_LISTEN);
        let metrics = self.metrics(web_listen);
        let schedules = self.schedules();
        let web_connections: Option<NonZero<usize>> = self.parsed("WEB_CONNECTIONS", "a number of connections");
        let public_url = self.url("PUBLIC_URL").unwrap_or_else(|| format!("http://{web_listen}"));
        let trusted_proxies = self.parsed("TRUSTED_PROXIES", PROXIES).unwrap_or_default();
        let language = self.language().unwrap_or_default();
        Some(Config {
            bot_token: bot_token?,
            bot_api_url,
            updates: updates?,
            only_instance,
            send_limits: send_limits.unwrap_or_default(),
            state: addresses::with_journal(with_data_folder(&state, data_dir), only_instance),
            database: database?.with(|url| with_data_folder(&url, data_dir)),
            cache,
            files: files?,
            data_dir: data_dir.into(),
            web_listen,
            web_connections: web_connections.map_or(Config::DEFAULT_CONNECTIONS, NonZero::get),
            metrics,
            schedules,
            public_url: public_url.trim_end_matches('/').to_owned(),
            chat_page: None,
            trusted_proxies,
            language,
        })
    }

    fn token(&mut self) -> Option<Secret> {
        let Some(given) = self.layers.get("BOT_TOKEN") else {
            self.mistakes.push(format!("BOT_TOKEN is missing: {TOKEN}"));
            return None;
        };
        let fits = |token: &str| {
            let (number, secret) = token.split_once(':')?;
            (number.parse::<i64>().is_ok_and(|number| number > 0) && !secret.is_empty()).then_some(())
        };
        if fits(given.value).is_none() {
            self.mistakes.push(format!("BOT_TOKEN in {} is not a token: {TOKEN}", given.origin));
        }
        Some(Secret(given.value.to_owned()))
    }

    fn updates(&mut self) -> Option<Updates> {
        let secret = self.layers.get("WEBHOOK_SECRET");
        let Some(given) = self.layers.get("WEBHOOK_URL") else { return Some(Updates::Polling) };
        let parsed = Url::parse(given.value).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
        let path = parsed.map(|url| url.path().to_owned());
        if path.as_deref().is_none_or(|path| path == "/") {
            let rule = "is not https://<host>/<a path of its own>";
            self.mistakes.push(format!("WEBHOOK_URL in {} {rule}", given.origin));
        }
        match secret {
            None => self.mistakes.push(format!(
                "WEBHOOK_SECRET is missing: with WEBHOOK_URL it authenticates Telegram's calls; {MAKE_SECRET}"
            )),
            Some(secret) => self.check_secret("WEBHOOK_SECRET", secret),
        }
        let secret = Secret(secret?.value.to_owned());
        Some(Updates::Webhook { url: given.value.to_owned(), path: path?, secret })
    }

    fn state(&mut self) -> String {
        let (state, name) = addresses::state(self.layers);
        let prefixes = ["sqlite:", "postgres://", "postgresql://", "redis://", "rediss://"];
        if state.starts_with("memory:") {
            let reason = "the application's tables need a database that commits with the conversations";
            self.mistakes.push(format!("{name}: memory: is for tests; {reason}"));
        } else if name != "DATABASE_URL" && !prefixes.iter().any(|start| state.starts_with(start)) {
            self.mistakes.push(format!("{name} is none of sqlite:<path>, postgres://… and redis://…"));
        }
        state
    }

    fn database(&mut self) -> Option<Address> {
        let database = Address::parse(&addresses::database(self.layers));
        if database.is_none() {
            self.mistakes.push("DATABASE_URL is neither sqlite:<path> nor postgres://…".to_owned());
        }
        database
    }

    fn files(&mut self) -> Option<FilesAddress> {
        addresses::files(self.layers).map_err(|mistakes| self.mistakes.extend(mistakes)).ok()
    }

    /// State and tables must commit in one step, so two SQL databases are refused.
    fn check_one_sql_database(&mut self, state: &str, database: Option<&Address>) {
        if let (Some(state), Some(database)) = (Address::parse(state), database)
            && state != *database
        {
            self.mistakes.push(
                "STATE_URL and DATABASE_URL name two SQL databases: leave one of them out, or keep the state in Redis"
                    .to_owned(),
            );
        }
    }

    /// Desktops set this variable to lists such as `en_GB:en`, and to languages that the product does not have.
    fn language(&mut self) -> Option<Language> {
        let given = self.layers.get("LANGUAGE")?;
        let code = given.value.split([':', '_', '-', '.']).next().unwrap_or_default();
        let spoken = code.to_lowercase().parse().ok();
        if spoken.is_none() && given.origin != ENVIRONMENT {
            self.mistakes.push(format!("LANGUAGE in {}: `{}` is not ru or en", given.origin, given.value));
        }
        spoken
    }

    fn parsed<T: FromStr>(&mut self, name: &str, expected: &str) -> Option<T> {
        let given = self.layers.get(name)?;
        let parsed = given.value.parse().ok();
        if parsed.is_none() {
            self.mistakes.push(format!("{name} in {}: `{}` is not {expected}", given.origin, given.value));
        }
        parsed
    }

    fn url(&mut self, name: &str) -> Option<String> {
        let given = self.layers.get(name)?;
        if !Url::parse(given.value).is_ok_and(|url| ["http", "https"].contains(&url.scheme())) {
            self.mistakes.push(format!("{name} in {} is not an address of http or https", given.origin));
        }
        Some(given.value.to_owned())
    }

    /// An address with one of these prefixes; it may hold a password, so the error does not repeat it.
    fn one_of(&mut self, name: &str, starts: &[&str]) -> Option<String> {
        let given = self.layers.get(name)?;
        if !starts.iter().any(|start| given.value.starts_with(start)) {
            self.mistakes.push(format!("{name} in {} does not begin with {}", given.origin, starts.join(" or ")));
        }
        Some(given.value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Layer, layers};
    use super::*;

    const GOOD: (&str, &str) = ("BOT_TOKEN", "123456789:AAsecret");

    fn layer(origin: &str, values: &[(&str, &str)]) -> Layer {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Layer { origin: origin.to_owned(), values }
    }

    fn read(values: &[(&str, &str)]) -> Result<Config, Mistakes> {
        Config::read(&Layers::new(vec![layer("a test", values)]))
    }

    #[test]
    fn a_token_is_enough() {
        let config = read(&[GOOD]).unwrap();
        assert_eq!(
            (config.state.as_str(), config.database.url().as_str()),
            ("sqlite:data/opora.db", "sqlite:data/opora.db")
        );
        assert_eq!((config.updates, config.send_limits), (Updates::Polling, SendLimits::Telegram));
        assert_eq!((config.public_url.as_str(), config.language), ("http://127.0.0.1:8080", Language::Ru));
        assert_eq!(config.bot_api_url, opora::telegram::TELEGRAM);
        assert_eq!(config.files, FilesAddress::Folder("data/files".into()));
        assert!(!config.only_instance && read(&[GOOD, ("ONLY_INSTANCE", "true")]).unwrap().only_instance);
    }

    #[test]
    fn all_mistakes_are_listed_without_secrets() {
        let wrong = [
            ("BOT_TOKEN", "hunter2"),
            ("BOT_API_URL", "telegram"),
            ("WEBHOOK_URL", "https://bot.example/"),
            ("WEBHOOK_SECRET", "hunter3!"),
            ("ONLY_INSTANCE", "perhaps"),
            ("SEND_LIMITS", "none"),
            ("STATE_URL", "mongodb://me:hunter4@host"),
            ("DATABASE_URL", "mysql://me:hunter5@host"),
            ("CACHE_URL", "memcached://me:hunter6@host"),
            ("FILES_URL", "ftp://me:hunter7@host"),
            ("WEB_LISTEN", "8080"),
            ("WEB_CONNECTIONS", "0"),
            ("CRON_PAYROLL", "0 4 * *"),
            ("CRON_SHIFT_REMINDERS", "0 0 30 2 *"),
            ("METRICS_LISTEN", "prometheus"),
            ("METRICS_TOKEN", "hunter8"),
            ("PUBLIC_URL", "office"),
            ("TRUSTED_PROXIES", "nginx"),
            ("LANGUAGE", "de"),
        ];
        let Mistakes(mistakes) = read(&wrong).unwrap_err();
        for (name, _) in wrong {
            assert_eq!(mistakes.iter().filter(|mistake| mistake.starts_with(name)).count(), 1, "{name}: {mistakes:#?}");
        }
        assert!(!mistakes.join("\n").contains("hunter"), "{mistakes:#?}");
        let nothing = read(&[("WEBHOOK_URL", "https://bot.example/telegram")]).unwrap_err().to_string();
        assert!(nothing.contains("BOT_TOKEN is missing") && nothing.contains("WEBHOOK_SECRET is missing"), "{nothing}");
    }

    #[test]
    fn a_webhook_secret_has_at_least_32_characters() {
        let url = ("WEBHOOK_URL", "https://bot.example/telegram");
        let with = |secret: &str| read(&[GOOD, url, ("WEBHOOK_SECRET", secret)]);
        for short in ["abc", &"a".repeat(31), &"a".repeat(257), &"ä".repeat(32), &" ".repeat(40)] {
            let refused = with(short).unwrap_err().to_string();
            assert!(refused.contains("openssl rand -hex 32"), "{refused}");
            assert!(!refused.contains(short), "{refused}");
        }
        assert!(with(&"a".repeat(32)).is_ok() && with(&"a".repeat(256)).is_ok());
    }

    #[test]
    fn two_sql_databases_and_a_memory_store_are_refused() {
        let two = read(&[GOOD, ("STATE_URL", "sqlite:a.db"), ("DATABASE_URL", "sqlite:b.db")]).unwrap_err();
        assert!(two.to_string().contains("two SQL databases"), "{two}");
        assert!(read(&[GOOD, ("STATE_URL", "sqlite:a.db"), ("DATABASE_URL", "sqlite://a.db")]).is_ok());
        let memory = read(&[GOOD, ("STATE_URL", "memory:")]).unwrap_err();
        assert!(memory.to_string().contains("need a database"), "{memory}");
    }

    #[test]
    fn the_strongest_nonempty_layer_wins() {
        let layers = [
            layer("the command line", &[("LANGUAGE", "en")]),
            layer("the environment", &[("LANGUAGE", "ru"), ("WEB_LISTEN", ""), GOOD]),
            layer("opora.toml", &[("WEB_LISTEN", "0.0.0.0:80"), ("BOT_TOKEN", "1:other")]),
        ];
        let config = Config::read(&Layers::new(layers.into())).unwrap();
        assert_eq!((config.language, config.web_listen.port()), (Language::En, 80));
        assert_eq!(config.bot_token, Secret(GOOD.1.to_owned()));
    }

    #[test]
    fn desktop_language_lists_are_understood() {
        for (value, meant) in [("en_GB:en", Language::En), ("ru_RU.UTF-8", Language::Ru), ("de", Language::Ru)] {
            let layers = Layers::new(vec![layer(ENVIRONMENT, &[GOOD, ("LANGUAGE", value)])]);
            assert_eq!(Config::read(&layers).unwrap().language, meant, "{value}");
        }
    }

    #[test]
    fn server_addresses_carry_the_data_directory() {
        let tables = ("DATABASE_URL", "postgres://db/opora");
        let config = read(&[GOOD, tables, ("REDIS_URL", "redis://host"), ("DATA_DIR", "/srv/opora")]).unwrap();
        assert_eq!(config.state, "redis://host/1?data=/srv/opora");
        assert_eq!(config.database.url(), "postgres://db/opora?data=/srv/opora");
        let config =
            read(&[GOOD, ("DATABASE_URL", "postgres://db/opora?sslmode=require"), ("DATA_DIR", "/srv")]).unwrap();
        let watched = "postgres://db/opora?sslmode=require&data=/srv";
        assert_eq!((&*config.state, &*config.database.url()), (watched, watched));
        let config = read(&[GOOD, tables, ("STATE_URL", "redis://host/2?prefix=a&data=/x")]).unwrap();
        assert_eq!(config.state, "redis://host/2?prefix=a&data=/x");
        let alone = ("ONLY_INSTANCE", "true");
        let config = read(&[GOOD, tables, ("REDIS_URL", "redis://host"), alone]).unwrap();
        assert!(config.state.ends_with("&journal=database"), "{}", config.state);
        let config = read(&[GOOD, ("STATE_URL", "redis://host/2?journal=database"), alone]).unwrap();
        assert_eq!(config.state.matches("journal=").count(), 1);
    }

    #[test]
    fn the_sample_configuration_names_every_setting() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/opora.toml");
        let (file, mistakes) = layers::of_file(&path);
        assert_eq!(mistakes, Vec::<String>::new());
        assert!(Config::read(&Layers::new(vec![layer("a test", &[GOOD]), file])).is_ok());
        let text = std::fs::read_to_string(path).unwrap();
        for name in layers::NAMES {
            assert!(text.contains(&format!("{} = ", name.to_lowercase())), "{name}");
        }
    }

    #[test]
    fn debug_output_has_no_secrets() {
        let config = read(&[GOOD, ("STATE_URL", "postgres://me:hunter2@host/opora")]).unwrap();
        let shown = format!("{config:?} {:?}", config.bot_token);
        assert!(!shown.contains("hunter2") && !shown.contains("AAsecret"), "{shown}");
    }
}
