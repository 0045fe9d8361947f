//! What a bot survives: kills, pauses, second instances, full disks, and a Telegram that misbehaves.
//!
//! People talk to a bot all the while; afterwards everything it has said and kept is compared with what they did, see
//! [`account`]. Bugs on purpose show that these comparisons find something.

mod account;
mod albums;
mod bots;
mod bugs;
mod clocks;
mod crowd;
mod decided;
mod disk;
mod everysec;
mod fleet;
mod handlers;
mod inside;
mod journal;
mod keeper;
mod kills;
mod once;
mod people;
mod process;
mod seeded;
mod sends;
mod servers;
mod stage;
mod stops;
mod takeover;
mod updates;
mod noted;
