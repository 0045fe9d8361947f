//! Compares the page times of this checkout with those of an earlier commit.
//!
//! Both are built first and run in turns on the same machine, so that what else happens there meets both alike. The
//! earlier commit is checked out beside the target directory's other files, and built there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::pages_bench;
use crate::commands::Commands;

/// How much slower than before the slowest hundredth of all pages may be.
const MAX_RATIO: f64 = 1.2;

/// What is compared, and how often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comparison<'a> {
    pub commit: &'a str,
    pub rounds: u32,
    pub seconds: u32,
}

/// An earlier commit that is checked out. It is removed at the end; what was built stays for the next comparison.
struct Checkout<'a> {
    commands: &'a Commands,
    tree: PathBuf,
    target: PathBuf,
}

/// Runs both in turns; fails if the pages became too slow.
pub(super) fn compare(commands: &Commands, database_url: &str, comparison: Comparison<'_>) -> Result<()> {
    let before = Checkout::of(commands, comparison.commit)?;
    let benches: [(&str, &dyn Fn() -> Command); 2] =
        [("before", &|| before.bench()), ("now", &|| pages_bench(commands))];
    for (_, bench) in benches {
        commands.show(bench().arg("--no-run"))?;
    }
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..comparison.rounds {
        // Each is first in half of the rounds.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for at in order {
            let (name, bench) = benches[at];
            let mut run = bench();
            run.arg("--").arg(comparison.seconds.to_string()).env("TEST_DATABASE_URL", database_url);
            // A commit that is too slow by itself is compared, too.
            let (_, printed) = commands.output(&mut run)?;
            let p99 = p99_of_all(&printed).with_context(|| format!("no times in what was printed:\n{printed}"))?;
            println!("round {}, {name}: p99 of all pages {p99:.1} ms", round + 1);
            times[at].push(p99);
        }
    }
    let [before, now] = times.map(|mut times| median(&mut times));
    println!("median p99: {before:.1} ms before, {now:.1} ms now, {:.2} times as long", now / before);
    ensure!(now <= before * MAX_RATIO, "pages take more than {MAX_RATIO} times as long as at {}", comparison.commit);
    Ok(())
}

impl<'a> Checkout<'a> {
    fn of(commands: &'a Commands, commit: &str) -> Result<Self> {
        let folder = commands.environment.target.join("bench-before");
        let checkout = Self { commands, tree: folder.join("tree"), target: folder.join("target") };
        // One that an interrupted run has left.
        checkout.remove();
        let add = ["worktree", "add", "--force", "--detach"];
        commands.ask(commands.command("git").args(add).arg(&checkout.tree).arg(commit))?;
        Ok(checkout)
    }

    fn bench(&self) -> Command {
        let mut bench = pages_bench(self.commands);
        bench.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.target);
        bench
    }

    fn remove(&self) {
        if Path::new(&self.tree).exists() {
            let remove = ["worktree", "remove", "--force"];
            self.commands.succeeds(self.commands.command("git").args(remove).arg(&self.tree));
        }
    }
}

impl Drop for Checkout<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The p99 of all pages in milliseconds: `all 20917 5.1 23.4 61.0`.
fn p99_of_all(printed: &str) -> Option<f64> {
    let mut words = printed.lines().rev().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let all = words.find(|words| words.len() == 5 && words[0] == "all")?;
    all[3].parse().ok()
}

/// The median; zero of nothing.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_are_read_from_what_the_bench_prints() {
        let printed =
            "who page read\nOwner /calendar 40 10.0 30.0 31.0 9 80\nall 20917 5.1 23.4 61.0\n\nevery page is\n";
        assert_eq!(p99_of_all(printed), Some(23.4));
        assert_eq!(p99_of_all("all is well\n"), None);
    }

    #[test]
    fn one_slow_run_does_not_decide() {
        assert!((median(&mut [90.0, 20.0, 22.0]) - 22.0).abs() < f64::EPSILON);
        assert!(median(&mut []).abs() < f64::EPSILON);
    }
}
