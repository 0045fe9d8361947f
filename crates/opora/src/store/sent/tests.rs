//! Notes as one process leaves them and another finds them.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::store::{Answer, MemoryStore, Settled, StoreLayer};

const BOT: i64 = 7;

/// Notes in a folder, as one process has them.
struct Process {
    notes: SentNotes,
    notebook: Notebook,
}

impl Process {
    fn beside(folder: &tempfile::TempDir) -> Self {
        Self::with(Notebook::beside(&folder.path().join("opora.db")))
    }

    fn with(notebook: Notebook) -> Self {
        Self { notes: SentNotes::default(), notebook }
    }

    fn begin(&self, epoch: i64) {
        begin(&self.notes.0, &self.notebook, BOT, Epoch(epoch)).unwrap();
    }

    fn note(&self, epoch: i64, ids: &[i64]) {
        if self.notes.of(Epoch(epoch)).is_none() {
            self.begin(epoch);
        }
        let ids: Vec<_> = ids.iter().map(|id| [*id]).collect();
        self.notes.of(Epoch(epoch)).unwrap().plain.add(&ids).unwrap();
    }

    fn note_labelled(&self, epoch: i64, sent: &[[i64; 2]]) {
        if self.notes.of(Epoch(epoch)).is_none() {
            self.begin(epoch);
        }
        self.notes.of(Epoch(epoch)).unwrap().labelled.add(sent).unwrap();
    }

    fn settled(&self, epoch: i64, ids: impl Iterator<Item = i64>) {
        self.notes.settled(Epoch(epoch), &ids.map(OutboxId).collect::<Vec<_>>());
    }

    fn left(&self, is_over: impl Fn(i64) -> bool) -> LeftNotes {
        self.notebook.left(BOT, is_over).unwrap()
    }
}

impl LeftNotes {
    fn ids(&self) -> Vec<i64> {
        self.plain.iter().map(|[id]| *id).collect()
    }
}

#[test]
fn another_process_reads_what_this_one_noted() {
    let folder = tempfile::tempdir().unwrap();
    Process::beside(&folder).note(3, &[31, 32]);
    Process::beside(&folder).note(4, &[41]);
    let left = Process::beside(&folder).left(|epoch| epoch != 4);
    assert_eq!(left.ids(), [31, 32], "a lease that is held is somebody else's");
    assert_eq!(left.files, [folder.path().join("opora.db-sent-3")]);
}

#[test]
fn a_number_that_was_cut_off_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    Process::beside(&folder).note(3, &[31, 32]);
    let path = folder.path().join("opora.db-sent-3");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..11]).unwrap();
    assert_eq!(Process::beside(&folder).left(|_| true).ids(), [31]);
}

#[test]
fn a_long_file_is_written_anew_with_what_still_matters() {
    let folder = tempfile::tempdir().unwrap();
    let (process, many) = (Process::beside(&folder), i64::try_from(LONGEST).unwrap());
    process.note(1, &(0..many).collect::<Vec<_>>());
    process.settled(1, 0..many - 1);
    process.note(1, &[many]);
    process.note(1, &[many + 1]);
    let mut ids = process.left(|_| true).ids();
    ids.sort_unstable();
    assert_eq!(ids, [many - 1, many, many + 1]);
}

#[test]
fn what_another_database_left_under_the_same_epoch_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    Process::beside(&folder).note(1, &[11]);
    let process = Process::beside(&folder);
    process.begin(1);
    process.begin(1);
    process.note(1, &[12]);
    assert_eq!(process.left(|_| true).ids(), [12]);
}

#[test]
fn what_another_life_of_a_server_left_is_not_believed_and_goes() {
    let folder = tempfile::tempdir().unwrap();
    let of = |generation: &str| Process::with(Notebook::of_bot(folder.path(), "redis-1", 7, generation));
    of("before it was emptied").note(1, &[11]);
    of("since").note(2, &[21]);
    let left = of("since").left(|epoch| epoch < 3);
    assert_eq!((left.ids(), left.files.len()), (vec![21], 2));
}

#[test]
fn bots_and_servers_that_share_a_folder_know_nothing_of_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let of = |store: &str, bot: i64| Process::with(Notebook::of_bot(folder.path(), store, bot, "g"));
    for (at, (store, bot)) in [("redis-1", 7), ("redis-1", 77), ("redis-12", 7), ("postgres-1", 7)].iter().enumerate() {
        of(store, *bot).note(1, &[i64::try_from(at).unwrap()]);
    }
    let left = of("redis-1", 7).left(|_| true);
    assert_eq!((left.ids(), left.files.len()), (vec![0], 1));
}

#[tokio::test]
async fn a_file_in_which_all_is_settled_goes() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::beside(&folder);
    process.note(1, &[11, 12]);
    process.settled(1, 11..12);
    process.notes.tidy().await.unwrap();
    assert_eq!(process.left(|_| true).ids(), [11, 12]);
    process.settled(1, 12..13);
    process.notes.tidy().await.unwrap();
    assert!(process.left(|_| true).files.is_empty());
}

#[test]
fn what_was_not_written_does_not_count_as_noted_and_harms_nothing_later() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::beside(&folder);
    process.begin(1);
    let notes = process.notes.of(Epoch(1)).unwrap();
    notes.plain.add(&[[11]]).unwrap();
    // A disk that is full in the middle of a number.
    notes.plain.file.lock().is_torn = true;
    std::fs::OpenOptions::new().append(true).open(&notes.plain.path).unwrap().write_all(&[1, 2, 3]).unwrap();
    notes.plain.add(&[[12]]).unwrap();
    let mut ids = process.left(|_| true).ids();
    ids.sort_unstable();
    assert_eq!(ids, [11, 12]);
    // A folder in which nothing can be made.
    std::fs::remove_dir_all(folder.path()).unwrap();
    process.notes.0.lock().insert(Epoch(2), Arc::new(nowhere(&folder)));
    assert!(process.notes.of(Epoch(2)).unwrap().plain.add(&[[21]]).is_err());
    assert!(!process.notes.has(Epoch(2), &[OutboxId(21)]));
}

fn nowhere(folder: &tempfile::TempDir) -> Notes {
    let path = folder.path().join("opora.db-sent-2");
    Notes { plain: Page::at(path.clone()), labelled: Page::at(path.with_extension("labelled")) }
}

#[tokio::test]
async fn labelled_messages_are_noted_with_what_they_became_and_left_to_their_own_bot() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::beside(&folder);
    process.note(3, &[31]);
    process.note_labelled(3, &[[32, 900], [33, 901]]);
    assert!(process.notes.has(Epoch(3), &[31, 32, 33].map(OutboxId)));
    assert!(!process.notes.has(Epoch(3), &[34].map(OutboxId)));
    let left = Process::beside(&folder).left(|_| true);
    assert_eq!((left.ids(), left.labelled, left.files.len()), (vec![31], vec![[32, 900], [33, 901]], 2));
    let other = process.notebook.left(BOT + 1, |_| true).unwrap();
    assert_eq!((other.ids(), other.labelled, other.files.len()), (vec![31], vec![], 1), "labels are a bot's own");
    // Cut off between the two numbers.
    let path = folder.path().join("opora.db-sent-3.labelled-7");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..24]).unwrap();
    assert_eq!(Process::beside(&folder).left(|_| true).labelled, [[32, 900]]);
    process.settled(3, 31..33);
    process.notes.tidy().await.unwrap();
    assert!(path.exists(), "one of them is not settled");
    process.settled(3, 33..34);
    process.notes.tidy().await.unwrap();
    assert!(Process::beside(&folder).left(|_| true).files.is_empty());
}

#[tokio::test]
async fn a_label_is_settled_only_with_a_message_that_still_waits() {
    let (folder, store) = (tempfile::tempdir().unwrap(), MemoryStore::new());
    let epoch = crate::store::Epoch(1);
    let holder = crate::store::Holder {
        host: "here".into(),
        pid: 1,
        process_start: 2,
        boot_id: "boot".into(),
        pid_namespace: "4026531836".into(),
        since: Millis(0),
        token: "a".into(),
        ttl_ms: 10_000,
    };
    assert_eq!(store.claim(BOT, &holder, None).await.unwrap(), crate::store::LeaseAnswer::Granted(epoch));
    let key = crate::key::DialogueKey::private(BOT, 5);
    let said = |label: &str| crate::store::Outgoing {
        chat: Some(5),
        method: "sendMessage".into(),
        body: "{}".into(),
        uploads: Vec::new(),
        if_unsure: Default::default(),
        label: Some(label.into()),
        edits_label: None,
        secret: false,
    };
    let post = ["menu", "list", "menu"].map(|label| (key.clone(), said(label))).to_vec();
    let ids = store.post(epoch, "once", post, Millis(77)).await.unwrap();
    // The first was sent again by another machine, whose next message under the label is a later one.
    let settled = sent(ids[0], Some((5, "menu".into(), 1000)));
    store.settle(epoch, vec![settled], Millis(78)).await.unwrap();
    let noted = [[ids[0].0, 900], [ids[1].0, 901], [ids[2].0 + 1, 903]];
    Process::beside(&folder).note_labelled(0, &noted);
    let process = Process::beside(&folder);
    let taken = process.notes.take_up(process.notebook.clone(), BOT, epoch, |other| other < 1, &store).await.unwrap();
    assert_eq!(taken, noted.map(|[id, _]| OutboxId(id)));
    let labels = [store.labelled(BOT, 5, "menu").await.unwrap(), store.labelled(BOT, 5, "list").await.unwrap()];
    assert_eq!(labels, [Some(1000), Some(901)]);
    let waits: Vec<_> = store.unsent(BOT, OutboxId(0), 9).await.unwrap().iter().map(|row| row.id).collect();
    assert_eq!(waits, [ids[2]]);
}

#[test]
fn a_file_that_was_being_written_anew_is_not_read_and_goes() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("opora.db-sent-3.new"), 31_i64.to_le_bytes()).unwrap();
    let left = Process::beside(&folder).left(|_| true);
    assert_eq!((left.ids(), left.files.len()), (vec![], 1));
}

/// A store that does not settle for a while.
#[derive(Debug)]
struct Unwilling {
    inner: MemoryStore,
    refusals: AtomicUsize,
}

impl StoreLayer for Unwilling {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn settle(&self, _: Epoch, _: Vec<Settled>, _: Millis) -> Answer<'_, ()> {
        let left = self.refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        Box::pin(async move { if left.is_ok() { Err(unavailable("a broken connection")) } else { Ok(()) } })
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_settle_at_once_is_asked_again_and_then_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (refusals, is_settled) in [(2, true), (99, false)] {
        Process::beside(&folder).note(1, &[11]);
        let process = Process::beside(&folder);
        let store = Unwilling { inner: MemoryStore::new(), refusals: AtomicUsize::new(refusals) };
        let settled = process.notes.take_up(process.notebook.clone(), BOT, Epoch(2), |epoch| epoch < 2, &store).await;
        assert_eq!(settled.is_ok(), is_settled, "{settled:?}");
        assert_eq!(
            process.left(|epoch| epoch < 2).ids().is_empty(),
            is_settled,
            "what is not settled is not forgotten"
        );
    }
}
