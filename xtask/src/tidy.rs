//! Rules of this repository that the compiler does not check.
//!
//! Each rule reads the text of the files and reports a position and a reason. Nothing is changed. rustfmt and clippy
//! check their own rules.

mod finished;
mod markup;
mod prose;
mod reach;
mod rooms;
mod shape;
mod source;
mod store_imports;
#[cfg(test)]
mod tests;
mod tree;
mod unwraps;
mod words;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, ensure};

use crate::report::StepOutcome;
use crate::tidy::tree::Tree;

/// A broken rule: the position and the reason.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Complaint {
    path: String,
    /// Counted from one, as editors do.
    line: usize,
    text: String,
}

/// The findings of all rules.
#[derive(Debug, Default)]
struct Findings {
    /// These fail the check.
    refused: Vec<Complaint>,
    /// These are only printed.
    warnings: Vec<Complaint>,
}

impl fmt::Display for Complaint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.text)
    }
}

impl Findings {
    fn refuse(&mut self, path: &str, line: usize, text: impl Into<String>) {
        self.refused.push(Complaint { path: path.to_owned(), line, text: text.into() });
    }

    fn warn(&mut self, path: &str, line: usize, text: impl Into<String>) {
        self.warnings.push(Complaint { path: path.to_owned(), line, text: text.into() });
    }
}

/// `cargo xtask tidy`; with `--graph` it prints which rooms of the application import which, and checks nothing.
pub(crate) fn run(root: &Path, shows_graph: bool) -> Result<ExitCode> {
    if shows_graph {
        print!("{}", rooms::to_text(&Tree::read(root)?));
    } else {
        check(root)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the findings, and fails if anything is refused. Also a step of the test run.
pub(crate) fn check(root: &Path) -> Result<StepOutcome> {
    let tree = Tree::read(root)?;
    let findings = findings(&tree);
    for warning in &findings.warnings {
        println!("warning: {warning}");
    }
    for complaint in &findings.refused {
        println!("{complaint}");
    }
    ensure!(findings.refused.is_empty(), "tidy found {} problems", findings.refused.len());
    let remark = format!("{} files, {} warnings", tree.files.len(), findings.warnings.len());
    println!("{remark}");
    Ok(StepOutcome::Succeeded(remark))
}

fn findings(tree: &Tree) -> Findings {
    let mut findings = Findings::default();
    shape::check(tree, &mut findings);
    reach::check(tree, &mut findings);
    rooms::check(tree, &mut findings);
    store_imports::check(tree, &mut findings);
    finished::check(tree, &mut findings);
    markup::check(tree, &mut findings);
    unwraps::check(tree, &mut findings);
    words::check(tree, &mut findings);
    prose::check(tree, &mut findings);
    findings.refused.sort();
    findings.warnings.sort();
    findings
}
