//! `opora demo`: an emulator, a bot that answers, and two people to be.

use std::path::Path;

use anyhow::Context;
use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use opora_emulator::{Emulator, Settings};
use serde_json::json;

use crate::cli::{self, Language};
use crate::echo;
use crate::serve;

/// Anybody may know it: it opens nothing but this demo.
const TOKEN: &str = "7000000001:AAOporaDemoOporaDemoOporaDemoOpora1";
/// The demo's own folder in the data directory.
const FOLDER: &str = "emulator";

pub async fn run(arguments: cli::Demo) -> anyhow::Result<()> {
    let data = arguments.data.as_ref().map(|data| data.join(FOLDER));
    if let Some(data) = data.as_deref().filter(|_| arguments.fresh) {
        start_over(data)?;
    }
    let (listener, address) = serve::listen([127, 0, 0, 1].into(), arguments.port).await?;
    let settings = Settings { data: data.clone(), ..Settings::default() };
    let emulator = Emulator::new(settings).with_context(|| serve::data_trouble(data.as_deref()))?;
    let base = format!("http://{address}");
    println!("Opora {} demo", env!("CARGO_PKG_VERSION"));
    println!("  chat page    {base}/chat");
    println!("  bot's token  {TOKEN}");
    println!("  Bot API URL  {base}   (your own bot can talk here too: any token of Telegram's form)");
    match &arguments.data {
        Some(data) => println!("  kept in      {}   (--fresh starts over)", data.display()),
        None => println!("  kept in      memory only (--data DIR keeps it over restarts)"),
    }
    println!("Ctrl-C stops it.");
    let bot = tokio::spawn(echo::run(base.clone(), TOKEN.to_owned(), arguments.language));
    tokio::spawn(add_people(base, arguments.language));
    serve::until_stopped(listener, router(&emulator)).await?;
    bot.abort();
    emulator.flush();
    Ok(())
}

/// The emulator's paths, its page under `/chat`, and the way there from `/`.
fn router(emulator: &Emulator) -> Router {
    emulator.router_with_page_at("/chat").route("/", get(to_chat))
}

async fn to_chat(_: Request) -> impl IntoResponse {
    Redirect::temporary("/chat")
}

/// Removes what an earlier demo left, unless one is still running on it.
fn start_over(data: &Path) -> anyhow::Result<()> {
    let _lock = opora_emulator::journal::lock(data)?;
    match std::fs::remove_dir_all(data) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", data.display()))
        }
        _ => Ok(()),
    }
}

/// A client for this very process: a proxy that the environment names could not reach it.
pub fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap_or_default()
}

/// Names the bot and adds the people of the demo; doing it again changes nothing.
async fn add_people(base: String, language: Language) {
    let people = match language {
        Language::Ru => [("Анна", "Петрова", "anna_p", "ru"), ("Борис", "Ким", "boris_kim", "ru")],
        Language::En => [("Anna", "Peters", "anna_p", "en"), ("Boris", "Kim", "boris_kim", "en")],
    };
    let people = (1001..).zip(people).map(|(id, (first_name, last_name, username, language_code))| {
        let person = json!({
            "id": id, "first_name": first_name, "last_name": last_name, "username": username,
            "language_code": language_code,
        });
        ("users", person)
    });
    let http = http();
    for (what, body) in std::iter::once(("bot", json!({"username": "opora_echo_bot"}))).chain(people) {
        let added = http.post(format!("{base}/client/{TOKEN}/{what}")).json(&body).send().await;
        if let Err(error) = added.and_then(reqwest::Response::error_for_status) {
            tracing::warn!(%error, what, "the demo could not be set up");
        }
    }
}
