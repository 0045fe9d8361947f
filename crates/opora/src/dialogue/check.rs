//! Finds mistakes in a script before the first update.

use std::collections::HashMap;

use super::Script;
use super::definition::DialogueDefinition;
use super::route::Route;
use crate::input::InputPattern;

/// All mistakes of a script, each as a sentence.
pub(super) fn mistakes(script: &Script) -> Vec<String> {
    let mut found = Vec::new();
    duplicate_names(script, &mut found);
    conflicting_entries(script, &mut found);
    let has_entry = script.definitions.iter().any(|definition| is_open_to_people(&definition.entries));
    let has_way_out = script.can_cancel() || has_entry;
    for definition in &script.definitions {
        states_without_handler(definition, has_way_out, &mut found);
        unreachable_handlers(definition, &mut found);
        for child in definition.calls.iter().filter(|child| script.definition(child).is_none()) {
            found.push(format!(
                "dialogue `{}` calls `{child}`, which is not registered; add it to the bot",
                definition.name
            ));
        }
        found.extend_from_slice(&definition.mistakes);
        for version in definition.gaps() {
            found.push(format!("dialogue `{}` has no upcast from version {version} to the next", definition.name));
        }
    }
    found
}

fn duplicate_names(script: &Script, found: &mut Vec<String>) {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for definition in &script.definitions {
        let count = seen.entry(definition.name).or_default();
        *count += 1;
        if *count == 2 {
            let name = definition.name;
            found.push(format!("two dialogues are called `{name}`; their stored states could not be told apart"));
        }
    }
}

/// Entries of all dialogues compete for the same inputs, so one can shadow another.
fn conflicting_entries(script: &Script, found: &mut Vec<String>) {
    let mut before: Vec<(&str, &Route)> = Vec::new();
    for definition in &script.definitions {
        for route in &definition.entries {
            let pattern = &route.pattern;
            // Between two dialogues the narrower entry wins; within one, the first that matches.
            let is_own = |first: &str| first == definition.name;
            let shadow = before.iter().find(|(first, earlier)| {
                // An outcome goes to the dialogue that asked for it.
                let is_same = pattern.covers(&earlier.pattern) && !matches!(pattern, InputPattern::Outcome(_));
                !earlier.partial && earlier.pattern.covers(pattern) && (is_own(first) || is_same)
            });
            match shadow {
                Some((first, Route { pattern: earlier, .. })) if is_own(first) => found.push(format!(
                    "dialogue `{first}`: the start by {pattern} is never reached, because {earlier} before it takes its inputs"
                )),
                Some((first, ..)) => {
                    found.push(format!("the dialogues `{first}` and `{}` both start by {pattern}", definition.name));
                }
                None => before.push((definition.name, route)),
            }
        }
    }
}

fn states_without_handler(definition: &DialogueDefinition, has_way_out: bool, found: &mut Vec<String>) {
    for (state, own) in definition.states.iter().zip(&definition.at) {
        if own.is_empty() && definition.any_state.is_empty() {
            found.push(format!("state `{state}` of dialogue `{}` has no handler", definition.name));
        } else if !has_way_out
            && definition.expires_after.is_none()
            && !is_open_to_people(own)
            && !is_open_to_people(&definition.any_state)
        {
            found.push(format!(
                "state `{state}` of dialogue `{}` has no way out: a person can do nothing in it, no command leaves it, and it never expires",
                definition.name
            ));
        }
    }
}

fn unreachable_handlers(definition: &DialogueDefinition, found: &mut Vec<String>) {
    let mut check = |place: &str, routes: &[Route]| {
        for (index, Route { pattern, .. }) in routes.iter().enumerate() {
            let earlier = routes[..index].iter().find(|earlier| !earlier.partial && earlier.pattern.covers(pattern));
            if let Some(Route { pattern: earlier, .. }) = earlier {
                let name = definition.name;
                found.push(format!(
                    "{place} of dialogue `{name}`: the handler of {pattern} is never reached, because {earlier} before it takes its inputs"
                ));
            }
        }
    };
    for (state, own) in definition.states.iter().zip(&definition.at) {
        check(&format!("state `{state}`"), own);
    }
    check("any state", &definition.any_state);
}

fn is_open_to_people(routes: &[Route]) -> bool {
    routes.iter().any(|route| route.pattern.is_by_person())
}
