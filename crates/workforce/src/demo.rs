//! `opora demo`: the product on one port, with an emulator in place of Telegram, and sample people.
//!
//! It is the same application as `opora run`, with its own data directory. It needs no token, server or network.

use std::path::{Path, PathBuf};

use anyhow::Context;
use axum::Router;
use axum::extract::Request;
use axum::response::Redirect;
use axum::routing::get;
use opora::bot::{SendLimits, Stop};
use opora_emulator::{AllowedHosts, Emulator, Settings};
use tower::ServiceExt;

use crate::cli;
use crate::config::{Config, LogFile, MetricsSettings, Networks, Secret, Updates};
use crate::domain::Address;
use crate::files::FilesAddress;
use crate::jobs::ConfiguredSchedules;
use crate::rooms::Rooms;
use crate::run::Product;
use crate::serve;
use crate::texts::Language;

mod applicants;
mod browser;
mod hints;
mod history;
mod past_pay;
mod pictures;
mod staff;
mod welcome;
mod work;

/// Not a secret: it opens only this demo.
pub const TOKEN: &str = "7000000001:AAOporaDemoOporaDemoOporaDemoOpora1";
/// The emulator's folder in the data directory.
const EMULATOR: &str = "emulator";
const DATABASE: &str = "opora.db";
const LOG: &str = "opora.log";
/// Other folders of the application in the data directory.
const FOLDERS: [&str; 2] = ["downloads", "files"];

pub async fn run(arguments: cli::Demo, log: &LogFile) -> anyhow::Result<()> {
    let data = arguments.data;
    if arguments.fresh {
        start_over(&data)?;
    }
    let (listener, address) = serve::listen(([127, 0, 0, 1], arguments.port).into(), serve::PORT_IN_USE_ADVICE).await?;
    let stop = Stop::on_signals().context("cannot listen for signals")?;
    let allowed_hosts = AllowedHosts::new(&arguments.allow_hosts);
    let settings = Settings {
        data: Some(data.join(EMULATOR)),
        allowed_hosts,
        page_language: Some(arguments.language.code()),
        ..Settings::default()
    };
    let emulator = Emulator::new(settings).with_context(|| serve::data_dir_error(Some(&data)))?;
    // The emulator has locked the directory, so no other demo writes there.
    log.begin(&data.join(LOG)).with_context(|| serve::data_dir_error(Some(&data)))?;
    let base = format!("http://{address}");
    let mut config = configuration(&base, &data, arguments.language);
    config.metrics.listen = arguments.metrics_listen;
    let product = Product::open(config, Rooms::all()).await?;
    staff::set_up(&emulator, &product.app, arguments.language).await?;
    work::begin(&product.app, &emulator, arguments.language).await?;
    let roster = staff::roster(&product.app, arguments.language).await?;
    hints::set(&emulator, &product.app, &roster).await?;
    print!("{}", welcome::text(&product.app, arguments.language, &roster, &data.join(LOG)));
    if !arguments.no_open {
        browser::open(&welcome::chat_page(&base));
    }
    let router = one_port(&emulator, pages(&product));
    let hints = tokio::spawn(hints::keep(emulator, product.app.clone(), arguments.language));
    let ran = product.on_this_machine_only().run(listener, router, stop).await;
    hints.abort();
    ran
}

fn configuration(base: &str, data: &Path, language: Language) -> Config {
    let database = Address::Sqlite(data.join(DATABASE));
    Config {
        bot_token: Secret(TOKEN.to_owned()),
        bot_api_url: base.to_owned(),
        updates: Updates::Polling,
        only_instance: true,
        send_limits: SendLimits::Off,
        state: database.url(),
        database,
        cache: None,
        files: FilesAddress::Folder(data.join("files")),
        data_dir: data.to_owned(),
        // The demo listens already.
        web_listen: ([127, 0, 0, 1], 0).into(),
        web_connections: Config::DEFAULT_CONNECTIONS,
        metrics: MetricsSettings::default(),
        public_url: base.to_owned(),
        chat_page: Some(welcome::chat_page(base)),
        trusted_proxies: Networks::default(),
        schedules: ConfiguredSchedules::new(),
        language,
    }
}

/// Routes the emulator's paths to it, with the chat page under `/chat`, and everything else to the product.
fn one_port(emulator: &Emulator, product: Router) -> Router {
    // Any PIN opens the demo's pages, so they need the same guard.
    let product = emulator.allowed_hosts().guard(product);
    let emulator = emulator.router_with_page_at("/chat");
    Router::new().fallback(move |request: Request| {
        let is_emulator_path = is_emulator_path(request.uri().path());
        let router = if is_emulator_path { emulator.clone() } else { product.clone() };
        router.oneshot(request)
    })
}

fn is_emulator_path(path: &str) -> bool {
    let bots =
        |start| path.strip_prefix(start).is_some_and(|rest: &str| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_under =
        |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    bots("/bot") || bots("/file/bot") || is_under("/client") || is_under("/chat")
}

/// The pages; without a front page, `/` leads to the chat.
fn pages(product: &Product) -> Router {
    let has_front_page = product.app.rooms.demo_links().any(|(_, path)| path == "/");
    let pages = product.router();
    if has_front_page { pages } else { pages.route("/", get(async || Redirect::temporary("/chat"))) }
}

/// Removes the data of an earlier demo, unless one is still running on it. Other files stay.
fn start_over(data: &Path) -> anyhow::Result<()> {
    let emulator = data.join(EMULATOR);
    let _lock = opora_emulator::event_log::lock(&emulator)?;
    let mut paths: Vec<PathBuf> = FOLDERS.iter().map(|folder| data.join(folder)).collect();
    let entries = std::fs::read_dir(data).into_iter().flatten().flatten();
    paths.extend(
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(DATABASE)).map(|entry| entry.path()),
    );
    paths.push(emulator);
    for path in paths {
        let removed = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_emulator_are_recognized() {
        for path in ["/bot1:a/getMe", "/file/bot1:a/x.jpg", "/client", "/client/1:a/users", "/chat"] {
            assert!(is_emulator_path(path), "{path}");
        }
        for path in ["/", "/bots", "/files/bot", "/clients", "/chats", "/people/1", "/sign-in"] {
            assert!(!is_emulator_path(path), "{path}");
        }
    }
}
