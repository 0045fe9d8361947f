//! A Telegram that answers without updates.

use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::BoxFuture;

use super::*;
use crate::clock::{Clock, Millis};
use crate::key::ConversationKey;
use crate::mailbox::{InputProcessor, MailboxSettings, Mailboxes, QueuedInput};
use crate::store::{Epoch, MemoryStore, Store, Upload};
use crate::telegram::{ApiAnswer, Download};

/// Answers every call at once, with values that are not updates.
#[derive(Debug, Default)]
struct NoUpdates(AtomicU32);

impl Api for NoUpdates {
    fn call<'a>(&'a self, method: &'a str, _: &'a str, _: &'a [Upload]) -> ApiAnswer<'a> {
        panic!("unexpected call of {method}")
    }

    fn long_call<'a>(&'a self, _: &'a str, _: &'a str, _: Duration) -> ApiAnswer<'a> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(RawValue::from_string("[{\"id\":1},7]".to_owned()).unwrap()) })
    }

    fn download<'a>(&'a self, path: &'a str, _: u64) -> BoxFuture<'a, Result<Download, ApiError>> {
        panic!("unexpected download of {path}")
    }
}

struct NoInputs;

impl InputProcessor for NoInputs {
    fn process<'a>(&'a self, _: &'a ConversationKey, inputs: Vec<QueuedInput>) -> BoxFuture<'a, ()> {
        panic!("unexpected inputs {inputs:?}")
    }
}

#[tokio::test(start_paused = true)]
async fn polling_pauses_after_a_batch_without_updates() {
    let api_calls = Arc::new(NoUpdates::default());
    let store = Arc::new(MemoryStore::new()) as Arc<dyn Store>;
    let mailboxes = Mailboxes::new(Arc::new(NoInputs), Arc::clone(&store), MailboxSettings::default());
    let intake = Intake {
        bot: 1,
        epoch: Epoch(1),
        store,
        clock: Clock::manual(Millis(0)),
        mailboxes,
        unsure: Arc::default(),
        start_early: Arc::new(crate::intake::StartEarly::new(false)),
        inbox_writes: Default::default(),
    };
    let settings = PollingSettings::default();
    let instance = String::new();
    let api = Arc::clone(&api_calls) as _;
    let allowed = Vec::new();
    let polling = Polling { api, intake, settings, allowed, instance, outage_notifier: None };
    let stop = CancellationToken::new();
    let _ = tokio::time::timeout(Duration::from_secs(60), polling.run(&stop)).await;
    let asked = api_calls.0.load(Ordering::SeqCst);
    assert!((3..20).contains(&asked), "{asked} times in a minute");
}
