//! The benchmarks by name. All of them measure the `dist` profile: what is packaged.

use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::{Args, Subcommand};

use self::comparison::Comparison;
use crate::commands::Commands;
use crate::environment::Environment;
use crate::interruption::Interruption;
use crate::servers::{Durability, Servers};

mod comparison;
mod jobs;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    benchmark: Option<Benchmark>,
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// Calls per second of the Bot API emulator
    Emulator {
        /// Passed on to the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// The cost of a turn with a thousand and with a million stored conversations, and the size of an idle one; fails
    /// if the costs differ too much
    Dialogues {
        /// Which stores; all of them unless given
        #[arg(value_parser = ["sqlite", "redis", "postgres", "process"])]
        stores: Vec<String>,
        /// The larger number of stored conversations
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(10_000..))]
        many: u32,
    },
    /// The product under attack: 2,000 idle connections, 200 unread downloads, 500 WebSockets, 4,000 attempts to sign
    /// in; fails if the bot becomes twice as slow, memory reaches 300 MB, or pages are not served
    Attack {
        /// How long it lasts
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(5..))]
        seconds: u32,
    },
    /// How long pages take in a large firm while 50 people read; fails if the slowest hundredth takes 50 ms or more
    Pages {
        /// How long they read; the default reads each page often enough for its own figures
        #[arg(long, default_value_t = 420, value_parser = clap::value_parser!(u32).range(10..))]
        seconds: u32,
        /// Runs this checkout and an earlier commit in turns instead; fails if the slowest hundredth takes more than
        /// 1.2 times as long as before
        #[arg(long, value_name = "COMMIT")]
        compare_with: Option<String>,
        /// How often each of them runs
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..), requires = "compare_with")]
        rounds: u32,
    },
    /// How many people a second can register with the whole program
    Registrations {
        /// Where conversations and tables are; everywhere unless given
        #[arg(value_parser = ["sqlite", "redis-and-postgres"])]
        stores: Vec<String>,
        /// How many people
        #[arg(long, default_value_t = 1000)]
        people: u32,
    },
    /// Background jobs on each store beside Celery, in processor time; fails if a job is not three times cheaper
    Jobs {
        /// How many of each kind
        #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1_000..))]
        jobs: u32,
    },
    /// Bot frameworks side by side: bench/run.sh; --help shows its options
    #[command(disable_help_flag = true)]
    Frameworks {
        /// Passed on to bench/run.sh
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

pub(crate) fn run(options: &Options, environment: Environment) -> Result<ExitCode> {
    let commands = Commands::new(environment, Interruption::watch()?);
    match &options.benchmark {
        None => {
            println!("cargo xtask bench emulator [arguments]    calls per second of the Bot API emulator");
            println!(
                "cargo xtask bench dialogues [stores]      cost of a turn with few and with many stored conversations"
            );
            println!("cargo xtask bench attack                  the bot and the pages while many attack the product");
            println!("cargo xtask bench pages                   times of pages in a large firm while 50 people read");
            println!("cargo xtask bench registrations [stores]  people who register at once with the whole program");
            println!("cargo xtask bench jobs                    background jobs on each store, beside Celery");
            println!("cargo xtask bench frameworks [arguments]  bot frameworks side by side; see bench/README.md");
        }
        Some(Benchmark::Emulator { arguments }) => {
            let mut bench = bench(&commands, "opora-emulator", "calls");
            commands.show(bench.args(arguments))?;
        }
        Some(Benchmark::Dialogues { stores, many }) => dialogues(&commands, stores, *many)?,
        Some(Benchmark::Attack { seconds }) => {
            let mut bench = bench(&commands, "workforce", "attack");
            commands.show(bench.arg(seconds.to_string()))?;
        }
        Some(Benchmark::Pages { seconds, compare_with, rounds }) => {
            let commit = compare_with.as_deref();
            let comparison = commit.map(|commit| Comparison { commit, rounds: *rounds, seconds: *seconds });
            pages(&commands, *seconds, comparison)?;
        }
        Some(Benchmark::Registrations { stores, people }) => registrations(&commands, stores, *people)?,
        Some(Benchmark::Jobs { jobs }) => jobs::compare(&commands, *jobs)?,
        Some(Benchmark::Frameworks { arguments }) => {
            commands.show(&mut commands.cargo(&[
                "build",
                "--profile",
                "dist",
                "--package",
                "opora",
                "--example",
                "registration",
            ]))?;
            let mut script = commands.command(commands.environment.root.join("bench/run.sh"));
            let stores = [
                ("opora-memory", "memory:"),
                ("opora-sqlite", "sqlite:$RUN_DIR/state.db"),
                ("opora-redis", "$REDIS_URL?data=$RUN_DIR"),
                ("opora-postgres", "$POSTGRES_URL?data=$RUN_DIR"),
            ];
            for (name, state) in stores {
                script.args(["--bot", &our_bot(name, state, &commands.environment)]);
            }
            // Relative paths of bots are relative to the caller's directory.
            commands.show(script.args(arguments).current_dir(std::env::current_dir()?))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A benchmark of a package, to which arguments can be added.
fn bench(commands: &Commands, package: &str, name: &str) -> Command {
    commands.cargo(&["bench", "--profile", "dist", "--package", package, "--bench", name, "--"])
}

/// Measures each store in its own process, one after another. After a failure the other stores are still measured; the
/// first failure is returned.
fn dialogues(commands: &Commands, stores: &[String], many: u32) -> Result<()> {
    let mut result = Ok(());
    let mut measure = |words: &[&str]| {
        let mut bench = bench(commands, "opora", "dialogues");
        let outcome = commands.show(bench.args(words));
        if result.is_ok() {
            result = outcome;
        }
    };
    let wants = |name: &str| stores.is_empty() || stores.iter().any(|store| store == name);
    let many = many.to_string();
    if wants("sqlite") {
        let folder = tempfile::tempdir()?;
        measure(&[&format!("sqlite:{}", folder.path().join("opora.db").display()), "none", &many]);
    }
    if wants("redis") || wants("postgres") {
        let servers = Servers::start(commands, Durability::Production)?;
        for (name, url) in [("redis", &servers.redis_url), ("postgres", &servers.database_url)] {
            let process = servers.process_at(url).map(|process| process.to_string()).unwrap_or_default();
            if wants(name) {
                measure(&[url, &process, &many]);
            }
        }
        servers.stop()?;
    }
    if wants("process") {
        measure(&["rooms"]);
    }
    result
}

/// Measures pages on the PostgreSQL of the environment or a private one. Only reads are measured.
fn pages(commands: &Commands, seconds: u32, comparison: Option<Comparison<'_>>) -> Result<()> {
    let servers = Servers::start(commands, Durability::None)?;
    let measured = match comparison {
        Some(comparison) => comparison::compare(commands, &servers.database_url, comparison),
        None => {
            let mut bench = pages_bench(commands);
            bench.arg("--").arg(seconds.to_string()).env("TEST_DATABASE_URL", &servers.database_url);
            commands.show(&mut bench)
        }
    };
    servers.stop()?;
    measured
}

/// The benchmark of pages. Its own arguments come after `--`.
fn pages_bench(commands: &Commands) -> Command {
    commands.cargo(&["bench", "--profile", "dist", "--package", "workforce", "--bench", "pages"])
}

/// Measures with SQLite, and with conversations in Redis and tables in PostgreSQL.
fn registrations(commands: &Commands, stores: &[String], people: u32) -> Result<()> {
    let measure = |words: &[&str]| {
        println!("{}", words.first().map_or("sqlite", |_| "redis-and-postgres"));
        let mut bench = bench(commands, "workforce", "registrations");
        commands.show(bench.arg(people.to_string()).args(words))
    };
    let wants = |name: &str| stores.is_empty() || stores.iter().any(|store| store == name);
    if wants("sqlite") {
        measure(&[])?;
    }
    if wants("redis-and-postgres") {
        let servers = Servers::start(commands, Durability::Production)?;
        measure(&[&servers.redis_url, &servers.database_url])?;
        servers.stop()?;
    }
    Ok(())
}

/// The registration example as a bot of the comparison, with the environment variables that it reads.
fn our_bot(name: &str, state: &str, environment: &Environment) -> String {
    let program = environment.target.join("dist/examples/registration");
    let program = program.display();
    format!("{name}=BOT_TOKEN=$TOKEN BOT_API_URL=$API_URL SEND_LIMITS=off STATE_URL={state} {program}")
}
