//! Refuses directories of one machine and hosts of package registries.
//!
//! Such names come with copied output and generated lists, and are wrong on other machines.

use super::Findings;
use super::tree::Tree;

/// In lower case. Assembled from parts, so that this file does not break the rule itself.
const WORDS: [(&str, &str); 10] = [
    (concat!("/", "root/"), ONE_MACHINE),
    (concat!("/", "home/"), ONE_MACHINE),
    (concat!("/", "work/"), ONE_MACHINE),
    (concat!("../", "shared"), ONE_MACHINE),
    (concat!("crates", ".io"), REGISTRY),
    (concat!("npmjs", ".org"), REGISTRY),
    (concat!("npmjs", ".com"), REGISTRY),
    (concat!("pypi", ".org"), REGISTRY),
    (concat!("python", "hosted.org"), REGISTRY),
    (concat!("deb.", "debian.org"), REGISTRY),
];
const ONE_MACHINE: &str = "holds for one machine only";
const REGISTRY: &str = "is a registry's host: the package manager knows where to look";

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for file in &tree.files {
        for (index, line) in file.text.lines().enumerate() {
            let lower = line.to_lowercase();
            for (word, why) in WORDS.iter().filter(|(word, _)| contains(&lower, word)) {
                findings.refuse(&file.path, index + 1, format!("`{word}` {why}"));
            }
        }
    }
}

/// A directory counts only at the beginning of a path, so a link such as `site/home/` is accepted.
fn contains(line: &str, word: &str) -> bool {
    let continues = |before: char| before.is_alphanumeric() || "._-~}])*".contains(before);
    line.match_indices(word)
        .any(|(at, _)| !word.starts_with('/') || !line[..at].chars().next_back().is_some_and(continues))
}
