//! Refuses unfinished work: placeholders, notes for later, and ignored tests.

use super::Findings;
use super::tree::Tree;

/// Words that mark work for later.
const NOTES: [&str; 2] = ["FIXME", "TODO"];
const PLACEHOLDERS: [&str; 2] = ["todo!", "unimplemented!"];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for module in &tree.modules {
        for (index, line) in module.source.lines.iter().enumerate() {
            let compact: String = line.code.split_whitespace().collect();
            if compact.contains("#[ignore") {
                findings.refuse(&module.path, index + 1, "an ignored test guards nothing: mend it or remove it");
            }
            if let Some(what) = PLACEHOLDERS.iter().find(|what| compact.contains(*what)) {
                findings.refuse(
                    &module.path,
                    index + 1,
                    format!("`{what}` is a panic with a promise: build it or leave it out"),
                );
            }
            note(&module.path, index + 1, &line.comment, findings);
        }
    }
    // The benchmark is another workspace with its own rules.
    for file in tree.files.iter().filter(|file| !file.path.ends_with(".rs") && !file.path.starts_with("bench/")) {
        for (index, line) in file.text.lines().enumerate() {
            note(&file.path, index + 1, line, findings);
        }
    }
}

fn note(path: &str, line: usize, text: &str, findings: &mut Findings) {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    if let Some(word) = words.find(|word| NOTES.contains(word)) {
        findings.refuse(path, line, format!("`{word}`: do it now, or open an issue for it"));
    }
}
