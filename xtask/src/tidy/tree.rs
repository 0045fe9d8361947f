//! The files that the rules check, read once.
//!
//! Only text that people write counts: no lock files, no build output, no generated files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::source::{self, Source};

/// Generated, in any directory.
const SKIPPED_NAMES: [&str; 3] = [".git", "__pycache__", "node_modules"];
/// Generated at these paths only: a module may be called `data` or `target`.
const SKIPPED_PATHS: [&str; 4] = ["bench/results", "bench/target", "data", "target"];
const TEXT_ENDINGS: [&str; 19] = [
    "conf", "css", "ftl", "html", "js", "json", "lua", "md", "py", "rs", "service", "sh", "snap", "sql", "svg", "toml",
    "txt", "yaml", "yml",
];

/// The crate that tests share.
pub(super) const TEST_KIT: &str = "testkit";

#[derive(Debug)]
pub(super) struct Tree {
    pub files: Vec<TextFile>,
    /// The Rust files of the workspace's members.
    pub modules: Vec<Module>,
}

#[derive(Debug)]
pub(super) struct TextFile {
    /// From the root, with forward slashes.
    pub path: String,
    pub text: String,
}

#[derive(Debug)]
pub(super) struct Module {
    pub path: String,
    /// The directory of the crate, such as `emulator` or `xtask`.
    pub member: String,
    /// The path within the crate, such as `src/clock.rs`.
    pub within: String,
    pub role: FileRole,
    pub source: Source,
}

/// The purpose of a Rust file, by its path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FileRole {
    Product,
    /// Test binaries, modules behind `cfg(test)`, the test kit, and the testing module of the library.
    Test,
    Bench,
    Example,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        collect(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut modules: Vec<_> = files.iter().filter_map(Module::of).collect();
        let behind_test: BTreeSet<String> = modules.iter().flat_map(test_modules_declared_in).collect();
        for module in &mut modules {
            if behind_test.iter().any(|stem| is_within(&module.path, stem)) {
                module.role = FileRole::Test;
            }
        }
        Ok(Self { files, modules })
    }

    /// The modules outside of the workspace's members' tests, benches and examples.
    pub(super) fn product(&self) -> impl Iterator<Item = &Module> {
        self.modules.iter().filter(|module| module.role == FileRole::Product)
    }
}

impl Module {
    fn of(file: &TextFile) -> Option<Self> {
        let (member, within) = match file.path.strip_prefix("crates/") {
            Some(rest) => rest.split_once('/')?,
            None => ("xtask", file.path.strip_prefix("xtask/")?),
        };
        let role = match within.split('/').collect::<Vec<_>>().as_slice() {
            _ if member == TEST_KIT => FileRole::Test,
            ["tests", ..] | ["src", "testing" | "testing.rs", ..] => FileRole::Test,
            ["benches", ..] => FileRole::Bench,
            ["examples", ..] => FileRole::Example,
            _ => FileRole::Product,
        };
        let (member, within) = (member.to_owned(), within.to_owned());
        within.ends_with(".rs").then(|| Self {
            path: file.path.clone(),
            member,
            within,
            role,
            source: source::read(&file.text),
        })
    }

    /// Lines of the product itself, with their numbers.
    pub(super) fn product_lines(&self) -> impl Iterator<Item = (usize, &source::Line)> {
        let all = self.source.lines.iter().enumerate().map(|(index, line)| (index + 1, line));
        all.filter(|(_, line)| !line.is_test)
    }
}

/// `#[cfg(test)] mod name;` makes a test of another file. Returns its path without the ending.
fn test_modules_declared_in(module: &Module) -> Vec<String> {
    let stem = module.path.trim_end_matches(".rs");
    let (directory, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let home = if ["lib", "main"].contains(&name) { directory } else { stem };
    module.source.test_modules.iter().map(|declared| format!("{home}/{declared}")).collect()
}

fn is_within(path: &str, stem: &str) -> bool {
    path.strip_prefix(stem).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

fn collect(root: &Path, within: &str, files: &mut Vec<TextFile>) -> Result<()> {
    let directory = root.join(within);
    let entries = fs::read_dir(&directory).with_context(|| format!("cannot read {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if within.is_empty() { name.clone() } else { format!("{within}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED_NAMES.contains(&name.as_str()) && !SKIPPED_PATHS.contains(&path.as_str()) {
            collect(root, &path, files)?;
        } else if kind.is_file() && is_text(&path) {
            // A file that is not UTF-8 is not a text.
            files.extend(fs::read_to_string(entry.path()).ok().map(|text| TextFile { path, text }));
        }
    }
    Ok(())
}

fn is_text(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    path.starts_with(".ci/") || ending.is_some_and(|ending| TEXT_ENDINGS.contains(&ending))
}
