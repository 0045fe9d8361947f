//! The journal as a store: what is one step, what a replay that is made twice leaves, and whom it is not for.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::{BotError, Instances, WebhookSettings};
use opora::clock::Millis;
use opora::key::DialogueKey;
use opora::store::{
    self, Bounds, Commit, Effect, Epoch, Incoming, LeaseAnswer, Mark, Opened, Origin, OutboxId, Outgoing, Parked,
    ParkedId, Receipt, RedisStore, Settled, Settlement, StateChange, Store, StoreError, Stored, Taken, Version,
};
use opora::testing::holder;
use sqlx::{Connection, SqliteConnection};

use super::{Scene, on_every_journal};
use crate::postgres_store::message;
use crate::runtime::form::form;
use crate::stage::{BOT, Running, until};

pub(super) const NOW: Millis = Millis(1_700_000_000_000);
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn anna() -> DialogueKey {
    DialogueKey::private(BOT, 5)
}

pub(super) fn update(id: i64) -> (Incoming, Mark) {
    let mark = Mark { bot: BOT, update_id: id, identity: "message:1".into() };
    (Incoming { key: anna(), origin: Origin::Update(mark.clone()), body: "{}".into(), at: NOW }, mark)
}

pub(super) fn parked() -> Parked {
    Parked {
        id: ParkedId::default(),
        key: anna(),
        kind: "update".to_owned(),
        body: "{}".to_owned(),
        reason: "it cannot be read".to_owned(),
        attempts: 1,
        at: NOW,
        retry: false,
    }
}

/// Takes the lease, whoever had it.
pub(super) async fn lead(store: &dyn Store, token: &str) -> Epoch {
    let seen = store.lease(BOT).await.unwrap();
    match store.claim(BOT, &holder(token), seen.as_ref()).await.unwrap() {
        LeaseAnswer::Granted(epoch) => epoch,
        LeaseAnswer::Held(lease) => panic!("{lease:?} holds it"),
    }
}

impl Scene {
    /// A store that knows Anna, and then has no Redis: it leads on the journal.
    pub(super) async fn led_away(&self) -> (Arc<dyn Store>, Epoch) {
        let store = self.store().await;
        lead(&*store, "before").await;
        store.open(&anna(), None).await.unwrap();
        self.proxy.cut_off(true);
        begins_anew(&*store).await;
        let epoch = lead(&*store, "away").await;
        store.open(&anna(), None).await.unwrap();
        (store, epoch)
    }

    async fn journal_says(&self, statement: &'static str) {
        let url = format!("sqlite:{}", self.journal().display());
        let mut journal = SqliteConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(statement).execute(&mut journal).await.unwrap();
        journal.close().await.unwrap();
    }
}

/// Waits until the lease has to be asked for anew.
pub(super) async fn begins_anew(store: &dyn Store) {
    tokio::time::timeout(PATIENCE, store.lease_reclaim_requested(BOT))
        .await
        .expect("the lease changes its place")
        .unwrap();
}

#[tokio::test]
async fn an_input_is_set_aside_and_written_down_in_one_step() {
    let scene = Scene::new().await;
    let (store, epoch) = scene.led_away().await;
    let (incoming, mark) = update(1);
    let received = store.receive(epoch, vec![incoming]).await.unwrap();
    let [Receipt::New(seq)] = received[..] else { panic!("{received:?}") };
    let park = || store.park(epoch, vec![Taken::Update { seq, mark: mark.clone() }], parked(), Vec::new());
    // An end of the process between two steps would do the same.
    let no_room =
        "CREATE TRIGGER no_room BEFORE INSERT ON opora_journal_entries BEGIN SELECT RAISE(ABORT, 'no room'); END";
    scene.journal_says(no_room).await;
    let refused = park().await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(store.waiting(BOT, Default::default(), 9).await.unwrap().len(), 1, "it is not lost");
    scene.journal_says("DROP TRIGGER no_room").await;
    park().await.unwrap();
    assert_eq!(store.waiting(BOT, Default::default(), 9).await.unwrap(), []);
    scene.proxy.cut_off(false);
    begins_anew(&*store).await;
    lead(&*store, "after").await;
    assert_eq!(scene.redis.parked(Some(BOT), 9).await.unwrap().len(), 1);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_replay_that_is_made_twice_leaves_outcomes_and_failed_sends_once() {
    let scene = Scene::new().await;
    let (store, epoch) = scene.led_away().await;
    let effect = Effect { kind: "download".into(), body: "{}".into() };
    let turn = Commit { effects: vec![effect], outgoing: vec![message(5, "said")], ..asked() };
    let committed = store.commit(epoch, turn).await.unwrap();
    let origin = Origin::Outcome(committed.effects[0]);
    let outcome = Incoming { key: anna(), origin: origin.clone(), body: "{}".into(), at: NOW };
    store.finish_effect(epoch, committed.effects[0], outcome).await.unwrap();
    store.receive(epoch, vec![update(2).0]).await.unwrap();
    let failed = Settled { id: committed.outbox[0], outcome: Settlement::Failed("blocked".into()) };
    store.settle(epoch, vec![failed], NOW).await.unwrap();
    store.close().await.unwrap();

    // The journal as it is before a replay, and again as it is if the replay is cut off before it is emptied.
    let before = scene.folder.path().join("before.db");
    std::fs::copy(scene.journal(), &before).unwrap();
    scene.proxy.cut_off(false);
    for time in ["first", "second"] {
        let store = scene.store().await;
        lead(&*store, time).await;
        let waiting = scene.redis.waiting(BOT, Default::default(), 9).await.unwrap();
        let origins: Vec<_> = waiting.iter().map(|row| row.incoming.origin.clone()).collect();
        assert_eq!(origins, [origin.clone(), Origin::Update(update(2).1)], "the {time} time");
        assert_eq!(scene.redis.statistics(Some(BOT)).await.unwrap().failed, 1, "the {time} time");
        store.close().await.unwrap();
        assert_eq!(left(&scene).await, 0, "nothing stays in the journal");
        std::fs::copy(&before, scene.journal()).unwrap();
    }
}

pub(super) fn asked() -> Commit {
    Commit { takes: vec![Taken::Fresh(update(1).1)], ..Commit::new(anna(), Version(0), NOW) }
}

/// How much a journal has that only a replay takes out.
async fn left(scene: &Scene) -> i64 {
    const LEFT: &str = "SELECT (SELECT count(*) FROM opora_failed) + (SELECT count(*) FROM opora_inbox)
        + (SELECT count(*) FROM opora_journal_entries)";
    scene.number(LEFT).await
}

#[tokio::test]
async fn several_instances_are_refused_at_the_start() {
    let scene = Scene::new().await;
    let store = scene.store().await;
    let settings = WebhookSettings {
        instances: Instances::Several,
        ..WebhookSettings::new("http://127.0.0.1:1", "a-secret_of-a-step_1")
    };
    let (bot, _webhook) = scene.stage.bot(&store).dialogue(form()).webhook(settings);
    let ended = Running::start(bot).ends().await;
    let Err(BotError::Store(StoreError::Unsupported(why))) = ended else { panic!("{ended:?}") };
    assert!(why.contains("journal") && why.contains("one instance"), "{why}");
    assert_eq!(scene.redis.lease(BOT).await.unwrap(), None, "it never led");
}

#[tokio::test]
async fn a_redis_that_takes_no_writes_counts_as_away_until_it_does() {
    let scene = Scene::new().await;
    let store = scene.store().await;
    let epoch = lead(&*store, "before").await;
    scene.server.say(&["REPLICAOF", "127.0.0.1", "1"]);
    let refused = store.renew(BOT, epoch).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    begins_anew(&*store).await;
    let epoch = lead(&*store, "away").await;
    store.receive(epoch, vec![update(1).0]).await.unwrap();
    scene.server.say(&["REPLICAOF", "NO", "ONE"]);
    begins_anew(&*store).await;
    lead(&*store, "after").await;
    assert_eq!(scene.redis.waiting(BOT, Default::default(), 9).await.unwrap().len(), 1);
    store.close().await.unwrap();
}

on_every_journal! {
    what_may_lie_in_redis_since_a_lost_answer_comes_first,
    what_is_on_its_way_to_a_redis_that_has_stalled_is_not_done_here_too,
    whose_conversation_redis_has_forgotten_does_not_go_on_from_a_copy,
    what_was_sent_is_noted_also_when_redis_has_just_fallen_silent,
    what_a_killed_process_has_only_noted_is_not_sent_again_and_its_label_comes_to_redis,
    what_a_killed_process_has_only_noted_comes_to_redis_also_after_a_start_without_it,
    of_messages_under_one_label_the_later_one_counts_after_a_replay,
}

/// A process that has sent two messages while Redis was away, one of them under a label, and was killed when that was noted.
async fn has_only_noted(scene: &Scene) {
    let (killed, epoch) = scene.led_away().await;
    let turn = Commit { outgoing: vec![message(5, "said"), menu(5)], ..asked() };
    let said = killed.commit(epoch, turn).await.unwrap().outbox;
    let is_sent = |id, labelled| Settled { id, outcome: Settlement::Sent { labelled } };
    let sent = [is_sent(said[0], None), is_sent(said[1], Some((5, "menu".into(), 120)))];
    killed.log_sent(epoch, &sent).await.unwrap();
    // What is not settled stays noted.
    killed.close().await.unwrap();
}

fn menu(chat: i64) -> Outgoing {
    Outgoing { label: Some("menu".into()), ..message(chat, "menu") }
}

/// It is in Redis, and only there.
async fn is_known_in_redis(scene: &Scene) {
    assert_eq!(scene.redis.labelled(BOT, 5, "menu").await.unwrap(), Some(120));
    assert_eq!(scene.redis.statistics(Some(BOT)).await.unwrap().outbox, 0, "nothing is sent again");
    assert_eq!(scene.number("SELECT count(*) FROM opora_labels").await, 0, "no later replay brings it once more");
}

async fn what_a_killed_process_has_only_noted_is_not_sent_again_and_its_label_comes_to_redis(scene: Scene) {
    has_only_noted(&scene).await;
    scene.proxy.cut_off(false);
    let store = scene.store().await;
    lead(&*store, "after").await;
    is_known_in_redis(&scene).await;
    store.close().await.unwrap();
}

async fn what_a_killed_process_has_only_noted_comes_to_redis_also_after_a_start_without_it(scene: Scene) {
    has_only_noted(&scene).await;
    let store = scene.store().await;
    lead(&*store, "restarted").await;
    assert_eq!(store.labelled(BOT, 5, "menu").await.unwrap(), Some(120));
    scene.proxy.cut_off(false);
    begins_anew(&*store).await;
    lead(&*store, "after").await;
    is_known_in_redis(&scene).await;
    store.close().await.unwrap();
}

/// One was sent before Redis went away, and settled when it was gone; the other one on the journal.
async fn of_messages_under_one_label_the_later_one_counts_after_a_replay(scene: Scene) {
    let store = scene.store().await;
    let epoch = lead(&*store, "before").await;
    // Labels of some lie in the room that a message without a row would be in, and those of most do not.
    let chats = 5..13;
    let says = |chat: i64, from: i64| Commit {
        outgoing: vec![menu(chat)],
        ..Commit::new(DialogueKey::private(BOT, chat), Version(from), NOW)
    };
    let is_sent = |id: OutboxId, chat: i64, message: i64| {
        vec![Settled { id, outcome: Settlement::Sent { labelled: Some((chat, "menu".into(), message)) } }]
    };
    let mut said = Vec::new();
    for chat in chats.clone() {
        store.open(&DialogueKey::private(BOT, chat), None).await.unwrap();
        said.push((chat, store.commit(epoch, says(chat, 0)).await.unwrap().outbox[0]));
    }
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    for (chat, id) in said {
        store.settle(epoch, is_sent(id, chat, 100 + chat), NOW).await.unwrap();
    }
    let away = lead(&*store, "away").await;
    for chat in chats.clone() {
        store.open(&DialogueKey::private(BOT, chat), None).await.unwrap();
        let id = store.commit(away, says(chat, 1)).await.unwrap().outbox[0];
        store.settle(away, is_sent(id, chat, 200 + chat), NOW).await.unwrap();
    }
    scene.proxy.cut_off(false);
    begins_anew(&*store).await;
    lead(&*store, "after").await;
    for chat in chats {
        assert_eq!(scene.redis.labelled(BOT, chat, "menu").await.unwrap(), Some(200 + chat));
    }
    store.close().await.unwrap();
}

async fn what_was_sent_is_noted_also_when_redis_has_just_fallen_silent(scene: Scene) {
    let store = scene.store().await;
    let epoch = lead(&*store, "before").await;
    let said = store.commit(epoch, Commit { outgoing: vec![message(5, "said")], ..asked() }).await.unwrap().outbox;
    scene.proxy.cut_off(true);
    until("it is noticed", async || store.renew(BOT, epoch).await.is_err()).await;
    begins_anew(&*store).await;
    let sent = Settled { id: said[0], outcome: Settlement::Sent { labelled: None } };
    store.log_sent(epoch, &[sent]).await.unwrap();
    store.close().await.unwrap();
    scene.proxy.cut_off(false);
    // The next process believes its note.
    let store = scene.store().await;
    lead(&*store, "after").await;
    assert_eq!(scene.redis.statistics(Some(BOT)).await.unwrap().outbox, 0, "nothing is sent again");
    store.close().await.unwrap();
}

async fn what_may_lie_in_redis_since_a_lost_answer_comes_first(scene: Scene) {
    let store = scene.store().await;
    let epoch = lead(&*store, "before").await;
    let boris = DialogueKey::private(BOT, 6);
    let effect = Effect { kind: "download".into(), body: "{}".into() };
    let asked = store.commit(epoch, Commit { effects: vec![effect], ..asked() }).await.unwrap().effects[0];
    for key in [&anna(), &boris] {
        store.open(key, None).await.unwrap();
    }
    let outcome = Incoming { key: anna(), origin: Origin::Outcome(asked), body: "{}".into(), at: NOW };
    scene.proxy.cut_after(b"_finish_effect");
    let lost = store.finish_effect(epoch, asked, outcome).await;
    assert!(scene.proxy.has_cut() && lost.is_err(), "{lost:?}");
    until("Redis is there again", async || store.renew(BOT, epoch).await.is_ok()).await;
    scene.proxy.cut_after(b"_post");
    let lost = store.post(epoch, "news", vec![(boris.clone(), message(6, "news"))], NOW).await;
    assert!(lost.is_err(), "{lost:?}");
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    lead(&*store, "away").await;
    for key in [&anna(), &boris] {
        let waits = store.open(key, None).await;
        assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "something comes before what {key} says: {waits:?}");
    }
    store.close().await.unwrap();
}

/// Redis stalls with her turn, and takes it after the lease has gone to the journal and Telegram has brought her update again.
async fn what_is_on_its_way_to_a_redis_that_has_stalled_is_not_done_here_too(scene: Scene) {
    let store = scene.store().await;
    let epoch = lead(&*store, "before").await;
    store.open(&anna(), None).await.unwrap();
    scene.proxy.hold();
    let (committing, turn) = (Arc::clone(&store), Commit { outgoing: vec![message(5, "said")], ..asked() });
    let committing = tokio::spawn(async move { committing.commit(epoch, turn).await });
    begins_anew(&*store).await;
    let away = lead(&*store, "away").await;
    store.receive(away, vec![update(1).0]).await.unwrap();
    let waits = store.open(&anna(), Some(&update(1).1)).await;
    if waits.is_ok() {
        store.commit(away, asked()).await.unwrap();
    }
    scene.proxy.let_pass();
    // Its answer may have come too late.
    drop(committing.await.unwrap());
    begins_anew(&*store).await;
    lead(&*store, "after").await;
    assert_eq!(scene.redis.parked(Some(BOT), 9).await.unwrap(), [], "there is no conflict");
    assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "{waits:?}");
    let known = scene.redis.open(&anna(), Some(&update(1).1)).await.unwrap();
    assert_eq!(known, Opened::AlreadyTaken);
    assert_eq!(scene.redis.waiting(BOT, Default::default(), 9).await.unwrap(), []);
    assert_eq!(scene.redis.statistics(Some(BOT)).await.unwrap().outbox, 1);
    store.close().await.unwrap();
}

/// Others of the same room have ended at higher versions: where nothing is kept of anybody, the next turn begins above these.
async fn whose_conversation_redis_has_forgotten_does_not_go_on_from_a_copy(scene: Scene) {
    let store = scene.store().await;
    let epoch = lead(&*store, "before").await;
    let of = |user| DialogueKey { user, ..anna() };
    let stored = Stored { value: "{}".into(), places: Vec::new(), expires_at: None };
    for (user, turns) in [(5, 1), (6, 3), (7, 1)] {
        store.open(&of(user), None).await.unwrap();
        for from in 0..turns {
            let state = if user == 7 { StateChange::Set(stored.clone()) } else { StateChange::Clear };
            store.commit(epoch, Commit { state, ..Commit::new(of(user), Version(from), NOW) }).await.unwrap();
        }
    }
    let later = Millis(NOW.0 + 1);
    let bounds = Bounds { marks_before: NOW, records_before: later, parked_most: 9, marks_live: None };
    assert_eq!(store.clean(epoch, bounds).await.unwrap().aged, 2);
    scene.proxy.cut_off(true);
    begins_anew(&*store).await;
    let away = lead(&*store, "away").await;
    for (user, from) in [(5, 1), (7, 1)] {
        if store.open(&of(user), None).await.is_ok() {
            store.commit(away, Commit::new(of(user), Version(from), NOW)).await.unwrap();
        }
    }
    scene.proxy.cut_off(false);
    begins_anew(&*store).await;
    lead(&*store, "after").await;
    assert_eq!(scene.redis.parked(Some(BOT), 9).await.unwrap(), [], "there is no conflict");
    let opened = scene.redis.open(&of(7), None).await.unwrap();
    assert!(matches!(opened, Opened::At { version: Version(2), .. }), "who is in a dialogue goes on: {opened:?}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_journal_is_refused_where_nobody_would_keep_it() {
    let scene = Scene::new().await;
    let address = |rest: &str| format!("{}?journal={}{rest}", scene.server.url(), scene.journal().display());
    let layout = format!("{}?layout=aiogram", scene.server.url());
    let tables = format!("sqlite:{}", scene.folder.path().join("tables.db").display());
    let refused = [
        RedisStore::open(&address("")).await.map(drop).map_err(|error| error.to_string()),
        store::open(&address("&layout=aiogram")).await.map(drop).map_err(|error| error.to_string()),
        store::open_with_database(&address(""), Some(&tables)).await.map(drop).map_err(|error| error.to_string()),
        store::open_with_database(&layout, Some(&tables)).await.map(drop).map_err(|error| error.to_string()),
    ];
    for (refused, names) in refused.into_iter().zip(["journal", "journal", "journal", "layout=aiogram"]) {
        assert!(refused.as_ref().is_err_and(|why| why.contains(names)), "{refused:?}");
    }
    assert!(!scene.journal().exists());
    // A tool looks at the Redis alone.
    store::open_existing(&address("")).await.unwrap();
}
