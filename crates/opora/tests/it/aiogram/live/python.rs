//! An aiogram bot as a process, which gets updates on standard input.

use std::process::Stdio;

use opora::aiogram::AiogramLayout;
use opora_testkit::environment;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/aiogram/live.py");

/// The process. It ends with the test.
pub struct Python {
    _child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

/// aiogram's state and data after an update.
#[derive(Debug, PartialEq)]
pub struct AiogramState {
    pub state: Option<String>,
    /// As `json.dumps` writes it.
    pub data: String,
}

impl Python {
    pub async fn start(url: &str) -> Self {
        let mut command = Command::new(environment::python());
        command.args(["-B", SCRIPT, url]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut lines = BufReader::new(stdout).lines();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ready"));
        Self { _child: child, stdin, lines }
    }

    /// Delivers updates, all at once. Returns what each handler saw at the end.
    pub async fn receives(&mut self, layout: &AiogramLayout, updates: &[Value]) -> Vec<AiogramState> {
        let keys = &layout.keys;
        let options = json!({
            "prefix": keys.prefix, "separator": keys.separator, "with_bot_id": keys.with_bot_id,
            "with_business_connection_id": keys.with_business_connection_id, "with_destiny": keys.with_destiny,
        });
        let strategy = layout.strategy.to_string().to_uppercase().replace('-', "_");
        let ttl = |ttl: Option<std::time::Duration>| ttl.map(|ttl| ttl.as_secs());
        let (state_ttl, data_ttl) = (ttl(layout.state_ttl), ttl(layout.data_ttl));
        let line = json!({
            "options": options, "strategy": strategy, "state_ttl": state_ttl, "data_ttl": data_ttl, "updates": updates,
        });
        self.stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        let mut seen = Vec::new();
        for _ in updates {
            let line = self.lines.next_line().await.unwrap().expect("aiogram goes on");
            let line: Value = serde_json::from_str(&line).unwrap();
            let state = line["state"].as_str().map(ToOwned::to_owned);
            seen.push(AiogramState { state, data: line["data"].as_str().unwrap().to_owned() });
        }
        seen
    }
}
