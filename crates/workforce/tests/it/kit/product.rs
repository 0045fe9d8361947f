//! `opora run` as a process against an emulator, and the people of `opora demo`.

use std::process::Stdio;
use std::sync::Arc;

use opora_testkit::postgres_server::PostgresServer;
use opora_testkit::server_process::free_port;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::time::timeout;
use workforce::domain::Address;

use crate::kit::demo::{ANNA, BORIS, Demo, PATIENCE, program, until};
use crate::kit::firm::{Ground, Kind, on_every_database};
use crate::operator;

on_every_database! {
    it_runs_stops_in_order_and_starts_again_at_once,
}

const SECRET: &str = "a-good_secret_of_32_characters_00";

/// `opora run`, and what it logs.
pub struct Run {
    process: Child,
    log: Arc<Mutex<Vec<String>>>,
}

impl Run {
    pub fn start(ground: &Ground, emulator: &Demo, more: &[(&str, &str)]) -> Self {
        Self::start_as(Command::new(program()), ground, emulator, more)
    }

    /// The same by a command that only lacks its arguments.
    pub fn start_as(mut command: Command, ground: &Ground, emulator: &Demo, more: &[(&str, &str)]) -> Self {
        command.arg("run").env("BOT_TOKEN", &emulator.token).env("BOT_API_URL", &emulator.base);
        command.env("STATE_URL", &ground.state).env("DATABASE_URL", ground.database.url()).env("LANGUAGE", "en");
        command.env("DATA_DIR", ground.folder.path()).env("WEB_LISTEN", "127.0.0.1:0").env("SEND_LIMITS", "off");
        command.envs(more.iter().copied()).current_dir(ground.folder.path()).kill_on_drop(true);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(write_down(process.stderr.take().unwrap(), Arc::clone(&log)));
        tokio::spawn(write_down(process.stdout.take().unwrap(), Arc::clone(&log)));
        Self { process, log }
    }

    /// The first line with these words.
    pub async fn logs(&self, words: &str) -> String {
        until(words, async || self.log.lock().await.iter().find(|line| line.contains(words)).cloned()).await
    }

    /// How many lines have these words.
    pub async fn count(&self, words: &str) -> usize {
        self.log.lock().await.iter().filter(|line| line.contains(words)).count()
    }

    /// Where its pages are.
    pub async fn web(&self) -> String {
        let line = self.logs("opora starts").await;
        let address = line.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
        format!("http://{address}")
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id().unwrap()
    }

    /// Ends it as `kill -9` does.
    pub async fn dies(mut self) {
        self.process.kill().await.unwrap();
    }

    /// Stops it as a service manager does; gives its log.
    pub async fn stops(mut self) -> Vec<String> {
        // From then on it listens for signals; before, one would end it where it is.
        self.logs("opora starts").await;
        let id = self.id().to_string();
        assert!(std::process::Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
        let ended = timeout(PATIENCE, self.process.wait()).await.expect("it did not stop").unwrap();
        self.logs("all is done").await;
        let log = self.log.lock().await.clone();
        assert_eq!(ended.code(), Some(0), "{log:#?}");
        log
    }
}

/// A test that fails shows what the process said.
impl Drop for Run {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Nobody but the two that write down holds it, and for no time.
            eprintln!("the program said: {:#?}", self.log.try_lock().as_deref());
        }
    }
}

async fn write_down(output: impl AsyncRead + Unpin, log: Arc<Mutex<Vec<String>>>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        log.lock().await.push(line);
    }
}

async fn it_runs_stops_in_order_and_starts_again_at_once(kind: Kind) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    let run = Run::start(&ground, &emulator, &[]);
    emulator.says(ANNA, "/me").await;
    emulator.hears(ANNA, "Your Telegram number: 1001").await;
    let health = emulator.http.get(format!("{}/health", run.web().await)).send().await.unwrap();
    assert_eq!((health.status().as_u16(), health.text().await.unwrap().as_str()), (200, "ok\n"));
    emulator
        .until("the commands are offered", async |emulator| {
            let offered = emulator.bot("getMyCommands", json!({"language_code": "ru"})).await;
            offered["result"].as_array()?.iter().any(|one| one["description"] == "Главное меню").then_some(())
        })
        .await;
    let log = run.stops().await;
    let mut lines = log.iter();
    let last = ["the pages are closed", "the store is closed", "the database is closed; all is done"];
    for step in ["told to stop", "released the lease"].into_iter().chain(last) {
        assert!(lines.any(|line| line.contains(step)), "{step} is missing, or too early: {log:#?}");
    }
    assert!(!log.iter().any(|line| line.contains(&emulator.token)), "the token is in the log");

    let run = Run::start(&ground, &emulator, &[]);
    emulator.says(BORIS, "/me").await;
    emulator.hears(BORIS, "Your Telegram number: 1002").await;
    run.stops().await;
    emulator.stop().await;
}

/// Conversations in Redis, tables in a PostgreSQL that goes away: what handlers read is waited for.
#[tokio::test]
async fn while_the_database_is_away_people_wait_and_are_answered_afterwards() {
    let (mut ground, emulator) = (Ground::new(Kind::RedisAndSqlite).await, silent_emulator().await);
    let mut server = PostgresServer::start(&[]);
    ground.database = Address::parse(&server.url()).unwrap();
    let run = Run::start(&ground, &emulator, &[]);
    emulator.says(ANNA, "/me").await;
    emulator.hears(ANNA, "Your Telegram number: 1001").await;
    // It ends, and nobody listens any more.
    server.kill();
    emulator.says(BORIS, "/me").await;
    run.logs("the store is away; the turn waits").await;
    server.start_again();
    emulator.hears(BORIS, "Your Telegram number: 1002").await;
    // It is there and does not answer.
    server.pause();
    emulator.says(ANNA, "/language").await;
    let waits = async || run.count("the store is away; the turn waits").await > 1;
    until("a turn waits for the server that does not answer", async || waits().await.then_some(())).await;
    server.go_on();
    emulator.hears(ANNA, "Which language").await;
    let log = run.stops().await;
    assert!(!log.iter().any(|line| line.contains("parked")), "{log:#?}");
    let store = [("STATE_URL", ground.state.as_str())];
    let parked = operator::run(&store, &["state", "parked", "list"]).await.well().stdout;
    assert!(parked.contains("Nothing is parked"), "{parked}");
    emulator.stop().await;
}

#[tokio::test]
async fn updates_come_by_webhook_where_that_is_set() {
    let (ground, emulator) = (Ground::new(Kind::Sqlite).await, silent_emulator().await);
    let port = free_port();
    let (listen, url) = (format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{port}/telegram"));
    let webhook = [("WEB_LISTEN", listen.as_str()), ("WEBHOOK_URL", &url), ("WEBHOOK_SECRET", SECRET)];
    let run = Run::start(&ground, &emulator, &webhook);
    run.logs("the webhook is set").await;
    emulator.says(ANNA, "/me").await;
    emulator.hears(ANNA, "Your Telegram number: 1001").await;
    let stranger = emulator.http.post(&url).json(&json!({"update_id": 1})).send().await.unwrap();
    assert_eq!(stranger.status(), 401);
    let log = run.stops().await;
    assert!(!log.iter().any(|line| line.contains(SECRET)), "the secret is in the log");
    emulator.stop().await;
}

#[tokio::test]
async fn every_mistake_of_the_configuration_is_told_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("opora.toml"), "web_listen = \"here\"\nlanguage = \"de\"\n").unwrap();
    std::fs::write(folder.path().join(".env"), "WEBHOOK_URL=https://bot.example/telegram\nSEND_LIMITS=none\n").unwrap();
    let mut command = Command::new(program());
    for name in ["BOT_TOKEN", "DATABASE_URL", "LANGUAGE", "REDIS_URL"] {
        command.env_remove(name);
    }
    command.arg("run").env("STATE_URL", "mongodb://me:hunter2@host").current_dir(folder.path());
    let refused = timeout(PATIENCE, command.output()).await.expect("it should end by itself").unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    for mistake in [
        "BOT_TOKEN is missing",
        "WEBHOOK_SECRET is missing",
        "SEND_LIMITS in .env: `none` is not telegram or off",
        "STATE_URL is none of",
        "WEB_LISTEN in opora.toml: `here`",
        "LANGUAGE in opora.toml: `de`",
    ] {
        assert!(said.contains(mistake), "no {mistake:?} in {said}");
    }
    assert!(!said.contains("hunter2") && !folder.path().join("data").exists(), "{said}");
    let unknown = folder.path().join("other.toml");
    std::fs::write(&unknown, "bot_tokn = \"1:a\"\nsend_limits = \"none\"\npublic_url = [1]\n").unwrap();
    let unknown = unknown.to_str().unwrap();
    let refused = operator::run(&[], &["run", "--config", unknown]).await;
    // A name that nobody knows hides nothing of what else is wrong, nor of what is missing because of it.
    refused.complains(&[
        "other.toml has settings that nobody knows: bot_tokn",
        "public_url is not a text",
        "BOT_TOKEN is missing",
        "other.toml: `none` is not telegram or off",
    ]);
    operator::run(&[], &["people", "list", "--config", unknown]).await.complains(&["nobody knows: bot_tokn"]);
    operator::run(&[], &["run", "--config", "/nowhere.toml"]).await.complains(&["there is no configuration file"]);
}

#[tokio::test]
async fn the_people_of_the_demo_have_their_roles_and_keep_them() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    let listed = people_of(&folder).await;
    for role in ["owner, superadmin", "manager", "dispatcher", "employee, master", "6 people"] {
        assert!(listed.contains(role), "no {role} in {listed}");
    }
    demo.says(BORIS, "/me").await;
    demo.hears(BORIS, "Boris Kim\nYour Telegram number: 1002\nRoles: manager").await;
    demo.stop().await;
    let address = format!("sqlite:{}/opora.db", folder.path().display());
    operator::run(&[], &["people", "revoke", "1002", "manager", "--database", &address]).await.well();
    let demo = Demo::product(&folder, &[]).await;
    assert!(!people_of(&folder).await.contains("manager"), "what was changed stays");
    demo.stop().await;
    Demo::product(&folder, &["--fresh"]).await.stop().await;
    assert!(people_of(&folder).await.contains("manager"), "a fresh one begins anew");
}

async fn people_of(folder: &TempDir) -> String {
    let address = format!("sqlite:{}/opora.db", folder.path().display());
    operator::run(&[], &["people", "list", "--database", &address]).await.well().stdout
}

/// An emulator with two people and a bot that somebody else runs.
pub async fn silent_emulator() -> Demo {
    let mut emulator = Demo::start().await;
    emulator.token = "123456789:AAtesttesttesttesttesttesttesttestt".into();
    for (id, name) in [(ANNA, "Anna"), (BORIS, "Boris")] {
        emulator.post("/users", json!({"id": id, "first_name": name, "language_code": "en"})).await;
    }
    emulator
}
