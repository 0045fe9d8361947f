//! The sent log, as one process leaves it and the next one finds it.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::file::MAX_RECORDS;
use super::*;
use crate::key::ConversationKey;
use crate::store::{MemoryStore, Outgoing, OutgoingExtras, Settlement};
use crate::testing::conformance::fixture::message;
use crate::testing::holder;

const BOT: i64 = 7;

/// A memory store with a sent log. Its first few `settle` calls fail.
#[derive(Debug)]
struct Bench {
    store: MemoryStore,
    files: LogFiles,
    refusals: AtomicUsize,
}

impl StoreLayer for Bench {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    fn settle(&self, epoch: Epoch, settled: Vec<Settled>, at: Millis) -> Answer<'_, ()> {
        let refused = self.refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match refused {
            Ok(_) => Box::pin(async { Err(unavailable("a broken connection")) }),
            Err(_) => self.store.settle(epoch, settled, at),
        }
    }
}

impl Logged for Bench {
    fn log_files(&self) -> Option<LogFiles> {
        Some(self.files.clone())
    }
}

fn beside(folder: &tempfile::TempDir) -> LogFiles {
    LogFiles::beside(&folder.path().join("opora.db"))
}

fn log_of(store: MemoryStore, files: LogFiles, refusals: usize) -> SentLog<Bench> {
    SentLog::around(Bench { store, files, refusals: AtomicUsize::new(refusals) })
}

fn records(ids: &[i64]) -> Vec<Record> {
    ids.iter().map(|id| Record { id: OutboxId(*id), message: 0 }).collect()
}

/// The log file of a killed process.
fn killed(files: &LogFiles, epoch: i64, ids: &[i64]) -> LogFile {
    let file = files.begin(BOT, Epoch(epoch)).unwrap();
    file.append(&records(ids)).unwrap();
    file
}

/// What the next leader finds.
fn left(files: &LogFiles, epoch: i64) -> EarlierLogs {
    files.earlier_logs(BOT, Epoch(epoch)).unwrap()
}

fn ids(left: &EarlierLogs) -> Vec<i64> {
    let mut ids: Vec<_> = left.records.iter().map(|record| record.id.0).collect();
    ids.sort_unstable();
    ids
}

fn said(label: &str) -> Outgoing {
    message(5, label).with(OutgoingExtras { label: Some(label.into()), ..OutgoingExtras::default() })
}

/// Claims the first lease and posts messages.
async fn posted(store: &dyn Store, labels: &[&str]) -> (Epoch, Vec<OutboxId>) {
    let claimed = store.claim(BOT, &holder("a"), None).await.unwrap();
    let LeaseAnswer::Granted(epoch) = claimed else { panic!("it is held") };
    let post = labels.iter().map(|label| (ConversationKey::private(BOT, 5), said(label))).collect();
    (epoch, store.post(epoch, "once", post, Millis(77)).await.unwrap())
}

async fn waiting(store: &dyn Store) -> Vec<OutboxId> {
    store.unsent(BOT, OutboxId(0), 9).await.unwrap().iter().map(|row| row.id).collect()
}

fn sent(id: OutboxId, labelled: Option<(i64, Box<str>, i64)>) -> Settled {
    Settled { id, outcome: Settlement::Sent { labelled } }
}

#[test]
fn the_next_process_reads_earlier_logs() {
    let folder = tempfile::tempdir().unwrap();
    let files = beside(&folder);
    killed(&files, 3, &[31, 32]);
    killed(&files, 5, &[51]);
    let left = left(&files, 4);
    assert_eq!(ids(&left), [31, 32], "a later lease may be held");
    assert_eq!(left.paths, [folder.path().join("opora.db-sent-7.0.3")]);
}

#[cfg(unix)]
#[test]
fn a_log_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let file = killed(&beside(&folder), 3, &[31]);
    let mode = || std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file.path).unwrap().permissions());
    assert_eq!(mode() & 0o777, 0o600);
    file.append(&records(&vec![32; MAX_RECORDS])).unwrap();
    assert_eq!(mode() & 0o777, 0o600, "also after it was rewritten");
}

#[test]
fn a_truncated_record_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let files = beside(&folder);
    let path = killed(&files, 3, &[31, 32]).path;
    let whole = std::fs::read(&path).unwrap();
    for cut in [17, 24, 31] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert_eq!(ids(&left(&files, 4)), [31]);
    }
}

#[test]
fn a_long_file_is_rewritten_with_unsettled_records() {
    let folder = tempfile::tempdir().unwrap();
    let files = beside(&folder);
    let many = i64::try_from(MAX_RECORDS).unwrap();
    let file = killed(&files, 1, &(0..many).collect::<Vec<_>>());
    file.settled(&(0..many - 1).map(OutboxId).collect::<Vec<_>>());
    file.append(&records(&[many])).unwrap();
    file.append(&records(&[many + 1])).unwrap();
    assert_eq!(ids(&left(&files, 2)), [many - 1, many, many + 1]);
}

#[test]
fn a_lease_ignores_an_older_file_of_its_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let files = beside(&folder);
    killed(&files, 1, &[11]);
    killed(&files, 1, &[12]);
    assert_eq!(ids(&left(&files, 2)), [12]);
}

#[test]
fn a_log_of_another_generation_is_removed_unread() {
    let folder = tempfile::tempdir().unwrap();
    let of = |generation: &str| LogFiles::in_folder(folder.path(), "redis-1", generation);
    killed(&of("before it was emptied"), 1, &[11]);
    killed(&of("since"), 2, &[21]);
    let left = left(&of("since"), 3);
    assert_eq!(ids(&left), [21]);
    assert_eq!(left.paths.len(), 2);
}

#[test]
fn bots_and_stores_that_share_a_folder_have_separate_logs() {
    let folder = tempfile::tempdir().unwrap();
    let of = |store: &str| LogFiles::in_folder(folder.path(), store, "g");
    for (id, (store, bot)) in [("redis-1", 7), ("redis-1", 77), ("redis-12", 7), ("postgres-1", 7)].iter().enumerate() {
        let file = of(store).begin(*bot, Epoch(1)).unwrap();
        file.append(&records(&[i64::try_from(id).unwrap()])).unwrap();
    }
    let left = left(&of("redis-1"), 2);
    assert_eq!(ids(&left), [0]);
    assert_eq!(left.paths.len(), 1);
}

#[test]
fn forget_from_removes_later_logs_of_all_bots() {
    let folder = tempfile::tempdir().unwrap();
    let of = |generation: &str| LogFiles::in_folder(folder.path(), "postgres-1", generation);
    killed(&of("g"), 1, &[11]);
    killed(&of("g"), 2, &[21]);
    of("g").begin(BOT + 1, Epoch(3)).unwrap().append(&records(&[31])).unwrap();
    killed(&of("h"), 4, &[41]);
    of("g").forget_from(Epoch(2)).unwrap();
    assert_eq!(ids(&left(&of("g"), 9)), [11]);
    assert_eq!(ids(&left(&of("h"), 9)), [41]);
    assert!(of("g").earlier_logs(BOT + 1, Epoch(9)).unwrap().records.is_empty());
}

#[test]
fn a_failed_write_spoils_no_later_record() {
    let folder = tempfile::tempdir().unwrap();
    let files = beside(&folder);
    let file = killed(&files, 1, &[11]);
    // A disk that became full in the middle of a record.
    file.written.lock().is_torn = true;
    std::fs::OpenOptions::new().append(true).open(&file.path).unwrap().write_all(&[1, 2, 3]).unwrap();
    file.append(&records(&[12])).unwrap();
    assert_eq!(ids(&left(&files, 2)), [11, 12]);
    // A folder that does not exist.
    let nowhere = LogFile::at(Path::new("/nowhere/opora.db-sent-7.0.2").to_owned());
    assert!(nowhere.append(&records(&[21])).is_err());
    assert!(!nowhere.has(&[OutboxId(21)]));
}

#[test]
fn an_unfinished_rewrite_is_removed_unread() {
    let folder = tempfile::tempdir().unwrap();
    let files = beside(&folder);
    let bytes: Vec<u8> = records(&[31]).into_iter().flat_map(Record::bytes).collect();
    std::fs::write(folder.path().join("opora.db-sent-7.0.3.new"), bytes).unwrap();
    let left = left(&files, 4);
    assert!(ids(&left).is_empty());
    assert_eq!(left.paths.len(), 1);
}

#[tokio::test]
async fn closing_removes_a_settled_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_of(MemoryStore::new(), beside(&folder), 0);
    let store: &dyn Store = &log;
    let (epoch, ids) = posted(store, &["menu", "list"]).await;
    let menu = sent(ids[0], Some((5, "menu".into(), 900)));
    let list = sent(ids[1], None);
    let failed = Settled { id: OutboxId(1), outcome: Settlement::Failed("blocked".into()) };
    store.log_sent(epoch, &[menu.clone(), list.clone(), failed]).await.unwrap();
    let file = log.file(epoch).unwrap();
    assert!(file.has(&ids));
    assert!(!file.has(&[OutboxId(1)]), "it was not sent");
    store.settle(epoch, vec![menu], Millis(78)).await.unwrap();
    store.close().await.unwrap();
    assert!(file.path.exists(), "one of them is not settled");
    store.settle(epoch, vec![list], Millis(78)).await.unwrap();
    store.close().await.unwrap();
    assert!(!file.path.exists());
}

#[tokio::test]
async fn a_label_is_settled_only_with_an_unsettled_message() {
    let folder = tempfile::tempdir().unwrap();
    let files = beside(&folder);
    let memory = MemoryStore::new();
    let (epoch, ids) = posted(&memory, &["menu", "list", "menu"]).await;
    // Another machine has sent the first one again, as a later message.
    memory.settle(epoch, vec![sent(ids[0], Some((5, "menu".into(), 1000)))], Millis(78)).await.unwrap();
    let logged = [(ids[0], 900), (ids[1], 901), (OutboxId(ids[2].0 + 1), 903)];
    let logged = logged.map(|(id, message)| Record { id, message });
    files.begin(BOT, Epoch(0)).unwrap().append(&logged).unwrap();
    let log = log_of(memory, files, 0);
    assert_eq!(log.begin(BOT, epoch).await.unwrap(), logged.map(|record| record.id));
    let store: &dyn Store = &log;
    assert_eq!(store.labelled(BOT, 5, "menu").await.unwrap(), Some(1000));
    assert_eq!(store.labelled(BOT, 5, "list").await.unwrap(), Some(901));
    assert_eq!(waiting(store).await, [ids[2]]);
}

#[tokio::test(start_paused = true)]
async fn settling_is_retried_a_few_times() {
    for (refusals, is_settled) in [(2, true), (99, false)] {
        let folder = tempfile::tempdir().unwrap();
        let files = beside(&folder);
        let memory = MemoryStore::new();
        let (epoch, ids) = posted(&memory, &["menu"]).await;
        killed(&files, 0, &[ids[0].0]);
        let log = log_of(memory, files.clone(), refusals);
        let begun = log.begin(BOT, epoch).await;
        assert_eq!(begun.is_ok(), is_settled, "{begun:?}");
        assert_eq!(waiting(&log).await.is_empty(), is_settled);
        assert_eq!(left(&files, epoch.0).records.is_empty(), is_settled, "what is not settled is not forgotten");
    }
}
