//! The courier against a scripted Telegram, with the runtime's time standing still between events.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Courier, CourierSettings, SendEvent, SendLimits};
use crate::clock::{Clock, Millis, timer_now};
use crate::key::DialogueKey;
use crate::store::{Epoch, LeaseAnswer, MemoryStore, OutboxRow, Outgoing, Statistics, Store, Upload, Version};
use crate::telegram::{Api, ApiAnswer, ApiError, Destination, Download, IntoOutgoing, Parameters, Tag, classify};
use crate::testing::holder;

mod broadcast;
mod limits;
mod recovery;
mod sending;

const BOT: i64 = 99;
/// By the runtime's clock, which jumps: nothing here takes that long.
const PATIENCE: Duration = Duration::from_secs(3600);

/// A call as Telegram saw it.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    method: String,
    chat: i64,
    text: String,
    message_id: Option<i64>,
    /// Since the stage was made.
    after: Duration,
}

/// Telegram, as a test wants it: answers by chat in the order given, and then always yes.
#[derive(Debug)]
struct Fake {
    start: Instant,
    seen: Mutex<Vec<Seen>>,
    answers: Mutex<HashMap<i64, VecDeque<Answer>>>,
    takes: Duration,
    message_ids: AtomicI64,
    under_way: Mutex<Vec<i64>>,
}

#[derive(Debug)]
enum Answer {
    Error(ApiError),
    Never,
}

impl Fake {
    fn new(takes: Duration) -> Self {
        Self {
            start: timer_now(),
            seen: Mutex::default(),
            answers: Mutex::default(),
            takes,
            message_ids: AtomicI64::new(0),
            under_way: Mutex::default(),
        }
    }

    fn answers(&self, chat: i64, answer: Answer) {
        self.answers.lock().entry(chat).or_default().push_back(answer);
    }

    fn refuses(&self, chat: i64, code: u16, words: &str) {
        self.answers(chat, Answer::Error(classify(code, words, Parameters::default())));
    }

    fn see(&self, method: &str, body: &str) -> Seen {
        #[derive(Deserialize)]
        struct Body {
            #[serde(default)]
            chat_id: i64,
            #[serde(default)]
            text: String,
            message_id: Option<i64>,
        }
        let Body { chat_id, text, message_id } = serde_json::from_str(body).unwrap();
        let after = timer_now() - self.start;
        let seen = Seen { method: method.to_owned(), chat: chat_id, text, message_id, after };
        self.seen.lock().push(seen.clone());
        seen
    }
}

impl Api for Fake {
    fn call<'a>(&'a self, method: &'a str, body: &'a str, _: &'a [Upload]) -> ApiAnswer<'a> {
        Box::pin(async move {
            let chat = self.see(method, body).chat;
            let alone = {
                let mut under_way = self.under_way.lock();
                under_way.push(chat);
                chat == 0 || under_way.iter().filter(|other| **other == chat).count() == 1
            };
            assert!(alone, "two calls to chat {chat} at once");
            tokio::time::sleep(self.takes).await;
            let answer = self.answers.lock().get_mut(&chat).and_then(VecDeque::pop_front);
            if let Some(Answer::Never) = answer {
                std::future::pending::<()>().await;
            }
            self.under_way.lock().retain(|other| *other != chat);
            match answer {
                Some(Answer::Error(error)) => Err(error),
                _ => {
                    let id = self.message_ids.fetch_add(1, Ordering::SeqCst) + 1;
                    Ok(RawValue::from_string(format!("{{\"message_id\":{id}}}")).unwrap())
                }
            }
        })
    }

    fn long_call<'a>(&'a self, method: &'a str, body: &'a str, _: Duration) -> ApiAnswer<'a> {
        self.call(method, body, &[])
    }

    fn download<'a>(&'a self, _: &'a str, _: u64) -> BoxFuture<'a, Result<Download, ApiError>> {
        Box::pin(async { Err(ApiError::NotSent("no files here".into())) })
    }
}

/// A courier with its store and its Telegram.
struct Stage {
    api: Arc<Fake>,
    store: Arc<dyn Store>,
    epoch: Epoch,
    courier: Courier,
    events: mpsc::UnboundedReceiver<SendEvent>,
    lease_ms: Arc<AtomicI64>,
    posts: u64,
}

fn off() -> CourierSettings {
    CourierSettings { limits: SendLimits::Off, ..CourierSettings::default() }
}

impl Stage {
    async fn new(settings: CourierSettings) -> Self {
        Self::over(Arc::new(MemoryStore::new()), settings).await
    }

    /// An instance that takes the store over from any earlier one.
    async fn over(store: Arc<dyn Store>, settings: CourierSettings) -> Self {
        Self::with(store, settings, Duration::from_millis(1)).await
    }

    async fn with(store: Arc<dyn Store>, settings: CourierSettings, takes: Duration) -> Self {
        let epoch = claimed(&*store).await;
        let api = Arc::new(Fake::new(takes));
        let (tell, events) = mpsc::unbounded_channel();
        let lease_ms = Arc::new(AtomicI64::new(30_000));
        let left = Arc::clone(&lease_ms);
        let lease = Arc::new(move || Duration::from_millis(left.load(Ordering::SeqCst).unsigned_abs()));
        let clock = Clock::set_by_hand(Millis(1_000));
        let courier = Courier::new(settings, api.clone(), store.clone(), BOT, epoch, lease, clock, tell);
        Self { api, store, epoch, courier, events, lease_ms, posts: 0 }
    }

    /// Commits rows and gives them back without telling the courier.
    async fn commit(&mut self, calls: Vec<Outgoing>) -> Vec<OutboxRow> {
        self.posts += 1;
        let once = format!("test:{}:{}", self.epoch.0, self.posts);
        let keyed = |call: &Outgoing| DialogueKey::private(BOT, call.chat.unwrap_or(0));
        let rows: Vec<_> = calls.into_iter().map(|call| (keyed(&call), call)).collect();
        let ids = self.store.post(self.epoch, &once, rows.clone(), Millis(1_000)).await.unwrap();
        let row = |((key, outgoing), id)| OutboxRow { id, key, outgoing, was_sending: false, at: Millis(1_000) };
        rows.into_iter().zip(ids).map(row).collect()
    }

    /// Commits rows and brings them to the courier.
    async fn send(&mut self, calls: Vec<Outgoing>) {
        let rows = self.commit(calls).await;
        self.courier.enqueue(rows);
    }

    async fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !is_so(self) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("not in time: {what}"));
    }

    /// Waits until every row is settled.
    async fn settled(&self) {
        self.until("everything settled", |stage| stage.courier.waiting() == 0).await;
    }

    /// Waits until the store has nothing left to send.
    async fn settled_all(&self) {
        let waiting = async {
            while self.statistics().await.outbox > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("not in time: an empty outbox");
    }

    fn seen(&self) -> Vec<Seen> {
        self.api.seen.lock().clone()
    }

    fn texts_to(&self, chat: i64) -> Vec<String> {
        self.seen().into_iter().filter(|seen| seen.chat == chat).map(|seen| seen.text).collect()
    }

    async fn statistics(&self) -> Statistics {
        self.store.statistics(Some(BOT)).await.unwrap()
    }

    fn told(&mut self) -> Vec<SendEvent> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }
}

async fn claimed(store: &dyn Store) -> Epoch {
    let holder = holder(&fastrand::u64(..).to_string());
    let seen = store.lease(BOT).await.unwrap();
    match store.claim(BOT, &holder, seen.as_ref()).await.unwrap() {
        LeaseAnswer::Granted(epoch) => epoch,
        LeaseAnswer::Held(lease) => panic!("held: {lease:?}"),
    }
}

fn to(chat: i64, what: impl IntoOutgoing) -> Outgoing {
    what.into_outgoing(&Destination::chat(chat), &Tag::new(Version(1))).unwrap()
}
