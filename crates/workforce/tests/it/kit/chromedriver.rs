//! A chromedriver of one's own, on a port of its own choosing.

use std::process::Stdio;

use opora_testkit::environment;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::kit::demo::PATIENCE;

pub struct Chromedriver {
    pub url: String,
    process: Child,
    // Held open: whoever prints into a closed pipe dies of it.
    _output: Lines<BufReader<ChildStdout>>,
}

impl Chromedriver {
    pub async fn start() -> Self {
        let mut command = Command::new(environment::chromedriver());
        command.arg("--port=0").stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = timeout(PATIENCE, port(&mut output)).await.expect("chromedriver did not start");
        Self { url: format!("http://127.0.0.1:{port}"), process, _output: output }
    }

    /// Ends it and every browser that it still has.
    pub async fn stop(mut self, http: &reqwest::Client) {
        // It may be gone before it has answered.
        let _ = http.get(format!("{}/shutdown", self.url)).send().await;
        timeout(PATIENCE, self.process.wait()).await.expect("chromedriver did not end").unwrap();
    }
}

/// It says: "ChromeDriver was started successfully on port 40123."
async fn port(output: &mut Lines<BufReader<ChildStdout>>) -> u16 {
    while let Some(line) = output.next_line().await.unwrap() {
        if let Some((_, port)) = line.split_once("started successfully on port ") {
            return port.trim_end_matches('.').parse().unwrap();
        }
    }
    panic!("chromedriver ended without naming its port")
}
