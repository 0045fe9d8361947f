//! Operator queries and commands.

use super::Subject;
use super::fixture::{
    ALL, BOT, Fixture, OTHER_BOT, at, effect, granted, holder, mark, message, one_of_each, outcome, overtaken, parked,
    person, set, state, state_name, timer, transition, update,
};
use super::parking::park;
use crate::key::ConversationKey;
use crate::store::{
    Commit, ConversationRow, Filter, Incoming, InputRef, Settled, Settlement, StateChange, StateCount, Statistics,
    StoredState, Version,
};

async fn set_states(fixture: &Fixture, key: &ConversationKey, states: Vec<crate::store::StateName>) {
    let stored = StoredState { states, ..state("open") };
    fixture.turn(key, |commit| commit.state = StateChange::Set(stored)).await;
}

async fn users(fixture: &Fixture, filter: &Filter) -> Vec<i64> {
    let rows = fixture.store().list(filter, None, ALL).await.expect("answered");
    rows.into_iter().map(|row| row.key.user).collect()
}

/// Pages follow the order of the keys and miss nothing.
pub async fn conversations_are_listed_in_pages(fixture: Fixture) {
    let mut keys = vec![person(9), person(10), person(101)];
    keys.extend((1..=4).map(|user| ConversationKey { chat: -user, ..person(user) }));
    keys.push(ConversationKey { thread: 3, ..person(10) });
    for key in &keys {
        set_states(&fixture, key, vec![state_name("survey", "asked")]).await;
    }
    keys.sort();
    let mut read = Vec::new();
    let mut after = None;
    while read.len() <= keys.len() {
        let page = fixture.store().list(&Filter::default(), after.as_ref(), 3).await.expect("answered");
        assert!(page.len() <= 3);
        let Some(last) = page.last() else { break };
        after = Some(last.key.clone());
        read.extend(page.into_iter().map(|row| row.key));
    }
    assert_eq!(read, keys);
}

/// A list can be filtered by bot, person, dialogue and state, and can include ended conversations.
pub async fn a_list_follows_its_filter(fixture: Fixture) {
    set_states(&fixture, &person(1), vec![state_name("survey", "asked")]).await;
    set_states(&fixture, &person(2), vec![state_name("survey", "confirm"), state_name("menu", "asked")]).await;
    set_states(&fixture, &person(3), vec![state_name("menu", "open")]).await;
    fixture.turn(&person(3), |commit| commit.state = StateChange::Clear).await;
    let by = |dialogue: Option<&str>, state: Option<&str>, ended| Filter {
        dialogue: dialogue.map(str::to_owned),
        state: state.map(str::to_owned),
        ended,
        ..Filter::default()
    };
    assert_eq!(users(&fixture, &by(None, None, false)).await, [1, 2]);
    assert_eq!(users(&fixture, &by(None, None, true)).await, [1, 2, 3]);
    assert_eq!(users(&fixture, &by(Some("survey"), None, false)).await, [1, 2]);
    assert_eq!(users(&fixture, &by(Some("menu"), None, false)).await, [2], "also in the background");
    assert_eq!(users(&fixture, &by(Some("survey"), Some("asked"), false)).await, [1]);
    assert_eq!(users(&fixture, &by(Some("survey"), Some("lost"), false)).await, Vec::<i64>::new());
    assert_eq!(users(&fixture, &Filter { user: Some(2), ..Filter::default() }).await, [2]);
    assert_eq!(users(&fixture, &Filter { bot: Some(OTHER_BOT), ..Filter::default() }).await, Vec::<i64>::new());
}

/// A reset ends a conversation, also during a turn, and reports whether one was open.
pub async fn a_reset_ends_a_conversation(fixture: Fixture) {
    let anna = person(101);
    assert!(!fixture.operator().reset(&anna, at(1)).await.expect("answered"), "nothing to end");
    fixture.turn(&anna, |commit| commit.state = set("open")).await;
    let running = fixture.version(&anna).await;
    assert!(fixture.operator().reset(&anna, at(2)).await.expect("answered"));
    assert_eq!(fixture.state(&anna).await, (Version(running.0 + 1), None));
    assert!(!fixture.operator().reset(&anna, at(3)).await.expect("answered"));
    let mut late = Commit::new(anna.clone(), running, at(4));
    late.state = set("late");
    overtaken(fixture.try_commit(late).await);
    assert_eq!(fixture.state(&anna).await.1, None);
}

/// A conversation can be moved from one store to another.
pub async fn an_export_can_be_imported(mut fixture: Fixture) {
    let anna = ConversationKey { thread: 5, business: "connection".into(), ..person(101) };
    let states = vec![state_name("survey", "asked"), state_name("menu", "open")];
    let stored = Some(StoredState { states, expires_at: Some(at(50)), ..state("carried") });
    let row = ConversationRow { key: anna.clone(), version: Version(41), stored, updated_at: at(7) };
    assert!(fixture.operator().import(&row, false).await.expect("answered"));
    fixture.restart().await;
    assert_eq!(fixture.store().list(&Filter::default(), None, ALL).await.expect("answered"), [row]);
    assert_eq!(fixture.expired(at(50)).await, std::slice::from_ref(&anna));
    assert_eq!(fixture.turn(&anna, |commit| commit.state = set("goes on")).await.version, Version(42));
}

/// A running turn does not overwrite an import, not even of a new conversation.
pub async fn an_import_overtakes_a_running_turn(fixture: Fixture) {
    let anna = person(101);
    let began = fixture.version(&anna).await;
    let stored = Some(state("carried"));
    let row = ConversationRow { key: anna.clone(), version: began, stored, updated_at: at(7) };
    assert!(fixture.operator().import(&row, false).await.expect("answered"));
    let mut late = Commit::new(anna.clone(), began, at(8));
    late.state = set("late");
    overtaken(fixture.try_commit(late).await);
    assert_eq!(fixture.state(&anna).await.1, Some(state("carried")));
}

/// An import does not overwrite an open conversation unless asked.
pub async fn an_import_replaces_only_when_asked(fixture: Fixture) {
    let anna = person(101);
    fixture.turn(&anna, |commit| commit.state = set("mine")).await;
    let row = |value| ConversationRow {
        key: anna.clone(),
        version: Version(9),
        stored: Some(state(value)),
        updated_at: at(7),
    };
    assert!(!fixture.operator().import(&row("theirs"), false).await.expect("answered"));
    assert_eq!(fixture.state(&anna).await, (Version(1), Some(state("mine"))));
    assert!(fixture.operator().import(&row("theirs"), true).await.expect("answered"));
    assert_eq!(fixture.state(&anna).await.1, Some(state("theirs")));
    fixture.turn(&anna, |commit| commit.state = StateChange::Clear).await;
    assert!(
        fixture.operator().import(&row("again"), false).await.expect("answered"),
        "an ended conversation is replaced"
    );
}

/// An import of an old export does not bring old versions back.
pub async fn an_import_never_lowers_a_version(fixture: Fixture) {
    let anna = person(101);
    for _ in 0..5 {
        fixture.turn(&anna, |commit| commit.state = set("open")).await;
    }
    let running = fixture.version(&anna).await;
    let old = ConversationRow { key: anna.clone(), version: Version(2), stored: Some(state("old")), updated_at: at(7) };
    assert!(fixture.operator().import(&old, true).await.expect("answered"));
    assert!(fixture.version(&anna).await > running);
    overtaken(fixture.try_commit(Commit::new(anna.clone(), running, at(8))).await);
}

/// Statistics count the rows, by bot.
pub async fn statistics_count_the_rows(fixture: Fixture) {
    assert_eq!(fixture.statistics().await, Statistics::default());
    fixture.turn(&person(101), one_of_each).await;
    set_states(&fixture, &person(102), vec![state_name("menu", "open"), state_name("survey", "asked")]).await;
    let ids = fixture.turn(&person(103), |commit| commit.outgoing = vec![message(103, "said")]).await.outbox;
    let outcome = Settlement::Failed("400".into());
    fixture.store().settle(fixture.epoch, vec![Settled { id: ids[0], outcome }], at(2)).await.expect("settled");
    fixture.turn(&person(101), |commit| commit.timers = vec![timer("close", at(3))]).await;
    fixture.waiting_update(&person(101), 1).await;
    park(&fixture, Vec::new(), parked(&person(101), at(1))).await;
    let mut counted = fixture.statistics().await;
    counted.by_state.sort_by(|one, other| one.state.cmp(&other.state));
    let count = |dialogue, state| StateCount { state: state_name(dialogue, state), conversations: 1 };
    let expected = Statistics {
        active: 2,
        by_state: vec![count("menu", "open"), count("survey", "asked")],
        inbox: 1,
        inbox_oldest: Some(at(0)),
        outbox: 1,
        outbox_oldest: Some(at(1)),
        failed: 1,
        timers: 2,
        effects: 1,
        effects_oldest: Some(at(1)),
        parked: 1,
    };
    assert_eq!(counted, expected);
    let other = fixture.store().statistics(Some(OTHER_BOT)).await.expect("answered");
    assert_eq!(other, Statistics::default());
    assert_eq!(fixture.store().statistics(None).await.expect("answered").active, 2);
}

/// The times of the oldest waiting input and of the oldest unfinished effect are reported.
pub async fn the_oldest_input_and_effect_are_known(fixture: Fixture) {
    let oldest = async || {
        let counted = fixture.statistics().await;
        (counted.inbox_oldest, counted.effects_oldest)
    };
    let anna = person(101);
    let (mut inputs, mut effects) = (Vec::new(), Vec::new());
    for minute in [2, 5] {
        let seq = fixture.receive(Incoming { at: at(minute), ..update(&anna, minute) }).await;
        inputs.push(InputRef::Update { seq, mark: mark(BOT, minute) });
        let asked = fixture.turn(&anna, |commit| {
            commit.at = at(minute);
            commit.effects = vec![effect("download")];
        });
        effects.extend(asked.await.effects);
    }
    assert_eq!(oldest().await, (Some(at(2)), Some(at(2))));
    let first = inputs.swap_remove(0);
    fixture.turn(&anna, |commit| commit.processed = vec![first]).await;
    assert_eq!(oldest().await, (Some(at(5)), Some(at(2))));
    fixture.store().finish_effect(fixture.epoch, effects[0], outcome(&anna, effects[0])).await.expect("finished");
    assert_eq!(oldest().await.1, Some(at(5)));
}

/// Transitions are recorded in order and read in pages.
pub async fn transitions_are_recorded_in_order(mut fixture: Fixture) {
    let anna = person(101);
    for to in ["asked", "checked", "confirmed"] {
        fixture.turn(&anna, |commit| commit.transition = Some(transition(to))).await;
        fixture.turn(&anna, |_| ()).await;
        fixture.restart().await;
    }
    let rows = fixture.transitions().await;
    let transitions: Vec<_> = rows.iter().map(|row| (row.version, row.to.clone())).collect();
    let to = |state| Some(state_name("survey", state));
    assert_eq!(transitions, [(Version(1), to("asked")), (Version(3), to("checked")), (Version(5), to("confirmed"))]);
    assert_eq!((&*rows[0].by, rows[0].took_us, &rows[0].from), ("text", 12, &None));
    let page = fixture.operator().transitions(BOT, rows[0].id, 1).await.expect("answered");
    assert_eq!(page, rows[1..2]);
}

/// The transitions of one conversation are read without those of others.
pub async fn transitions_can_be_read_by_conversation(mut fixture: Fixture) {
    let (anna, boris) = (person(101), person(102));
    for to in ["asked", "checked", "confirmed"] {
        fixture.turn(&anna, |commit| commit.transition = Some(transition(to))).await;
        fixture.turn(&boris, |commit| commit.transition = Some(transition(to))).await;
        // Ids of the next epoch are far higher; earlier rows are still found.
        fixture.epoch = fixture.take_over().await;
    }
    let mut all = fixture.transitions().await;
    all.retain(|row| row.key == anna);
    assert_eq!(all.len(), 3);
    let of_anna = fixture.operator().transitions_of(&anna, 0, ALL).await.expect("answered");
    assert_eq!(of_anna, all);
    let page = fixture.operator().transitions_of(&anna, all[0].id, 1).await.expect("answered");
    assert_eq!(page, all[1..2]);
    assert_eq!(fixture.operator().transitions_of(&person(103), 0, ALL).await.expect("answered"), []);
}

/// Every bot with data is listed.
pub async fn bots_with_data_are_listed(subject: Subject) {
    let store = subject.store();
    assert_eq!(store.operator().bots().await.expect("answered"), Vec::<i64>::new());
    let epoch = granted(store.claim(BOT, &holder("first"), None).await);
    let mut commit = Commit::new(person(101), Version(0), at(1));
    commit.state = set("open");
    store.commit(epoch, commit).await.expect("committed");
    store.release(BOT, epoch).await.expect("released");
    assert_eq!(store.operator().bots().await.expect("answered"), [BOT]);
}
