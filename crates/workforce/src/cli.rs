//! The command line.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand, ValueEnum};
use opora_emulator::Limits;
use opora_emulator::hosts::parse_name;

use crate::background;
use crate::config;
use crate::demo;
use crate::doctor;
use crate::onboarding;
use crate::people;
use crate::private;
use crate::registration;
use crate::run;
use crate::serve;
use crate::settings;
use crate::state;
use crate::texts::Language;

/// Telegram bots that never forget.
#[derive(Debug, Parser)]
#[command(name = "opora", version, about, arg_required_else_help = true, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the product with an emulator and sample people; needs no token, server or network
    Demo(Demo),
    /// Start the product: bot, pages and jobs
    Run(config::Flags),
    /// Bring the application's tables up to date
    Migrate(config::DatabaseFlags),
    /// Check everything that `run` needs, and say what to do
    Doctor(doctor::Arguments),
    /// Start the Bot API emulator: point a bot at it and talk to the bot in the browser
    Emulator(Emulator),
    /// Grant and revoke roles, export and forget people
    People(people::command::Arguments),
    /// Settings that an owner may change while the product runs
    Settings(settings::command::Arguments),
    /// The questionnaire for new people
    Onboarding(onboarding::command::Arguments),
    /// Background jobs: list, run, retry and cancel them, pause queues
    Jobs(background::command::Arguments),
    /// Remove old files that have no owner
    Cleanup(registration::command::Cleanup),
    /// Find inconsistencies between rows and files, and repair them
    Repair(registration::command::Repair),
    /// Inspect a bot's store: conversations, parked turns, the lease
    State(state::State),
    /// Copy a bot's store into a new file, consistently, while the bot runs
    Backup(state::Backup),
    /// Replace a bot's store by a backup; the old data is kept under another name
    Restore(state::Restore),
}

#[derive(Debug, Args)]
pub struct Demo {
    /// Port of the pages and of the emulator; 0 takes a free one
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// Keep everything in this directory across restarts
    #[arg(long, value_name = "DIR", default_value = "data/demo")]
    pub data: PathBuf,
    /// Start over: remove the data of an earlier demo
    #[arg(long)]
    pub fresh: bool,
    /// Serve under this host name too, besides localhost and addresses; may be given several times. Other names are
    /// refused, because a page of another site could use them to reach this server (DNS rebinding)
    #[arg(long = "allow-host", value_name = "NAME", value_parser = parse_name)]
    pub allow_hosts: Vec<String>,
    /// Serve /metrics on this port of this machine, or on this address of it
    #[arg(long, value_name = "ADDRESS", value_parser = local_address)]
    pub metrics_listen: Option<SocketAddr>,
    /// Language of the demo bot, its people and the chat page
    #[arg(long, value_enum, default_value_t = Language::Ru)]
    pub language: Language,
    /// Do not open the chat page in the browser
    #[arg(long)]
    pub no_open: bool,
}

#[derive(Debug, Args)]
pub struct Emulator {
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 8081)]
    pub port: u16,
    /// Address to listen on; anyone who reaches it can read and send everything
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub listen: IpAddr,
    /// Serve under this host name too, besides localhost and addresses; may be given several times. Other names are
    /// refused, because a page of another site could use them to reach this server (DNS rebinding)
    #[arg(long = "allow-host", value_name = "NAME", value_parser = parse_name)]
    pub allow_hosts: Vec<String>,
    /// Keep bots, people and messages in this directory across restarts
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Apply Telegram's limits on sending: 30 messages a second, 1 a second in a chat, 20 a minute in a group
    #[arg(long, value_enum, default_value_t = SendLimits::Off)]
    pub limits: SendLimits,
    /// Add an echo bot and two people, in this language, to try the chat page
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub echo: Option<Language>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SendLimits {
    Telegram,
    Off,
}

impl From<SendLimits> for Limits {
    fn from(limits: SendLimits) -> Self {
        match limits {
            SendLimits::Telegram => Self::Telegram,
            SendLimits::Off => Self::Off,
        }
    }
}

impl Cli {
    pub fn run(self) -> ExitCode {
        private::restrict_new_files();
        let demo_log = match self.command {
            Command::Demo(_) => config::start_demo_log(),
            _ => {
                config::start_log("info");
                Arc::default()
            }
        };
        // Every command may build an HTTP client, and clients come without a cryptography provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        if matches!(self.command, Command::Emulator(_) | Command::Demo(_)) {
            runtime.worker_threads(opora_emulator::worker_threads());
        }
        let runtime = runtime.enable_all().build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return failed(&anyhow::Error::new(error).context("cannot start the runtime")),
        };
        let result = match self.command {
            Command::Demo(arguments) => runtime.block_on(demo::run(arguments, &demo_log)),
            Command::Run(flags) => runtime.block_on(run::run(flags)),
            Command::Migrate(database) => runtime.block_on(run::migrate(database)),
            Command::Doctor(arguments) => runtime.block_on(doctor::run(arguments)),
            Command::Emulator(arguments) => runtime.block_on(serve::emulator(arguments)),
            Command::People(arguments) => runtime.block_on(people::command::run(arguments)),
            Command::Settings(arguments) => runtime.block_on(settings::command::run(arguments)),
            Command::Onboarding(arguments) => runtime.block_on(onboarding::command::run(arguments)),
            Command::Jobs(arguments) => runtime.block_on(background::command::run(arguments)),
            Command::Cleanup(arguments) => runtime.block_on(registration::command::cleanup(arguments)),
            Command::Repair(arguments) => runtime.block_on(registration::command::repair(arguments)),
            Command::State(arguments) => runtime.block_on(state::run(arguments)),
            Command::Backup(arguments) => runtime.block_on(state::backup(arguments)),
            Command::Restore(arguments) => runtime.block_on(state::restore(arguments)),
        };
        // Long polls may still be open; there is no reason to wait for them.
        runtime.shutdown_background();
        match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error),
        }
    }
}

/// An address that other machines cannot reach: the demo has no token.
fn local_address(text: &str) -> Result<SocketAddr, &'static str> {
    let address = config::listen_address(text).filter(|address| address.ip().is_loopback());
    address.ok_or("not a port, nor an address of this machine with a port, such as 127.0.0.1:9464")
}

fn failed(error: &anyhow::Error) -> ExitCode {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        // The text of some errors includes their cause.
        if !message.contains(&cause) {
            let colon = if message.is_empty() { "" } else { ": " };
            message.extend([colon, &cause]);
        }
    }
    eprintln!("opora: {message}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use opora_testkit::documents;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
        assert_eq!(Cli::command().render_version(), format!("opora {}\n", env!("CARGO_PKG_VERSION")));
    }

    #[test]
    fn documents_name_only_commands_that_exist() {
        let root = documents::workspace_root();
        assert_eq!(documents::unknown_commands(&root, "opora", &Cli::command()), [""; 0]);
        assert_eq!(documents::unknown_commands(&root, "cargo run --release --", &Cli::command()), [""; 0]);
    }
}
