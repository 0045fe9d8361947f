//! What an operator sees is what is there.

use super::Subject;
use super::parking::park;
use super::scene::{
    ALL, BOT, OTHER_BOT, Scene, at, granted, holder, message, one_of_each, overtaken, parked, person, place, set,
    state, timer, transition,
};
use crate::key::DialogueKey;
use crate::store::{
    Commit, ConversationRow, Filter, PlaceCount, Settled, Settlement, StateChange, Statistics, Stored, Version,
};

async fn standing(scene: &Scene, key: &DialogueKey, places: Vec<crate::store::Place>) {
    let stored = Stored { places, ..state("open") };
    scene.turn(key, |commit| commit.state = StateChange::Set(stored)).await;
}

async fn users(scene: &Scene, filter: &Filter) -> Vec<i64> {
    let rows = scene.store().list(filter, None, ALL).await.expect("answered");
    rows.into_iter().map(|row| row.key.user).collect()
}

/// Pages follow the order of the keys, and none is missed.
pub async fn conversations_are_listed_in_pages(subject: Subject) {
    let scene = Scene::open(subject).await;
    let mut keys = vec![person(9), person(10), person(101)];
    keys.extend((1..=4).map(|user| DialogueKey { chat: -user, ..person(user) }));
    keys.push(DialogueKey { thread: 3, ..person(10) });
    for key in &keys {
        standing(&scene, key, vec![place("survey", "asked")]).await;
    }
    keys.sort();
    let mut read = Vec::new();
    let mut after = None;
    while read.len() <= keys.len() {
        let page = scene.store().list(&Filter::default(), after.as_ref(), 3).await.expect("answered");
        assert!(page.len() <= 3);
        let Some(last) = page.last() else { break };
        after = Some(last.key.clone());
        read.extend(page.into_iter().map(|row| row.key));
    }
    assert_eq!(read, keys);
}

/// A list shows what was asked for: by bot, person, dialogue and state, also those that ended.
pub async fn a_list_shows_what_the_filter_asks_for(subject: Subject) {
    let scene = Scene::open(subject).await;
    standing(&scene, &person(1), vec![place("survey", "asked")]).await;
    standing(&scene, &person(2), vec![place("survey", "confirm"), place("menu", "asked")]).await;
    standing(&scene, &person(3), vec![place("menu", "open")]).await;
    scene.turn(&person(3), |commit| commit.state = StateChange::Clear).await;
    let by = |dialogue: Option<&str>, state: Option<&str>, ended| Filter {
        dialogue: dialogue.map(str::to_owned),
        state: state.map(str::to_owned),
        ended,
        ..Filter::default()
    };
    assert_eq!(users(&scene, &by(None, None, false)).await, [1, 2]);
    assert_eq!(users(&scene, &by(None, None, true)).await, [1, 2, 3]);
    assert_eq!(users(&scene, &by(Some("survey"), None, false)).await, [1, 2]);
    assert_eq!(users(&scene, &by(Some("menu"), None, false)).await, [2], "also in the background");
    assert_eq!(users(&scene, &by(Some("survey"), Some("asked"), false)).await, [1]);
    assert_eq!(users(&scene, &by(Some("survey"), Some("lost"), false)).await, Vec::<i64>::new());
    assert_eq!(users(&scene, &Filter { user: Some(2), ..Filter::default() }).await, [2]);
    assert_eq!(users(&scene, &Filter { bot: Some(OTHER_BOT), ..Filter::default() }).await, Vec::<i64>::new());
}

/// A reset ends what is open, also under a turn that runs, and says whether there was anything.
pub async fn a_reset_ends_a_conversation(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    assert!(!scene.operator().reset(&anna, at(1)).await.expect("answered"), "nothing to end");
    scene.turn(&anna, |commit| commit.state = set("open")).await;
    let running = scene.version(&anna).await;
    assert!(scene.operator().reset(&anna, at(2)).await.expect("answered"));
    assert_eq!(scene.state(&anna).await, (Version(running.0 + 1), None));
    assert!(!scene.operator().reset(&anna, at(3)).await.expect("answered"));
    let mut late = Commit::new(anna.clone(), running, at(4));
    late.state = set("late");
    overtaken(scene.try_commit(late).await);
    assert_eq!(scene.state(&anna).await.1, None);
}

/// A conversation can be carried from one store to another.
pub async fn an_export_can_be_imported(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = DialogueKey { thread: 5, business: "connection".into(), ..person(101) };
    let places = vec![place("survey", "asked"), place("menu", "open")];
    let stored = Some(Stored { places, expires_at: Some(at(50)), ..state("carried") });
    let row = ConversationRow { key: anna.clone(), version: Version(41), stored, updated_at: at(7) };
    assert!(scene.operator().import(&row, false).await.expect("answered"));
    scene.restart().await;
    assert_eq!(scene.store().list(&Filter::default(), None, ALL).await.expect("answered"), [row]);
    assert_eq!(scene.expired(at(50)).await, std::slice::from_ref(&anna));
    assert_eq!(scene.turn(&anna, |commit| commit.state = set("goes on")).await.version, Version(42));
}

/// A turn that is under way when its conversation is imported does not overwrite it, also where there was none before.
pub async fn an_import_is_noticed_by_a_turn(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let began = scene.version(&anna).await;
    let stored = Some(state("carried"));
    let row = ConversationRow { key: anna.clone(), version: began, stored, updated_at: at(7) };
    assert!(scene.operator().import(&row, false).await.expect("answered"));
    let mut late = Commit::new(anna.clone(), began, at(8));
    late.state = set("late");
    overtaken(scene.try_commit(late).await);
    assert_eq!(scene.state(&anna).await.1, Some(state("carried")));
}

/// An import overwrites nobody's state unless that is wanted.
pub async fn an_import_replaces_only_when_told(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    scene.turn(&anna, |commit| commit.state = set("mine")).await;
    let row = |value| ConversationRow {
        key: anna.clone(),
        version: Version(9),
        stored: Some(state(value)),
        updated_at: at(7),
    };
    assert!(!scene.operator().import(&row("theirs"), false).await.expect("answered"));
    assert_eq!(scene.state(&anna).await, (Version(1), Some(state("mine"))));
    assert!(scene.operator().import(&row("theirs"), true).await.expect("answered"));
    assert_eq!(scene.state(&anna).await.1, Some(state("theirs")));
    scene.turn(&anna, |commit| commit.state = StateChange::Clear).await;
    assert!(scene.operator().import(&row("again"), false).await.expect("answered"), "an ended one is in nobody's way");
}

/// An import of an old export does not bring old versions back.
pub async fn an_import_does_not_turn_versions_back(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    for _ in 0..5 {
        scene.turn(&anna, |commit| commit.state = set("open")).await;
    }
    let running = scene.version(&anna).await;
    let old = ConversationRow { key: anna.clone(), version: Version(2), stored: Some(state("old")), updated_at: at(7) };
    assert!(scene.operator().import(&old, true).await.expect("answered"));
    assert!(scene.version(&anna).await > running);
    overtaken(scene.try_commit(Commit::new(anna.clone(), running, at(8))).await);
}

/// The numbers are those of what is there, bot by bot.
pub async fn statistics_count_what_is_there(subject: Subject) {
    let scene = Scene::open(subject).await;
    assert_eq!(scene.statistics().await, Statistics::default());
    scene.turn(&person(101), one_of_each).await;
    standing(&scene, &person(102), vec![place("menu", "open"), place("survey", "asked")]).await;
    let ids = scene.turn(&person(103), |commit| commit.outgoing = vec![message(103, "said")]).await.outbox;
    let outcome = Settlement::Failed("400".into());
    scene.store().settle(scene.epoch, vec![Settled { id: ids[0], outcome }], at(2)).await.expect("settled");
    scene.turn(&person(101), |commit| commit.timers = vec![timer("close", at(3))]).await;
    scene.waiting_update(&person(101), 1).await;
    park(&scene, Vec::new(), parked(&person(101), at(1))).await;
    let mut counted = scene.statistics().await;
    counted.by_place.sort_by(|one, other| one.place.cmp(&other.place));
    let count = |dialogue, state| PlaceCount { place: place(dialogue, state), conversations: 1 };
    let expected = Statistics {
        active: 2,
        by_place: vec![count("menu", "open"), count("survey", "asked")],
        inbox: 1,
        outbox: 1,
        outbox_oldest: Some(at(1)),
        failed: 1,
        timers: 2,
        effects: 1,
        parked: 1,
    };
    assert_eq!(counted, expected);
    let other = scene.store().statistics(Some(OTHER_BOT)).await.expect("answered");
    assert_eq!(other, Statistics::default());
    assert_eq!(scene.store().statistics(None).await.expect("answered").active, 2);
}

/// The records tell the way of a conversation, in order and in pages.
pub async fn transitions_are_recorded_in_order(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = person(101);
    for to in ["asked", "checked", "confirmed"] {
        scene.turn(&anna, |commit| commit.transition = Some(transition(to))).await;
        scene.turn(&anna, |_| ()).await;
        scene.restart().await;
    }
    let rows = scene.transitions().await;
    let told: Vec<_> = rows.iter().map(|row| (row.version, row.to.clone())).collect();
    let to = |state| Some(place("survey", state));
    assert_eq!(told, [(Version(1), to("asked")), (Version(3), to("checked")), (Version(5), to("confirmed"))]);
    assert_eq!((&*rows[0].by, rows[0].took_us, &rows[0].from), ("text", 12, &None));
    let page = scene.operator().transitions(BOT, rows[0].id, 1).await.expect("answered");
    assert_eq!(page, rows[1..2]);
}

/// An operator who looks at one conversation reads nothing of the others.
pub async fn the_transitions_of_a_conversation_are_read_apart(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let (anna, boris) = (person(101), person(102));
    for to in ["asked", "checked", "confirmed"] {
        scene.turn(&anna, |commit| commit.transition = Some(transition(to))).await;
        scene.turn(&boris, |commit| commit.transition = Some(transition(to))).await;
        // Numbers go on far above, and what was there before is still found.
        scene.epoch = scene.take_over().await;
    }
    let mut all = scene.transitions().await;
    all.retain(|row| row.key == anna);
    assert_eq!(all.len(), 3);
    let of_anna = scene.operator().transitions_of(&anna, 0, ALL).await.expect("answered");
    assert_eq!(of_anna, all);
    let page = scene.operator().transitions_of(&anna, all[0].id, 1).await.expect("answered");
    assert_eq!(page, all[1..2]);
    assert_eq!(scene.operator().transitions_of(&person(103), 0, ALL).await.expect("answered"), []);
}

/// Whoever left anything here is listed.
pub async fn bots_with_anything_here_are_known(subject: Subject) {
    let store = subject.store();
    assert_eq!(store.operator().bots().await.expect("answered"), Vec::<i64>::new());
    let epoch = granted(store.claim(BOT, &holder("first"), None).await);
    let mut commit = Commit::new(person(101), Version(0), at(1));
    commit.state = set("open");
    store.commit(epoch, commit).await.expect("committed");
    store.release(BOT, epoch).await.expect("released");
    assert_eq!(store.operator().bots().await.expect("answered"), [BOT]);
}
