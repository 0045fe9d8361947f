//! What a turn costs with few and with many stored conversations, and what an idle conversation takes.
//!
//! It talks to a store as the runtime does, 200 turns at once: a *cold* turn opens a conversation that the process does
//! not hold, a *warm* one goes on from what it holds. Both are committed with a mark, a state, a message and a transition,
//! and the message is settled. The cost is processor time, of this process and of the store's server together, so that a
//! busy machine spoils it little. Run it by `cargo xtask bench dialogues`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot go on should stop")]

mod cost;
mod process;
mod room;
mod size;
mod stored;

use cost::Cost;
use process::Processes;
use size::Size;
use stored::Stock;

/// How many conversations are stored.
const FEW: i64 = 1_000;
const MANY: i64 = 1_000_000;
/// How many turns are measured of each kind, in so many parts, of which the middle one counts.
const TURNS: usize = 10_000;
const PARTS: usize = 5;
/// How far a turn with many may cost more or less than one with few.
const FLAT: std::ops::RangeInclusive<f64> = 0.8..=1.2;

fn main() {
    // Cargo says that this is a benchmark; nothing else of what it says is meant for us.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["room", cached, people] => room::measure(cached.parse().unwrap(), people.parse().unwrap()),
        ["rooms"] => room::compare(),
        [address] => measure(address, None, MANY),
        [address, server] => measure(address, server.parse().ok(), MANY),
        [address, server, many] => measure(address, server.parse().ok(), many.parse().unwrap()),
        _ => eprintln!("dialogues <address of a store> [process of its server] [how many are many] | rooms"),
    }
}

#[tokio::main]
async fn measure(address: &str, server: Option<u32>, many: i64) {
    let processes = Processes::with_server(server);
    let store = opora::store::open(address).await.unwrap();
    println!("\n{}", store.describe());
    let mut stock = Stock::claim(store).await;
    let mut sizes = Vec::new();
    let mut costs = Vec::new();
    for count in [FEW, many] {
        let took = stock.fill(count).await;
        size::rest(address).await;
        sizes.push((count, Size::of(address).await));
        println!("{count:>9} conversations stored, the last of them in {took:.1?}");
        costs.push(Cost::of(&mut stock, &processes).await);
    }
    tell(&costs, &sizes);
    stock.store.close().await.unwrap();
}

fn tell(costs: &[Cost], sizes: &[(i64, Size)]) {
    let [few, many] = costs else { return };
    println!(
        "{:<6} {:>14} {:>14} {:>7}   {:>14} {:>14}",
        "turn", "CPU us, few", "CPU us, many", "ratio", "us, few", "us, many"
    );
    for (name, few, many) in [("cold", &few.cold, &many.cold), ("warm", &few.warm, &many.warm)] {
        let ratio = many.cpu_us() / few.cpu_us();
        let verdict = if FLAT.contains(&ratio) { "flat" } else { "NOT FLAT" };
        println!(
            "{name:<6} {:>14} {:>14} {ratio:>7.2}   {:>14.1} {:>14.1}  {verdict}",
            few.to_string(),
            many.to_string(),
            few.wall_us,
            many.wall_us
        );
    }
    if let [(few, before), (many, after)] = sizes {
        println!("an idle conversation takes {:.0} bytes {}", after.beyond(before) / (many - few) as f64, after.place);
    }
}
