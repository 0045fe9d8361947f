//! `opora run` as a process with an emulator, and tests of how it starts, stops and is configured.

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

use crate::kit::demo::{ANNA, BORIS, Demo, TIMEOUT, program, until};
use crate::kit::firm::{StorageKind, TestStorage, on_every_database};
use crate::operator;

on_every_database! {
    it_runs_stops_in_order_and_starts_again,
}

const SECRET: &str = "a-good_secret_of_32_characters_00";

/// A running `opora run`, and its log lines.
pub struct AppProcess {
    process: Child,
    log: Arc<Mutex<Vec<String>>>,
}

impl AppProcess {
    pub fn start(storage: &TestStorage, emulator: &Demo, more: &[(&str, &str)]) -> Self {
        Self::start_command(Command::new(program()), storage, emulator, more)
    }

    /// Starts the program with a prepared command; adds the arguments and the environment.
    pub fn start_command(mut command: Command, storage: &TestStorage, emulator: &Demo, more: &[(&str, &str)]) -> Self {
        command.arg("run").env("BOT_TOKEN", &emulator.token).env("BOT_API_URL", &emulator.base);
        command.env("STATE_URL", &storage.state).env("DATABASE_URL", storage.database.url()).env("LANGUAGE", "en");
        command.env("DATA_DIR", storage.folder.path()).env("WEB_LISTEN", "127.0.0.1:0").env("SEND_LIMITS", "off");
        command.envs(more.iter().copied()).current_dir(storage.folder.path()).kill_on_drop(true);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(collect_lines(process.stderr.take().unwrap(), Arc::clone(&log)));
        tokio::spawn(collect_lines(process.stdout.take().unwrap(), Arc::clone(&log)));
        Self { process, log }
    }

    /// Waits for a log line with this text and returns the first one.
    pub async fn wait_for_log(&self, words: &str) -> String {
        until(words, async || self.log.lock().await.iter().find(|line| line.contains(words)).cloned()).await
    }

    /// The number of log lines with this text so far.
    pub async fn count_log_lines(&self, words: &str) -> usize {
        self.log.lock().await.iter().filter(|line| line.contains(words)).count()
    }

    /// The address of its pages.
    pub async fn web_address(&self) -> String {
        let line = self.wait_for_log("opora starts").await;
        let address = line.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
        format!("http://{address}")
    }

    pub fn pid(&self) -> u32 {
        self.process.id().unwrap()
    }

    /// Sends a signal by its short name.
    pub fn signal(&self, name: &str) {
        let id = self.pid().to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits until it has ended by itself.
    pub async fn ended(mut self) {
        timeout(TIMEOUT, self.process.wait()).await.expect("it did not end").unwrap();
    }

    /// Kills it with SIGKILL.
    pub async fn kill(mut self) {
        self.process.kill().await.unwrap();
    }

    /// Stops it with SIGTERM, asserts exit code 0, and returns the log.
    pub async fn stop(mut self) -> Vec<String> {
        // Before this line the program does not handle signals yet.
        self.wait_for_log("opora starts").await;
        self.signal("TERM");
        let ended = timeout(TIMEOUT, self.process.wait()).await.expect("it did not stop").unwrap();
        self.wait_for_log("the database is closed").await;
        let log = self.log.lock().await.clone();
        assert_eq!(ended.code(), Some(0), "{log:#?}");
        log
    }
}

/// A failed test prints the log.
impl Drop for AppProcess {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The two reader tasks hold the lock only for a moment.
            eprintln!("the program said: {:#?}", self.log.try_lock().as_deref());
        }
    }
}

async fn collect_lines(output: impl AsyncRead + Unpin, log: Arc<Mutex<Vec<String>>>) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        log.lock().await.push(line);
    }
}

async fn it_runs_stops_in_order_and_starts_again(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    let process = AppProcess::start(&storage, &emulator, &[]);
    emulator.says(ANNA, "/me").await;
    emulator.receives(ANNA, "Your Telegram ID: 1001").await;
    let health = emulator.http.get(format!("{}/health", process.web_address().await)).send().await.unwrap();
    assert_eq!((health.status().as_u16(), health.text().await.unwrap().as_str()), (200, "ok\n"));
    emulator
        .until("the commands are offered", async |emulator| {
            let offered = emulator.bot("getMyCommands", json!({"language_code": "ru"})).await;
            offered["result"].as_array()?.iter().any(|one| one["description"] == "Главное меню").then_some(())
        })
        .await;
    let log = process.stop().await;
    let mut lines = log.iter();
    let last = ["the pages are closed", "the store is closed", "the database is closed"];
    for step in ["told to stop", "released the lease"].into_iter().chain(last) {
        assert!(lines.any(|line| line.contains(step)), "{step} is missing, or too early: {log:#?}");
    }
    assert!(!log.iter().any(|line| line.contains(&emulator.token)), "the token is in the log");

    let process = AppProcess::start(&storage, &emulator, &[]);
    emulator.says(BORIS, "/me").await;
    emulator.receives(BORIS, "Your Telegram ID: 1002").await;
    process.stop().await;
    emulator.stop().await;
}

/// Conversations are in Redis, tables in a PostgreSQL that goes away. Turns wait for it.
#[tokio::test]
async fn turns_wait_while_the_database_is_away() {
    let (mut storage, emulator) = (TestStorage::new(StorageKind::RedisAndSqlite).await, start_emulator().await);
    let mut server = PostgresServer::start(&[]);
    storage.database = Address::parse(&server.url()).unwrap();
    let process = AppProcess::start(&storage, &emulator, &[]);
    emulator.says(ANNA, "/me").await;
    emulator.receives(ANNA, "Your Telegram ID: 1001").await;
    // The server is gone: connections are refused.
    server.kill();
    emulator.says(BORIS, "/me").await;
    process.wait_for_log("the store is unavailable; the turn waits").await;
    server.start_again();
    emulator.receives(BORIS, "Your Telegram ID: 1002").await;
    // The server accepts connections and does not answer.
    server.pause();
    emulator.says(ANNA, "/language").await;
    let waits = async || process.count_log_lines("the store is unavailable; the turn waits").await > 1;
    until("a turn waits for the server that does not answer", async || waits().await.then_some(())).await;
    server.resume();
    emulator.receives(ANNA, "Which language").await;
    let log = process.stop().await;
    assert!(!log.iter().any(|line| line.contains("parked")), "{log:#?}");
    let store = [("STATE_URL", storage.state.as_str())];
    let parked = operator::run(&store, &["state", "parked", "list"]).await.success().stdout;
    assert!(parked.contains("Nothing is parked"), "{parked}");
    emulator.stop().await;
}

#[tokio::test]
async fn updates_arrive_by_webhook_if_configured() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    let port = free_port();
    let (listen, url) = (format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{port}/telegram"));
    let webhook = [("WEB_LISTEN", listen.as_str()), ("WEBHOOK_URL", &url), ("WEBHOOK_SECRET", SECRET)];
    let process = AppProcess::start(&storage, &emulator, &webhook);
    process.wait_for_log("the webhook is set").await;
    emulator.says(ANNA, "/me").await;
    emulator.receives(ANNA, "Your Telegram ID: 1001").await;
    let stranger = emulator.http.post(&url).json(&json!({"update_id": 1})).send().await.unwrap();
    assert_eq!(stranger.status(), 401);
    let log = process.stop().await;
    assert!(!log.iter().any(|line| line.contains(SECRET)), "the secret is in the log");
    emulator.stop().await;
}

#[tokio::test]
async fn all_configuration_mistakes_are_reported_at_start() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("opora.toml"), "web_listen = \"here\"\nlanguage = \"de\"\n").unwrap();
    std::fs::write(folder.path().join(".env"), "WEBHOOK_URL=https://bot.example/telegram\nSEND_LIMITS=none\n").unwrap();
    let mut command = Command::new(program());
    for name in ["BOT_TOKEN", "DATABASE_URL", "LANGUAGE", "REDIS_URL"] {
        command.env_remove(name);
    }
    command.arg("run").env("STATE_URL", "mongodb://me:hunter2@host").current_dir(folder.path());
    let refused = timeout(TIMEOUT, command.output()).await.expect("it should end by itself").unwrap();
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
    // An unknown setting does not hide the other mistakes, nor the setting that is missing because of it.
    refused.fails_with(&[
        "other.toml has unknown settings: bot_tokn",
        "public_url is not a string",
        "BOT_TOKEN is missing",
        "other.toml: `none` is not telegram or off",
    ]);
    operator::run(&[], &["people", "list", "--config", unknown]).await.fails_with(&["unknown settings: bot_tokn"]);
    operator::run(&[], &["run", "--config", "/nowhere.toml"]).await.fails_with(&["there is no configuration file"]);
}

#[tokio::test]
async fn demo_people_have_roles_and_keep_changes() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Demo::product(&folder, &[]).await;
    let listed = people_of(&folder).await;
    for role in ["owner, superadmin", "manager", "dispatcher", "employee, master", "8 people"] {
        assert!(listed.contains(role), "no {role} in {listed}");
    }
    demo.says(BORIS, "/me").await;
    demo.receives(BORIS, "Boris Kim\nYour Telegram ID: 1002\nRoles: manager").await;
    demo.stop().await;
    let address = format!("sqlite:{}/opora.db", folder.path().display());
    operator::run(&[], &["people", "revoke", "1002", "manager", "--database", &address]).await.success();
    let demo = Demo::product(&folder, &[]).await;
    assert!(!people_of(&folder).await.contains("manager"), "changes are kept");
    demo.stop().await;
    Demo::product(&folder, &["--fresh"]).await.stop().await;
    assert!(people_of(&folder).await.contains("manager"), "`--fresh` starts over");
}

async fn people_of(folder: &TempDir) -> String {
    let address = format!("sqlite:{}/opora.db", folder.path().display());
    operator::run(&[], &["people", "list", "--database", &address]).await.success().stdout
}

/// An emulator with Anna and Boris. The test starts the bot itself.
pub async fn start_emulator() -> Demo {
    start_emulator_with(&[]).await
}

pub async fn start_emulator_with(arguments: &[&str]) -> Demo {
    let mut emulator = Demo::start_with(arguments).await;
    emulator.token = "123456789:AAtesttesttesttesttesttesttesttestt".into();
    for (id, name) in [(ANNA, "Anna"), (BORIS, "Boris")] {
        emulator.post("/users", json!({"id": id, "first_name": name, "language_code": "en"})).await;
    }
    emulator
}
