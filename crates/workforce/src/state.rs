//! `opora state`, `opora backup` and `opora restore`: operator commands for a bot's store.
//!
//! Everything goes through the library's store, while a bot runs or not. Destructive commands ask first. Nothing here
//! creates a store: a mistyped path must not answer with an empty database.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use opora::clock::{Clock, Millis};
use opora::store::Store;

pub use self::backup::Backup;
pub use self::restore::Restore;

mod accept;
mod backup;
mod discard;
mod export;
mod failed;
mod find;
mod import;
mod lease;
mod list;
mod open;
mod parked;
mod reset;
mod restore;
mod show;
mod stats;
mod tidy;

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 done; 1 not done, with the reason on standard error; 2 invalid command line. \
                            Destructive commands ask first; --yes answers.")]
pub struct State {
    #[command(flatten)]
    store: open::Address,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List conversations: user, state, age; not their content
    List(list::List),
    /// Show one conversation: its state, latest transitions, parked turns and waiting inputs
    Show(show::Show),
    /// End a conversation in any state; the person starts over
    Reset(reset::Reset),
    /// Write conversations as JSON lines, one conversation each
    Export(export::Export),
    /// Read conversations from JSON lines, as `export` writes them, or from an aiogram bot's Redis
    Import(import::Import),
    /// Count what is stored and what waits
    Stats(stats::Stats),
    /// Turns that failed for good: inspect, retry or drop them
    Parked(parked::Parked),
    /// Messages that could not be sent, and why
    Failed(failed::Failed),
    /// Continue with a Redis that has lost data, also in the database beside it, or with a different PostgreSQL: the
    /// missing data is gone for good. Without --yes it only reports the loss
    Accept(accept::Accept),
    /// Show which process holds a bot's lease
    Lease(lease::LeaseArgs),
    /// Remove the conversations that a database kept before the bot moved to Redis, so that it can hold a journal
    Discard(discard::Discard),
    /// Remove leftovers of other versions on a server: after an update, the old functions in Redis
    Tidy(tidy::Tidy),
}

/// What every command gets.
struct CommandContext<'a> {
    store: &'a dyn Store,
    now: Millis,
    /// The configuration file, if one was given.
    config: Option<PathBuf>,
}

/// `opora state`.
pub async fn run(arguments: State) -> anyhow::Result<()> {
    if let Command::Accept(accept) = arguments.command {
        return accept::run(&arguments.store, accept).await;
    }
    let store = arguments.store.open().await?;
    let config = arguments.store.config.clone();
    let context = CommandContext { store: &*store, now: Clock::machine().now(), config };
    let done = match arguments.command {
        Command::List(arguments) => list::run(&context, arguments).await,
        Command::Show(arguments) => show::run(&context, arguments).await,
        Command::Reset(arguments) => reset::run(&context, arguments).await,
        Command::Export(arguments) => export::run(&context, arguments).await,
        Command::Import(arguments) => import::run(&context, arguments).await,
        Command::Stats(arguments) => stats::run(&context, arguments).await,
        Command::Parked(arguments) => parked::run(&context, arguments).await,
        Command::Failed(arguments) => failed::run(&context, arguments).await,
        Command::Lease(arguments) => lease::run(&context, arguments).await,
        Command::Tidy(arguments) => tidy::run(&context, arguments).await,
        Command::Discard(discard) => discard::run(&context, &arguments.store, discard).await,
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
