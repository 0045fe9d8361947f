//! Buttons, titles and cards of the pages are written once, in `web/ui`.

use super::Findings;
use super::tree::Tree;

/// The components, and the frame of all pages with its menus.
const HOMES: [&str; 3] = ["src/web/ui.rs", "src/web/ui/", "src/web/layout.rs"];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    let is_home = |within: &str| HOMES.iter().any(|home| within.starts_with(home));
    for module in tree.product().filter(|module| module.member == "workforce" && !is_home(&module.within)) {
        for (number, line) in module.product_lines() {
            if let Some((what, instead)) = raw(&line.code) {
                findings.refuse(&module.path, number, format!("a raw `{what}`: {instead} of `web/ui` draws it"));
            }
        }
    }
}

/// The element that a component draws, and the component.
fn raw(code: &str) -> Option<(&'static str, &'static str)> {
    if element(code, "button").is_some_and(|rest| rest.contains(" type=")) {
        return Some(("button", "`Button`"));
    }
    if element(code, "h1").is_some_and(|rest| rest.contains('{')) {
        return Some(("h1", "`headline` or `page_title`"));
    }
    let card = ["section.card", "div.card"].into_iter().find(|card| element(code, card).is_some());
    card.map(|card| (card, "`Card`"))
}

/// What follows an element of this name, if the line has one.
fn element<'a>(code: &'a str, name: &str) -> Option<&'a str> {
    let mut found = code.match_indices(name);
    found.find_map(|(at, _)| {
        let (before, rest) = (&code[..at], &code[at + name.len()..]);
        let begins = before.trim().is_empty() || before.ends_with("{ ") || before.ends_with("} ");
        let ends = rest.starts_with([' ', '.', '#']);
        (begins && ends).then_some(rest)
    })
}
