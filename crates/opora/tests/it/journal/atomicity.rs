//! The journal as a store: atomic steps, repeated replays, and unsupported combinations.

use std::sync::Arc;
use std::time::Duration;

use opora::bot::{BotError, Instances, WebhookSettings};
use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{
    self, CleaningLimits, Commit, Effect, Epoch, Incoming, InputRef, LeaseAnswer, Mark, Opened, Origin, OutboxId,
    Outgoing, OutgoingExtras, ParkedId, ParkedTurn, Receipt, RedisStore, Settled, Settlement, StateChange, Store,
    StoreError, StoredState, Version,
};
use opora::testing::holder;
use sqlx::{Connection, SqliteConnection};

use super::{Fixture, on_every_journal};
use crate::postgres_store::message;
use crate::runtime::form::form;
use crate::stage::{BOT, Running, until};

pub(super) const NOW: Millis = Millis(1_700_000_000_000);
const TIMEOUT: Duration = Duration::from_secs(20);

pub(super) fn anna() -> ConversationKey {
    ConversationKey::private(BOT, 5)
}

pub(super) fn update(id: i64) -> (Incoming, Mark) {
    let mark = Mark { bot: BOT, update_id: id, identity: "message:1".into() };
    (Incoming { key: anna(), origin: Origin::Update(mark.clone()), body: "{}".into(), at: NOW }, mark)
}

pub(super) fn parked() -> ParkedTurn {
    ParkedTurn {
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

/// Claims the lease, also from another holder.
pub(super) async fn lead(store: &dyn Store, token: &str) -> Epoch {
    let seen = store.lease(BOT).await.unwrap();
    match store.claim(BOT, &holder(token), seen.as_ref()).await.unwrap() {
        LeaseAnswer::Granted(epoch) => epoch,
        LeaseAnswer::Held(lease) => panic!("{lease:?} holds it"),
    }
}

impl Fixture {
    /// A store that knows Anna and then has no Redis: it leads on the journal.
    pub(super) async fn lead_without_redis(&self) -> (Arc<dyn Store>, Epoch) {
        let store = self.store().await;
        lead(&*store, "before").await;
        store.open(&anna(), None).await.unwrap();
        self.proxy.cut_off(true);
        wait_for_new_claim(&*store).await;
        let epoch = lead(&*store, "away").await;
        store.open(&anna(), None).await.unwrap();
        (store, epoch)
    }

    async fn run_on_journal(&self, statement: &'static str) {
        let url = format!("sqlite:{}", self.journal().display());
        let mut journal = SqliteConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(statement).execute(&mut journal).await.unwrap();
        journal.close().await.unwrap();
    }
}

/// Waits until the lease has to be claimed again.
pub(super) async fn wait_for_new_claim(store: &dyn Store) {
    tokio::time::timeout(TIMEOUT, store.lease_reclaim_requested(BOT))
        .await
        .expect("the lease must be claimed again")
        .unwrap();
}

#[tokio::test]
async fn parking_an_input_is_atomic() {
    let fixture = Fixture::new().await;
    let (store, epoch) = fixture.lead_without_redis().await;
    let (incoming, mark) = update(1);
    let received = store.receive(epoch, vec![incoming]).await.unwrap();
    let [Receipt::New(seq)] = received[..] else { panic!("{received:?}") };
    let park = || store.park(epoch, vec![InputRef::Update { seq, mark: mark.clone() }], parked(), Vec::new());
    // The end of the process between two steps would have the same effect.
    let no_room =
        "CREATE TRIGGER no_room BEFORE INSERT ON opora_journal_entries BEGIN SELECT RAISE(ABORT, 'no room'); END";
    fixture.run_on_journal(no_room).await;
    let refused = park().await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(store.waiting(BOT, Default::default(), 9).await.unwrap().len(), 1, "it is not lost");
    fixture.run_on_journal("DROP TRIGGER no_room").await;
    park().await.unwrap();
    assert_eq!(store.waiting(BOT, Default::default(), 9).await.unwrap(), []);
    fixture.proxy.cut_off(false);
    wait_for_new_claim(&*store).await;
    lead(&*store, "after").await;
    assert_eq!(fixture.redis.parked(Some(BOT), 9).await.unwrap().len(), 1);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_repeated_replay_stores_outcomes_and_failures_once() {
    let fixture = Fixture::new().await;
    let (store, epoch) = fixture.lead_without_redis().await;
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

    // The journal before a replay, and again as if the replay had ended before it emptied the journal.
    let before = fixture.folder.path().join("before.db");
    std::fs::copy(fixture.journal(), &before).unwrap();
    fixture.proxy.cut_off(false);
    for time in ["first", "second"] {
        let store = fixture.store().await;
        lead(&*store, time).await;
        let waiting = fixture.redis.waiting(BOT, Default::default(), 9).await.unwrap();
        let origins: Vec<_> = waiting.iter().map(|row| row.incoming.origin.clone()).collect();
        assert_eq!(origins, [origin.clone(), Origin::Update(update(2).1)], "the {time} time");
        assert_eq!(fixture.redis.statistics(Some(BOT)).await.unwrap().failed, 1, "the {time} time");
        store.close().await.unwrap();
        assert_eq!(left(&fixture).await, 0, "nothing stays in the journal");
        std::fs::copy(&before, fixture.journal()).unwrap();
    }
}

pub(super) fn asked() -> Commit {
    Commit { processed: vec![InputRef::DirectUpdate(update(1).1)], ..Commit::new(anna(), Version(0), NOW) }
}

/// How many rows of the journal only a replay removes.
async fn left(fixture: &Fixture) -> i64 {
    const LEFT: &str = "SELECT (SELECT count(*) FROM opora_failed) + (SELECT count(*) FROM opora_inbox)
        + (SELECT count(*) FROM opora_journal_entries)";
    fixture.number(LEFT).await
}

#[tokio::test]
async fn several_instances_are_refused_at_the_start() {
    let fixture = Fixture::new().await;
    let store = fixture.store().await;
    let settings = WebhookSettings {
        instances: Instances::All,
        ..WebhookSettings::new("http://127.0.0.1:1", "a-secret_of-a-step_1")
    };
    let (bot, _webhook) = fixture.stage.bot(&store).dialogue(form()).webhook(settings);
    let ended = Running::start(bot).ends().await;
    let Err(BotError::Store(StoreError::Unsupported(why))) = ended else { panic!("{ended:?}") };
    assert!(why.contains("journal") && why.contains("one instance"), "{why}");
    assert_eq!(fixture.redis.lease(BOT).await.unwrap(), None, "it never led");
}

#[tokio::test]
async fn a_redis_that_refuses_writes_counts_as_away() {
    let fixture = Fixture::new().await;
    let store = fixture.store().await;
    let epoch = lead(&*store, "before").await;
    fixture.server.command(&["REPLICAOF", "127.0.0.1", "1"]);
    let refused = store.renew(BOT, epoch).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    wait_for_new_claim(&*store).await;
    let epoch = lead(&*store, "away").await;
    store.receive(epoch, vec![update(1).0]).await.unwrap();
    fixture.server.command(&["REPLICAOF", "NO", "ONE"]);
    wait_for_new_claim(&*store).await;
    lead(&*store, "after").await;
    assert_eq!(fixture.redis.waiting(BOT, Default::default(), 9).await.unwrap().len(), 1);
    store.close().await.unwrap();
}

on_every_journal! {
    a_commit_with_a_lost_answer_is_settled_first,
    a_turn_stalled_in_redis_is_not_repeated_in_the_journal,
    a_conversation_lost_by_redis_ignores_the_local_copy,
    sends_are_recorded_when_redis_becomes_silent,
    the_sent_log_of_a_killed_process_is_settled_in_redis,
    the_sent_log_reaches_redis_after_a_start_without_it,
    a_replay_keeps_the_latest_message_of_a_label,
}

/// A process that sent two messages while Redis was away, one of them labelled, and was killed with both in its sent
/// log.
async fn sent_and_killed(fixture: &Fixture) {
    let (killed, epoch) = fixture.lead_without_redis().await;
    let turn = Commit { outgoing: vec![message(5, "said"), menu(5)], ..asked() };
    let said = killed.commit(epoch, turn).await.unwrap().outbox;
    let is_sent = |id, labelled| Settled { id, outcome: Settlement::Sent { labelled } };
    let sent = [is_sent(said[0], None), is_sent(said[1], Some((5, "menu".into(), 120)))];
    killed.log_sent(epoch, &sent).await.unwrap();
    // Unsettled messages stay in the sent log.
    killed.close().await.unwrap();
}

fn menu(chat: i64) -> Outgoing {
    message(chat, "menu").with(OutgoingExtras { label: Some("menu".into()), ..OutgoingExtras::default() })
}

/// The message is known in Redis, and only there.
async fn assert_known_in_redis(fixture: &Fixture) {
    assert_eq!(fixture.redis.labelled(BOT, 5, "menu").await.unwrap(), Some(120));
    assert_eq!(fixture.redis.statistics(Some(BOT)).await.unwrap().outbox, 0, "nothing is sent again");
    assert_eq!(fixture.number("SELECT count(*) FROM opora_labels").await, 0, "no later replay brings it once more");
}

async fn the_sent_log_of_a_killed_process_is_settled_in_redis(fixture: Fixture) {
    sent_and_killed(&fixture).await;
    fixture.proxy.cut_off(false);
    let store = fixture.store().await;
    lead(&*store, "after").await;
    assert_known_in_redis(&fixture).await;
    store.close().await.unwrap();
}

async fn the_sent_log_reaches_redis_after_a_start_without_it(fixture: Fixture) {
    sent_and_killed(&fixture).await;
    let store = fixture.store().await;
    lead(&*store, "restarted").await;
    assert_eq!(store.labelled(BOT, 5, "menu").await.unwrap(), Some(120));
    fixture.proxy.cut_off(false);
    wait_for_new_claim(&*store).await;
    lead(&*store, "after").await;
    assert_known_in_redis(&fixture).await;
    store.close().await.unwrap();
}

/// One message was sent before Redis went away and settled afterwards; the other one was sent with the journal.
async fn a_replay_keeps_the_latest_message_of_a_label(fixture: Fixture) {
    let store = fixture.store().await;
    let epoch = lead(&*store, "before").await;
    // The labels of some chats are in the partition of a message without a row, those of most are not.
    let chats = 5..13;
    let says = |chat: i64, from: i64| Commit {
        outgoing: vec![menu(chat)],
        ..Commit::new(ConversationKey::private(BOT, chat), Version(from), NOW)
    };
    let is_sent = |id: OutboxId, chat: i64, message: i64| {
        vec![Settled { id, outcome: Settlement::Sent { labelled: Some((chat, "menu".into(), message)) } }]
    };
    let mut said = Vec::new();
    for chat in chats.clone() {
        store.open(&ConversationKey::private(BOT, chat), None).await.unwrap();
        said.push((chat, store.commit(epoch, says(chat, 0)).await.unwrap().outbox[0]));
    }
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    for (chat, id) in said {
        store.settle(epoch, is_sent(id, chat, 100 + chat), NOW).await.unwrap();
    }
    let away = lead(&*store, "away").await;
    for chat in chats.clone() {
        store.open(&ConversationKey::private(BOT, chat), None).await.unwrap();
        let id = store.commit(away, says(chat, 1)).await.unwrap().outbox[0];
        store.settle(away, is_sent(id, chat, 200 + chat), NOW).await.unwrap();
    }
    fixture.proxy.cut_off(false);
    wait_for_new_claim(&*store).await;
    lead(&*store, "after").await;
    for chat in chats {
        assert_eq!(fixture.redis.labelled(BOT, chat, "menu").await.unwrap(), Some(200 + chat));
    }
    store.close().await.unwrap();
}

async fn sends_are_recorded_when_redis_becomes_silent(fixture: Fixture) {
    let store = fixture.store().await;
    let epoch = lead(&*store, "before").await;
    let said = store.commit(epoch, Commit { outgoing: vec![message(5, "said")], ..asked() }).await.unwrap().outbox;
    fixture.proxy.cut_off(true);
    until("it is noticed", async || store.renew(BOT, epoch).await.is_err()).await;
    wait_for_new_claim(&*store).await;
    let sent = Settled { id: said[0], outcome: Settlement::Sent { labelled: None } };
    store.log_sent(epoch, &[sent]).await.unwrap();
    store.close().await.unwrap();
    fixture.proxy.cut_off(false);
    // The next process uses the sent log.
    let store = fixture.store().await;
    lead(&*store, "after").await;
    assert_eq!(fixture.redis.statistics(Some(BOT)).await.unwrap().outbox, 0, "nothing is sent again");
    store.close().await.unwrap();
}

async fn a_commit_with_a_lost_answer_is_settled_first(fixture: Fixture) {
    let store = fixture.store().await;
    let epoch = lead(&*store, "before").await;
    let boris = ConversationKey::private(BOT, 6);
    let effect = Effect { kind: "download".into(), body: "{}".into() };
    let asked = store.commit(epoch, Commit { effects: vec![effect], ..asked() }).await.unwrap().effects[0];
    for key in [&anna(), &boris] {
        store.open(key, None).await.unwrap();
    }
    let outcome = Incoming { key: anna(), origin: Origin::Outcome(asked), body: "{}".into(), at: NOW };
    fixture.proxy.drop_reply_to(b"_finish_effect");
    let lost = store.finish_effect(epoch, asked, outcome).await;
    assert!(fixture.proxy.has_dropped_reply() && lost.is_err(), "{lost:?}");
    until("Redis is there again", async || store.renew(BOT, epoch).await.is_ok()).await;
    fixture.proxy.drop_reply_to(b"_post");
    let lost = store.post(epoch, "news", vec![(boris.clone(), message(6, "news"))], NOW).await;
    assert!(lost.is_err(), "{lost:?}");
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    lead(&*store, "away").await;
    for key in [&anna(), &boris] {
        let waits = store.open(key, None).await;
        assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "something comes before what {key} says: {waits:?}");
    }
    store.close().await.unwrap();
}

/// Redis stalls with her turn, and applies it after the journal took over the lease and Telegram repeated her update.
async fn a_turn_stalled_in_redis_is_not_repeated_in_the_journal(fixture: Fixture) {
    let store = fixture.store().await;
    let epoch = lead(&*store, "before").await;
    store.open(&anna(), None).await.unwrap();
    fixture.proxy.stall();
    let (committing, turn) = (Arc::clone(&store), Commit { outgoing: vec![message(5, "said")], ..asked() });
    let committing = tokio::spawn(async move { committing.commit(epoch, turn).await });
    wait_for_new_claim(&*store).await;
    let away = lead(&*store, "away").await;
    store.receive(away, vec![update(1).0]).await.unwrap();
    let waits = store.open(&anna(), Some(&update(1).1)).await;
    if waits.is_ok() {
        store.commit(away, asked()).await.unwrap();
    }
    fixture.proxy.resume();
    // Its answer may have come too late.
    drop(committing.await.unwrap());
    wait_for_new_claim(&*store).await;
    lead(&*store, "after").await;
    assert_eq!(fixture.redis.parked(Some(BOT), 9).await.unwrap(), [], "there is no conflict");
    assert!(matches!(waits, Err(StoreError::NoCopy { .. })), "{waits:?}");
    let known = fixture.redis.open(&anna(), Some(&update(1).1)).await.unwrap();
    assert_eq!(known, Opened::AlreadyProcessed);
    assert_eq!(fixture.redis.waiting(BOT, Default::default(), 9).await.unwrap(), []);
    assert_eq!(fixture.redis.statistics(Some(BOT)).await.unwrap().outbox, 1);
    store.close().await.unwrap();
}

/// Other conversations of the same partition have ended at higher versions: without stored data the next turn starts
/// above them.
async fn a_conversation_lost_by_redis_ignores_the_local_copy(fixture: Fixture) {
    let store = fixture.store().await;
    let epoch = lead(&*store, "before").await;
    let of = |user| ConversationKey { user, ..anna() };
    let stored = StoredState { value: "{}".into(), states: Vec::new(), expires_at: None };
    for (user, turns) in [(5, 1), (6, 3), (7, 1)] {
        store.open(&of(user), None).await.unwrap();
        for from in 0..turns {
            let state = if user == 7 { StateChange::Set(stored.clone()) } else { StateChange::Clear };
            store.commit(epoch, Commit { state, ..Commit::new(of(user), Version(from), NOW) }).await.unwrap();
        }
    }
    let later = Millis(NOW.0 + 1);
    let bounds = CleaningLimits { marks_before: NOW, records_before: later, max_parked: 9, mark_ttl: None };
    assert_eq!(store.clean(epoch, bounds).await.unwrap().aged, 2);
    fixture.proxy.cut_off(true);
    wait_for_new_claim(&*store).await;
    let away = lead(&*store, "away").await;
    for (user, from) in [(5, 1), (7, 1)] {
        if store.open(&of(user), None).await.is_ok() {
            store.commit(away, Commit::new(of(user), Version(from), NOW)).await.unwrap();
        }
    }
    fixture.proxy.cut_off(false);
    wait_for_new_claim(&*store).await;
    lead(&*store, "after").await;
    assert_eq!(fixture.redis.parked(Some(BOT), 9).await.unwrap(), [], "there is no conflict");
    let opened = fixture.redis.open(&of(7), None).await.unwrap();
    assert!(matches!(opened, Opened::At { version: Version(2), .. }), "an open dialogue continues: {opened:?}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn unsupported_combinations_with_a_journal_are_refused() {
    let fixture = Fixture::new().await;
    let address = |rest: &str| format!("{}?journal={}{rest}", fixture.server.url(), fixture.journal().display());
    let layout = format!("{}?layout=aiogram", fixture.server.url());
    let tables = format!("sqlite:{}", fixture.folder.path().join("tables.db").display());
    let refused = [
        RedisStore::open(&address("")).await.map(drop).map_err(|error| error.to_string()),
        store::open(&address("&layout=aiogram")).await.map(drop).map_err(|error| error.to_string()),
        store::open_with_database(&address(""), Some(&tables)).await.map(drop).map_err(|error| error.to_string()),
        store::open_with_database(&layout, Some(&tables)).await.map(drop).map_err(|error| error.to_string()),
    ];
    for (refused, names) in refused.into_iter().zip(["journal", "journal", "journal", "layout=aiogram"]) {
        assert!(refused.as_ref().is_err_and(|why| why.contains(names)), "{refused:?}");
    }
    assert!(!fixture.journal().exists());
    // A tool opens only Redis.
    store::open_existing(&address("")).await.unwrap();
}
