//! The fixture of the cases: people, updates, turns, and a snapshot of a store.

use std::sync::Arc;

use super::subject::{Start, Subject};
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{
    Commit, Committed, ConversationRow, Effect, EffectId, EffectRow, Epoch, Filter, InboxRow, Incoming, InputRef,
    Lease, LeaseAnswer, Mark, Opened, OperatorStore, Origin, OutboxId, OutboxRow, Outgoing, ParkedId, ParkedTurn,
    Receipt, Seq, StateChange, StateName, Statistics, Store, StoreError, StoreResult, StoredState, TimerChange,
    TimerRow, Transition, TransitionRow, Version,
};

pub(super) use crate::testing::holder;

/// The bot of the cases. Telegram's ids exceed 32 bits.
pub(super) const BOT: i64 = 7_000_000_001;
/// Another bot in the same store.
pub(super) const OTHER_BOT: i64 = 7_000_000_002;
/// A limit above the rows of any case.
pub(super) const ALL: usize = 10_000;
/// Later than any time in the cases.
pub(super) const END_OF_TIME: Millis = Millis(i64::MAX);

/// A store with a leader.
#[derive(Debug)]
pub struct Fixture {
    subject: Subject,
    pub(super) epoch: Epoch,
}

/// All data of one bot.
#[derive(Debug, PartialEq)]
pub(super) struct Snapshot {
    inbox: Vec<InboxRow>,
    conversations: Vec<ConversationRow>,
    opened: Vec<Opened>,
    unsent: Vec<OutboxRow>,
    effects: Vec<EffectRow>,
    timers: Vec<TimerRow>,
    expiring: Vec<ConversationKey>,
    transitions: Vec<TransitionRow>,
    parked: Vec<ParkedTurn>,
    pub(super) statistics: Statistics,
}

/// Claims the lease of an empty store.
impl Start for Fixture {
    async fn from_subject(subject: Subject) -> Self {
        let epoch = granted(subject.store().claim(BOT, &holder("first"), None).await);
        Self { subject, epoch }
    }
}

impl Fixture {
    pub(super) fn store(&self) -> &Arc<dyn Store> {
        self.subject.store()
    }

    pub(super) fn operator(&self) -> &dyn OperatorStore {
        self.store().operator()
    }

    /// Another instance takes over. Returns its epoch.
    pub(super) async fn take_over(&self) -> Epoch {
        let seen = self.lease().await;
        granted(self.store().claim(BOT, &holder("second"), Some(&seen)).await)
    }

    /// Reopens the store, and another process takes over.
    pub(super) async fn restart(&mut self) {
        self.subject.restart().await;
        self.epoch = self.take_over().await;
    }

    pub(super) async fn lease(&self) -> Lease {
        self.store().lease(BOT).await.expect("the lease can be read").expect("the lease is held")
    }

    pub(super) async fn receive(&self, incoming: Incoming) -> Seq {
        new(self.receive_all(vec![incoming]).await[0])
    }

    pub(super) async fn receive_all(&self, batch: Vec<Incoming>) -> Vec<Receipt> {
        self.store().receive(self.epoch, batch).await.expect("a batch is received")
    }

    pub(super) async fn state(&self, key: &ConversationKey) -> (Version, Option<StoredState>) {
        match self.store().open(key, None).await.expect("a conversation opens") {
            Opened::At { version, stored } => (version, stored),
            Opened::AlreadyProcessed => panic!("an open without a mark cannot find a processed input"),
        }
    }

    pub(super) async fn version(&self, key: &ConversationKey) -> Version {
        self.state(key).await.0
    }

    pub(super) async fn try_commit(&self, commit: Commit) -> StoreResult<Committed> {
        self.store().commit(self.epoch, commit).await
    }

    pub(super) async fn commit(&self, commit: Commit) -> Committed {
        self.try_commit(commit).await.expect("a turn commits")
    }

    /// Commits a turn without inputs, at the present version.
    pub(super) async fn turn(&self, key: &ConversationKey, fill: impl FnOnce(&mut Commit)) -> Committed {
        let mut commit = Commit::new(key.clone(), self.version(key).await, at(1));
        fill(&mut commit);
        self.commit(commit).await
    }

    /// Receives an update and commits its turn. Returns the input.
    pub(super) async fn process_update(
        &self,
        key: &ConversationKey,
        update_id: i64,
        fill: impl FnOnce(&mut Commit),
    ) -> InputRef {
        let update = self.waiting_update(key, update_id).await;
        let processed = vec![update.clone()];
        self.turn(key, |commit| {
            commit.processed = processed;
            fill(commit);
        })
        .await;
        update
    }

    /// Receives an update. Returns the input for its turn.
    pub(super) async fn waiting_update(&self, key: &ConversationKey, update_id: i64) -> InputRef {
        let seq = self.receive(update(key, update_id)).await;
        InputRef::Update { seq, mark: mark(key.bot, update_id) }
    }

    pub(super) async fn inbox(&self) -> Vec<InboxRow> {
        self.store().waiting(BOT, Seq(0), ALL).await.expect("the inbox can be read")
    }

    pub(super) async fn unsent(&self) -> Vec<OutboxRow> {
        self.store().unsent(BOT, OutboxId(0), ALL).await.expect("the outbox can be read")
    }

    pub(super) async fn effects(&self) -> Vec<EffectRow> {
        self.store().effects(BOT, EffectId(0), ALL).await.expect("effects can be read")
    }

    pub(super) async fn timers(&self, now: Millis) -> Vec<TimerRow> {
        self.store().due_timers(BOT, now, ALL).await.expect("timers can be read")
    }

    pub(super) async fn expired(&self, now: Millis) -> Vec<ConversationKey> {
        self.store().expired(BOT, now, ALL).await.expect("expiries can be read")
    }

    pub(super) async fn transitions(&self) -> Vec<TransitionRow> {
        self.operator().transitions(BOT, 0, ALL).await.expect("transitions can be read")
    }

    pub(super) async fn parked(&self) -> Vec<ParkedTurn> {
        self.store().parked(Some(BOT), ALL).await.expect("parked turns can be read")
    }

    pub(super) async fn statistics(&self) -> Statistics {
        self.store().statistics(Some(BOT)).await.expect("the store counts")
    }

    pub(super) async fn snapshot(&self) -> Snapshot {
        let all = Filter { bot: Some(BOT), ended: true, ..Filter::default() };
        let mut opened = Vec::new();
        // The people of the cases, whether listed or not.
        for key in (101..=103).map(person) {
            opened.push(self.store().open(&key, None).await.expect("a conversation opens"));
        }
        Snapshot {
            inbox: self.inbox().await,
            conversations: self.store().list(&all, None, ALL).await.expect("conversations are listed"),
            opened,
            unsent: self.unsent().await,
            effects: self.effects().await,
            timers: self.timers(END_OF_TIME).await,
            expiring: self.expired(END_OF_TIME).await,
            transitions: self.transitions().await,
            parked: self.parked().await,
            statistics: self.statistics().await,
        }
    }

    pub(super) async fn is_processed(&self, key: &ConversationKey, mark: &Mark) -> bool {
        self.store().open(key, Some(mark)).await.expect("a conversation opens") == Opened::AlreadyProcessed
    }
}

/// A time in minutes after the start of the cases.
pub(super) fn at(minutes: i64) -> Millis {
    Millis(1_700_000_000_000 + minutes * 60_000)
}

/// A person in a private chat.
pub(super) fn person(user: i64) -> ConversationKey {
    ConversationKey::private(BOT, user)
}

pub(super) fn mark(bot: i64, update_id: i64) -> Mark {
    Mark { bot, update_id, identity: format!("message:{update_id}:1700000000").into() }
}

pub(super) fn update(key: &ConversationKey, update_id: i64) -> Incoming {
    let body = format!(r#"{{"update_id":{update_id},"message":{{"text":"hello"}}}}"#);
    let origin = Origin::Update(mark(key.bot, update_id));
    Incoming { key: key.clone(), origin, body: body.into(), at: at(0) }
}

pub(super) fn state_name(dialogue: &str, state: &str) -> StateName {
    StateName { dialogue: dialogue.into(), state: state.into() }
}

/// A state with a value and without an expiry.
pub(super) fn state(value: &str) -> StoredState {
    let value = serde_json::json!({ "value": value }).to_string();
    StoredState { value: value.into(), states: vec![state_name("survey", "asked")], expires_at: None }
}

pub(super) fn set(value: &str) -> StateChange {
    StateChange::Set(state(value))
}

pub(crate) fn message(chat: i64, text: &str) -> Outgoing {
    Outgoing::new(Some(chat), "sendMessage", serde_json::json!({ "chat_id": chat, "text": text }).to_string())
}

pub(super) fn timer(name: &str, due_at: Millis) -> TimerChange {
    TimerChange::Set { name: name.into(), due_at, body: r#"{"entry":1}"#.into() }
}

pub(super) fn effect(kind: &str) -> Effect {
    Effect { kind: kind.into(), body: r#"{"file_id":"A"}"#.into() }
}

pub(super) fn outcome(key: &ConversationKey, effect: EffectId) -> Incoming {
    Incoming { key: key.clone(), origin: Origin::Outcome(effect), body: r#"{"ok":true}"#.into(), at: at(2) }
}

pub(super) fn transition(to: &str) -> Transition {
    Transition { from: None, to: Some(state_name("survey", to)), by: "text".into(), took_us: 12 }
}

pub(crate) fn parked(key: &ConversationKey, at: Millis) -> ParkedTurn {
    ParkedTurn {
        id: ParkedId(0),
        key: key.clone(),
        kind: "update".into(),
        body: "{}".into(),
        reason: "the handler failed".into(),
        attempts: 3,
        at,
        retry: false,
    }
}

/// Fills a commit with one change of each kind.
pub(super) fn one_of_each(commit: &mut Commit) {
    commit.state = StateChange::Set(StoredState { expires_at: Some(at(60)), ..state("whole") });
    commit.outgoing = vec![message(commit.key.chat, "said")];
    commit.timers = vec![timer("remind", at(30))];
    commit.effects = vec![effect("download")];
    commit.transition = Some(transition("asked"));
}

#[track_caller]
pub(super) fn granted(answer: StoreResult<LeaseAnswer>) -> Epoch {
    match answer.expect("a claim is answered") {
        LeaseAnswer::Granted(epoch) => epoch,
        LeaseAnswer::Held(lease) => panic!("the lease should be granted, but {lease:?} holds it"),
    }
}

#[track_caller]
pub(super) fn held(answer: StoreResult<LeaseAnswer>) -> Lease {
    match answer.expect("a claim is answered") {
        LeaseAnswer::Held(lease) => *lease,
        LeaseAnswer::Granted(epoch) => panic!("the lease should be held, but {epoch:?} was granted"),
    }
}

#[track_caller]
pub(super) fn new(receipt: Receipt) -> Seq {
    match receipt {
        Receipt::New(seq) => seq,
        Receipt::Known => panic!("the input should be new"),
    }
}

#[track_caller]
pub(super) fn fenced<T: std::fmt::Debug>(answer: StoreResult<T>) {
    assert!(matches!(answer, Err(StoreError::Fenced { .. })), "should be fenced: {answer:?}");
}

#[track_caller]
pub(super) fn overtaken<T: std::fmt::Debug>(answer: StoreResult<T>) {
    assert!(matches!(answer, Err(StoreError::Overtaken(_))), "should be overtaken: {answer:?}");
}

#[track_caller]
pub(super) fn already_processed<T: std::fmt::Debug>(answer: StoreResult<T>) {
    assert!(matches!(answer, Err(StoreError::AlreadyProcessed)), "should be processed already: {answer:?}");
}
