//! `cargo xtask test`: every check and every test, in the order of [`Step`].
//!
//! After a failed step, the later ones still run. All cargo steps use the same profile and features, so that they share
//! one build. Some steps run beside others: see [`Step::runs_beside`]. The servers are stopped whatever happens.

use std::ffi::OsString;
use std::fs::File;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::thread;

use anyhow::{Context, Result};
use clap::Args;

use crate::commands::{Commands, command_line};
use crate::environment::Environment;
use crate::interruption::Interruption;
use crate::plan::{self, Step};
use crate::report::{Line, Report, StepOutcome};
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
    /// Also run the tests that repeat other tests on other stores or with other programs
    #[arg(long)]
    all: bool,
    /// Install nothing; a step whose programs are missing fails
    #[arg(long)]
    no_install: bool,
    /// Passed on to `cargo nextest run`
    #[arg(last = true)]
    nextest_arguments: Vec<String>,
}

/// How many tests run at once for each core.
const TESTS_PER_CORE: usize = 3;

/// Environment variables for the tests.
type Variables = Vec<(&'static str, OsString)>;

/// The priority of a command's processes.
#[derive(Clone, Copy, Debug)]
enum Priority {
    Normal,
    Low,
}

pub(crate) fn run(options: &Options, environment: Environment) -> Result<ExitCode> {
    let interruption = Interruption::watch()?;
    let mut report = Report::begin(interruption.clone());
    let mut run =
        TestRun { options, commands: Commands::new(environment, interruption), servers: None, variables: Vec::new() };
    let steps = plan::steps(&options.only, &options.skip);
    let is_beside = |step: &Step| step.runs_beside().is_some_and(|other| steps.contains(&other));
    for step in steps.iter().copied().filter(|step| !is_beside(step)) {
        let beside: Vec<_> = steps.iter().copied().filter(|other| other.runs_beside() == Some(step)).collect();
        run.perform_with(step, &beside, &mut report);
    }
    if let Some(servers) = run.servers.take() {
        report.always("stop", || servers.stop().map(StepOutcome::Succeeded));
    }
    Ok(report.finish())
}

struct TestRun<'a> {
    options: &'a Options,
    commands: Commands,
    servers: Option<Servers>,
    /// Environment variables for the tests, set by the preparing steps.
    variables: Variables,
}

impl TestRun<'_> {
    fn perform(&mut self, step: Step) -> Result<StepOutcome> {
        let may_install = !self.options.no_install;
        match step {
            Step::Tidy => tidy::check(&self.commands.environment.root),
            Step::Fmt => {
                tools::provide_component(&self.commands, "rustfmt", may_install)?;
                self.cargo(&["fmt", "--all", "--check"])
            }
            Step::Tools => tools::provide(&self.commands, may_install).map(StepOutcome::Succeeded),
            Step::Dependencies => dependencies::check(&self.commands).map(StepOutcome::Succeeded),
            Step::Packages => self.packages(may_install),
            Step::Python | Step::Node => {
                let variables = self.install_clients(step)?;
                self.variables.extend(variables);
                Ok(StepOutcome::Succeeded(String::new()))
            }
            Step::Teloxide => self.teloxide(),
            Step::Servers => self.servers(),
            Step::Build => self.build(),
            Step::Tests => self.tests(),
            Step::Clippy | Step::Doctests | Step::Docs => {
                for command in self.computing_commands(step, Priority::Normal)? {
                    self.show(command)?;
                }
                Ok(StepOutcome::Succeeded(String::new()))
            }
        }
    }

    /// Performs a step, and beside it others on another thread, whose output is not shown.
    fn perform_with(&mut self, step: Step, beside: &[Step], report: &mut Report) {
        if beside.is_empty() {
            return report.step(&step.name(), &step.purpose(), || self.perform(step));
        }
        let this = &*self;
        let ended = thread::scope(|scope| {
            let others = scope.spawn(|| beside.iter().map(|other| this.perform_quietly(*other)).collect::<Vec<_>>());
            report.step(&step.name(), &step.purpose(), || match step {
                Step::Build => this.build(),
                _ => this.tests(),
            });
            others.join()
        });
        for (line, variables) in ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
            report.add(vec![line]);
            self.variables.extend(variables);
        }
    }

    /// Performs a step without showing its output. Returns the environment variables that it sets for the tests.
    fn perform_quietly(&self, step: Step) -> (Line, Variables) {
        let mut variables = Vec::new();
        let line = Line::run(&step.name(), || {
            variables = self.install_clients(step)?;
            for mut command in self.computing_commands(step, Priority::Low)? {
                self.commands.ask(command.envs(self.variables.iter().cloned()))?;
            }
            Ok(StepOutcome::Succeeded("beside another step".into()))
        });
        (line, variables)
    }

    /// Installs the client libraries of a step, and returns where they are.
    fn install_clients(&self, step: Step) -> Result<Variables> {
        let may_install = !self.options.no_install;
        Ok(match step {
            Step::Python => vec![
                ("OPORA_TEST_PYTHON", clients::python(&self.commands, may_install)?.into()),
                ("OPORA_TEST_MOTO", clients::moto(&self.commands, may_install)?.into()),
                ("OPORA_TEST_OLD_REDIS", clients::old_redis(&self.commands, may_install)?.into()),
            ],
            Step::Node => vec![("OPORA_TEST_NODE_PATH", clients::node(&self.commands, may_install)?.into())],
            _ => Vec::new(),
        })
    }

    /// The commands of a step that needs nothing but the processor.
    fn computing_commands(&self, step: Step, priority: Priority) -> Result<Vec<Command>> {
        let cargo = |arguments: &[&str]| match priority {
            Priority::Normal => self.commands.cargo(arguments),
            Priority::Low => {
                let mut command = self.commands.command("nice");
                command.args(["-n", "19", "cargo"]).args(arguments);
                command
            }
        };
        Ok(match step {
            Step::Clippy => {
                tools::provide_component(&self.commands, "clippy", !self.options.no_install)?;
                vec![
                    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
                    // The workspace enables all features of the library. A bot with default features compiles less.
                    cargo(&["clippy", "--package", "opora", "--lib", "--", "-D", "warnings"]),
                ]
            }
            Step::Doctests => vec![cargo(&["test", "--doc", "--workspace"])],
            Step::Docs => {
                // With examples the dependencies keep the features that the lints and tests built them with.
                let mut command = cargo(&["doc", "--no-deps", "--workspace", "--lib", "--examples"]);
                command.env("RUSTDOCFLAGS", "-D warnings");
                vec![command]
            }
            _ => Vec::new(),
        })
    }

    fn packages(&mut self, may_install: bool) -> Result<StepOutcome> {
        let outcome = packages::provide(&self.commands, may_install);
        // Browser tests can run even if another package is missing.
        for (variable, program) in [("OPORA_TEST_CHROMIUM", "chromium"), ("OPORA_TEST_CHROMEDRIVER", "chromedriver")] {
            self.variables.extend(self.commands.find(program).map(|path| (variable, path.into())));
        }
        outcome.map(StepOutcome::Succeeded)
    }

    fn teloxide(&mut self) -> Result<StepOutcome> {
        if !self.options.all {
            return Ok(StepOutcome::Skipped("it takes minutes to build; --all runs it".into()));
        }
        let Some(program) = clients::teloxide(&self.commands)? else {
            return Ok(StepOutcome::Skipped("this tree has no such bot".into()));
        };
        self.variables.push(("OPORA_TEST_TELOXIDE", program.into()));
        Ok(StepOutcome::Succeeded(String::new()))
    }

    fn servers(&mut self) -> Result<StepOutcome> {
        let servers = Servers::start(&self.commands, Durability::None)?;
        self.variables.push(("TEST_REDIS_URL", servers.redis_url.clone().into()));
        self.variables.push(("TEST_DATABASE_URL", servers.database_url.clone().into()));
        self.servers = Some(servers);
        Ok(StepOutcome::Succeeded("Redis says PONG, PostgreSQL says 1".into()))
    }

    /// Compiles the tests and lists their binaries, so that running them needs no lock on the build directory.
    fn build(&self) -> Result<StepOutcome> {
        let list = self.binaries_list();
        let file = File::create(&list).with_context(|| format!("cannot write {}", list.display()))?;
        let arguments = ["nextest", "list", "--workspace", "--list-type", "binaries-only", "--message-format", "json"];
        let mut command = self.commands.cargo(&arguments);
        command.stdout(file);
        self.show(command)
    }

    fn binaries_list(&self) -> PathBuf {
        self.commands.environment.target.join("test-binaries.json")
    }

    fn tests(&self) -> Result<StepOutcome> {
        // Tests often wait for servers, browsers and processes, so more run at once than there are cores.
        let threads = thread::available_parallelism().map_or(1, NonZero::get) * TESTS_PER_CORE;
        let scratch = scratch::in_memory();
        let mut command = self.commands.cargo(&["nextest", "run", "--binaries-metadata"]);
        command.arg(self.binaries_list()).args(["--test-threads", &threads.to_string()]);
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

    fn cargo(&self, arguments: &[&str]) -> Result<StepOutcome> {
        self.show(self.commands.cargo(arguments))
    }

    fn show(&self, mut command: Command) -> Result<StepOutcome> {
        println!("{}", command_line(&command));
        self.commands.show(command.envs(self.variables.iter().cloned()))?;
        Ok(StepOutcome::Succeeded(String::new()))
    }
}
