//! `cargo xtask soak`: the crash test in its long form.
//!
//! A bot is killed at every failpoint many times while people talk to it, and so is its Redis or PostgreSQL. Then all
//! messages and stored state are compared with the input. The tests are those of `cargo xtask test`, optimised and
//! with larger numbers, one after another. Every wait has a deadline, so the run always ends. `--minutes` is for jobs:
//! a steady stream of them, in the first half while their bot is killed; none may be lost or have its effect twice. In
//! the second half one instance runs, whose memory must stay flat.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::commands::{Commands, command_line};
use crate::environment::Environment;
use crate::interruption::Interruption;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How often the bot is killed at each failpoint
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    kills: u32,
    /// How many people talk to it at once
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    people: u32,
    /// Run jobs on all stores at once for so long, and kill their bot again and again in the first half; nothing else
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    minutes: Option<u32>,
    /// Only the tests whose name contains this; all of the crash test unless given
    #[arg(default_value = "crash::")]
    tests: Vec<String>,
}

pub(crate) fn run(options: &Options, environment: Environment) -> Result<ExitCode> {
    let commands = Commands::new(environment, Interruption::watch()?);
    // The tests start the example; a test target alone does not build it.
    let mut build = commands.cargo(&["build", "--profile", "dist", "--package", "opora", "--example", "registration"]);
    println!("{}", command_line(&build));
    commands.show(&mut build)?;
    let mut soak = commands.cargo(&["test", "--profile", "dist", "--package", "opora", "--test", "it", "--"]);
    match options.minutes {
        Some(minutes) => {
            soak.args(["jobs_survive_kills", "--nocapture"]).env("OPORA_SOAK_MINUTES", minutes.to_string());
        }
        None => {
            soak.args(&options.tests).args(["--nocapture", "--test-threads", "1"]);
        }
    }
    soak.env("OPORA_SOAK_KILLS", options.kills.to_string()).env("OPORA_SOAK_PEOPLE", options.people.to_string());
    println!("{}", command_line(&soak));
    match commands.show(&mut soak) {
        Ok(()) => {
            match options {
                Options { minutes: Some(minutes), .. } => println!("soak: passed: jobs for {minutes} minutes"),
                Options { kills, people, tests, .. } => {
                    println!("soak: passed: {} ({kills} kills at a failpoint, {people} people)", tests.join(" "));
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            eprintln!("soak: {error:#}; the complaints stand above");
            Ok(ExitCode::FAILURE)
        }
    }
}
