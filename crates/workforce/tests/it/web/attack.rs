//! A small attack from many addresses at once: the product as a process, while people write to the bot and read pages.
//!
//! `cargo xtask bench attack` is the full version, with time limits that only an idle machine can meet.

use std::time::Duration;

use opora_testkit::product::attack::{AttackPlan, run};

const SMALL: AttackPlan = AttackPlan {
    idle: 100,
    downloads: 30,
    sockets: 40,
    attempts: 60,
    attackers: 5,
    readers: 2,
    duration: Duration::from_secs(3),
    before: Duration::from_secs(1),
    file_bytes: 20 << 20,
};

/// A debug build is larger than the product, and the machine is busy with other tests.
const MAX_MEMORY_KB: u64 = 300 * 1024;
const MAX_P99: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_served_during_an_attack() {
    workforce::server::raise_descriptor_limit();
    let figures = run(SMALL).await;
    println!("{figures}");
    assert!(figures.memory_peak_kb < MAX_MEMORY_KB, "{figures}");
    assert_eq!((figures.pages_refused, figures.health_refused, figures.turns_unanswered), (0, 0, 0), "{figures}");
    assert!(figures.pages.count() > 0 && figures.pages.p99() < MAX_P99, "{figures}");
    assert!(figures.bot_during.count() > 0 && figures.bot_during.p99() < MAX_P99, "{figures}");
    assert_eq!(figures.downloads_begun, SMALL.downloads, "downloads that are not read: {figures}");
    assert!(figures.downloads_refused > 0, "the limit of six files per person was not reached: {figures}");
}
