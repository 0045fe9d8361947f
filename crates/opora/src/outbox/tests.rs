//! The courier with a scripted Telegram, in paused Tokio time.

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
use crate::key::ConversationKey;
use crate::store::{Epoch, LeaseAnswer, MemoryStore, OutboxRow, Outgoing, Statistics, Store, Upload, Version};
use crate::telegram::{Api, ApiAnswer, ApiError, Destination, Download, IntoOutgoing, Parameters, Tag, classify};
use crate::testing::holder;

mod broadcast;
mod limits;
mod recovery;
mod sending;

const BOT: i64 = 99;
/// In paused Tokio time, so it passes at once.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// A call that Telegram received.
#[derive(Clone, Debug, PartialEq)]
struct ReceivedCall {
    method: String,
    chat: i64,
    text: String,
    message_id: Option<i64>,
    /// Time since the start of the test.
    after: Duration,
}

/// A scripted Telegram: gives the prepared answers of a chat in order, then always succeeds.
#[derive(Debug)]
struct FakeTelegram {
    start: Instant,
    seen: Mutex<Vec<ReceivedCall>>,
    answers: Mutex<HashMap<i64, VecDeque<Answer>>>,
    latency: Duration,
    message_ids: AtomicI64,
    in_flight: Mutex<Vec<i64>>,
}

#[derive(Debug)]
enum Answer {
    Error(ApiError),
    Never,
}

impl FakeTelegram {
    fn new(latency: Duration) -> Self {
        Self {
            start: timer_now(),
            seen: Mutex::default(),
            answers: Mutex::default(),
            latency,
            message_ids: AtomicI64::new(0),
            in_flight: Mutex::default(),
        }
    }

    fn answers(&self, chat: i64, answer: Answer) {
        self.answers.lock().entry(chat).or_default().push_back(answer);
    }

    fn refuses(&self, chat: i64, code: u16, words: &str) {
        self.answers(chat, Answer::Error(classify(code, words, Parameters::default())));
    }

    fn see(&self, method: &str, body: &str) -> ReceivedCall {
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
        let seen = ReceivedCall { method: method.to_owned(), chat: chat_id, text, message_id, after };
        self.seen.lock().push(seen.clone());
        seen
    }
}

impl Api for FakeTelegram {
    fn call<'a>(&'a self, method: &'a str, body: &'a str, _: &'a [Upload]) -> ApiAnswer<'a> {
        Box::pin(async move {
            let chat = self.see(method, body).chat;
            let alone = {
                let mut in_flight = self.in_flight.lock();
                in_flight.push(chat);
                chat == 0 || in_flight.iter().filter(|other| **other == chat).count() == 1
            };
            assert!(alone, "two calls to chat {chat} at once");
            tokio::time::sleep(self.latency).await;
            let answer = self.answers.lock().get_mut(&chat).and_then(VecDeque::pop_front);
            if let Some(Answer::Never) = answer {
                std::future::pending::<()>().await;
            }
            self.in_flight.lock().retain(|other| *other != chat);
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
    api: Arc<FakeTelegram>,
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

    /// An instance that takes over the store.
    async fn over(store: Arc<dyn Store>, settings: CourierSettings) -> Self {
        Self::with(store, settings, Duration::from_millis(1)).await
    }

    async fn with(store: Arc<dyn Store>, settings: CourierSettings, latency: Duration) -> Self {
        let epoch = claimed(&*store).await;
        let api = Arc::new(FakeTelegram::new(latency));
        let (tell, events) = mpsc::unbounded_channel();
        let lease_ms = Arc::new(AtomicI64::new(30_000));
        let left = Arc::clone(&lease_ms);
        let lease = Arc::new(move || Duration::from_millis(left.load(Ordering::SeqCst).unsigned_abs()));
        let clock = Clock::manual(Millis(1_000));
        let courier = Courier::new(settings, api.clone(), store.clone(), BOT, epoch, lease, clock, tell);
        Self { api, store, epoch, courier, events, lease_ms, posts: 0 }
    }

    /// Commits rows and returns them, without the courier.
    async fn commit(&mut self, calls: Vec<Outgoing>) -> Vec<OutboxRow> {
        self.posts += 1;
        let once = format!("test:{}:{}", self.epoch.0, self.posts);
        let keyed = |call: &Outgoing| ConversationKey::private(BOT, call.chat.unwrap_or(0));
        let rows: Vec<_> = calls.into_iter().map(|call| (keyed(&call), call)).collect();
        let ids = self.store.post(self.epoch, &once, rows.clone(), Millis(1_000)).await.unwrap();
        let row = |((key, outgoing), id)| OutboxRow { id, key, outgoing, was_sending: false, at: Millis(1_000) };
        rows.into_iter().zip(ids).map(row).collect()
    }

    /// Commits rows and adds them to the courier.
    async fn send(&mut self, calls: Vec<Outgoing>) {
        let rows = self.commit(calls).await;
        self.courier.enqueue(rows);
    }

    async fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !condition(self) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("not in time: {what}"));
    }

    /// Waits until every row is settled.
    async fn settled(&self) {
        self.until("everything settled", |stage| stage.courier.waiting() == 0).await;
    }

    /// Waits until the store's outbox is empty.
    async fn settled_all(&self) {
        let waiting = async {
            while self.statistics().await.outbox > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.expect("not in time: an empty outbox");
    }

    fn seen(&self) -> Vec<ReceivedCall> {
        self.api.seen.lock().clone()
    }

    fn texts_to(&self, chat: i64) -> Vec<String> {
        self.seen().into_iter().filter(|seen| seen.chat == chat).map(|seen| seen.text).collect()
    }

    async fn statistics(&self) -> Statistics {
        self.store.statistics(Some(BOT)).await.unwrap()
    }

    fn take_events(&mut self) -> Vec<SendEvent> {
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
