//! Every state of every dialogue shows its ways out: Back, the main menu, and `/cancel`, which says what stays.

use std::collections::BTreeSet;

use opora::testing::chat::ChatUser;
use workforce::application;
use workforce::rooms::Rooms;

use crate::fixtures::content::in_every_state;
use crate::fixtures::states::{STATES, State, TRANSIENT_STATES};
use crate::kit::firm::{Firm, StorageKind};

const BACK: &str = "← Back";
const MENU: &str = "🏠 Main menu";
/// States that wait for another dialogue and ask nothing.
const WAITING: [&str; 1] = ["front:newcomer"];
/// Newcomers have no main menu yet.
const WITHOUT_MENU: &str = "registration:";
/// States without a question before them: a first question whose way back is the menu, a break, a wait for files, and a
/// conversation with a person.
const WITHOUT_BACK: [&str; 6] = [
    "registration:language",
    "registration:resume",
    "registration:saving",
    "OnboardingStates:consent",
    "ChatStates:active",
    "CreateOrderStates:paused",
];

#[test]
fn every_state_of_the_script_is_walked_through() {
    let script = application::script(&Rooms::all());
    let states = script
        .dialogue_states()
        .flat_map(|(dialogue, states)| states.iter().map(move |state| format!("{dialogue}:{state}")));
    let walked: BTreeSet<&str> =
        STATES.iter().map(|state| state.name).chain(TRANSIENT_STATES.iter().copied()).chain(WAITING).collect();
    let missing: Vec<_> = states.filter(|state| !walked.contains(state.as_str())).collect();
    assert!(missing.is_empty(), "no way to these states in `fixtures/states.rs`: {missing:?}");
}

#[tokio::test]
async fn every_state_shows_its_ways_out() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    in_every_state(firm, async |state, someone| assert_ways_out(state, someone).await).await;
}

async fn assert_ways_out(state: &State, someone: &ChatUser) {
    let (name, shown) = (state.name, last_message(someone));
    let offers = |caption: &str| shown.contains(&format!("[{caption}]")) || shown.contains(&format!("<{caption}>"));
    assert!(offers(BACK) || WITHOUT_BACK.contains(&name), "{name} has no Back:{}", someone.transcript());
    assert!(offers(MENU) || name.starts_with(WITHOUT_MENU), "{name} has no main menu:{}", someone.transcript());
    let before = someone.state().await;
    someone.sends("/cancel").await;
    let after = someone.state().await;
    let is_over =
        after.as_deref().is_none_or(|after| after == "registration:resume" && before.as_deref() != Some(after));
    assert!(is_over || name == "registration:resume", "{name} stays after /cancel:{}", someone.transcript());
    let said = someone.answers().join("\n");
    assert!(!said.is_empty() && !said.contains("nothing to stop"), "{name} says nothing:{}", someone.transcript());
}

/// The last message of the bot, with its buttons and keys.
fn last_message(someone: &ChatUser) -> String {
    let chat = someone.transcript();
    chat.rsplit("\n  bot   |").next().unwrap_or_default().to_owned()
}
