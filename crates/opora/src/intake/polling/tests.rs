//! A Telegram that talks nonsense.

use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::BoxFuture;

use super::*;
use crate::clock::{Clock, Millis};
use crate::key::DialogueKey;
use crate::mailbox::{Letter, MailboxSettings, Mailboxes, Reader};
use crate::store::{Epoch, MemoryStore, Store, Upload};
use crate::telegram::{ApiAnswer, Download};

/// Answers every call at once, with something that is no update.
#[derive(Debug, Default)]
struct Babble(AtomicU32);

impl Api for Babble {
    fn call<'a>(&'a self, method: &'a str, _: &'a str, _: &'a [Upload]) -> ApiAnswer<'a> {
        panic!("nobody asks for {method}")
    }

    fn long_call<'a>(&'a self, _: &'a str, _: &'a str, _: Duration) -> ApiAnswer<'a> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(RawValue::from_string("[{\"id\":1},7]".to_owned()).unwrap()) })
    }

    fn download<'a>(&'a self, path: &'a str, _: u64) -> BoxFuture<'a, Result<Download, ApiError>> {
        panic!("nobody asks for {path}")
    }
}

struct Nobody;

impl Reader for Nobody {
    fn process<'a>(&'a self, _: &'a DialogueKey, letters: Vec<Letter>) -> BoxFuture<'a, ()> {
        panic!("nobody has sent {letters:?}")
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_without_a_single_update_is_not_asked_for_again_at_once() {
    let babble = Arc::new(Babble::default());
    let store = Arc::new(MemoryStore::new()) as Arc<dyn Store>;
    let mailboxes = Mailboxes::new(Arc::new(Nobody), Arc::clone(&store), MailboxSettings::default());
    let intake = Intake {
        bot: 1,
        epoch: Epoch(1),
        store,
        clock: Clock::set_by_hand(Millis(0)),
        mailboxes,
        unsure: Arc::default(),
        haste: Arc::new(crate::intake::Haste::new(false)),
        arriving: Default::default(),
    };
    let settings = PollingSettings::default();
    let myself = String::new();
    let api = Arc::clone(&babble) as _;
    let allowed = Vec::new();
    let polling = Polling { api, intake, settings, allowed, myself, peeking: None };
    let stop = CancellationToken::new();
    let _ = tokio::time::timeout(Duration::from_secs(60), polling.run(&stop)).await;
    let asked = babble.0.load(Ordering::SeqCst);
    assert!((3..20).contains(&asked), "{asked} times in a minute");
}
