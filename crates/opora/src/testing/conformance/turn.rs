//! A turn commits whole or leaves nothing, and no two from the same version.

use super::Subject;
use super::scene::{
    ALL, BOT, END_OF_TIME, Scene, already_taken, at, fenced, mark, one_of_each, outcome, overtaken, person, set, state,
    timer, transition, update,
};
use crate::key::DialogueKey;
use crate::store::{
    Bounds, Commit, DomainWrites, OutboxId, Refusal, StateChange, StoreError, Stored, Taken, TimerChange, Version,
};

/// Every part of a commit can be read afterwards.
pub async fn a_commit_is_kept_whole(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = person(101);
    let taken = scene.waiting_update(&anna, 1).await;
    let from = scene.version(&anna).await;
    let mut commit = Commit::new(anna.clone(), from, at(3));
    one_of_each(&mut commit);
    commit.takes = vec![taken];
    let committed = scene.commit(commit).await;
    assert_eq!(committed.version, Version(from.0 + 1));
    for restarted in [false, true] {
        if restarted {
            scene.restart().await;
        }
        let stored = Stored { expires_at: Some(at(60)), ..state("whole") };
        assert_eq!(scene.state(&anna).await, (committed.version, Some(stored)));
        let unsent = scene.unsent().await;
        assert_eq!(unsent.iter().map(|row| row.id).collect::<Vec<_>>(), committed.outbox);
        assert_eq!((&unsent[0].key, unsent[0].at, unsent[0].was_sending), (&anna, at(3), false));
        assert_eq!(&*unsent[0].outgoing.method, "sendMessage");
        let effects = scene.effects().await;
        assert_eq!(effects.iter().map(|row| row.id).collect::<Vec<_>>(), committed.effects);
        assert_eq!((&effects[0].key, &*effects[0].effect.kind, effects[0].at), (&anna, "download", at(3)));
        let timers = scene.timers(END_OF_TIME).await;
        assert_eq!((&timers[0].key, &*timers[0].name, timers[0].due_at), (&anna, "remind", at(30)));
        assert_eq!(scene.expired(at(60)).await, std::slice::from_ref(&anna));
        let record = scene.transitions().await.pop().expect("a transition is recorded");
        assert_eq!((record.key, record.version, record.at), (anna.clone(), committed.version, at(3)));
        assert!(scene.inbox().await.is_empty(), "the input is used up");
        assert!(scene.is_taken(&anna, &mark(BOT, 1)).await);
    }
}

/// A turn that started from an old version must run again; nothing of it may be seen.
pub async fn a_commit_from_an_old_version_leaves_nothing(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    scene.turn(&anna, |commit| commit.state = set("first")).await;
    let taken = scene.waiting_update(&anna, 1).await;
    let before = scene.everything().await;
    let version = scene.version(&anna).await;
    for wrong in [Version(version.0 - 1), Version(version.0 + 1)] {
        let mut commit = Commit::new(anna.clone(), wrong, at(3));
        one_of_each(&mut commit);
        commit.takes = vec![taken.clone()];
        overtaken(scene.try_commit(commit).await);
        assert_eq!(scene.everything().await, before);
        assert!(!scene.is_taken(&anna, &mark(BOT, 1)).await);
    }
}

/// A turn of an input that was used up is dropped; nothing of it may be seen.
pub async fn a_commit_of_a_taken_input_leaves_nothing(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let taken = scene.heard(&anna, 1, |commit| commit.state = set("first")).await;
    let waits = scene.waiting_update(&anna, 2).await;
    let before = scene.everything().await;
    let mut commit = Commit::new(anna.clone(), scene.version(&anna).await, at(3));
    one_of_each(&mut commit);
    commit.takes = vec![waits, taken];
    already_taken(scene.try_commit(commit).await);
    assert_eq!(scene.everything().await, before);
    assert!(!scene.is_taken(&anna, &mark(BOT, 2)).await);
}

/// A commit whose answer was lost can be sent again without harm.
pub async fn an_update_is_taken_once(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let taken = scene.heard(&anna, 1, |commit| commit.state = set("first")).await;
    let mut again = Commit::new(anna.clone(), scene.version(&anna).await, at(3));
    again.takes = vec![taken.clone()];
    already_taken(scene.try_commit(again).await);
    // Without its mark, after a cleaning, the row is still gone.
    let marks = Bounds { marks_before: END_OF_TIME, records_before: at(-1), parked_most: ALL, marks_live: None };
    while !scene.store().clean(scene.epoch, marks).await.expect("cleaned").nothing() {}
    let mut late = Commit::new(anna.clone(), scene.version(&anna).await, at(3));
    late.takes = vec![taken];
    already_taken(scene.try_commit(late).await);
}

/// The refusals have an order, because the caller does something else at each: stop, drop, run again.
pub async fn a_taken_input_is_told_before_an_old_version(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let taken = scene.heard(&anna, 1, |commit| commit.state = set("first")).await;
    let commit = || {
        let mut commit = Commit::new(anna.clone(), Version(0), at(3));
        commit.takes = vec![taken.clone()];
        commit
    };
    already_taken(scene.try_commit(commit()).await);
    scene.take_over().await;
    fenced(scene.try_commit(commit()).await);
}

/// Two turns from one version cannot both be right.
pub async fn of_many_commits_from_one_version_one_wins(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    for round in 0..4 {
        let from = scene.version(&anna).await;
        let turns = (0..12).map(|number| {
            let store = scene.store().clone();
            let epoch = scene.epoch;
            let mut commit = Commit::new(anna.clone(), from, at(1));
            commit.state = set(&format!("{round}:{number}"));
            tokio::spawn(async move { (number, store.commit(epoch, commit).await) })
        });
        let mut winners = Vec::new();
        for turn in turns.collect::<Vec<_>>() {
            match turn.await.expect("no panic") {
                (number, Ok(_)) => winners.push(number),
                (_, refused) => overtaken(refused),
            }
        }
        let [winner] = winners[..] else { panic!("exactly one should win, not {winners:?}") };
        let expected = (Version(from.0 + 1), Some(state(&format!("{round}:{winner}"))));
        assert_eq!(scene.state(&anna).await, expected);
    }
}

/// People in one group talk at once, and each has a conversation of their own.
pub async fn many_conversations_go_on_side_by_side(subject: Subject) {
    let scene = Scene::open(subject).await;
    let member = |user: i64| DialogueKey { bot: BOT, chat: -100, user, thread: 0, business: Box::default() };
    let people = (1..=16).map(|user| {
        let store = scene.store().clone();
        let epoch = scene.epoch;
        let key = member(user);
        tokio::spawn(async move {
            for turn in 1..=5_i64 {
                let incoming = update(&key, user * 100 + turn);
                store.receive(epoch, vec![incoming]).await.expect("received");
                let mut commit = Commit::new(key.clone(), Version(turn - 1), at(turn));
                commit.state = set(&format!("{user}:{turn}"));
                store.commit(epoch, commit).await.expect("committed");
            }
        })
    });
    for person in people.collect::<Vec<_>>() {
        person.await.expect("every turn of every person commits");
    }
    for user in 1..=16 {
        assert_eq!(scene.state(&member(user)).await, (Version(5), Some(state(&format!("{user}:5")))));
    }
    assert_eq!(scene.inbox().await.len(), 80);
}

/// Also a turn that leaves the state as it is raises the version.
pub async fn every_commit_raises_the_version_by_one(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let changes = [StateChange::Keep, set("a"), StateChange::Keep, StateChange::Clear, StateChange::Keep, set("b")];
    for change in changes {
        let before = scene.version(&anna).await;
        let committed = scene.turn(&anna, |commit| commit.state = change).await;
        assert_eq!(committed.version, Version(before.0 + 1));
        assert_eq!(scene.version(&anna).await, committed.version);
    }
}

/// A turn that keeps the state keeps all of it.
pub async fn a_kept_state_stays_as_it_was(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let stored = Stored { expires_at: Some(at(9)), ..state("kept") };
    scene.turn(&anna, |commit| commit.state = StateChange::Set(stored.clone())).await;
    scene.turn(&anna, |commit| commit.state = StateChange::Keep).await;
    assert_eq!(scene.state(&anna).await.1, Some(stored));
    assert_eq!(scene.expired(at(9)).await, [anna]);
}

/// A button of an ended dialogue must not fit the next one.
pub async fn versions_do_not_restart_when_a_conversation_ends(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    for _ in 0..3 {
        scene.turn(&anna, |commit| commit.state = set("open")).await;
    }
    scene.turn(&anna, |commit| commit.state = StateChange::Clear).await;
    assert_eq!(scene.state(&anna).await, (Version(4), None));
    let begun = scene.turn(&anna, |commit| commit.state = set("anew")).await;
    assert_eq!(begun.version, Version(5));
}

/// Where nothing is open, nothing is shown.
pub async fn an_ended_conversation_has_no_state(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    assert_eq!(scene.state(&anna).await, (Version(0), None), "a conversation never seen");
    let stored = Stored { expires_at: Some(at(9)), ..state("open") };
    scene.turn(&anna, |commit| commit.state = StateChange::Set(stored)).await;
    scene.turn(&anna, |commit| commit.state = StateChange::Clear).await;
    assert_eq!(scene.state(&anna).await.1, None);
    assert_eq!(scene.expired(END_OF_TIME).await, []);
    assert_eq!(scene.statistics().await.active, 0);
}

/// Every part of the key tells conversations apart, with all values that Telegram has.
pub async fn keys_differ_by_each_of_their_parts(subject: Subject) {
    let scene = Scene::open(subject).await;
    let plain = DialogueKey { bot: BOT, chat: -1_002_345_678_901, user: 101, thread: 0, business: Box::default() };
    let keys = [
        plain.clone(),
        DialogueKey { chat: 1_002_345_678_901, ..plain.clone() },
        DialogueKey { user: (1 << 52) - 1, ..plain.clone() },
        DialogueKey { user: 0, ..plain.clone() },
        DialogueKey { thread: 7, ..plain.clone() },
        DialogueKey { business: "connection".into(), ..plain.clone() },
        DialogueKey { business: "a:b".into(), ..plain.clone() },
        DialogueKey { thread: 7, business: "connection".into(), ..plain },
    ];
    for (number, key) in (1..).zip(&keys) {
        scene
            .heard(key, number, |commit| {
                commit.state = set(&number.to_string());
                commit.timers = vec![timer("remind", at(number))];
                commit.transition = Some(transition("asked"));
            })
            .await;
        scene.waiting_update(key, 100 + number).await;
    }
    for (number, key) in (1..).zip(&keys) {
        assert_eq!(scene.state(key).await, (Version(1), Some(state(&number.to_string()))), "{key}");
        let waiting = scene.store().waiting_for(key, Default::default(), 10).await.expect("answered");
        assert_eq!(waiting.iter().map(|row| &row.incoming.key).collect::<Vec<_>>(), [key]);
    }
    let timers = scene.timers(END_OF_TIME).await;
    assert_eq!(timers.iter().map(|timer| &timer.key).collect::<Vec<_>>(), keys.iter().collect::<Vec<_>>());
}

/// Nothing is cut, folded or read as something else.
pub async fn texts_come_back_as_they_were(subject: Subject) {
    let scene = Scene::open(subject).await;
    let long = "ю".repeat(50_000);
    let texts =
        ["", "a\u{0}b", "'; DROP TABLE x; --", "\u{1F469}\u{200D}\u{1F680} \u{202E}", "\\u0000 \\ \" %s {}", &long];
    for (number, text) in (1..).zip(texts) {
        let key = person(number);
        let mut incoming = update(&key, number);
        incoming.body = text.into();
        let seq = scene.receive(incoming.clone()).await;
        let row = scene.inbox().await.pop().expect("it waits");
        assert_eq!((row.seq, row.incoming), (seq, incoming));
        let stored = Stored { value: text.into(), ..state("") };
        scene
            .turn(&key, |commit| {
                commit.takes = vec![Taken::Update { seq, mark: mark(BOT, number) }];
                commit.state = StateChange::Set(stored.clone());
                commit.outgoing = vec![super::scene::message(key.chat, text)];
                commit.outgoing[0].label = Some(text.into());
                commit.timers = vec![TimerChange::Set { name: text.into(), due_at: at(number), body: text.into() }];
            })
            .await;
        assert_eq!(scene.state(&key).await.1, Some(stored));
        let said = scene.unsent().await.pop().expect("it is said");
        let mut expected = super::scene::message(key.chat, text);
        expected.label = Some(text.into());
        assert_eq!(said.outgoing, expected);
        let timer = scene.timers(END_OF_TIME).await.pop().expect("it is set");
        assert_eq!((&*timer.name, &*timer.body), (text, text));
    }
}

/// A "no" of the application's writes, or of a store that has no database, leaves nothing of the turn.
pub async fn refused_writes_leave_nothing_of_the_turn(subject: Subject) {
    let scene = Scene::open(subject).await;
    let anna = person(101);
    let taken = scene.waiting_update(&anna, 1).await;
    let before = scene.everything().await;
    let refuse = || DomainWrites::new(|_| Box::pin(async { Err(Refusal::because("the slot is full")) }));
    let mut commit = Commit::new(anna.clone(), scene.version(&anna).await, at(3));
    one_of_each(&mut commit);
    commit.takes = vec![taken];
    commit.writes = Some(refuse());
    for answer in [scene.try_commit(commit).await.map(|_| ()), scene.store().write(refuse()).await] {
        match answer {
            Err(StoreError::Refused(Refusal(reason))) => assert_eq!(reason, "the slot is full"),
            Err(StoreError::Unsupported(_)) => (),
            other => panic!("should be refused: {other:?}"),
        }
    }
    assert_eq!(scene.everything().await, before);
    assert!(!scene.is_taken(&anna, &mark(BOT, 1)).await);
}

/// A commit that follows another one at once sees what that one did.
pub async fn numbers_rise_from_commit_to_commit(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = person(101);
    let mut last_message = OutboxId(0);
    let mut last_effect = Default::default();
    for turn in 1..=4 {
        let committed = scene.turn(&anna, one_of_each).await;
        assert!(committed.outbox[0] > last_message && committed.effects[0] > last_effect);
        last_message = committed.outbox[0];
        last_effect = committed.effects[0];
        let finished = scene.store().finish_effect(scene.epoch, last_effect, outcome(&anna, last_effect)).await;
        finished.expect("finished");
        if turn % 2 == 0 {
            scene.restart().await;
        }
    }
    let transitions = scene.transitions().await;
    assert_eq!(transitions.len(), 4);
    assert!(transitions.is_sorted_by(|earlier, later| earlier.id < later.id));
}
