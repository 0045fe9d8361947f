//! The task of a conversation that has something to do: its inputs one after another, until nothing waits.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Notify;

use super::{Letter, Shared};
use crate::key::DialogueKey;
use crate::store::Seq;

/// Telegram's largest album: with so many items there is nothing to wait for.
const ALBUM_ITEMS: usize = 10;

/// What a conversation's task does next.
enum Step {
    Read(Letter),
    LookUp,
    Load { after: Seq, stayed: usize },
    Done,
}

/// Runs a conversation's turns until nothing waits.
pub(super) async fn drain(shared: Arc<Shared>, key: DialogueKey) {
    loop {
        match shared.step(&key) {
            Step::Done => return,
            Step::Load { after, stayed } => shared.load(&key, after, stayed).await,
            Step::LookUp => shared.look_up(&key).await,
            Step::Read(letter) => {
                let letters = match letter.album() {
                    Some(album) => shared.gather(&key, letter, &album).await,
                    None => vec![letter],
                };
                let count = letters.len();
                let seqs: Vec<_> =
                    if shared.shares_inbox { letters.iter().filter_map(Letter::seq).collect() } else { Vec::new() };
                if !shared.closed.load(Ordering::Acquire) {
                    shared.read(&key, letters).await;
                }
                if !seqs.is_empty() {
                    shared.let_go(&key, &seqs);
                }
                shared.done(count);
            }
        }
    }
}

impl Shared {
    /// Takes one input through its turn. Whatever happens there, the conversation's task goes on: nobody else would
    /// read what waits behind it.
    async fn read(&self, key: &DialogueKey, letters: Vec<Letter>) {
        let read = async { self.reader.process(key, letters).await };
        if AssertUnwindSafe(read).catch_unwind().await.is_err() {
            tracing::error!(%key, "a turn panicked where it must not; its input waits for the next start");
        }
    }

    fn step(&self, key: &DialogueKey) -> Step {
        let mut boxes = self.boxes.lock();
        let Some(mailbox) = boxes.get_mut(key) else { return Step::Done };
        if self.closed.load(Ordering::Acquire) {
            boxes.remove(key);
            return Step::Done;
        }
        if mailbox.looks_now() {
            return Step::LookUp;
        }
        if let Some(letter) = mailbox.take() {
            return Step::Read(letter);
        }
        if mailbox.stayed > 0 {
            let first = mailbox.first_stayed.unwrap_or_default();
            return Step::Load { after: Seq(first.0.saturating_sub(1)), stayed: mailbox.stayed };
        }
        boxes.remove(key);
        Step::Done
    }

    /// Reads on in the inbox where the queue was full.
    async fn load(&self, key: &DialogueKey, after: Seq, stayed: usize) {
        let limit = self.settings.per_dialogue;
        let rows = match self.store.waiting_for(key, after, limit).await {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(%key, %error, "cannot read what waits; trying again");
                tokio::time::sleep(Duration::from_secs(1)).await;
                return;
            }
        };
        let mut boxes = self.boxes.lock();
        let Some(mailbox) = boxes.get_mut(key) else { return };
        // What came while the store was asked may or may not be among the rows: then it is asked once more.
        let is_all = rows.len() < limit && mailbox.stayed == stayed;
        let still = if is_all { 0 } else { mailbox.stayed.saturating_sub(rows.len()).max(1) };
        let counted = std::mem::replace(&mut mailbox.stayed, still);
        let count = rows.len() + still;
        let came_before = mailbox.first_stayed.filter(|first| *first <= after);
        let read_to = rows.last().map(|last| last.seq);
        if let Some(last) = read_to {
            mailbox.loaded = (after, last);
        }
        mailbox.first_stayed = match read_to {
            _ if is_all => None,
            Some(last) => came_before.or(Some(Seq(last.0 + 1))),
            None => mailbox.first_stayed,
        };
        mailbox.queue.extend(rows.into_iter().map(Letter::Inbox));
        if count > counted {
            self.waiting.fetch_add(count - counted, Ordering::Relaxed);
        } else {
            self.done(counted - count);
        }
    }

    /// Waits until an album has been quiet for a while, and takes its items out of the queue.
    async fn gather(&self, key: &DialogueKey, first: Letter, album: &str) -> Vec<Letter> {
        let arrived = Arc::new(Notify::new());
        let mut letters = vec![first];
        loop {
            self.look_up_if_told(key).await;
            {
                let mut boxes = self.boxes.lock();
                let Some(mailbox) = boxes.get_mut(key) else { return letters };
                let queue = std::mem::take(&mut mailbox.queue);
                for letter in queue {
                    let is_item = letters.len() < ALBUM_ITEMS && letter.album().as_deref() == Some(album);
                    if is_item { letters.push(letter) } else { mailbox.queue.push(letter) }
                }
                mailbox.gathering = Some(Arc::clone(&arrived));
            }
            let is_full = letters.len() >= ALBUM_ITEMS || self.closed.load(Ordering::Acquire);
            let quiet = is_full || tokio::time::timeout(self.settings.album_quiet, arrived.notified()).await.is_err();
            if quiet {
                if let Some(mailbox) = self.boxes.lock().get_mut(key) {
                    mailbox.gathering = None;
                }
                letters.sort_by_key(Letter::update_id);
                return letters;
            }
        }
    }
}
