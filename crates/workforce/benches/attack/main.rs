//! Measures the product under attack from many addresses of this machine, while people write to the bot and read pages.
//!
//! `cargo xtask bench attack` runs it. Arguments: the seconds, then the numbers of idle connections, downloads,
//! WebSockets and sign-in attempts, so that each can be tried alone. It fails if the bot's p99 is twice the p99 without
//! an attack, if the product uses 300 MB, or if a page of a signed-in member fails.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot go on should stop where it is")]

use std::process::ExitCode;
use std::time::Duration;

use opora_testkit::product::attack::report::{AttackReport, ms};
use opora_testkit::product::attack::{AttackPlan, run};

const FULL_ATTACK: AttackPlan = AttackPlan {
    idle: 2000,
    downloads: 200,
    sockets: 500,
    attempts: 4000,
    attackers: 40,
    readers: 10,
    duration: Duration::from_secs(60),
    before: Duration::from_secs(60),
    file_bytes: 20 << 20,
};
const MAX_MEMORY_KB: u64 = 300 * 1024;

#[tokio::main]
async fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let words = std::env::args().skip(1).filter(|word| word != "--bench");
    let mut numbers = words.map(|word| word.parse::<usize>().expect("a number"));
    let mut next = |usual| numbers.next().unwrap_or(usual);
    let duration = Duration::from_secs(next(60) as u64);
    let (idle, downloads, sockets) = (next(FULL_ATTACK.idle), next(FULL_ATTACK.downloads), next(FULL_ATTACK.sockets));
    let attempts = next(FULL_ATTACK.attempts);
    let plan = AttackPlan { idle, downloads, sockets, attempts, duration, before: duration, ..FULL_ATTACK };
    println!(
        "{idle} idle connections, {downloads} unread downloads, {sockets} WebSockets and {attempts} attempts to sign in, \
         for {} s\n",
        duration.as_secs()
    );
    workforce::server::raise_descriptor_limit();
    let figures = run(plan).await;
    println!("{figures}\n");
    let broken = violated_limits(&figures, plan);
    broken.iter().for_each(|limit| println!("BROKEN: {limit}"));
    if broken.is_empty() {
        println!("every limit holds");
    }
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The limits that do not hold. An attack that did not come about proves nothing, so that counts as well.
fn violated_limits(figures: &AttackReport, plan: AttackPlan) -> Vec<String> {
    let (usual, attacked) = (figures.bot_before.p99(), figures.bot_during.p99());
    let lost = figures.pages_refused + figures.health_refused + figures.turns_unanswered;
    let limits = [
        (attacked < usual * 2, format!("the bot's p99 is {:.1} ms, usually {:.1} ms", ms(attacked), ms(usual))),
        (figures.memory_peak_kb < MAX_MEMORY_KB, format!("memory is {} MB", figures.memory_peak_kb / 1024)),
        (lost == 0 && figures.pages.count() > 0, format!("{lost} pages, checks or answers did not come")),
        (figures.idle_open == plan.idle, format!("only {} connections were idle", figures.idle_open)),
        (figures.downloads_begun == plan.downloads, format!("only {} downloads began", figures.downloads_begun)),
        (figures.sockets_open == plan.sockets, format!("only {} WebSockets were open", figures.sockets_open)),
    ];
    limits.into_iter().filter(|(holds, _)| !holds).map(|(_, limit)| limit).collect()
}
