//! What a run did: a line when a step begins, a line when it ends, and one table at the end.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::interruption::Interruption;

/// The exit code that shells use for a program ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

#[derive(Debug)]
pub(crate) struct Report {
    started: Instant,
    lines: Vec<Line>,
    interruption: Interruption,
}

/// How a step ended that did not fail.
#[derive(Debug)]
pub(crate) enum Done {
    /// It did its work; the words, if any, stand in the table.
    Well(String),
    /// There was nothing to do, and why.
    Skipped(String),
}

#[derive(Debug)]
struct Line {
    name: String,
    took: Duration,
    outcome: Result<Done, String>,
}

impl Report {
    pub(crate) fn begin(interruption: Interruption) -> Self {
        Self { started: Instant::now(), lines: Vec::new(), interruption }
    }

    /// Runs one step. After an interruption it is only noted as skipped.
    pub(crate) fn step(&mut self, name: &str, what: &str, work: impl FnOnce() -> Result<Done>) {
        if self.interruption.came() {
            return self.note(name, Duration::ZERO, Ok(Done::Skipped("interrupted".into())));
        }
        println!("\n== {name}: {what} (at {})", spelled(self.started.elapsed()));
        self.always(name, work);
    }

    /// Runs a step that must not be left out, whatever happened before.
    pub(crate) fn always(&mut self, name: &str, work: impl FnOnce() -> Result<Done>) {
        let began = Instant::now();
        let outcome = work().map_err(|error| format!("{error:#}"));
        if let Err(why) = &outcome {
            eprintln!("{name} failed: {why}");
        }
        self.note(name, began.elapsed(), outcome);
    }

    /// Prints the table and says how the whole run ended.
    pub(crate) fn finish(self) -> ExitCode {
        println!("\nSummary");
        for line in &self.lines {
            println!("  {}", line.spelled());
        }
        let failed = self.lines.iter().filter(|line| line.outcome.is_err()).count();
        let verdict = match failed {
            _ if self.interruption.came() => "interrupted".to_owned(),
            0 => "all is well".to_owned(),
            1 => "1 step failed".to_owned(),
            several => format!("{several} steps failed"),
        };
        println!("  {verdict}, {} in all", spelled(self.started.elapsed()));
        match failed {
            _ if self.interruption.came() => ExitCode::from(INTERRUPTED),
            0 => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }

    fn note(&mut self, name: &str, took: Duration, outcome: Result<Done, String>) {
        let line = Line { name: name.to_owned(), took, outcome };
        println!("{}", line.spelled());
        self.lines.push(line);
    }
}

impl Line {
    fn spelled(&self) -> String {
        let (word, remark) = match &self.outcome {
            Ok(Done::Well(remark)) => ("ok", remark.as_str()),
            Ok(Done::Skipped(why)) => ("skipped", why.as_str()),
            Err(why) => ("FAILED", why.lines().next().unwrap_or_default()),
        };
        format!("{word:<8}{:<12}{:>9}  {remark}", self.name, spelled(self.took)).trim_end().to_owned()
    }
}

fn spelled(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds >= 60 {
        format!("{} m {:02} s", seconds / 60, seconds % 60)
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn one_failed_step_fails_the_run_and_the_later_steps_still_run() {
        let mut report = Report::begin(Interruption::default());
        let mut later_ran = false;
        report.step("first", "fails", || Err(anyhow!("a reason\nwith details")));
        report.step("second", "works", || {
            later_ran = true;
            Ok(Done::Well(String::new()))
        });
        assert!(later_ran);
        assert!(report.lines[0].spelled().starts_with("FAILED  first"));
        assert!(report.lines[0].spelled().ends_with("a reason"));
        assert_eq!(format!("{:?}", report.finish()), format!("{:?}", ExitCode::FAILURE));
    }

    #[test]
    fn a_run_without_failures_succeeds_even_if_steps_were_skipped() {
        let mut report = Report::begin(Interruption::default());
        report.step("only", "nothing to do", || Ok(Done::Skipped("not there".into())));
        assert_eq!(format!("{:?}", report.finish()), format!("{:?}", ExitCode::SUCCESS));
    }

    #[test]
    fn times_are_readable() {
        assert_eq!(spelled(Duration::from_millis(1234)), "1.2 s");
        assert_eq!(spelled(Duration::from_secs(125)), "2 m 05 s");
    }
}
