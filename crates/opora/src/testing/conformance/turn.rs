//! Turns: a turn commits whole or not at all, and only one from each version.

use super::fixture::{
    ALL, BOT, END_OF_TIME, Fixture, already_processed, at, fenced, mark, one_of_each, outcome, overtaken, person, set,
    state, timer, transition, update,
};
use crate::key::ConversationKey;
use crate::store::{
    CleaningLimits, Commit, DomainWrites, InputRef, OutboxId, Refusal, StateChange, StoreError, StoredState,
    TimerChange, Version,
};

/// Every part of a commit can be read afterwards.
pub async fn a_commit_stores_everything(mut fixture: Fixture) {
    let anna = person(101);
    let update = fixture.waiting_update(&anna, 1).await;
    let from = fixture.version(&anna).await;
    let mut commit = Commit::new(anna.clone(), from, at(3));
    one_of_each(&mut commit);
    commit.processed = vec![update];
    let committed = fixture.commit(commit).await;
    assert_eq!(committed.version, Version(from.0 + 1));
    for restarted in [false, true] {
        if restarted {
            fixture.restart().await;
        }
        let stored = StoredState { expires_at: Some(at(60)), ..state("whole") };
        assert_eq!(fixture.state(&anna).await, (committed.version, Some(stored)));
        let unsent = fixture.unsent().await;
        assert_eq!(unsent.iter().map(|row| row.id).collect::<Vec<_>>(), committed.outbox);
        assert_eq!((&unsent[0].key, unsent[0].at, unsent[0].was_sending), (&anna, at(3), false));
        assert_eq!(&*unsent[0].outgoing.method, "sendMessage");
        let effects = fixture.effects().await;
        assert_eq!(effects.iter().map(|row| row.id).collect::<Vec<_>>(), committed.effects);
        assert_eq!((&effects[0].key, &*effects[0].effect.kind, effects[0].at), (&anna, "download", at(3)));
        let timers = fixture.timers(END_OF_TIME).await;
        assert_eq!((&timers[0].key, &*timers[0].name, timers[0].due_at), (&anna, "remind", at(30)));
        assert_eq!(fixture.expired(at(60)).await, std::slice::from_ref(&anna));
        let record = fixture.transitions().await.pop().expect("a transition is recorded");
        assert_eq!((record.key, record.version, record.at), (anna.clone(), committed.version, at(3)));
        assert!(fixture.inbox().await.is_empty(), "the input is used up");
        assert!(fixture.is_processed(&anna, &mark(BOT, 1)).await);
    }
}

/// A turn from an old version must run again; nothing of it is stored.
pub async fn a_commit_from_an_old_version_leaves_nothing(fixture: Fixture) {
    let anna = person(101);
    fixture.turn(&anna, |commit| commit.state = set("first")).await;
    let update = fixture.waiting_update(&anna, 1).await;
    let before = fixture.snapshot().await;
    let version = fixture.version(&anna).await;
    for wrong in [Version(version.0 - 1), Version(version.0 + 1)] {
        let mut commit = Commit::new(anna.clone(), wrong, at(3));
        one_of_each(&mut commit);
        commit.processed = vec![update.clone()];
        overtaken(fixture.try_commit(commit).await);
        assert_eq!(fixture.snapshot().await, before);
        assert!(!fixture.is_processed(&anna, &mark(BOT, 1)).await);
    }
}

/// A turn of a processed input is dropped; nothing of it is stored.
pub async fn a_commit_of_a_processed_input_leaves_nothing(fixture: Fixture) {
    let anna = person(101);
    let update = fixture.process_update(&anna, 1, |commit| commit.state = set("first")).await;
    let waits = fixture.waiting_update(&anna, 2).await;
    let before = fixture.snapshot().await;
    let mut commit = Commit::new(anna.clone(), fixture.version(&anna).await, at(3));
    one_of_each(&mut commit);
    commit.processed = vec![waits, update];
    already_processed(fixture.try_commit(commit).await);
    assert_eq!(fixture.snapshot().await, before);
    assert!(!fixture.is_processed(&anna, &mark(BOT, 2)).await);
}

/// A commit whose answer was lost can be repeated safely.
pub async fn an_update_is_processed_once(fixture: Fixture) {
    let anna = person(101);
    let update = fixture.process_update(&anna, 1, |commit| commit.state = set("first")).await;
    let mut again = Commit::new(anna.clone(), fixture.version(&anna).await, at(3));
    again.processed = vec![update.clone()];
    already_processed(fixture.try_commit(again).await);
    // After cleaning has removed the mark, the row is still gone.
    let marks = CleaningLimits { marks_before: END_OF_TIME, records_before: at(-1), max_parked: ALL, mark_ttl: None };
    while !fixture.store().clean(fixture.epoch, marks).await.expect("cleaned").is_empty() {}
    let mut late = Commit::new(anna.clone(), fixture.version(&anna).await, at(3));
    late.processed = vec![update];
    already_processed(fixture.try_commit(late).await);
}

/// Refusals have an order, because the caller reacts differently: stop, drop, run again.
pub async fn a_processed_input_is_reported_before_an_old_version(fixture: Fixture) {
    let anna = person(101);
    let update = fixture.process_update(&anna, 1, |commit| commit.state = set("first")).await;
    let commit = || {
        let mut commit = Commit::new(anna.clone(), Version(0), at(3));
        commit.processed = vec![update.clone()];
        commit
    };
    already_processed(fixture.try_commit(commit()).await);
    fixture.take_over().await;
    fenced(fixture.try_commit(commit()).await);
}

/// Of several turns from one version, one commits.
pub async fn concurrent_commits_have_one_winner(fixture: Fixture) {
    let anna = person(101);
    for round in 0..4 {
        let from = fixture.version(&anna).await;
        let turns = (0..12).map(|number| {
            let store = fixture.store().clone();
            let epoch = fixture.epoch;
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
        assert_eq!(fixture.state(&anna).await, expected);
    }
}

/// People in one group have separate conversations.
pub async fn conversations_commit_side_by_side(fixture: Fixture) {
    let member = |user: i64| ConversationKey { bot: BOT, chat: -100, user, thread: 0, business: Box::default() };
    let people = (1..=16).map(|user| {
        let store = fixture.store().clone();
        let epoch = fixture.epoch;
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
        assert_eq!(fixture.state(&member(user)).await, (Version(5), Some(state(&format!("{user}:5")))));
    }
    assert_eq!(fixture.inbox().await.len(), 80);
}

/// A turn that keeps the state raises the version too.
pub async fn every_commit_raises_the_version_by_one(fixture: Fixture) {
    let anna = person(101);
    let changes = [StateChange::Keep, set("a"), StateChange::Keep, StateChange::Clear, StateChange::Keep, set("b")];
    for change in changes {
        let before = fixture.version(&anna).await;
        let committed = fixture.turn(&anna, |commit| commit.state = change).await;
        assert_eq!(committed.version, Version(before.0 + 1));
        assert_eq!(fixture.version(&anna).await, committed.version);
    }
}

/// A turn that keeps the state changes no part of it.
pub async fn a_kept_state_stays_as_it_was(fixture: Fixture) {
    let anna = person(101);
    let stored = StoredState { expires_at: Some(at(9)), ..state("kept") };
    fixture.turn(&anna, |commit| commit.state = StateChange::Set(stored.clone())).await;
    fixture.turn(&anna, |commit| commit.state = StateChange::Keep).await;
    assert_eq!(fixture.state(&anna).await.1, Some(stored));
    assert_eq!(fixture.expired(at(9)).await, [anna]);
}

/// A button of an ended dialogue must not fit the next one.
pub async fn versions_do_not_restart_when_a_conversation_ends(fixture: Fixture) {
    let anna = person(101);
    for _ in 0..3 {
        fixture.turn(&anna, |commit| commit.state = set("open")).await;
    }
    fixture.turn(&anna, |commit| commit.state = StateChange::Clear).await;
    assert_eq!(fixture.state(&anna).await, (Version(4), None));
    let begun = fixture.turn(&anna, |commit| commit.state = set("open again")).await;
    assert_eq!(begun.version, Version(5));
}

/// An ended conversation has neither state nor expiry.
pub async fn an_ended_conversation_has_no_state(fixture: Fixture) {
    let anna = person(101);
    assert_eq!(fixture.state(&anna).await, (Version(0), None), "a conversation never seen");
    let stored = StoredState { expires_at: Some(at(9)), ..state("open") };
    fixture.turn(&anna, |commit| commit.state = StateChange::Set(stored)).await;
    fixture.turn(&anna, |commit| commit.state = StateChange::Clear).await;
    assert_eq!(fixture.state(&anna).await.1, None);
    assert_eq!(fixture.expired(END_OF_TIME).await, []);
    assert_eq!(fixture.statistics().await.active, 0);
}

/// Every part of the key distinguishes conversations, with all values that Telegram uses.
pub async fn keys_differ_by_each_of_their_parts(fixture: Fixture) {
    let plain = ConversationKey { bot: BOT, chat: -1_002_345_678_901, user: 101, thread: 0, business: Box::default() };
    let keys = [
        plain.clone(),
        ConversationKey { chat: 1_002_345_678_901, ..plain.clone() },
        ConversationKey { user: (1 << 52) - 1, ..plain.clone() },
        ConversationKey { user: 0, ..plain.clone() },
        ConversationKey { thread: 7, ..plain.clone() },
        ConversationKey { business: "connection".into(), ..plain.clone() },
        ConversationKey { business: "a:b".into(), ..plain.clone() },
        ConversationKey { thread: 7, business: "connection".into(), ..plain },
    ];
    for (number, key) in (1..).zip(&keys) {
        fixture
            .process_update(key, number, |commit| {
                commit.state = set(&number.to_string());
                commit.timers = vec![timer("remind", at(number))];
                commit.transition = Some(transition("asked"));
            })
            .await;
        fixture.waiting_update(key, 100 + number).await;
    }
    for (number, key) in (1..).zip(&keys) {
        assert_eq!(fixture.state(key).await, (Version(1), Some(state(&number.to_string()))), "{key}");
        let waiting = fixture.store().waiting_for(key, Default::default(), 10).await.expect("answered");
        assert_eq!(waiting.iter().map(|row| &row.incoming.key).collect::<Vec<_>>(), [key]);
    }
    let timers = fixture.timers(END_OF_TIME).await;
    assert_eq!(timers.iter().map(|timer| &timer.key).collect::<Vec<_>>(), keys.iter().collect::<Vec<_>>());
}

/// Texts are not truncated, normalized or interpreted.
pub async fn texts_are_stored_unchanged(fixture: Fixture) {
    let long = "ю".repeat(50_000);
    let texts =
        ["", "a\u{0}b", "'; DROP TABLE x; --", "\u{1F469}\u{200D}\u{1F680} \u{202E}", "\\u0000 \\ \" %s {}", &long];
    for (number, text) in (1..).zip(texts) {
        let key = person(number);
        let mut incoming = update(&key, number);
        incoming.body = text.into();
        let seq = fixture.receive(incoming.clone()).await;
        let row = fixture.inbox().await.pop().expect("it waits");
        assert_eq!((row.seq, row.incoming), (seq, incoming));
        let stored = StoredState { value: text.into(), ..state("") };
        fixture
            .turn(&key, |commit| {
                commit.processed = vec![InputRef::Update { seq, mark: mark(BOT, number) }];
                commit.state = StateChange::Set(stored.clone());
                commit.outgoing = vec![super::fixture::message(key.chat, text)];
                commit.outgoing[0].extras.label = Some(text.into());
                commit.timers = vec![TimerChange::Set { name: text.into(), due_at: at(number), body: text.into() }];
            })
            .await;
        assert_eq!(fixture.state(&key).await.1, Some(stored));
        let row = fixture.unsent().await.pop().expect("it is said");
        let mut expected = super::fixture::message(key.chat, text);
        expected.extras.label = Some(text.into());
        assert_eq!(row.outgoing, expected);
        let timer = fixture.timers(END_OF_TIME).await.pop().expect("it is set");
        assert_eq!((&*timer.name, &*timer.body), (text, text));
    }
}

/// A refusal by the application's writes, or by a store without a database, stores nothing of the turn.
pub async fn refused_writes_leave_nothing_of_the_turn(fixture: Fixture) {
    let anna = person(101);
    let update = fixture.waiting_update(&anna, 1).await;
    let before = fixture.snapshot().await;
    let refuse = || DomainWrites::new(|_| Box::pin(async { Err(Refusal::because("the slot is full")) }));
    let mut commit = Commit::new(anna.clone(), fixture.version(&anna).await, at(3));
    one_of_each(&mut commit);
    commit.processed = vec![update];
    commit.writes = Some(refuse());
    for answer in [fixture.try_commit(commit).await.map(|_| ()), fixture.store().write(refuse()).await] {
        match answer {
            Err(StoreError::Refused(Refusal(reason))) => assert_eq!(reason, "the slot is full"),
            Err(StoreError::Unsupported(_)) => (),
            other => panic!("should be refused: {other:?}"),
        }
    }
    assert_eq!(fixture.snapshot().await, before);
    assert!(!fixture.is_processed(&anna, &mark(BOT, 1)).await);
}

/// Ids rise from commit to commit, also over restarts.
pub async fn numbers_rise_from_commit_to_commit(mut fixture: Fixture) {
    let anna = person(101);
    let mut last_message = OutboxId(0);
    let mut last_effect = Default::default();
    for turn in 1..=4 {
        let committed = fixture.turn(&anna, one_of_each).await;
        assert!(committed.outbox[0] > last_message && committed.effects[0] > last_effect);
        last_message = committed.outbox[0];
        last_effect = committed.effects[0];
        let finished = fixture.store().finish_effect(fixture.epoch, last_effect, outcome(&anna, last_effect)).await;
        finished.expect("finished");
        if turn % 2 == 0 {
            fixture.restart().await;
        }
    }
    let transitions = fixture.transitions().await;
    assert_eq!(transitions.len(), 4);
    assert!(transitions.is_sorted_by(|earlier, later| earlier.id < later.id));
}
