//! An emulator, and the backend of a bot's store.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use opora::store::{OutboxId, OutboxRow, Outgoing, Store};
use opora_emulator::world::event::InspectorEntry;
use opora_testkit::{stage, waiting};
use serde_json::{Value, json};

use super::backend::{Backend, StoreKind};

pub use opora_testkit::stage::{BOT, TOKEN};

/// Deadline of every wait: long enough for a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Start of the message to people who have to wait for a store that is away. It is not part of their dialogue.
const ONE_MOMENT: &str = "One moment";

pub struct Stage {
    emulator: stage::Stage,
    pub backend: Backend,
    folder: tempfile::TempDir,
}

impl Deref for Stage {
    type Target = stage::Stage;

    fn deref(&self) -> &stage::Stage {
        &self.emulator
    }
}

impl Stage {
    pub async fn new() -> Arc<Self> {
        Self::on(StoreKind::Sqlite).await
    }

    /// A stage whose bot uses a store of this kind.
    pub async fn on(kind: StoreKind) -> Arc<Self> {
        Self::with(&std::env::temp_dir(), kind).await
    }

    /// A stage whose bot uses SQLite in this folder.
    pub async fn within(parent: &Path) -> Arc<Self> {
        Self::with(parent, StoreKind::Sqlite).await
    }

    async fn with(parent: &Path, kind: StoreKind) -> Arc<Self> {
        let emulator = stage::Stage::new().await;
        let folder = tempfile::tempdir_in(parent).unwrap();
        let backend = Backend::start(kind, &folder.path().join("state.db")).await;
        Arc::new(Self { emulator, backend, folder })
    }

    pub fn address(&self) -> String {
        self.backend.address()
    }

    pub fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    pub async fn store(&self) -> Arc<dyn Store> {
        opora::store::open(&self.address()).await.unwrap()
    }

    /// Waits until every update is acknowledged, every input processed and every message settled.
    pub async fn wait_until_settled(&self) {
        let store = self.store().await;
        until_async("everything is settled", async || {
            let numbers = store.statistics(Some(BOT)).await.unwrap();
            self.unacknowledged() == 0 && (numbers.inbox, numbers.outbox) == (0, 0)
        })
        .await;
        store.close().await.unwrap();
    }

    /// How many messages were sent without a record of it. So many may come twice after the end of a process. Only for
    /// a store that no process has open.
    pub async fn unrecorded_sends(&self) -> usize {
        let store = self.store().await;
        let unrecorded = self.unrecorded_sends_in(&store).await;
        store.close().await.unwrap();
        unrecorded
    }

    /// Like [`Self::unrecorded_sends`], with an open store. Other instances must be paused.
    pub async fn unrecorded_sends_in(&self, store: &Arc<dyn Store>) -> usize {
        self.wait_for_emulator().await;
        let rows = unsent_rows(store).await;
        let recorded = self.backend.sent_log_ids();
        self.count_unrecorded(rows, &recorded).await
    }

    /// How many of these messages were received by their chat and are not recorded as sent.
    pub async fn count_unrecorded(&self, rows: Vec<OutboxRow>, recorded: &BTreeSet<i64>) -> usize {
        let mut by_chat: BTreeMap<i64, Vec<OutboxRow>> = BTreeMap::new();
        for row in rows {
            // It does not matter if anything else comes twice.
            if let (Some(chat), "sendMessage") = (row.outgoing.chat, &*row.outgoing.method)
                && !row.outgoing.body.contains(ONE_MOMENT)
            {
                by_chat.entry(chat).or_default().push(row);
            }
        }
        let mut unrecorded = 0;
        for (chat, rows) in by_chat {
            let mut received = self.transcript(chat).await;
            received.retain(|text| !text.starts_with(ONE_MOMENT));
            unrecorded += unrecorded_in_chat(&rows, recorded, &received);
        }
        unrecorded
    }

    /// The messages in the outbox that are not recorded as sent, whether sent or not.
    pub async fn unsettled(&self, store: &Arc<dyn Store>) -> Vec<OutboxRow> {
        let recorded = self.backend.sent_log_ids();
        unsent_rows(store).await.into_iter().filter(|row| !recorded.contains(&row.id.0)).collect()
    }

    /// Waits until the emulator has read everything that a killed or paused process has sent. Until then, the
    /// emulator's end of a connection waits to be closed or has unread bytes.
    pub async fn wait_for_emulator(&self) {
        const CLOSE_WAIT: &str = "08";
        const NOTHING_TO_READ: &str = ":00000000";
        let port = self.base.rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
        let place = format!(":{port:04X}");
        until("the emulator has read everything", || {
            let connections = std::fs::read_to_string("/proc/net/tcp").unwrap();
            !connections.lines().any(|line| {
                let mut fields = line.split_whitespace().skip(1);
                let is_ours = fields.next().is_some_and(|local| local.ends_with(&place));
                let (state, queues) = (fields.nth(1), fields.next());
                is_ours
                    && (state == Some(CLOSE_WAIT) || !queues.is_some_and(|queues| queues.ends_with(NOTHING_TO_READ)))
            })
        })
        .await;
    }

    /// The bot's messages in a chat so far, in order.
    pub async fn transcript(&self, chat: i64) -> Vec<String> {
        let messages = self.get(&format!("/chats/{chat}/messages?after=0&limit=1000000")).await;
        let said = messages.as_array().unwrap().iter().filter(|message| message["from"]["is_bot"] == true);
        said.map(|message| message["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Waits for a message of the bot that contains these words.
    pub async fn receives(&self, chat: i64, words: &str) {
        until_async(&format!("`{words}` in {chat}"), async || {
            self.transcript(chat).await.iter().any(|text| text.contains(words))
        })
        .await;
    }

    /// The number of messages in all chats, of the bot and of people.
    pub fn message_count(&self) -> i64 {
        self.world(|world| world.chats().map(|chat| i64::from(chat.last_message_id)).sum())
    }

    /// The id of the last message of every chat.
    pub fn last_message_ids(&self) -> HashMap<i64, i64> {
        self.world(|world| world.chats().map(|chat| (chat.id, i64::from(chat.last_message_id))).collect())
    }

    /// Waits for so many more messages in all chats. False if they do not come in time.
    pub async fn sees_messages(&self, more: i64, timeout: Duration) -> bool {
        let wanted = self.message_count() + more;
        let waiting = async {
            while self.message_count() < wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(timeout, waiting).await.is_ok()
    }

    pub fn faults_left(&self) -> usize {
        self.world(|world| world.faults.active().len())
    }

    pub fn sends(&self) -> Vec<SendCall> {
        let entries = self.world(|world| world.log.newest(usize::MAX));
        let send = |entry: &Arc<InspectorEntry>| match &**entry {
            InspectorEntry::Call(call) if &*call.method == "sendMessage" => Some(SendCall {
                id: call.id,
                at_ms: call.at_ms,
                chat: call.parameters.get("chat_id")?.parse().ok()?,
                is_told_to_wait: call.status == 429,
            }),
            _ => None,
        };
        entries.iter().filter_map(send).collect()
    }
}

/// A `sendMessage` call in the emulator's log.
#[derive(Clone, Copy, Debug)]
pub struct SendCall {
    pub id: u64,
    pub at_ms: i64,
    pub chat: i64,
    pub is_told_to_wait: bool,
}

pub async fn unsent_rows(store: &Arc<dyn Store>) -> Vec<OutboxRow> {
    let mut rows: Vec<OutboxRow> = Vec::new();
    loop {
        let page = store.unsent(BOT, rows.last().map(|row| row.id).unwrap_or_default(), 1000).await.unwrap();
        if page.is_empty() {
            return rows;
        }
        rows.extend(page);
    }
}

/// How many rows of a chat were received and are not recorded as sent. A recorded row may still be in its store while
/// later rows are already gone. So the unrecorded rows are also compared alone, and the higher count is returned.
fn unrecorded_in_chat(rows: &[OutboxRow], recorded: &BTreeSet<i64>, received: &[String]) -> usize {
    let unknown: Vec<_> = rows.iter().filter(|row| !recorded.contains(&row.id.0)).cloned().collect();
    let among_all = &rows[..sent(rows, received)];
    let among_all = among_all.iter().filter(|row| !recorded.contains(&row.id.0)).count();
    among_all.max(sent(&unknown, received))
}

#[test]
fn a_send_after_a_recorded_one_is_counted() {
    let row = |id: i64| {
        let body = json!({"chat_id": 5, "text": format!("message {id}")}).to_string();
        let outgoing = Outgoing { body: body.into(), ..crate::postgres_store::message(5, "") };
        let key = opora::key::ConversationKey::private(BOT, 5);
        OutboxRow { id: OutboxId(id), key, outgoing, was_sending: false, at: opora::clock::Millis(0) }
    };
    let received: Vec<_> = (1..=3).map(|id| format!("message {id}")).collect();
    // The first is recorded and still in its store, the second was settled, the third was sent without a record.
    assert_eq!(unrecorded_in_chat(&[row(1), row(3)], &[1].into(), &received), 1);
    assert_eq!(unrecorded_in_chat(&[row(2), row(3)], &[2].into(), &received), 1);
    assert_eq!(unrecorded_in_chat(&[row(3), row(4)], &[3].into(), &received), 0);
    assert_eq!(unrecorded_in_chat(&[row(2), row(3), row(4)], &[].into(), &received), 2);
}

/// How many of a chat's rows, which are sent in order, are the last messages that it received.
fn sent(rows: &[OutboxRow], received: &[String]) -> usize {
    let text = |row: &OutboxRow| serde_json::from_str::<Value>(&row.outgoing.body).unwrap()["text"].take();
    let texts: Vec<_> = rows.iter().map(text).collect();
    let is_received = |count: &usize| {
        let last = &received[received.len() - count..];
        last.iter().zip(&texts).all(|(received, said)| said.as_str() == Some(received))
    };
    (1..=texts.len().min(received.len())).rev().find(is_received).unwrap_or_default()
}

/// Polls until a condition holds.
pub async fn until(what: &str, is_so: impl Fn() -> bool) {
    until_async(what, async || is_so()).await;
}

/// Polls until an async condition holds.
pub async fn until_async(what: &str, is_so: impl AsyncFn() -> bool) {
    waiting::until_some(what, TIMEOUT, async || is_so().await.then_some(())).await;
}
