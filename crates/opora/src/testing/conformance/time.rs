//! Timers fire once, in order, and lives end when they should.

use super::Subject;
use super::scene::{BOT, END_OF_TIME, Scene, already_taken, at, person, set, state, timer};
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{Commit, StateChange, Stored, Taken, TimerChange, TimerId, TimerRow};

async fn timers(scene: &Scene, key: &DialogueKey, changes: Vec<TimerChange>) {
    scene.turn(key, |commit| commit.timers = changes).await;
}

fn names(rows: &[TimerRow]) -> Vec<&str> {
    rows.iter().map(|row| &*row.name).collect()
}

async fn living_until(scene: &Scene, key: &DialogueKey, expires_at: Option<Millis>) {
    let stored = Stored { expires_at, ..state("alive") };
    scene.turn(key, |commit| commit.state = StateChange::Set(stored)).await;
}

async fn fire(scene: &Scene, key: &DialogueKey, id: TimerId) -> crate::store::StoreResult<()> {
    let mut commit = Commit::new(key.clone(), scene.version(key).await, at(20));
    commit.takes = vec![Taken::Timer(id)];
    commit.state = set("fired");
    scene.try_commit(commit).await.map(|_| ())
}

/// The earliest first, none before its time, and no more than were asked for.
pub async fn timers_are_due_in_the_order_of_their_times(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let (anna, boris) = (person(101), person(102));
    timers(&scene, &anna, vec![timer("third", at(12)), timer("first", at(10))]).await;
    timers(&scene, &boris, vec![timer("second", at(11))]).await;
    scene.restart().await;
    assert_eq!(scene.timers(Millis(at(10).0 - 1)).await, []);
    assert_eq!(names(&scene.timers(at(10)).await), ["first"]);
    assert_eq!(names(&scene.timers(at(11)).await), ["first", "second"]);
    let rows = scene.timers(END_OF_TIME).await;
    assert_eq!(names(&rows), ["first", "second", "third"]);
    assert_eq!((&rows[1].key, rows[1].due_at, &*rows[1].body), (&boris, at(11), r#"{"entry":1}"#));
    assert_eq!(names(&scene.store().due_timers(BOT, END_OF_TIME, 2).await.expect("answered")), ["first", "second"]);
}

/// A reminder that is put off does not come at its former time.
pub async fn a_timer_set_again_replaces_the_former(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    timers(&scene, &anna, vec![timer("remind", at(10))]).await;
    let former = scene.timers(at(10)).await[0].id;
    timers(&scene, &anna, vec![timer("remind", at(15))]).await;
    assert_eq!(scene.timers(at(14)).await, []);
    let rows = scene.timers(END_OF_TIME).await;
    assert_eq!((rows.len(), rows[0].due_at), (1, at(15)));
    assert_ne!(rows[0].id, former);
    already_taken(fire(&scene, &anna, former).await);
    assert_eq!(scene.timers(END_OF_TIME).await, rows, "the late firing of the former changes nothing");
    fire(&scene, &anna, rows[0].id).await.expect("the new one fires");
}

/// What was cancelled does not fire, not even if it was on its way.
pub async fn a_cancelled_timer_does_not_fire(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    timers(&scene, &anna, vec![timer("remind", at(10)), timer("close", at(11))]).await;
    let id = scene.timers(at(10)).await[0].id;
    timers(&scene, &anna, vec![TimerChange::Cancel("remind".into()), TimerChange::Cancel("unknown".into())]).await;
    assert_eq!(names(&scene.timers(END_OF_TIME).await), ["close"]);
    already_taken(fire(&scene, &anna, id).await);
}

/// A timer's turn uses it up.
pub async fn a_timer_fires_once(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    timers(&scene, &anna, vec![timer("remind", at(10))]).await;
    let id = scene.timers(at(10)).await[0].id;
    fire(&scene, &anna, id).await.expect("it fires");
    assert_eq!(scene.timers(END_OF_TIME).await, []);
    let before = scene.everything().await;
    already_taken(fire(&scene, &anna, id).await);
    assert_eq!(scene.everything().await, before);
}

/// A turn that fires a timer may set it again.
pub async fn a_timer_can_be_set_anew_as_it_fires(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    timers(&scene, &anna, vec![timer("daily", at(10))]).await;
    let id = scene.timers(at(10)).await[0].id;
    let changes = vec![timer("daily", at(20)), TimerChange::Cancel("daily".into()), timer("daily", at(30))];
    scene
        .turn(&anna, |commit| {
            commit.takes = vec![Taken::Timer(id)];
            commit.timers = changes;
        })
        .await;
    let due: Vec<_> = scene.timers(END_OF_TIME).await.into_iter().map(|row| row.due_at).collect();
    assert_eq!(due, [at(30)]);
}

/// A name is unique in its conversation only.
pub async fn timers_of_two_conversations_are_apart(subject: Subject) {
    let scene = Scene::open(subject).await;
    let (anna, boris) = (person(101), person(102));
    timers(&scene, &anna, vec![timer("remind", at(10))]).await;
    timers(&scene, &boris, vec![timer("remind", at(11))]).await;
    timers(&scene, &boris, vec![TimerChange::Cancel("close".into())]).await;
    let keys: Vec<_> = scene.timers(END_OF_TIME).await.into_iter().map(|row| row.key).collect();
    assert_eq!(keys, [anna.clone(), boris.clone()]);
    timers(&scene, &anna, vec![TimerChange::Cancel("remind".into())]).await;
    let keys: Vec<_> = scene.timers(END_OF_TIME).await.into_iter().map(|row| row.key).collect();
    assert_eq!(keys, [boris]);
}

/// A life ends at its time, the earliest first; one without an end goes on.
pub async fn a_conversation_expires_when_its_life_is_over(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    living_until(&scene, &person(101), Some(at(12))).await;
    living_until(&scene, &person(102), Some(at(10))).await;
    living_until(&scene, &person(103), None).await;
    scene.restart().await;
    assert_eq!(scene.expired(Millis(at(10).0 - 1)).await, []);
    assert_eq!(scene.expired(at(10)).await, [person(102)]);
    assert_eq!(scene.expired(END_OF_TIME).await, [person(102), person(101)]);
    assert_eq!(scene.store().expired(BOT, END_OF_TIME, 1).await.expect("answered"), [person(102)]);
    assert!(scene.state(&person(102)).await.1.is_some(), "only a turn ends it");
}

/// Who goes on talking lives on.
pub async fn a_turn_extends_a_life(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    living_until(&scene, &anna, Some(at(10))).await;
    living_until(&scene, &anna, Some(at(20))).await;
    assert_eq!(scene.expired(at(19)).await, []);
    assert_eq!(scene.expired(at(20)).await, std::slice::from_ref(&anna));
    living_until(&scene, &anna, None).await;
    assert_eq!(scene.expired(END_OF_TIME).await, []);
}

/// Nobody has to ask every second.
pub async fn the_next_due_time_is_the_earliest_there_is(subject: Subject) {
    let scene = Scene::open(subject).await;
    let (anna, boris) = (person(101), person(102));
    let next = || async { scene.store().next_due(BOT).await.expect("answered") };
    assert_eq!(next().await, None);
    living_until(&scene, &anna, Some(at(30))).await;
    assert_eq!(next().await, Some(at(30)));
    timers(&scene, &boris, vec![timer("remind", at(20))]).await;
    assert_eq!(next().await, Some(at(20)));
    living_until(&scene, &anna, Some(at(10))).await;
    assert_eq!(next().await, Some(at(10)));
    scene.turn(&anna, |commit| commit.state = StateChange::Clear).await;
    timers(&scene, &boris, vec![TimerChange::Cancel("remind".into())]).await;
    assert_eq!(next().await, None);
}
