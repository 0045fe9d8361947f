//! Only one module of a crate may read the environment, and only one the clock.
//!
//! Settings that one module reads can be listed and documented. A clock that one module reads can be set in a test.

use super::Findings;
use super::source::Line;
use super::tree::{FileRole, Module, TEST_KIT, Tree};

const ENVIRONMENT: [&str; 6] = ["env::var", "env::var_os", "env::vars", "env::vars_os", "env::home_dir", "dotenvy"];
const CLOCK: [&str; 4] = ["Instant::now", "Local::now", "SystemTime::now", "Utc::now"];
/// The crates that are tested with a manual clock.
const CRATES_WITH_A_CLOCK: [&str; 2] = ["emulator", "opora"];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for module in &tree.modules {
        let reads = first_use(module.source.lines.iter(), &ENVIRONMENT).or_else(|| argument_from_environment(module));
        let Some((line, what)) = reads else { continue };
        if !may_read_environment(module) {
            findings.refuse(&module.path, line, environment_reason(module, what));
        }
    }
    for module in tree.product().filter(|module| CRATES_WITH_A_CLOCK.contains(&module.member.as_str())) {
        if module.within != "src/clock.rs" {
            clock(module, findings);
        }
    }
}

fn may_read_environment(module: &Module) -> bool {
    match module.role {
        // An example is a complete program that should be readable in one file.
        FileRole::Example => true,
        FileRole::Test | FileRole::Bench => module.member == TEST_KIT && module.within == "src/environment.rs",
        FileRole::Product if module.member == "xtask" => module.within.ends_with("/environment.rs"),
        FileRole::Product => module.within == "src/config.rs",
    }
}

fn environment_reason(module: &Module, what: &str) -> String {
    let home = match module.role {
        FileRole::Product if module.member != "xtask" => "src/config.rs",
        FileRole::Product => "environment.rs",
        _ => "crates/testkit/src/environment.rs",
    };
    format!("`{what}`: only {home} reads the environment, so that every setting is found in one place")
}

fn clock(module: &Module, findings: &mut Findings) {
    for (number, line) in module.product_lines() {
        if let Some(what) = CLOCK.iter().find(|what| uses(&line.code, what)) {
            let why = format!("`{what}`: only src/clock.rs reads the clock, so that tests can set it");
            findings.refuse(&module.path, number, why);
        }
    }
}

fn first_use<'a>(lines: impl Iterator<Item = &'a Line>, names: &[&'static str]) -> Option<(usize, &'static str)> {
    lines.enumerate().find_map(|(index, line)| {
        let found = names.iter().find(|name| uses(&line.code, name) || imports(&line.code, name));
        found.map(|name| (index + 1, *name))
    })
}

/// clap reads a variable wherever an argument says `env`.
fn argument_from_environment(module: &Module) -> Option<(usize, &'static str)> {
    let reads = |line: &Line| {
        let code = line.code.trim();
        code.starts_with("#[arg(") && code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "env")
    };
    let found = module.source.lines.iter().position(reads)?;
    Some((found + 1, "#[arg(env)]"))
}

/// Whether a path is named as a whole, not as part of a longer word.
fn uses(code: &str, name: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + name.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// Whether `use std::env::{…}` brings the function in.
fn imports(code: &str, name: &str) -> bool {
    let Some(function) = name.strip_prefix("env::") else {
        return false;
    };
    let list = code.trim().strip_prefix("use std::env::{").and_then(|rest| rest.split_once('}'));
    list.is_some_and(|(list, _)| list.split(',').any(|item| item.trim() == function))
}
