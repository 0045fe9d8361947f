//! The rooms of the application, and which of them import which. A cycle is refused.
//!
//! A room is a top-level module of the crate. The modules that combine the rooms are not in the graph: a room calls
//! them only through traits.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

use super::Findings;
use super::tree::{Module, Tree};

const MEMBER: &str = "workforce";
/// The modules that combine the rooms.
const COMPOSING: [&str; 9] = ["application", "cli", "demo", "doctor", "lib", "main", "rooms", "run", "state"];
const ROOT: &str = "crate::";
const SUPER: &str = "super::";

/// The first line at which a room imports another one.
#[derive(Debug)]
struct Import<'a> {
    path: &'a str,
    line: usize,
}

/// What each room imports.
type Graph<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Import<'a>>>;

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    let graph = graph(tree);
    let mut reported: BTreeSet<&str> = BTreeSet::new();
    for room in graph.keys() {
        if reported.contains(room) {
            continue;
        }
        let Some(cycle) = shortest_cycle(&graph, room) else { continue };
        reported.extend(&cycle);
        let import = &graph[cycle[0]][cycle[1]];
        let why = format!("rooms import each other: {}", cycle.join(" -> "));
        findings.refuse(import.path, import.line, why);
    }
}

/// The graph as text, a line for each room.
pub(super) fn to_text(tree: &Tree) -> String {
    let mut text = String::new();
    for (room, imports) in graph(tree) {
        let names: Vec<_> = imports.into_keys().collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{room} -> {}", names.join(", "));
    }
    text
}

fn graph(tree: &Tree) -> Graph<'_> {
    let modules: Vec<(&str, &Module)> = tree.product().filter_map(|module| Some((room_of(module)?, module))).collect();
    let mut graph: Graph<'_> = modules.iter().map(|(room, _)| (*room, BTreeMap::new())).collect();
    let rooms: BTreeSet<&str> = graph.keys().copied().collect();
    for (room, module) in modules {
        for (name, line) in imported(module) {
            let Some(other) = rooms.get(name.as_str()).filter(|other| **other != room) else { continue };
            let imports = graph.entry(room).or_default();
            imports.entry(other).or_insert(Import { path: &module.path, line });
        }
    }
    graph
}

/// The room of a file; none for the files that combine the rooms.
fn room_of(module: &Module) -> Option<&str> {
    let within = module.within.strip_prefix("src/").filter(|_| module.member == MEMBER)?;
    let room = within.split('/').next()?.trim_end_matches(".rs");
    (!COMPOSING.contains(&room)).then_some(room)
}

/// The first names of all paths that begin at the root of the crate, with their lines.
pub(super) fn imported(module: &Module) -> Vec<(String, usize)> {
    let mut code = String::new();
    let mut starts = Vec::new();
    for (number, line) in module.product_lines() {
        starts.push((code.len(), number));
        code.push_str(&line.code);
        code.push('\n');
    }
    let line_of = |at: usize| starts.iter().rev().find(|(start, _)| *start <= at).map_or(1, |(_, number)| *number);
    let mut found = Vec::new();
    let upward = SUPER.repeat(depth(module));
    let roots = code.match_indices(ROOT).chain(code.match_indices(&upward));
    for (at, root) in roots {
        let rest = &code[at + root.len()..];
        let names = match rest.strip_prefix('{') {
            Some(group) => names_of_group(group),
            None => vec![first_name(rest)],
        };
        found.extend(names.into_iter().map(|name| (name, line_of(at))));
    }
    found
}

/// How many `super::` lead from a file to the root of the crate.
fn depth(module: &Module) -> usize {
    module.within.split('/').count() - 1
}

/// The first names of the paths between braces: `a` and `c` of `a::{b, d}, c}`.
fn names_of_group(group: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(first_name(&group[start..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(first_name(&group[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

fn first_name(path: &str) -> String {
    path.trim_start().chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

/// The shortest cycle through a room, with the room at both ends.
fn shortest_cycle<'a>(graph: &Graph<'a>, room: &'a str) -> Option<Vec<&'a str>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut waiting = VecDeque::from([room]);
    while let Some(here) = waiting.pop_front() {
        for next in graph[here].keys().copied() {
            if next == room {
                return Some(cycle_path(&came_from, room, here));
            }
            if !came_from.contains_key(next) {
                came_from.insert(next, here);
                waiting.push_back(next);
            }
        }
    }
    None
}

fn cycle_path<'a>(came_from: &BTreeMap<&'a str, &'a str>, room: &'a str, last: &'a str) -> Vec<&'a str> {
    let mut path = vec![room];
    let mut here = last;
    while here != room {
        path.push(here);
        here = came_from[here];
    }
    path.push(room);
    path.reverse();
    path
}
