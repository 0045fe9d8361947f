//! A stage, and a place for what a bot keeps.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use opora::store::{OutboxId, OutboxRow, Outgoing, Store};
use opora_emulator::world::event::Entry;
use opora_testkit::{stage, waiting};
use serde_json::{Value, json};

use super::keeper::{Keeper, Kind};

pub use opora_testkit::stage::{BOT, TOKEN};

/// Long enough for a machine with a lot to do, short enough to notice that nothing comes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Begins what people are told who have to wait for a store that is away, beside their dialogue.
const ONE_MOMENT: &str = "One moment";

/// A world to test a bot in.
pub struct Stage {
    emulator: stage::Stage,
    pub keeper: Keeper,
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
        Self::on(Kind::Sqlite).await
    }

    /// One whose bot keeps its state in a store of this kind.
    pub async fn on(kind: Kind) -> Arc<Self> {
        Self::with(&std::env::temp_dir(), kind).await
    }

    /// One whose bot keeps its state in this folder.
    pub async fn within(parent: &Path) -> Arc<Self> {
        Self::with(parent, Kind::Sqlite).await
    }

    async fn with(parent: &Path, kind: Kind) -> Arc<Self> {
        let emulator = stage::Stage::new().await;
        let folder = tempfile::tempdir_in(parent).unwrap();
        let keeper = Keeper::start(kind, &folder.path().join("state.db")).await;
        Arc::new(Self { emulator, keeper, folder })
    }

    /// The address of the bot's store.
    pub fn address(&self) -> String {
        self.keeper.address()
    }

    /// Where the bot keeps files.
    pub fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    /// The bot's store; whoever opens it closes it.
    pub async fn store(&self) -> Arc<dyn Store> {
        opora::store::open(&self.address()).await.unwrap()
    }

    /// Waits until everything was taken, answered and noted as sent.
    pub async fn is_settled(&self) {
        let store = self.store().await;
        until_so("everything is settled", async || {
            let numbers = store.statistics(Some(BOT)).await.unwrap();
            self.unacknowledged() == 0 && (numbers.inbox, numbers.outbox) == (0, 0)
        })
        .await;
        store.close().await.unwrap();
    }

    /// How many messages were sent and are not known as sent: so many may come twice after the end of a process. Only for a
    /// store that nobody holds.
    pub async fn in_the_act(&self) -> usize {
        let store = self.store().await;
        let in_the_act = self.in_the_act_of(&store).await;
        store.close().await.unwrap();
        in_the_act
    }

    /// The same, by a store that was opened before. Others may wait for the lease as long as they stand still.
    pub async fn in_the_act_of(&self, store: &Arc<dyn Store>) -> usize {
        self.is_hung_up().await;
        let rows = rows(store).await;
        let noted = self.keeper.noted();
        self.sent_and_not_noted(rows, &noted).await
    }

    /// How many of these messages were heard and are not known as sent.
    pub async fn sent_and_not_noted(&self, rows: Vec<OutboxRow>, noted: &BTreeSet<i64>) -> usize {
        let mut by_chat: BTreeMap<i64, Vec<OutboxRow>> = BTreeMap::new();
        for row in rows {
            // Nobody sees it if anything else comes twice.
            if let (Some(chat), "sendMessage") = (row.outgoing.chat, &*row.outgoing.method)
                && !row.outgoing.body.contains(ONE_MOMENT)
            {
                by_chat.entry(chat).or_default().push(row);
            }
        }
        let mut in_the_act = 0;
        for (chat, rows) in by_chat {
            let mut heard = self.transcript(chat).await;
            heard.retain(|text| !text.starts_with(ONE_MOMENT));
            in_the_act += unnoted(&rows, noted, &heard);
        }
        in_the_act
    }

    /// The messages that are said and not known as sent, whether anybody has begun to send them or not.
    pub async fn unsettled(&self, store: &Arc<dyn Store>) -> Vec<OutboxRow> {
        let noted = self.keeper.noted();
        rows(store).await.into_iter().filter(|row| !noted.contains(&row.id.0)).collect()
    }

    /// Waits until the emulator has read everything that a process which is gone or stands still has sent it: until then
    /// its side of a connection waits to be closed, or has bytes that it has not read.
    pub async fn is_hung_up(&self) {
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

    /// What the bot has said in a chat so far, in order.
    pub async fn transcript(&self, chat: i64) -> Vec<String> {
        let messages = self.get(&format!("/chats/{chat}/messages?after=0&limit=1000000")).await;
        let said = messages.as_array().unwrap().iter().filter(|message| message["from"]["is_bot"] == true);
        said.map(|message| message["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Waits until the bot has said something that contains these words.
    pub async fn hears(&self, chat: i64, words: &str) {
        until_so(&format!("`{words}` in {chat}"), async || {
            self.transcript(chat).await.iter().any(|text| text.contains(words))
        })
        .await;
    }

    /// How much has been said by everybody, in all chats.
    pub fn said(&self) -> i64 {
        self.world(|world| world.chats().map(|chat| i64::from(chat.last_message_id)).sum())
    }

    /// The last message of every chat.
    pub fn last_said(&self) -> HashMap<i64, i64> {
        self.world(|world| world.chats().map(|chat| (chat.id, i64::from(chat.last_message_id))).collect())
    }

    /// Waits until so much more has been said; false if that does not happen in time.
    pub async fn goes_on(&self, more: i64, patience: Duration) -> bool {
        let wanted = self.said() + more;
        let waiting = async {
            while self.said() < wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(patience, waiting).await.is_ok()
    }

    /// How many ordered faults have not struck.
    pub fn faults_left(&self) -> usize {
        self.world(|world| world.faults.active().len())
    }

    /// The latest calls that sent a message: number, time, chat, and whether it was told to wait.
    pub fn sends(&self) -> Vec<SendCall> {
        let entries = self.world(|world| world.log.newest(usize::MAX));
        let send = |entry: &Arc<Entry>| match &**entry {
            Entry::Call(call) if &*call.method == "sendMessage" => Some(SendCall {
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

/// A call that sends a message, as the emulator has noted it.
#[derive(Clone, Copy, Debug)]
pub struct SendCall {
    pub id: u64,
    pub at_ms: i64,
    pub chat: i64,
    pub is_told_to_wait: bool,
}

/// The messages that a store has to send.
pub async fn rows(store: &Arc<dyn Store>) -> Vec<OutboxRow> {
    let mut rows: Vec<OutboxRow> = Vec::new();
    loop {
        let page = store.unsent(BOT, rows.last().map(|row| row.id).unwrap_or_default(), 1000).await.unwrap();
        if page.is_empty() {
            return rows;
        }
        rows.extend(page);
    }
}

/// How many rows of a chat were heard and are not known as sent. One that is known may still be in its store, and others
/// that are in no store any more were sent after it: so the rest is also looked at alone, and the more counts.
fn unnoted(rows: &[OutboxRow], noted: &BTreeSet<i64>, heard: &[String]) -> usize {
    let unknown: Vec<_> = rows.iter().filter(|row| !noted.contains(&row.id.0)).cloned().collect();
    let among_all = &rows[..sent(rows, heard)];
    let among_all = among_all.iter().filter(|row| !noted.contains(&row.id.0)).count();
    among_all.max(sent(&unknown, heard))
}

#[test]
fn what_was_sent_behind_something_known_is_counted() {
    let row = |id: i64| {
        let body = json!({"chat_id": 5, "text": format!("message {id}")}).to_string();
        let outgoing = Outgoing { body: body.into(), ..crate::postgres_store::message(5, "") };
        let key = opora::key::DialogueKey::private(BOT, 5);
        OutboxRow { id: OutboxId(id), key, outgoing, was_sending: false, at: opora::clock::Millis(0) }
    };
    let heard: Vec<_> = (1..=3).map(|id| format!("message {id}")).collect();
    // The first is known and still in its store, the second was settled, the third was in the act.
    assert_eq!(unnoted(&[row(1), row(3)], &[1].into(), &heard), 1);
    assert_eq!(unnoted(&[row(2), row(3)], &[2].into(), &heard), 1);
    assert_eq!(unnoted(&[row(3), row(4)], &[3].into(), &heard), 0);
    assert_eq!(unnoted(&[row(2), row(3), row(4)], &[].into(), &heard), 2);
}

/// How many rows of a chat, which are sent in their order, are the last that it heard.
fn sent(rows: &[OutboxRow], heard: &[String]) -> usize {
    let text = |row: &OutboxRow| serde_json::from_str::<Value>(&row.outgoing.body).unwrap()["text"].take();
    let texts: Vec<_> = rows.iter().map(text).collect();
    let is_heard = |count: &usize| {
        let last = &heard[heard.len() - count..];
        last.iter().zip(&texts).all(|(heard, said)| said.as_str() == Some(heard))
    };
    (1..=texts.len().min(heard.len())).rev().find(is_heard).unwrap_or_default()
}

/// Waits until something is so; there is no event for it.
pub async fn until(what: &str, is_so: impl Fn() -> bool) {
    until_so(what, async || is_so()).await;
}

/// Waits until something is so that has to be asked for.
pub async fn until_so(what: &str, is_so: impl AsyncFn() -> bool) {
    waiting::until_some(what, PATIENCE, async || is_so().await.then_some(())).await;
}
