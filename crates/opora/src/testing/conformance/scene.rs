//! What the cases are told in: people, updates, turns, and everything that a store shows of itself.

use std::sync::Arc;

use super::Subject;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{
    Commit, Committed, ConversationRow, Effect, EffectId, EffectRow, Epoch, Filter, IfUnsure, InboxRow, Incoming,
    Lease, LeaseAnswer, Mark, Opened, OperatorStore, Origin, OutboxId, OutboxRow, Outgoing, Parked, ParkedId, Place,
    Receipt, Seq, StateChange, Statistics, Store, StoreError, StoreResult, Stored, Taken, TimerChange, TimerRow,
    Transition, TransitionRow, Version,
};

pub(super) use crate::testing::holder;

/// The bot of the cases; ids of Telegram go beyond 32 bits.
pub(super) const BOT: i64 = 7_000_000_001;
/// Another bot in the same store.
pub(super) const OTHER_BOT: i64 = 7_000_000_002;
/// More rows than a case puts anywhere.
pub(super) const ALL: usize = 10_000;
/// After everything.
pub(super) const END_OF_TIME: Millis = Millis(i64::MAX);

/// A store with an instance that holds the lease.
pub(super) struct Scene {
    subject: Subject,
    pub(super) epoch: Epoch,
}

/// All that a store shows of one bot.
#[derive(Debug, PartialEq)]
pub(super) struct Everything {
    inbox: Vec<InboxRow>,
    conversations: Vec<ConversationRow>,
    opened: Vec<Opened>,
    unsent: Vec<OutboxRow>,
    effects: Vec<EffectRow>,
    timers: Vec<TimerRow>,
    expiring: Vec<DialogueKey>,
    transitions: Vec<TransitionRow>,
    parked: Vec<Parked>,
    pub(super) statistics: Statistics,
}

impl Scene {
    /// An instance claims the lease of an empty store.
    pub(super) async fn open(subject: Subject) -> Self {
        let epoch = granted(subject.store().claim(BOT, &holder("first"), None).await);
        Self { subject, epoch }
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        self.subject.store()
    }

    pub(super) fn operator(&self) -> &dyn OperatorStore {
        self.store().operator()
    }

    /// Another instance takes the lease over; answers its epoch.
    pub(super) async fn take_over(&self) -> Epoch {
        let seen = self.lease().await;
        granted(self.store().claim(BOT, &holder("second"), Some(&seen)).await)
    }

    /// The process ends and another one goes on.
    pub(super) async fn restart(&mut self) {
        self.subject.restart().await;
        self.epoch = self.take_over().await;
    }

    pub(super) async fn lease(&self) -> Lease {
        self.store().lease(BOT).await.expect("the lease can be read").expect("somebody holds the lease")
    }

    pub(super) async fn receive(&self, incoming: Incoming) -> Seq {
        new(self.receive_all(vec![incoming]).await[0])
    }

    pub(super) async fn receive_all(&self, batch: Vec<Incoming>) -> Vec<Receipt> {
        self.store().receive(self.epoch, batch).await.expect("a batch is received")
    }

    pub(super) async fn state(&self, key: &DialogueKey) -> (Version, Option<Stored>) {
        match self.store().open(key, None).await.expect("a conversation opens") {
            Opened::At { version, stored } => (version, stored),
            Opened::AlreadyTaken => panic!("without a mark nothing can be taken already"),
        }
    }

    pub(super) async fn version(&self, key: &DialogueKey) -> Version {
        self.state(key).await.0
    }

    pub(super) async fn try_commit(&self, commit: Commit) -> StoreResult<Committed> {
        self.store().commit(self.epoch, commit).await
    }

    pub(super) async fn commit(&self, commit: Commit) -> Committed {
        self.try_commit(commit).await.expect("a turn commits")
    }

    /// A turn that takes nothing, at the version that the conversation has now.
    pub(super) async fn turn(&self, key: &DialogueKey, fill: impl FnOnce(&mut Commit)) -> Committed {
        let mut commit = Commit::new(key.clone(), self.version(key).await, at(1));
        fill(&mut commit);
        self.commit(commit).await
    }

    /// An update comes and its turn commits.
    pub(super) async fn heard(&self, key: &DialogueKey, update_id: i64, fill: impl FnOnce(&mut Commit)) -> Taken {
        let taken = self.waiting_update(key, update_id).await;
        let takes = vec![taken.clone()];
        self.turn(key, |commit| {
            commit.takes = takes;
            fill(commit);
        })
        .await;
        taken
    }

    /// An update comes and waits; answers what its turn will take.
    pub(super) async fn waiting_update(&self, key: &DialogueKey, update_id: i64) -> Taken {
        let seq = self.receive(update(key, update_id)).await;
        Taken::Update { seq, mark: mark(key.bot, update_id) }
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

    pub(super) async fn expired(&self, now: Millis) -> Vec<DialogueKey> {
        self.store().expired(BOT, now, ALL).await.expect("ends of life can be read")
    }

    pub(super) async fn transitions(&self) -> Vec<TransitionRow> {
        self.operator().transitions(BOT, 0, ALL).await.expect("transitions can be read")
    }

    pub(super) async fn parked(&self) -> Vec<Parked> {
        self.store().parked(Some(BOT), ALL).await.expect("parked turns can be read")
    }

    pub(super) async fn statistics(&self) -> Statistics {
        self.store().statistics(Some(BOT)).await.expect("the store counts")
    }

    pub(super) async fn everything(&self) -> Everything {
        let all = Filter { bot: Some(BOT), ended: true, ..Filter::default() };
        let mut opened = Vec::new();
        // The people of the cases, listed or not.
        for key in (101..=103).map(person) {
            opened.push(self.store().open(&key, None).await.expect("a conversation opens"));
        }
        Everything {
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

    pub(super) async fn is_taken(&self, key: &DialogueKey, mark: &Mark) -> bool {
        self.store().open(key, Some(mark)).await.expect("a conversation opens") == Opened::AlreadyTaken
    }
}

/// Minutes after the cases begin.
pub(super) fn at(minutes: i64) -> Millis {
    Millis(1_700_000_000_000 + minutes * 60_000)
}

/// A person in a private chat.
pub(super) fn person(user: i64) -> DialogueKey {
    DialogueKey::private(BOT, user)
}

pub(super) fn mark(bot: i64, update_id: i64) -> Mark {
    Mark { bot, update_id, identity: format!("message:{update_id}:1700000000").into() }
}

pub(super) fn update(key: &DialogueKey, update_id: i64) -> Incoming {
    let body = format!(r#"{{"update_id":{update_id},"message":{{"text":"hello"}}}}"#);
    let origin = Origin::Update(mark(key.bot, update_id));
    Incoming { key: key.clone(), origin, body: body.into(), at: at(0) }
}

pub(super) fn place(dialogue: &str, state: &str) -> Place {
    Place { dialogue: dialogue.into(), state: state.into() }
}

/// A state with a value, without an end of life.
pub(super) fn state(value: &str) -> Stored {
    let value = serde_json::json!({ "value": value }).to_string();
    Stored { value: value.into(), places: vec![place("survey", "asked")], expires_at: None }
}

pub(super) fn set(value: &str) -> StateChange {
    StateChange::Set(state(value))
}

pub(super) fn message(chat: i64, text: &str) -> Outgoing {
    Outgoing {
        chat: Some(chat),
        method: "sendMessage".into(),
        body: serde_json::json!({ "chat_id": chat, "text": text }).to_string().into(),
        uploads: Vec::new(),
        if_unsure: IfUnsure::Resend,
        label: None,
        edits_label: None,
        secret: false,
    }
}

pub(super) fn timer(name: &str, due_at: Millis) -> TimerChange {
    TimerChange::Set { name: name.into(), due_at, body: r#"{"entry":1}"#.into() }
}

pub(super) fn effect(kind: &str) -> Effect {
    Effect { kind: kind.into(), body: r#"{"file_id":"A"}"#.into() }
}

pub(super) fn outcome(key: &DialogueKey, effect: EffectId) -> Incoming {
    Incoming { key: key.clone(), origin: Origin::Outcome(effect), body: r#"{"ok":true}"#.into(), at: at(2) }
}

pub(super) fn transition(to: &str) -> Transition {
    Transition { from: None, to: Some(place("survey", to)), by: "text".into(), took_us: 12 }
}

pub(super) fn parked(key: &DialogueKey, at: Millis) -> Parked {
    Parked {
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

/// Fills a commit with one of each.
pub(super) fn one_of_each(commit: &mut Commit) {
    commit.state = StateChange::Set(Stored { expires_at: Some(at(60)), ..state("whole") });
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
pub(super) fn already_taken<T: std::fmt::Debug>(answer: StoreResult<T>) {
    assert!(matches!(answer, Err(StoreError::AlreadyTaken)), "should be taken already: {answer:?}");
}
