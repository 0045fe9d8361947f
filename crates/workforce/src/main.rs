//! The binary `opora`: one program, a subcommand for each thing it does.

mod cli;
mod config;
mod demo;
mod echo;
mod serve;
mod state;

use clap::Parser;

fn main() -> std::process::ExitCode {
    cli::Cli::parse().run()
}
