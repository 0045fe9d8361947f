//! `cargo xtask bench jobs`: background jobs on each store, beside Celery on Redis and PostgreSQL.
//!
//! Only ratios of the same run count: absolute times depend on the machine.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::bench;
use crate::clients;
use crate::commands::Commands;
use crate::servers::{Durability, Servers};

/// How many times less processor time than Celery a job has to take.
const MIN_RATIO: f64 = 3.0;
const STORES: [&str; 5] = ["memory", "sqlite", "redis", "postgres", "redis-and-postgres"];

/// Measures, prints a table, and fails if a job on some store is not cheap enough.
pub(super) fn compare(commands: &Commands, count: u32) -> Result<()> {
    let python = clients::celery(commands)?;
    let celery = on_servers(commands, |servers| celery(commands, servers, &python, count))?;
    let mut stores = Vec::new();
    for name in STORES {
        stores.push((name.to_owned(), on_servers(commands, |servers| opora(commands, servers, name, count))?));
    }
    println!("{count} jobs of each kind; microseconds of processor time for each job, of workers + servers");
    println!(
        "{:<20} {:>12} {:>6} {:>12} {:>6} {:>12} {:>7}",
        "", "nothing", "ratio", "row", "ratio", "wait p50 ms", "p99 ms"
    );
    let mut too_slow = Vec::new();
    for (name, result) in std::iter::once(&("celery".to_owned(), celery.clone())).chain(&stores) {
        let mut line = format!("{name:<20}");
        for kind in ["nothing", "row"] {
            let cost = |part: &str| result[kind][part].as_f64();
            let (Some(all), Some(own), Some(servers)) = (cost("us"), cost("own_us"), cost("server_us")) else {
                line += &format!(" {:>12} {:>6}", "-", "-");
                continue;
            };
            let ratio = celery[kind]["us"].as_f64().unwrap_or_default() / all;
            line += &format!(" {:>12} {ratio:>6.1}", format!("{own:.0} + {servers:.0}"));
            if name != "celery" && ratio < MIN_RATIO {
                too_slow.push(format!("{kind} on {name}"));
            }
        }
        let wait = |part: &str| result["wait_ms"][part].as_f64().unwrap_or_default();
        println!("{line} {:>12.1} {:>7.1}", wait("p50"), wait("p99"));
    }
    ensure!(too_slow.is_empty(), "not {MIN_RATIO} times cheaper than with Celery: {}", too_slow.join(", "));
    Ok(())
}

/// Measures on empty servers.
fn on_servers(commands: &Commands, measure: impl FnOnce(&Servers) -> Result<Value>) -> Result<Value> {
    let servers = Servers::start(commands, Durability::Production)?;
    let measured = measure(&servers);
    servers.stop()?;
    measured
}

fn processes(servers: &Servers) -> [String; 2] {
    let process = |url: &str| servers.process_at(url).map(|process| process.to_string()).unwrap_or_default();
    [process(&servers.redis_url), process(&servers.database_url)]
}

fn opora(commands: &Commands, servers: &Servers, store: &str, count: u32) -> Result<Value> {
    println!("{store}");
    let folder = tempfile::tempdir()?;
    let (redis, postgres) = (&servers.redis_url, &servers.database_url);
    let (address, database) = match store {
        "memory" => ("memory:".to_owned(), ""),
        "sqlite" => (format!("sqlite:{}", folder.path().join("opora.db").display()), ""),
        "postgres" => (postgres.clone(), ""),
        "redis" => (redis.clone(), ""),
        _ => (format!("{redis}?data={}", folder.path().display()), &**postgres),
    };
    let mut bench = bench(commands, "opora", "dialogues");
    bench.args(["jobs", &count.to_string(), &address, database]).args(processes(servers));
    result(&commands.ask(&mut bench)?)
}

fn celery(commands: &Commands, servers: &Servers, python: &Path, count: u32) -> Result<Value> {
    println!("celery");
    let mut celery = commands.command(python);
    celery.arg("measure.py").arg(count.to_string()).args(processes(servers));
    celery.env("REDIS_URL", &servers.redis_url).env("DATABASE_URL", &servers.database_url);
    result(&commands.ask(celery.current_dir(commands.environment.root.join(clients::CELERY)))?)
}

/// The last line of what a program printed.
fn result(output: &str) -> Result<Value> {
    let last = output.lines().rev().find(|line| line.starts_with('{')).context("the program printed no result")?;
    Ok(serde_json::from_str(last)?)
}
