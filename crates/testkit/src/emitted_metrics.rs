//! Finds the metrics that a crate reports, in its sources.
//!
//! A metric is reported by `counter!`, `gauge!` or `histogram!` with its name as a literal, so the sources tell all of
//! them, also those of rare failures.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const KINDS: [&str; 3] = ["counter", "gauge", "histogram"];

/// The metrics that the sources under `folder` report, each as `counter name{label,label}`. Panics at a name that is
/// not a literal.
pub fn emitted_metrics(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(emitted_metrics(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            // Unit tests are at the end of their file.
            let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            found.extend(KINDS.iter().flat_map(|kind| calls(code, kind)));
        }
    }
    found
}

/// The calls of one macro in a source file.
fn calls(source: &str, kind: &str) -> Vec<String> {
    let start = format!("{kind}!(");
    let mut found = Vec::new();
    for (at, _) in source.match_indices(&start) {
        // `describe_counter!` reports nothing.
        if !source[..at].ends_with('_') {
            found.push(format!("{kind} {}", name_and_labels(&source[at + start.len()..])));
        }
    }
    found
}

/// Name and labels of a call, by the text after its opening parenthesis.
fn name_and_labels(text: &str) -> String {
    let (name, rest) = literal(text).unwrap_or_else(|| panic!("the name is not a literal: {}", first_line(text)));
    let mut labels = Vec::new();
    let mut rest = until_closed(rest);
    while let Some((before, after)) = rest.split_once("=>") {
        let label = before.trim_end().strip_suffix('"').and_then(|quoted| quoted.rsplit('"').next());
        labels.push(label.unwrap_or_else(|| panic!("a label of {name} is not a literal")));
        rest = after;
    }
    if labels.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", labels.join(",")) }
}

/// The text before the parenthesis that closes a call.
fn until_closed(text: &str) -> &str {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    end.map_or(text, |end| &text[..end])
}

/// The string literal that a text begins with, and the text after it.
fn literal(text: &str) -> Option<(&str, &str)> {
    text.trim_start().strip_prefix('"')?.split_once('"')
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_of_calls_are_found() {
        let source = r#"
            metrics::counter!("a_total").increment(1);
            metrics::counter!(
                "b_total", "outcome" => word.to_owned(), "why" => "x"
            );
            describe_counter!(name, help);
        "#;
        assert_eq!(calls(source, "counter"), ["counter a_total", "counter b_total{outcome,why}"]);
    }
}
