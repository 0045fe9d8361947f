//! A demo as a process: started on a free port, used over HTTP, stopped by a signal.
//!
//! Either the emulator with its echo bot, which answers every message, or `opora demo`, the product itself.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::waiting::until_some;

/// Deadline of every wait: long enough for a slow machine.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// A stop must not wait for clients with open requests.
pub const STOPS_WITHIN: Duration = Duration::from_secs(2);
pub const ANNA: i64 = 1001;
pub const BORIS: i64 = 1002;
/// The bot token of `opora demo`, which does not print it.
const DEMO_TOKEN: &str = "7000000001:AAOporaDemoOporaDemoOporaDemoOpora1";

#[derive(Debug)]
pub struct Demo {
    pub page: String,
    pub base: String,
    pub token: String,
    pub http: reqwest::Client,
    /// The output until the demo was ready.
    pub printed: String,
    process: Child,
    // Kept open: a process that prints into a closed pipe is killed.
    output: Lines<BufReader<ChildStdout>>,
}

impl Demo {
    /// Starts the emulator with its echo bot: in memory, in English, on a free port.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub async fn start_with(arguments: &[&str]) -> Self {
        Self::start_on("0", arguments).await
    }

    /// Starts it on a given port, for restarts.
    pub async fn start_on(port: &str, arguments: &[&str]) -> Self {
        Self::start_in(&[], port, arguments).await
    }

    pub async fn start_in(variables: &[(&str, &str)], port: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program());
        command.args(["emulator", "--echo", "en", "--port", port]).args(arguments).envs(variables.iter().copied());
        Self::launch(command).await
    }

    /// Starts `opora demo`, in English unless the arguments choose a language.
    pub async fn product(folder: &TempDir, more: &[&str]) -> Self {
        Self::product_in(&[], folder, more).await
    }

    pub async fn product_in(variables: &[(&str, &str)], folder: &TempDir, more: &[&str]) -> Self {
        let mut command = Self::product_command(folder.path(), more);
        command.envs(variables.iter().copied());
        Self::launch(command).await
    }

    pub fn product_command(folder: &Path, more: &[&str]) -> Command {
        let english: &[&str] = if more.contains(&"--language") { &[] } else { &["--language", "en"] };
        let mut command = Command::new(program());
        command.args(["demo", "--port", "0", "--data"]).arg(folder).args(english).args(more);
        command
    }

    pub async fn launch(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
        let printed = timeout(TIMEOUT, until_ready(&mut output)).await.expect("the demo did not get ready");
        // Both programs print the link to the chat page first.
        let page = printed.split_whitespace().find(|word| word.starts_with("http://")).expect("a link").to_owned();
        let base = page.trim_end_matches("/chat").trim_end_matches('/').to_owned();
        let token = printed.split_once("bot's token").and_then(|(_, rest)| rest.split_whitespace().next());
        let token = token.unwrap_or(DEMO_TOKEN).to_owned();
        Self { page, base, token, http: http(), printed, process, output }
    }

    pub async fn bot(&self, method: &str, parameters: Value) -> Value {
        let url = format!("{}/bot{}/{method}", self.base, self.token);
        self.http.post(url).json(&parameters).send().await.unwrap().json().await.unwrap()
    }

    pub async fn world(&self) -> Value {
        self.get("").await
    }

    /// Reads a path of the people's side, below the token.
    pub async fn get(&self, path: &str) -> Value {
        let url = format!("{}/client/{}{path}", self.base, self.token);
        self.http.get(url).send().await.unwrap().json().await.unwrap()
    }

    pub async fn post(&self, path: &str, body: Value) -> Value {
        let url = format!("{}/client/{}{path}", self.base, self.token);
        let response = self.http.post(url).json(&body).send().await.unwrap();
        let status = response.status();
        let answer: Value = response.json().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {answer}");
        answer
    }

    /// A person sends a text in the private chat.
    pub async fn says(&self, person: i64, text: &str) -> Value {
        self.post(&format!("/chats/{person}/send"), json!({"from": person, "text": text})).await
    }

    pub async fn texts(&self, chat: i64) -> Vec<String> {
        let messages = self.get(&format!("/chats/{chat}/messages?after=0&wait=0")).await;
        let messages = messages.as_array().cloned().unwrap_or_default();
        messages.iter().filter_map(|message| message["text"].as_str().map(str::to_owned)).collect()
    }

    /// Waits for a message of the bot that starts with this text.
    pub async fn receives(&self, chat: i64, start: &str) {
        let label = format!("{start:?} in chat {chat}");
        self.until(&label, async |demo| demo.texts(chat).await.into_iter().find(|text| text.starts_with(start))).await;
    }

    /// Polls until `ask` returns something.
    pub async fn until<T>(&self, what: &str, ask: impl AsyncFn(&Self) -> Option<T>) -> T {
        until(what, async || ask(self).await).await
    }

    pub fn port(&self) -> &str {
        self.base.rsplit_once(':').expect("the address names a port").1
    }

    pub fn signal(&self, name: &str) {
        let id = self.process.id().expect("it runs").to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits for the end. Returns the exit code; none if a signal ended the process.
    pub async fn ended(mut self, within: Duration) -> Option<i32> {
        timeout(within, self.process.wait()).await.expect("the demo did not end in time").unwrap().code()
    }

    /// Stops it with SIGTERM and checks the exit code.
    pub async fn stop(self) {
        self.signal("TERM");
        assert_eq!(self.ended(STOPS_WITHIN).await, Some(0));
    }

    /// Like [`Self::stop`]. Returns the output since the demo was ready.
    pub async fn stop_and_read(mut self) -> String {
        self.signal("TERM");
        let mut printed = String::new();
        while let Some(line) = self.output.next_line().await.unwrap() {
            printed.push_str(&line);
        }
        assert_eq!(self.ended(STOPS_WITHIN).await, Some(0));
        printed
    }
}

/// Polls until `ask` returns something.
pub async fn until<T>(what: &str, ask: impl AsyncFn() -> Option<T>) -> T {
    until_some(what, TIMEOUT, ask).await
}

/// The path of the program `opora`. Cargo builds it in `target/<profile>`; tests and benches are in `deps` beside it.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).expect("a test lies in the folder of a profile").join("opora");
    assert!(program.is_file(), "there is no {}: only tests of its own package build it", program.display());
    program
}

/// An HTTP client that ignores the proxy settings of the environment.
pub fn http() -> reqwest::Client {
    // Fails if a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

async fn until_ready(output: &mut Lines<BufReader<ChildStdout>>) -> String {
    let mut printed = String::new();
    while let Some(line) = output.next_line().await.unwrap() {
        printed.push_str(&line);
        printed.push('\n');
        if line.contains("Ctrl-C") {
            return printed;
        }
    }
    panic!("the demo ended early; it printed: {printed}")
}
