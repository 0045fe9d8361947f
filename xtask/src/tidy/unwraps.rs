//! A possible panic in the product needs a comment with the reason.

use super::Findings;
use super::source::Line;
use super::tree::Tree;

/// How many lines above may carry the reason: a chain of calls is often that long.
const REASON_WITHIN: usize = 3;

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for module in tree.product() {
        for (number, line) in module.product_lines() {
            let panics = [".unwrap()", ".expect("].into_iter().find(|call| line.code.contains(call));
            if let Some(call) = panics
                && !is_justified(&module.source.lines, number)
            {
                let why = format!("`{call}` without a comment that says why it cannot fail");
                findings.refuse(&module.path, number, why);
            }
        }
    }
}

fn is_justified(lines: &[Line], number: usize) -> bool {
    lines[number.saturating_sub(1 + REASON_WITHIN)..number].iter().any(Line::justifies)
}
