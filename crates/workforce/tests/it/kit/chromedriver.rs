//! A chromedriver process on a free port.

use std::process::Stdio;

use opora_testkit::environment;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::kit::demo::TIMEOUT;

/// It takes a free port for IPv4 and then the same one for IPv6, which another program may have taken.
const START_ATTEMPTS: usize = 5;

pub struct Chromedriver {
    pub url: String,
    process: Child,
    // Kept open: chromedriver dies when it prints into a closed pipe.
    _output: Lines<BufReader<ChildStdout>>,
}

impl Chromedriver {
    pub async fn start() -> Self {
        for _ in 0..START_ATTEMPTS {
            let mut command = Command::new(environment::chromedriver());
            command.arg("--port=0").stdout(Stdio::piped()).kill_on_drop(true);
            let mut process = command.spawn().unwrap();
            let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
            if let Some(port) = timeout(TIMEOUT, read_port(&mut output)).await.expect("chromedriver did not start") {
                return Self { url: format!("http://127.0.0.1:{port}"), process, _output: output };
            }
        }
        panic!("chromedriver ended {START_ATTEMPTS} times at its start")
    }

    /// Stops chromedriver and its browsers.
    pub async fn stop(mut self, http: &reqwest::Client) {
        // It may exit before it answers.
        let _ = http.get(format!("{}/shutdown", self.url)).send().await;
        timeout(TIMEOUT, self.process.wait()).await.expect("chromedriver did not end").unwrap();
    }
}

/// Reads the port from "ChromeDriver was started successfully on port 40123."
/// None if it ended before.
async fn read_port(output: &mut Lines<BufReader<ChildStdout>>) -> Option<u16> {
    while let Some(line) = output.next_line().await.unwrap() {
        if let Some((_, port)) = line.split_once("started successfully on port ") {
            return Some(port.trim_end_matches('.').parse().unwrap());
        }
    }
    None
}
