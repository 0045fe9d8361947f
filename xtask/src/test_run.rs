//! `cargo xtask test`: every check and every test, in the order of [`Step`].
//!
//! After a failed step, the later ones still run. The tests, their lints, the doctests and the documentation share one
//! build: clippy compiles the tests, and rustdoc reads what it compiled. Some steps run beside others: see
//! [`Step::runs_beside`]. The servers are stopped whatever happens.

use std::ffi::OsString;
use std::fs::File;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::thread;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::commands::{Commands, command_line};
use crate::environment::Environment;
use crate::interruption::Interruption;
use crate::plan::{self, Step};
use crate::report::{Line, Report, StepOutcome};
use crate::servers::{Durability, Servers};
use crate::{clients, dependencies, packages, scratch, tidy, tools, trusted_certificate};

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

/// Compiles the crates of this workspace: clippy, so that one pass finds the lints and makes the tests.
const COMPILER: &str = "clippy-driver";

/// Builds the documentation beside its tests.
const RUSTDOC: &str = "xtask/rustdoc-and-tests";

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
            Step::Clippy => self.show(self.lints()?),
            Step::Docs => self.show(self.documentation(Priority::Normal)),
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
            match step {
                Step::Clippy => self.check_warnings()?,
                Step::Docs => drop(self.commands.ask(&mut self.documentation(Priority::Low))?),
                _ => variables = self.install_clients(step)?,
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

    /// Lints all crates without building the tests.
    fn lints(&self) -> Result<Command> {
        tools::provide_component(&self.commands, "clippy", !self.options.no_install)?;
        Ok(self.commands.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    }

    /// Fails if the compiler gave a warning. Cargo repeats the warnings of what the build of the tests compiled. Only
    /// the benches are compiled here, and the library with its default features: the workspace enables all of them.
    fn check_warnings(&self) -> Result<()> {
        let tests_and_benches = ["test", "--no-run", "--workspace", "--all-targets", "--message-format", "short"];
        let default_features = ["build", "--package", "opora", "--lib", "--message-format", "short"];
        for arguments in [&tests_and_benches[..], &default_features] {
            let output = self.commands.ask(&mut self.building_cargo(Priority::Low, arguments))?;
            let warnings: Vec<_> = output.lines().filter(|line| line.contains("warning: ")).collect();
            ensure!(warnings.is_empty(), "warnings are errors here\n{}", warnings.join("\n"));
        }
        Ok(())
    }

    /// Runs the examples in the documentation, and builds it with warnings denied.
    fn documentation(&self, priority: Priority) -> Command {
        let mut command = self.building_cargo(priority, &["test", "--doc", "--workspace"]);
        let Environment { root, target, .. } = &self.commands.environment;
        command.env("RUSTDOC", root.join(RUSTDOC)).env("OPORA_DOCUMENTATION", target.join("doc"));
        command.envs(self.variables.iter().cloned());
        command
    }

    /// A cargo that shares the build of the tests.
    fn building_cargo(&self, priority: Priority, arguments: &[&str]) -> Command {
        let mut command = match priority {
            Priority::Normal => self.commands.cargo(arguments),
            Priority::Low => {
                let mut command = self.commands.command("nice");
                command.args(["-n", "19", "cargo"]).args(arguments);
                command
            }
        };
        command.env("RUSTC_WORKSPACE_WRAPPER", COMPILER);
        if self.commands.environment.is_ci {
            // Nothing is compiled a second time there.
            command.env("CARGO_INCREMENTAL", "0");
        }
        command
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
        tools::provide_component(&self.commands, "clippy", !self.options.no_install)?;
        let list = self.binaries_list();
        let file = File::create(&list).with_context(|| format!("cannot write {}", list.display()))?;
        let arguments = ["nextest", "list", "--workspace", "--list-type", "binaries-only", "--message-format", "json"];
        let mut command = self.building_cargo(Priority::Normal, &arguments);
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
        if let Some(certificate) = trusted_certificate::write(&self.commands.environment.target) {
            command
                .env("SSL_CERT_DIR", certificate.parent().unwrap_or(&certificate))
                .env("SSL_CERT_FILE", &certificate);
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
