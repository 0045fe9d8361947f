//! The workspace's own commands: `cargo xtask test`, `tidy`, `bench`, `soak`, `fixtures` and `screenshots`.
//!
//! They run other programs or read source files. Nothing here is part of the product.

mod bench;
mod cache;
mod clients;
mod commands;
mod dependencies;
mod environment;
mod fixtures;
mod interruption;
mod packages;
mod plan;
mod process;
mod report;
mod scratch;
mod screenshots;
mod servers;
mod soak;
mod test_run;
mod tidy;
mod tools;
mod trusted_certificate;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::environment::Environment;

#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", about = "The workspace's own commands")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run every check and every test, installing what they need
    Test(test_run::Options),
    /// Check the rules of this repository that the compiler does not check
    Tidy {
        /// The workspace to check, if not this one
        root: Option<PathBuf>,
        /// Print which rooms of the application import which
        #[arg(long)]
        graph: bool,
    },
    /// Run a benchmark, or list those there are
    Bench(bench::Options),
    /// Kill a bot at every failpoint many times, and check that no dialogue is damaged (some minutes)
    Soak(soak::Options),
    /// Write fixtures of every store for this version, which later versions must open; those of a release stay
    /// unchanged
    Fixtures,
    /// Take a picture of every page in both widths, themes and languages, into target/screenshots/pages
    Screenshots,
}

fn main() -> ExitCode {
    let outcome = Environment::read().and_then(|environment| perform(Arguments::parse().command, environment));
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn perform(task: Task, environment: Environment) -> Result<ExitCode> {
    match task {
        Task::Test(options) => test_run::run(&options, environment),
        Task::Tidy { root, graph } => tidy::run(root.as_deref().unwrap_or(&environment.root), graph),
        Task::Bench(options) => bench::run(&options, environment),
        Task::Soak(options) => soak::run(&options, environment),
        Task::Fixtures => fixtures::run(environment),
        Task::Screenshots => screenshots::run(environment),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use opora_testkit::documents;

    use super::*;

    #[test]
    fn documents_name_only_commands_that_exist() {
        let root = documents::workspace_root();
        assert_eq!(documents::unknown_commands(&root, "cargo xtask", &Arguments::command()), [""; 0]);
    }
}
