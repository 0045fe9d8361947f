//! `cargo xtask test`: every check and every test, in the order of [`Step`].
//!
//! A step that fails does not keep the later ones from running. All cargo steps use the same profile and features, so
//! that they share one build. The servers are stopped whatever happens.

use std::ffi::OsString;
use std::num::NonZero;
use std::process::{Command, ExitCode};
use std::thread;

use anyhow::Result;
use clap::Args;

use crate::commands::{Commands, spelled};
use crate::environment::Environment;
use crate::interruption::Interruption;
use crate::plan::{self, Step};
use crate::report::{Done, Report};
use crate::servers::{Durability, Servers};
use crate::{clients, dependencies, packages, scratch, tidy, tools};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Run only these steps, and what they need
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Step>,
    /// Leave these steps out
    #[arg(long, value_enum, value_delimiter = ',')]
    skip: Vec<Step>,
    /// Run only the tests that this nextest filter expression selects
    #[arg(long)]
    filter: Option<String>,
    /// Run also the tests that repeat on other stores, or with other programs, what the usual run does once
    #[arg(long)]
    all: bool,
    /// Install nothing; what is missing makes its step fail
    #[arg(long)]
    no_install: bool,
    /// Passed on to `cargo nextest run`
    #[arg(last = true)]
    nextest_arguments: Vec<String>,
}

pub(crate) fn run(options: &Options, environment: Environment) -> Result<ExitCode> {
    let interruption = Interruption::watched()?;
    let mut report = Report::begin(interruption.clone());
    let mut run =
        TestRun { options, commands: Commands::new(environment, interruption), servers: None, told: Vec::new() };
    for step in plan::steps(&options.only, &options.skip) {
        report.step(&step.name(), &step.purpose(), || run.perform(step));
    }
    if let Some(servers) = run.servers.take() {
        report.always("stop", || servers.stop().map(Done::Well));
    }
    Ok(report.finish())
}

struct TestRun<'a> {
    options: &'a Options,
    commands: Commands,
    servers: Option<Servers>,
    /// What the preparing steps found out and the tests are told by the environment.
    told: Vec<(&'static str, OsString)>,
}

impl TestRun<'_> {
    fn perform(&mut self, step: Step) -> Result<Done> {
        let may_install = !self.options.no_install;
        match step {
            Step::Tidy => tidy::check(&self.commands.environment.root),
            Step::Fmt => {
                tools::provide_component(&self.commands, "rustfmt", may_install)?;
                self.cargo(&["fmt", "--all", "--check"])
            }
            Step::Tools => tools::provide(&self.commands, may_install).map(Done::Well),
            Step::Dependencies => dependencies::check(&self.commands).map(Done::Well),
            Step::Clippy => {
                tools::provide_component(&self.commands, "clippy", may_install)?;
                self.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
                // The workspace has all features of the library; a bot with default features compiles less of it.
                self.cargo(&["clippy", "--package", "opora", "--lib", "--", "-D", "warnings"])
            }
            Step::Packages => self.packages(may_install),
            Step::Python => {
                self.told.push(("OPORA_TEST_PYTHON", clients::python(&self.commands, may_install)?.into()));
                self.told.push(("OPORA_TEST_MOTO", clients::moto(&self.commands, may_install)?.into()));
                self.told.push(("OPORA_TEST_OLD_REDIS", clients::old_redis(&self.commands, may_install)?.into()));
                Ok(Done::Well(String::new()))
            }
            Step::Node => {
                self.told.push(("OPORA_TEST_NODE_PATH", clients::node(&self.commands, may_install)?.into()));
                Ok(Done::Well(String::new()))
            }
            Step::Teloxide => self.teloxide(),
            Step::Servers => self.servers(),
            Step::Tests => self.tests(),
            Step::Doctests => self.show(self.commands.cargo(&["test", "--doc", "--workspace"])),
            Step::Docs => {
                // With examples the dependencies keep the features that the lints and tests built them with.
                let mut command = self.commands.cargo(&["doc", "--no-deps", "--workspace", "--lib", "--examples"]);
                command.env("RUSTDOCFLAGS", "-D warnings");
                self.show(command)
            }
        }
    }

    fn packages(&mut self, may_install: bool) -> Result<Done> {
        let outcome = packages::provide(&self.commands, may_install);
        // Where another package is missing, the tests in a browser can still run.
        for (variable, program) in [("OPORA_TEST_CHROMIUM", "chromium"), ("OPORA_TEST_CHROMEDRIVER", "chromedriver")] {
            self.told.extend(self.commands.find(program).map(|path| (variable, path.into())));
        }
        outcome.map(Done::Well)
    }

    fn teloxide(&mut self) -> Result<Done> {
        if !self.options.all {
            return Ok(Done::Skipped("it takes minutes to build; --all runs it".into()));
        }
        let Some(program) = clients::teloxide(&self.commands)? else {
            return Ok(Done::Skipped("this tree has no such bot".into()));
        };
        self.told.push(("OPORA_TEST_TELOXIDE", program.into()));
        Ok(Done::Well(String::new()))
    }

    fn servers(&mut self) -> Result<Done> {
        let servers = Servers::start(&self.commands, Durability::None)?;
        self.told.push(("TEST_REDIS_URL", servers.redis_url.clone().into()));
        self.told.push(("TEST_DATABASE_URL", servers.database_url.clone().into()));
        self.servers = Some(servers);
        Ok(Done::Well("Redis says PONG, PostgreSQL says 1".into()))
    }

    fn tests(&self) -> Result<Done> {
        // Tests wait for servers, browsers and processes half of the time, so more run at once than there are cores.
        let threads = thread::available_parallelism().map_or(1, NonZero::get) * 2;
        let scratch = scratch::in_memory();
        let mut command = self.commands.cargo(&["nextest", "run", "--workspace"]);
        command.args(["--test-threads", &threads.to_string()]);
        if self.options.all {
            command.arg("--ignore-default-filter");
        }
        if let Some(filter) = &self.options.filter {
            command.args(["--filterset", filter]);
        }
        command.args(&self.options.nextest_arguments);
        if let Some(scratch) = &scratch {
            command.env("TMPDIR", scratch.path());
        }
        self.show(command)
    }

    fn cargo(&self, arguments: &[&str]) -> Result<Done> {
        self.show(self.commands.cargo(arguments))
    }

    fn show(&self, mut command: Command) -> Result<Done> {
        println!("{}", spelled(&command));
        self.commands.show(command.envs(self.told.iter().cloned()))?;
        Ok(Done::Well(String::new()))
    }
}
