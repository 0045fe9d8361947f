//! `opora state`, `opora backup` and `opora restore`: the operator's hands in a bot's store.
//!
//! Everything goes through the library's store, beside a bot that runs or without one. What destroys something asks
//! first. Nothing here makes a store: a mistyped path must not answer with an empty database.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use opora::clock::{Clock, Millis};
use opora::store::Store;

pub use self::backup::Backup;
pub use self::confirm::Consent;
pub use self::restore::Restore;

mod accept;
mod backup;
mod confirm;
mod discard;
mod export;
mod failed;
mod find;
mod import;
mod lease;
mod list;
mod open;
pub(crate) mod output;
mod parked;
mod reset;
mod restore;
mod show;
mod stats;
mod tidy;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 done; 1 not done, with the reason on standard error; 2 the command line was not \
                        understood. What destroys something asks first; --yes answers."
)]
pub struct State {
    #[command(flatten)]
    store: open::Address,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List conversations: whose, where they stand, how old; not what was said in them
    List(list::List),
    /// Show one conversation: its state, its latest transitions, its parked turns, the inputs that wait for it
    Show(show::Show),
    /// End a conversation whatever its state; the person begins anew
    Reset(reset::Reset),
    /// Write conversations as JSON lines, one conversation each
    Export(export::Export),
    /// Read conversations from JSON lines, as `export` writes them, or from an aiogram bot's Redis
    Import(import::Import),
    /// Count what is kept and what waits
    Stats(stats::Stats),
    /// Turns that failed for good: look at them, run them again, drop them
    Parked(parked::Parked),
    /// Messages that could not be sent, and why
    Failed(failed::Failed),
    /// Go on with a Redis that has lost something, also in the database beside it, or with a PostgreSQL that is not the one that
    /// was there: what is missing is gone for good. Without --yes it only says what it is
    Accept(accept::Accept),
    /// Who holds the lease, that is which process works for a bot
    Lease(lease::LeaseArgs),
    /// Remove what a database has kept of conversations before they came to Redis, so that a journal can lie there
    Discard(discard::Discard),
    /// Remove what other versions of this program left on a server: after an update, its former functions in Redis
    Tidy(tidy::Tidy),
}

/// What every command gets.
struct Desk<'a> {
    store: &'a dyn Store,
    now: Millis,
    /// The configuration file, if one was named.
    config: Option<PathBuf>,
}

/// `opora state`.
pub async fn run(arguments: State) -> anyhow::Result<()> {
    if let Command::Accept(accept) = arguments.command {
        return accept::run(&arguments.store, accept).await;
    }
    let store = arguments.store.open().await?;
    let config = arguments.store.config.clone();
    let desk = Desk { store: &*store, now: Clock::machine().now(), config };
    let done = match arguments.command {
        Command::List(arguments) => list::run(&desk, arguments).await,
        Command::Show(arguments) => show::run(&desk, arguments).await,
        Command::Reset(arguments) => reset::run(&desk, arguments).await,
        Command::Export(arguments) => export::run(&desk, arguments).await,
        Command::Import(arguments) => import::run(&desk, arguments).await,
        Command::Stats(arguments) => stats::run(&desk, arguments).await,
        Command::Parked(arguments) => parked::run(&desk, arguments).await,
        Command::Failed(arguments) => failed::run(&desk, arguments).await,
        Command::Lease(arguments) => lease::run(&desk, arguments).await,
        Command::Tidy(arguments) => tidy::run(&desk, arguments).await,
        Command::Discard(discard) => discard::run(&desk, &arguments.store, discard).await,
        Command::Accept(_) => Ok(()),
    };
    store.close().await?;
    done
}

/// `opora backup`.
pub async fn backup(arguments: Backup) -> anyhow::Result<()> {
    backup::run(arguments).await
}

/// `opora restore`.
pub async fn restore(arguments: Restore) -> anyhow::Result<()> {
    restore::run(arguments).await
}
