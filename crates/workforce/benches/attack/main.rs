//! The product under attack from many addresses of this machine, while people write to the bot and read pages.
//!
//! `cargo xtask bench attack` runs it. Its arguments are the seconds, then the numbers of idle connections, downloads,
//! WebSockets and attempts to sign in, so that each can be tried alone. It fails if the bot's p99 is twice that of the same time
//! without an attack, if the product takes 300 MB, or if a page of a signed-in member fails.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot go on should stop where it is")]

use std::process::ExitCode;
use std::time::Duration;

use opora_testkit::product::attack::figures::{Figures, ms};
use opora_testkit::product::attack::{Assault, run};

const WHOLE: Assault = Assault {
    idle: 2000,
    downloads: 200,
    sockets: 500,
    attempts: 4000,
    attackers: 40,
    readers: 10,
    lasts: Duration::from_secs(60),
    before: Duration::from_secs(60),
    file_bytes: 20 << 20,
};
const MOST_MEMORY_KB: u64 = 300 * 1024;

#[tokio::main]
async fn main() -> ExitCode {
    // Cargo adds a word of its own.
    let words = std::env::args().skip(1).filter(|word| word != "--bench");
    let mut numbers = words.map(|word| word.parse::<usize>().expect("a number"));
    let mut next = |usual| numbers.next().unwrap_or(usual);
    let lasts = Duration::from_secs(next(60) as u64);
    let (idle, downloads, sockets) = (next(WHOLE.idle), next(WHOLE.downloads), next(WHOLE.sockets));
    let attempts = next(WHOLE.attempts);
    let assault = Assault { idle, downloads, sockets, attempts, lasts, before: lasts, ..WHOLE };
    println!(
        "{idle} idle connections, {downloads} unread downloads, {sockets} WebSockets and {attempts} attempts to sign in, \
         for {} s\n",
        lasts.as_secs()
    );
    workforce::server::raise_descriptor_limit();
    let figures = run(assault).await;
    println!("{figures}\n");
    let broken = broken(&figures, assault);
    broken.iter().for_each(|limit| println!("BROKEN: {limit}"));
    if broken.is_empty() {
        println!("every limit holds");
    }
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The limits that do not hold. An attack that did not come about proves nothing, so that counts as well.
fn broken(figures: &Figures, assault: Assault) -> Vec<String> {
    let (usual, attacked) = (figures.bot_usual.p99(), figures.bot_attacked.p99());
    let lost = figures.pages_refused + figures.health_refused + figures.turns_unanswered;
    let limits = [
        (attacked < usual * 2, format!("the bot's p99 is {:.1} ms, usually {:.1} ms", ms(attacked), ms(usual))),
        (figures.memory_peak_kb < MOST_MEMORY_KB, format!("memory is {} MB", figures.memory_peak_kb / 1024)),
        (lost == 0 && figures.pages.count() > 0, format!("{lost} pages, checks or answers did not come")),
        (figures.idle_open == assault.idle, format!("only {} connections were idle", figures.idle_open)),
        (figures.downloads_begun == assault.downloads, format!("only {} downloads began", figures.downloads_begun)),
        (figures.sockets_open == assault.sockets, format!("only {} WebSockets were open", figures.sockets_open)),
    ];
    limits.into_iter().filter(|(holds, _)| !holds).map(|(_, limit)| limit).collect()
}
