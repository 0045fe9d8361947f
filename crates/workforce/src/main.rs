//! The binary `opora`: one program, a subcommand for each thing it does.

use clap::Parser;

fn main() -> std::process::ExitCode {
    workforce::cli::Cli::parse().run()
}
