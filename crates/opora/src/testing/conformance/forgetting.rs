//! Forgetting a person removes the person's data, and nothing is processed twice because of it.

use super::fixture::{
    ALL, BOT, END_OF_TIME, Fixture, OTHER_BOT, at, granted, holder, mark, message, one_of_each, overtaken, parked,
    person, set, update,
};
use super::parking::park;
use crate::key::ConversationKey;
use crate::store::{Commit, FailedRow, Filter, OutboxId, Outgoing, Receipt, Seq, Settled, Settlement};

/// The conversations of a person: in private, in a topic, and in a group.
fn conversations(user: i64) -> [ConversationKey; 3] {
    let private = person(user);
    [private.clone(), ConversationKey { thread: 3, ..private.clone() }, ConversationKey { chat: -500, ..private }]
}

/// Gives a person one row of each kind in each conversation: a state, an unsent and a failed message, a timer, an
/// effect, a transition, a parked turn and a waiting update; and a label.
async fn add_data(fixture: &Fixture, user: i64) {
    for (key, update_id) in conversations(user).iter().zip(user * 10..) {
        let turn = fixture.turn(key, |commit| {
            one_of_each(commit);
            commit.outgoing.push(message(commit.key.chat, "failed"));
        });
        let failed = Settled { id: turn.await.outbox[1], outcome: Settlement::Failed("403: blocked".into()) };
        fixture.store().settle(fixture.epoch, vec![failed], at(2)).await.expect("settled");
        park(fixture, Vec::new(), parked(key, at(5))).await;
        fixture.waiting_update(key, update_id).await;
    }
    let labelled = Some((user, "menu".into(), 7));
    let sent = Settled { id: OutboxId(0), outcome: Settlement::Sent { labelled } };
    fixture.store().settle(fixture.epoch, vec![sent], at(2)).await.expect("settled");
}

async fn forget(fixture: &Fixture, user: i64) -> u64 {
    fixture.store().forget(BOT, user, at(9)).await.expect("a person is forgotten")
}

async fn failed(fixture: &Fixture) -> Vec<FailedRow> {
    fixture.operator().failed(BOT, None, ALL).await.expect("answered")
}

/// The distinct users and chats of all rows.
async fn everyone(fixture: &Fixture) -> Vec<(i64, i64)> {
    let store = fixture.store();
    let open = store.list(&Filter { bot: Some(BOT), ..Filter::default() }, None, ALL).await.expect("answered");
    let waiting = store.waiting(BOT, Seq(0), ALL).await.expect("answered");
    let mut keys: Vec<ConversationKey> = open.into_iter().map(|row| row.key).collect();
    keys.extend(waiting.into_iter().map(|row| row.incoming.key));
    keys.extend(fixture.effects().await.into_iter().map(|row| row.key));
    keys.extend(fixture.timers(END_OF_TIME).await.into_iter().map(|row| row.key));
    keys.extend(fixture.expired(END_OF_TIME).await);
    keys.extend(fixture.transitions().await.into_iter().map(|row| row.key));
    keys.extend(fixture.parked().await.into_iter().map(|row| row.key));
    let mut calls: Vec<(ConversationKey, Outgoing)> = Vec::new();
    calls.extend(fixture.unsent().await.into_iter().map(|row| (row.key, row.outgoing)));
    calls.extend(failed(fixture).await.into_iter().map(|row| (row.key, row.outgoing)));
    let said_to = calls.into_iter().map(|(key, outgoing)| (key.user, outgoing.chat.unwrap_or_default()));
    let mut all: Vec<_> = keys.into_iter().map(|key| (key.user, key.chat)).chain(said_to).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// No message from or to the person is kept; a repetition finds nothing.
pub async fn a_forgotten_person_leaves_nothing(mut fixture: Fixture) {
    add_data(&fixture, 101).await;
    // Messages from others to the person, in a turn and in a post.
    fixture.turn(&person(102), |commit| commit.outgoing = vec![message(101, "secret of 101")]).await;
    let post = vec![(person(101), message(101, "news"))];
    fixture.store().post(fixture.epoch, "news", post, at(3)).await.expect("posted");
    assert!(forget(&fixture, 101).await > 0);
    assert_eq!(everyone(&fixture).await, []);
    assert_eq!(fixture.store().labelled(BOT, 101, "menu").await.expect("answered"), None);
    let statistics = fixture.statistics().await;
    let left = [statistics.active, statistics.inbox, statistics.outbox, statistics.failed, statistics.timers];
    assert_eq!((left, statistics.effects, statistics.parked), ([0; 5], 0, 0));
    assert_eq!(forget(&fixture, 101).await, 0, "it is done");
    fixture.restart().await;
    assert_eq!(everyone(&fixture).await, []);
}

/// Other people, other bots and system conversations keep everything.
pub async fn forgetting_a_person_affects_no_others(fixture: Fixture) {
    for user in [101, 10] {
        add_data(&fixture, user).await;
    }
    let jobs = ConversationKey { chat: 0, ..person(0) };
    fixture.turn(&jobs, one_of_each).await;
    let other = ConversationKey { bot: OTHER_BOT, ..person(101) };
    let epoch = granted(fixture.store().claim(OTHER_BOT, &holder("other"), None).await);
    let mut commit = Commit::new(other.clone(), fixture.version(&other).await, at(1));
    one_of_each(&mut commit);
    fixture.store().commit(epoch, commit).await.expect("a turn commits");
    let numbers = fixture.store().statistics(Some(OTHER_BOT)).await.expect("answered");
    forget(&fixture, 101).await;
    // The id of a topic, a part of a longer id, 0 and a group's id are not persons.
    for stranger in [3, 1, 0, -500] {
        assert_eq!(forget(&fixture, stranger).await, 0, "{stranger}");
    }
    assert_eq!(everyone(&fixture).await, [(0, 0), (10, -500), (10, 10)]);
    assert_eq!(failed(&fixture).await.len(), 3);
    assert_eq!(fixture.parked().await.len(), 3);
    assert_eq!(fixture.store().labelled(BOT, 10, "menu").await.expect("answered"), Some(7));
    assert_eq!(fixture.store().statistics(Some(OTHER_BOT)).await.expect("answered"), numbers);
}

/// A running turn does not bring back forgotten data, and versions continue.
pub async fn a_turn_of_a_forgotten_person_is_overtaken(mut fixture: Fixture) {
    let anna = person(101);
    let before = fixture.turn(&anna, |commit| commit.state = set("a draft")).await.version;
    let mut late = Commit::new(anna.clone(), before, at(2));
    late.state = set("a longer draft");
    forget(&fixture, 101).await;
    overtaken(fixture.try_commit(late).await);
    fixture.restart().await;
    let (version, stored) = fixture.state(&anna).await;
    assert_eq!(stored, None);
    assert!(version > before, "a button of the old dialogue must not fit a new one: {version:?}");
    fixture.turn(&anna, |commit| commit.state = set("new")).await;
}

/// A waiting update that was forgotten is not processed when Telegram delivers it again.
pub async fn a_forgotten_update_is_not_processed_again(mut fixture: Fixture) {
    let anna = person(101);
    fixture.waiting_update(&anna, 1).await;
    fixture.process_update(&anna, 2, |_| ()).await;
    forget(&fixture, 101).await;
    fixture.restart().await;
    for update_id in [1, 2] {
        assert_eq!(fixture.receive_all(vec![update(&anna, update_id)]).await, [Receipt::Known], "{update_id}");
        assert!(fixture.is_processed(&anna, &mark(BOT, update_id)).await, "{update_id}");
    }
    assert_eq!(fixture.inbox().await, []);
}
