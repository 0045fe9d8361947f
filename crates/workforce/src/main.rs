//! The binary `opora`: one program, a subcommand for each thing it does.

mod audit;
mod cli;
mod config;
mod demo;
mod domain;
mod echo;
mod people;
mod serve;
mod state;
mod texts;

use clap::Parser;

fn main() -> std::process::ExitCode {
    cli::Cli::parse().run()
}
