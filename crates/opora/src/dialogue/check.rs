//! Mistakes in a script that would otherwise show only when a person meets them.

use std::collections::HashMap;

use super::Script;
use super::flow::Flow;
use super::route::Route;
use crate::input::What;

/// All mistakes of a script, each as a sentence.
pub(super) fn mistakes(script: &Script) -> Vec<String> {
    let mut found = Vec::new();
    same_names(script, &mut found);
    entries_that_meet(script, &mut found);
    let way_out = script.can_cancel() || script.flows.iter().any(|flow| people_can(&flow.entries));
    for flow in &script.flows {
        states_unheard(flow, way_out, &mut found);
        handlers_unasked(flow, &mut found);
        for child in flow.calls.iter().filter(|child| script.flow(child).is_none()) {
            found.push(format!("dialogue `{}` calls `{child}`, which is not there; add it to the bot", flow.name));
        }
        found.extend_from_slice(&flow.mistakes);
        for version in flow.gaps() {
            found.push(format!("dialogue `{}` has no upcast from version {version} to the next", flow.name));
        }
    }
    found
}

fn same_names(script: &Script, found: &mut Vec<String>) {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for flow in &script.flows {
        let count = seen.entry(flow.name).or_default();
        *count += 1;
        if *count == 2 {
            found
                .push(format!("two dialogues are called `{}`; their stored states could not be told apart", flow.name));
        }
    }
}

/// Entries of all dialogues are asked in one row, so they can shadow one another.
fn entries_that_meet(script: &Script, found: &mut Vec<String>) {
    let mut before: Vec<(&str, &Route)> = Vec::new();
    for flow in &script.flows {
        for route in &flow.entries {
            let what = &route.what;
            // Of two dialogues the narrower entry wins; within one, the first that fits.
            let own = |first: &str| first == flow.name;
            let shadow = before.iter().find(|(first, earlier)| {
                // An outcome goes to the dialogue that asked for it.
                let meets = own(first) || (what.covers(&earlier.what) && !matches!(what, What::Outcome(_)));
                !earlier.partial && earlier.what.covers(what) && meets
            });
            match shadow {
                Some((first, Route { what: earlier, .. })) if own(first) => found.push(format!(
                    "dialogue `{first}`: the start by {what} is never asked, because {earlier} before it takes all that"
                )),
                Some((first, ..)) => {
                    found.push(format!("the dialogues `{first}` and `{}` both start by {what}", flow.name));
                }
                None => before.push((flow.name, route)),
            }
        }
    }
}

fn states_unheard(flow: &Flow, way_out: bool, found: &mut Vec<String>) {
    for (state, own) in flow.states.iter().zip(&flow.at) {
        if own.is_empty() && flow.anywhere.is_empty() {
            found.push(format!("state `{state}` of dialogue `{}` has no handler", flow.name));
        } else if !way_out && flow.life.is_none() && !people_can(own) && !people_can(&flow.anywhere) {
            found.push(format!(
                "state `{state}` of dialogue `{}` has no way out: a person can do nothing in it, no command leaves it, and it never ends",
                flow.name
            ));
        }
    }
}

fn handlers_unasked(flow: &Flow, found: &mut Vec<String>) {
    let mut look = |place: &str, routes: &[Route]| {
        for (index, Route { what, .. }) in routes.iter().enumerate() {
            let earlier = routes[..index].iter().find(|earlier| !earlier.partial && earlier.what.covers(what));
            if let Some(Route { what: earlier, .. }) = earlier {
                let name = flow.name;
                found.push(format!("{place} of dialogue `{name}`: the handler of {what} is never asked, because {earlier} before it takes all that"));
            }
        }
    };
    for (state, own) in flow.states.iter().zip(&flow.at) {
        look(&format!("state `{state}`"), own);
    }
    look("anywhere", &flow.anywhere);
}

fn people_can(routes: &[Route]) -> bool {
    routes.iter().any(|route| route.what.is_by_person())
}
