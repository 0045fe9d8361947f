//! The report of a run: a line when a step begins, a line when it ends, and a table at the end.

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

/// The result of a step that did not fail.
#[derive(Debug)]
pub(crate) enum StepOutcome {
    /// The step succeeded. The text, if any, is shown in the table.
    Succeeded(String),
    /// There was nothing to do, and why.
    Skipped(String),
}

/// A step that has ended.
#[derive(Debug)]
pub(crate) struct Line {
    name: String,
    took: Duration,
    outcome: Result<StepOutcome, String>,
}

impl Report {
    pub(crate) fn begin(interruption: Interruption) -> Self {
        Self { started: Instant::now(), lines: Vec::new(), interruption }
    }

    /// Runs one step. After an interruption it is only listed as skipped.
    pub(crate) fn step(&mut self, name: &str, what: &str, work: impl FnOnce() -> Result<StepOutcome>) {
        if self.interruption.is_interrupted() {
            return self.always(name, || Ok(StepOutcome::Skipped("interrupted".into())));
        }
        println!("\n== {name}: {what} (at {})", format_duration(self.started.elapsed()));
        self.always(name, work);
    }

    /// Runs a step also after a failure or an interruption.
    pub(crate) fn always(&mut self, name: &str, work: impl FnOnce() -> Result<StepOutcome>) {
        self.add(vec![Line::run(name, work)]);
    }

    /// Adds steps that ran on another thread.
    pub(crate) fn add(&mut self, steps: Vec<Line>) {
        for line in steps {
            if let Err(why) = &line.outcome {
                eprintln!("{} failed: {why}", line.name);
            }
            println!("{}", line.to_text());
            self.lines.push(line);
        }
    }

    /// Prints the table and returns the exit code of the run.
    pub(crate) fn finish(self) -> ExitCode {
        println!("\nSummary");
        for line in &self.lines {
            println!("  {}", line.to_text());
        }
        let failed = self.lines.iter().filter(|line| line.outcome.is_err()).count();
        let verdict = match failed {
            _ if self.interruption.is_interrupted() => "interrupted".to_owned(),
            0 => "all steps passed".to_owned(),
            1 => "1 step failed".to_owned(),
            several => format!("{several} steps failed"),
        };
        println!("  {verdict}, {} in all", format_duration(self.started.elapsed()));
        match failed {
            _ if self.interruption.is_interrupted() => ExitCode::from(INTERRUPTED),
            0 => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }
}

impl Line {
    /// Runs a step and measures it.
    pub(crate) fn run(name: &str, work: impl FnOnce() -> Result<StepOutcome>) -> Self {
        let began = Instant::now();
        let outcome = work().map_err(|error| format!("{error:#}"));
        Self { name: name.to_owned(), took: began.elapsed(), outcome }
    }

    fn to_text(&self) -> String {
        let (word, remark) = match &self.outcome {
            Ok(StepOutcome::Succeeded(remark)) => ("ok", remark.as_str()),
            Ok(StepOutcome::Skipped(why)) => ("skipped", why.as_str()),
            Err(why) => ("FAILED", why.lines().next().unwrap_or_default()),
        };
        format!("{word:<8}{:<12}{:>9}  {remark}", self.name, format_duration(self.took)).trim_end().to_owned()
    }
}

fn format_duration(time: Duration) -> String {
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
    fn a_failed_step_fails_the_run_and_later_steps_still_run() {
        let mut report = Report::begin(Interruption::default());
        let mut later_ran = false;
        report.step("first", "fails", || Err(anyhow!("a reason\nwith details")));
        report.step("second", "works", || {
            later_ran = true;
            Ok(StepOutcome::Succeeded(String::new()))
        });
        assert!(later_ran);
        assert!(report.lines[0].to_text().starts_with("FAILED  first"));
        assert!(report.lines[0].to_text().ends_with("a reason"));
        assert_eq!(format!("{:?}", report.finish()), format!("{:?}", ExitCode::FAILURE));
    }

    #[test]
    fn a_run_without_failures_succeeds_even_if_steps_were_skipped() {
        let mut report = Report::begin(Interruption::default());
        report.step("only", "nothing to do", || Ok(StepOutcome::Skipped("not there".into())));
        assert_eq!(format!("{:?}", report.finish()), format!("{:?}", ExitCode::SUCCESS));
    }

    #[test]
    fn times_are_readable() {
        assert_eq!(format_duration(Duration::from_millis(1234)), "1.2 s");
        assert_eq!(format_duration(Duration::from_secs(125)), "2 m 05 s");
    }
}
