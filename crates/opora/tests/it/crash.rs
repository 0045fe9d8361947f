//! What a bot survives: kills, pauses, second instances, full disks, and a misbehaving Telegram.
//!
//! People talk to a bot meanwhile. Afterwards [`audit`] compares everything that the bot sent and stored with what they
//! did. Seeded bugs show that the audit finds violations.

/// Runs each test on every kind of store. A test is a function of the [`backend::StoreKind`].
macro_rules! on_every_store {
    (in $module:ident on $kind:ident: $($test:ident,)*) => {
        mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(crate::crash::backend::StoreKind::$kind).await;
            })*
        }
    };
    ($($test:ident,)*) => {
        on_every_store! { in sqlite on Sqlite: $($test,)* }
        on_every_store! { in redis on Redis: $($test,)* }
        on_every_store! { in postgres on Postgres: $($test,)* }
    };
}

mod albums;
mod audit;
mod backend;
mod bots;
mod bugs;
mod clocks;
mod crowd;
mod decisions;
mod disk;
mod drop_if_unsure;
mod everysec;
mod fleet;
mod handlers;
mod in_process;
mod job_soak;
mod jobs;
mod journal;
mod kills;
mod network;
mod partition;
mod people;
mod power;
mod process;
mod seeded_bugs;
mod sends;
mod sent_log;
mod servers;
mod stage;
mod stops;
mod takeover;
mod updates;

pub use self::backend::query_numbers_at;
