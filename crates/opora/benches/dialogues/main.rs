//! The cost of a turn with few and with many stored conversations, and the size of an idle conversation.
//!
//! Uses a store as the runtime does, with 200 turns at once. A *cold* turn opens a conversation that is not in the
//! process's cache, a *warm* one continues from the cache. Both commit a mark, a state, a message and a transition, and
//! settle the message. The cost is the processor time of this process and the store's server, so that a busy machine
//! changes it little. The exit code is 1 if the ratio of many to few is outside of the limits. Run it with
//! `cargo xtask bench dialogues`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot go on should stop")]

mod cost;
mod filled_store;
mod jobs;
mod memory;
mod process;
mod size;

use std::process::ExitCode;

use cost::Costs;
use filled_store::FilledStore;
use process::Processes;
use size::Size;

/// How many conversations are stored.
const FEW: i64 = 1_000;
const MANY: i64 = 1_000_000;
/// The turns of each kind in a run, and the number of runs, of which the median counts.
const TURNS: usize = 10_000;
const RUNS: usize = 15;
/// The allowed ratio of a turn with many conversations to one with few.
const FLAT: Limits = 0.8..=1.2;
/// The same for SQLite: with many conversations each turn reads its own page, writes it to the log and copies it from
/// there, while with few the turns share pages. That costs half as much again; more would be a defect.
const FLAT_IN_A_FILE: Limits = 0.8..=1.8;

type Limits = std::ops::RangeInclusive<f64>;

fn main() -> ExitCode {
    // Cargo passes `--bench` and possibly other arguments of its own, which are ignored.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["room", cached, people] => memory::measure(cached.parse().unwrap(), people.parse().unwrap()),
        ["rooms"] => memory::compare(),
        ["jobs", count, address, database, ref servers @ ..] => {
            let servers: Vec<u32> = servers.iter().filter_map(|server| server.parse().ok()).collect();
            let database = Some(database).filter(|database| !database.is_empty());
            jobs::measure(address, database, &servers, count.parse().unwrap());
        }
        [address] => return run(address, None, MANY),
        [address, server] => return run(address, server.parse().ok(), MANY),
        [address, server, many] => return run(address, server.parse().ok(), many.parse().unwrap()),
        _ => eprintln!("dialogues <address of a store> [process of its server] [how many are many] | rooms"),
    }
    ExitCode::SUCCESS
}

/// Measures, and reports the turns outside of the limits.
fn run(address: &str, server: Option<u32>, many: i64) -> ExitCode {
    let limits = limits(address);
    let (least, most) = (limits.start(), limits.end());
    let mut outcome = ExitCode::SUCCESS;
    for (name, pair) in measure(address, server, many).by_name() {
        let ratio = pair.ratio();
        if !limits.contains(&ratio) {
            eprintln!(
                "NOT FLAT: a {name} turn with {many} stored conversations costs {ratio:.2} of one with {FEW}; the limits \
                 are {least:.1} to {most:.1}"
            );
            outcome = ExitCode::FAILURE;
        }
    }
    outcome
}

#[tokio::main]
async fn measure(address: &str, server: Option<u32>, many: i64) -> Costs {
    let processes = Processes::with_servers(server.as_slice());
    let mut few = FilledStore::claim(address).await;
    println!("\n{}", few.store.describe());
    few.fill(FEW).await;
    let beside = size::beside(address).await;
    let mut filled = FilledStore::claim(&beside).await;
    let before = Size::of(&beside).await;
    let took = filled.fill(many).await;
    size::finish_background_work(&beside).await;
    let after = Size::of(&beside).await;
    println!("{FEW} conversations stored, and beside them {many} in {took:.1?}");
    let (mut few, mut filled) = (few.restarted().await, filled.restarted().await);
    let costs = Costs::of(&mut few, &mut filled, &processes).await;
    print(&costs, &limits(address));
    println!("an idle conversation takes {:.0} bytes {}", after.larger_by(&before) / many as f64, after.place);
    few.store.close().await.unwrap();
    filled.store.close().await.unwrap();
    costs
}

fn limits(address: &str) -> Limits {
    if address.starts_with("sqlite:") { FLAT_IN_A_FILE } else { FLAT }
}

fn print(costs: &Costs, limits: &Limits) {
    println!(
        "{:<6} {:>14} {:>14} {:>7}   {:>14} {:>14}",
        "turn", "CPU us, few", "CPU us, many", "ratio", "us, few", "us, many"
    );
    for (name, pair) in costs.by_name() {
        let ratio = pair.ratio();
        let verdict = if limits.contains(&ratio) { "within its limits" } else { "NOT FLAT" };
        println!(
            "{name:<6} {:>14} {:>14} {ratio:>7.2}   {:>14.1} {:>14.1}  {verdict}",
            pair.few.to_string(),
            pair.many.to_string(),
            pair.few.wall_us,
            pair.many.wall_us
        );
    }
}
