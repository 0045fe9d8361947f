//! What a turn costs with few and with many stored conversations, and what an idle conversation takes.
//!
//! It talks to a store as the runtime does, 200 turns at once: a *cold* turn opens a conversation that the process does
//! not hold, a *warm* one goes on from what it holds. Both are committed with a mark, a state, a message and a
//! transition, and the message is settled. The cost is processor time, of this process and of the store's server
//! together, so that a busy machine spoils it little. It ends with 1 if a turn with many costs beyond the limits more
//! or less than with few. Run it by `cargo xtask bench dialogues`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot go on should stop")]

mod cost;
mod process;
mod room;
mod size;
mod stored;

use std::process::ExitCode;

use cost::Costs;
use process::Processes;
use size::Size;
use stored::Stock;

/// How many conversations are stored.
const FEW: i64 = 1_000;
const MANY: i64 = 1_000_000;
/// How many turns of each kind a part has, and how many parts there are, of which the middle one counts.
const TURNS: usize = 10_000;
const PARTS: usize = 15;
/// How far a turn with many may cost more or less than one with few.
const FLAT: Limits = 0.8..=1.2;
/// The same in a file: each turn of many reads a page of its own, writes it to the log, and copies it from there, where
/// turns of few share them. That is half as much again; more would be a defect.
const FLAT_IN_A_FILE: Limits = 0.8..=1.8;

type Limits = std::ops::RangeInclusive<f64>;

fn main() -> ExitCode {
    // Cargo says that this is a benchmark; nothing else of what it says is meant for us.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["room", cached, people] => room::measure(cached.parse().unwrap(), people.parse().unwrap()),
        ["rooms"] => room::compare(),
        [address] => return judged(address, None, MANY),
        [address, server] => return judged(address, server.parse().ok(), MANY),
        [address, server, many] => return judged(address, server.parse().ok(), many.parse().unwrap()),
        _ => eprintln!("dialogues <address of a store> [process of its server] [how many are many] | rooms"),
    }
    ExitCode::SUCCESS
}

/// Measures, and says which turns are not flat.
fn judged(address: &str, server: Option<u32>, many: i64) -> ExitCode {
    let limits = limits(address);
    let (least, most) = (limits.start(), limits.end());
    let mut outcome = ExitCode::SUCCESS;
    for (name, pair) in measure(address, server, many).by_name() {
        let ratio = pair.ratio();
        if !limits.contains(&ratio) {
            eprintln!(
                "NOT FLAT: a {name} turn with {many} stored conversations costs {ratio:.2} of one with {FEW}; it is to be \
                 {least:.1} to {most:.1}"
            );
            outcome = ExitCode::FAILURE;
        }
    }
    outcome
}

#[tokio::main]
async fn measure(address: &str, server: Option<u32>, many: i64) -> Costs {
    let processes = Processes::with_server(server);
    let mut few = Stock::claim(address).await;
    println!("\n{}", few.store.describe());
    few.fill(FEW).await;
    let beside = size::beside(address).await;
    let mut stock = Stock::claim(&beside).await;
    let before = Size::of(&beside).await;
    let took = stock.fill(many).await;
    size::rest(&beside).await;
    let after = Size::of(&beside).await;
    println!("{FEW} conversations stored, and beside them {many} in {took:.1?}");
    let (mut few, mut stock) = (few.restarted().await, stock.restarted().await);
    let costs = Costs::of(&mut few, &mut stock, &processes).await;
    tell(&costs, &limits(address));
    println!("an idle conversation takes {:.0} bytes {}", after.beyond(&before) / many as f64, after.place);
    few.store.close().await.unwrap();
    stock.store.close().await.unwrap();
    costs
}

fn limits(address: &str) -> Limits {
    if address.starts_with("sqlite:") { FLAT_IN_A_FILE } else { FLAT }
}

fn tell(costs: &Costs, limits: &Limits) {
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
