//! What a bot survives: kills, pauses, second instances, full disks, and a Telegram that misbehaves.
//!
//! People talk to a bot all the while; afterwards everything it has said and kept is compared with what they did, see
//! [`account`]. Bugs on purpose show that these comparisons find something.

/// Runs tests over every kind of store; each is a function of the [`keeper::Kind`].
macro_rules! on_every_store {
    (in $module:ident on $kind:ident: $($test:ident,)*) => {
        mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(crate::crash::keeper::Kind::$kind).await;
            })*
        }
    };
    ($($test:ident,)*) => {
        on_every_store! { in sqlite on Sqlite: $($test,)* }
        on_every_store! { in redis on Redis: $($test,)* }
        on_every_store! { in postgres on Postgres: $($test,)* }
    };
}

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
mod network;
mod noted;
mod once;
mod partition;
mod people;
mod power;
mod process;
mod seeded;
mod sends;
mod servers;
mod stage;
mod stops;
mod takeover;
mod updates;
