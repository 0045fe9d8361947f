//! Names of files, their first line and their length.

use super::Findings;
use super::tree::{TextFile, Tree};

/// Names that say nothing about the content, so that unrelated code collects there.
const EMPTY_NAMES: [&str; 6] = ["common", "helper", "helpers", "manager", "util", "utils"];

const LONG: usize = 400;
const TOO_LONG: usize = 600;
/// Files that may be longer than [`TOO_LONG`], each with its reason.
const MAY_BE_LONG: &[(&str, &str)] = &[];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for module in &tree.modules {
        names(&module.path, &module.within, findings);
        for (index, line) in module.source.lines.iter().enumerate() {
            if let Some(name) = inline_module(&line.code).filter(|name| EMPTY_NAMES.contains(name)) {
                findings.refuse(&module.path, index + 1, empty_name(name));
            }
        }
        if !module.source.lines.first().is_some_and(|line| line.comment.starts_with("//!")) {
            let why = "a module opens with `//!`: its purpose, its promise, what it does not do";
            findings.refuse(&module.path, 1, why);
        }
    }
    for file in tree.files.iter().filter(|file| counts_by_length(file)) {
        length(file, findings);
    }
}

fn names(path: &str, within: &str, findings: &mut Findings) {
    for part in within.split('/') {
        if part == "mod.rs" {
            findings.refuse(
                path,
                1,
                "`foo.rs` beside `foo/` instead of `foo/mod.rs`: tabs full of mod.rs tell nothing",
            );
        }
        let name = part.strip_suffix(".rs").unwrap_or(part);
        if EMPTY_NAMES.contains(&name) {
            findings.refuse(path, 1, empty_name(name));
        }
    }
}

fn empty_name(name: &str) -> String {
    format!("`{name}` says nothing about what is inside: name it by what it does")
}

/// The name of a module whose body stands in the same file.
fn inline_module(code: &str) -> Option<&str> {
    let (before, rest) = code.split_once("mod ")?;
    let name = rest.trim().strip_suffix('{')?.trim();
    (before.trim().is_empty() || before.trim().starts_with("pub")).then_some(name)
}

fn counts_by_length(file: &TextFile) -> bool {
    let is_ours = ["crates/", "xtask/"].iter().any(|start| file.path.starts_with(start));
    is_ours && [".rs", ".js"].iter().any(|ending| file.path.ends_with(ending))
}

fn length(file: &TextFile, findings: &mut Findings) {
    let lines = file.text.lines().count();
    let may = MAY_BE_LONG.iter().find(|(path, _)| *path == file.path);
    match may {
        None if lines > TOO_LONG => {
            findings.refuse(
                &file.path,
                lines,
                format!("{lines} lines are more than {TOO_LONG}: find the parts and split it"),
            );
        }
        Some((_, reason)) if lines > TOO_LONG => findings.warn(&file.path, lines, format!("{lines} lines: {reason}")),
        _ if lines > LONG => findings.warn(&file.path, lines, format!("{lines} lines are more than {LONG}")),
        _ => {}
    }
}
