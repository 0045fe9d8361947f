//! A person who is forgotten leaves nothing that was said, and nothing happens twice because of it.

use super::Subject;
use super::parking::park;
use super::scene::{
    ALL, BOT, END_OF_TIME, OTHER_BOT, Scene, at, granted, holder, mark, message, one_of_each, overtaken, parked,
    person, set, update,
};
use crate::key::DialogueKey;
use crate::store::{Commit, FailedRow, Filter, OutboxId, Outgoing, Receipt, Seq, Settled, Settlement};

/// The conversations of a person: in private, in a topic, and in a group.
fn conversations(user: i64) -> [DialogueKey; 3] {
    let private = person(user);
    [private.clone(), DialogueKey { thread: 3, ..private.clone() }, DialogueKey { chat: -500, ..private }]
}

/// Somebody has one of everything in each conversation: a state, a message that waits and one that failed, a timer, an
/// effect, a transition, a parked turn and an update that waits; and a label.
async fn lives(scene: &Scene, user: i64) {
    for (key, update_id) in conversations(user).iter().zip(user * 10..) {
        let said = scene.turn(key, |commit| {
            one_of_each(commit);
            commit.outgoing.push(message(commit.key.chat, "failed"));
        });
        let failed = Settled { id: said.await.outbox[1], outcome: Settlement::Failed("403: blocked".into()) };
        scene.store().settle(scene.epoch, vec![failed], at(2)).await.expect("settled");
        park(scene, Vec::new(), parked(key, at(5))).await;
        scene.waiting_update(key, update_id).await;
    }
    let labelled = Some((user, "menu".into(), 7));
    let sent = Settled { id: OutboxId(0), outcome: Settlement::Sent { labelled } };
    scene.store().settle(scene.epoch, vec![sent], at(2)).await.expect("settled");
}

async fn forget(scene: &Scene, user: i64) -> u64 {
    scene.store().forget(BOT, user, at(9)).await.expect("a person is forgotten")
}

async fn failed(scene: &Scene) -> Vec<FailedRow> {
    scene.operator().failed(BOT, None, ALL).await.expect("answered")
}

/// The users and chats of everything that there is, each once.
async fn everyone(scene: &Scene) -> Vec<(i64, i64)> {
    let store = scene.store();
    let open = store.list(&Filter { bot: Some(BOT), ..Filter::default() }, None, ALL).await.expect("answered");
    let waiting = store.waiting(BOT, Seq(0), ALL).await.expect("answered");
    let mut keys: Vec<DialogueKey> = open.into_iter().map(|row| row.key).collect();
    keys.extend(waiting.into_iter().map(|row| row.incoming.key));
    keys.extend(scene.effects().await.into_iter().map(|row| row.key));
    keys.extend(scene.timers(END_OF_TIME).await.into_iter().map(|row| row.key));
    keys.extend(scene.expired(END_OF_TIME).await);
    keys.extend(scene.transitions().await.into_iter().map(|row| row.key));
    keys.extend(scene.parked().await.into_iter().map(|row| row.key));
    let mut calls: Vec<(DialogueKey, Outgoing)> = Vec::new();
    calls.extend(scene.unsent().await.into_iter().map(|row| (row.key, row.outgoing)));
    calls.extend(failed(scene).await.into_iter().map(|row| (row.key, row.outgoing)));
    let said_to = calls.into_iter().map(|(key, outgoing)| (key.user, outgoing.chat.unwrap_or_default()));
    let mut all: Vec<_> = keys.into_iter().map(|key| (key.user, key.chat)).chain(said_to).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Nothing that a person said, or was told, is kept; a repetition finds nothing.
pub async fn a_forgotten_person_leaves_nothing(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    lives(&scene, 101).await;
    // Others have told them something, in a turn and in a post.
    scene.turn(&person(102), |commit| commit.outgoing = vec![message(101, "secret of 101")]).await;
    let post = vec![(person(101), message(101, "news"))];
    scene.store().post(scene.epoch, "news", post, at(3)).await.expect("posted");
    assert!(forget(&scene, 101).await > 0);
    assert_eq!(everyone(&scene).await, []);
    assert_eq!(scene.store().labelled(BOT, 101, "menu").await.expect("answered"), None);
    let statistics = scene.statistics().await;
    let left = [statistics.active, statistics.inbox, statistics.outbox, statistics.failed, statistics.timers];
    assert_eq!((left, statistics.effects, statistics.parked), ([0; 5], 0, 0));
    assert_eq!(forget(&scene, 101).await, 0, "it is done");
    scene.restart().await;
    assert_eq!(everyone(&scene).await, []);
}

/// Whoever is not meant keeps everything, with other bots too; nobody's conversations are not forgotten.
pub async fn forgetting_a_person_spares_the_others(subject: Subject) {
    let scene = Scene::open(subject).await;
    for user in [101, 10] {
        lives(&scene, user).await;
    }
    let jobs = DialogueKey { chat: 0, ..person(0) };
    scene.turn(&jobs, one_of_each).await;
    let other = DialogueKey { bot: OTHER_BOT, ..person(101) };
    let epoch = granted(scene.store().claim(OTHER_BOT, &holder("other"), None).await);
    let mut commit = Commit::new(other.clone(), scene.version(&other).await, at(1));
    one_of_each(&mut commit);
    scene.store().commit(epoch, commit).await.expect("a turn commits");
    let numbers = scene.store().statistics(Some(OTHER_BOT)).await.expect("answered");
    forget(&scene, 101).await;
    // A topic's number, a part of a longer number, and no number at all are nobody.
    for stranger in [3, 1, 0, -500] {
        assert_eq!(forget(&scene, stranger).await, 0, "{stranger}");
    }
    assert_eq!(everyone(&scene).await, [(0, 0), (10, -500), (10, 10)]);
    assert_eq!(failed(&scene).await.len(), 3);
    assert_eq!(scene.parked().await.len(), 3);
    assert_eq!(scene.store().labelled(BOT, 10, "menu").await.expect("answered"), Some(7));
    assert_eq!(scene.store().statistics(Some(OTHER_BOT)).await.expect("answered"), numbers);
}

/// A turn that was under way does not bring back what is forgotten, and versions go on.
pub async fn a_turn_of_a_forgotten_person_is_overtaken(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = person(101);
    let before = scene.turn(&anna, |commit| commit.state = set("a draft")).await.version;
    let mut late = Commit::new(anna.clone(), before, at(2));
    late.state = set("a longer draft");
    forget(&scene, 101).await;
    overtaken(scene.try_commit(late).await);
    scene.restart().await;
    let (version, stored) = scene.state(&anna).await;
    assert_eq!(stored, None);
    assert!(version > before, "a button of the old dialogue must not fit a new one: {version:?}");
    scene.turn(&anna, |commit| commit.state = set("somebody new")).await;
}

/// An update that waited is not taken when Telegram brings it again.
pub async fn a_forgotten_update_is_not_taken_again(subject: Subject) {
    let mut scene = Scene::open(subject).await;
    let anna = person(101);
    scene.waiting_update(&anna, 1).await;
    scene.heard(&anna, 2, |_| ()).await;
    forget(&scene, 101).await;
    scene.restart().await;
    for update_id in [1, 2] {
        assert_eq!(scene.receive_all(vec![update(&anna, update_id)]).await, [Receipt::Known], "{update_id}");
        assert!(scene.is_taken(&anna, &mark(BOT, update_id)).await, "{update_id}");
    }
    assert_eq!(scene.inbox().await, []);
}
