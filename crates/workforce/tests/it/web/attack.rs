//! An attack from many addresses at once, in small: the product as a process, while people write to the bot and read pages.
//!
//! `cargo xtask bench attack` is the same in earnest, with the limits of time that only an idle machine can hold.

use std::time::Duration;

use opora_testkit::product::attack::{Assault, run};

const SMALL: Assault = Assault {
    idle: 100,
    downloads: 30,
    sockets: 40,
    attempts: 60,
    attackers: 5,
    readers: 2,
    lasts: Duration::from_secs(3),
    before: Duration::from_secs(1),
    file_bytes: 20 << 20,
};

/// A debug build is larger than the product, and its machine is busy with other tests.
const MOST_MEMORY_KB: u64 = 300 * 1024;
const SLOWEST: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_attack_people_are_served_and_memory_is_bounded() {
    workforce::server::raise_descriptor_limit();
    let figures = run(SMALL).await;
    println!("{figures}");
    assert!(figures.memory_peak_kb < MOST_MEMORY_KB, "{figures}");
    assert_eq!((figures.pages_refused, figures.health_refused, figures.turns_unanswered), (0, 0, 0), "{figures}");
    assert!(figures.pages.count() > 0 && figures.pages.p99() < SLOWEST, "{figures}");
    assert!(figures.bot_attacked.count() > 0 && figures.bot_attacked.p99() < SLOWEST, "{figures}");
    assert_eq!(figures.downloads_begun, SMALL.downloads, "each of them reads nothing: {figures}");
    assert!(figures.downloads_refused > 0, "one person had more files than six: {figures}");
}
