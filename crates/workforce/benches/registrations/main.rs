//! Measures how many people register per second when all come at once: the real program on the emulator.
//!
//! `cargo xtask bench registrations` runs it. Arguments: the number of people, the address of the store, the address of
//! the database.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot go on should stop where it is")]

use std::process::{Command, Stdio};
use std::time::Duration;

use opora_testkit::product::crowd;
use opora_testkit::product::demo::{Demo, program};
use rustix::process::{Pid, Signal, kill_process};

const TOKEN: &str = "123456789:AAtesttesttesttesttesttesttesttestt";
const TIMEOUT: Duration = Duration::from_secs(600);

#[tokio::main]
async fn main() {
    // Cargo adds `--bench`.
    let words: Vec<_> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let people = words.first().map_or(1000, |number| number.parse().expect("a number of people comes first"));
    let folder = tempfile::tempdir().unwrap();
    let embedded = format!("sqlite:{}/opora.db", folder.path().display());
    let state = words.get(1).unwrap_or(&embedded);
    let database = words.get(2).unwrap_or(state);
    let with_settings = |mut command: Command| {
        command.env("BOT_TOKEN", TOKEN).env("STATE_URL", state).env("DATABASE_URL", database).env("LANGUAGE", "en");
        command.env("DATA_DIR", folder.path()).env("WEB_LISTEN", "127.0.0.1:0").env("SEND_LIMITS", "off");
        command.current_dir(folder.path());
        command
    };
    let mut emulator = Demo::start().await;
    emulator.token = TOKEN.to_owned();
    let mut run = with_settings(Command::new(program()));
    run.arg("run").env("BOT_API_URL", &emulator.base).env("RUST_LOG", "warn");
    let mut run = run.stdout(Stdio::null()).spawn().unwrap();
    let took = crowd::register(&emulator, people, TIMEOUT).await;
    let rate = f64::from(people) / took.as_secs_f64();
    println!("{people} people registered at once in {:.1} s: {rate:.0} a second", took.as_secs_f64());
    kill_process(Pid::from_child(&run), Signal::TERM).unwrap();
    assert!(run.wait().unwrap().success());
    for question in [["cleanup", "--dry-run"], ["repair", "registrations"]] {
        let done = with_settings(Command::new(program())).args(question).output().unwrap();
        let told = String::from_utf8(done.stdout).unwrap();
        print!("{told}");
        let is_known = told.contains(&format!("files known to the database: {}\nwould delete: 0, kept: 0", people * 2));
        assert!(is_known || told.starts_with("0 people wait without"), "{question:?}");
    }
    emulator.stop().await;
}
