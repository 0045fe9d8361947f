//! A person's notices keep their order, also when one of them has to be tried again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opora::clock::{Clock, Millis};
use opora::jobs::{JobRequest, JobState};
use opora::key::ConversationKey;
use opora::store::{self, Epoch, OutboxId, Outgoing, Store, StoreError, StoreLayer};
use workforce::notices::{self, Notice};

use super::chat_notices::{all_are_sent, jobs_of_notices, send_again};
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{BORIS, until};
use crate::kit::firm::{NOON, StorageKind};
use crate::shifts::first_day;

/// An outbox that refuses the first notice once.
#[derive(Debug)]
struct RefusesFirst {
    inner: Arc<dyn Store>,
    has_refused: AtomicBool,
}

impl StoreLayer for RefusesFirst {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(ConversationKey, Outgoing)>,
        at: Millis,
    ) -> store::Answer<'a, Vec<OutboxId>> {
        if once.starts_with("notice-") && !self.has_refused.swap(true, Ordering::SeqCst) {
            return Box::pin(async { Err(StoreError::Unavailable("the store is away".into())) });
        }
        self.inner.post(epoch, once, outgoing, at)
    }
}

fn cancelled() -> Notice {
    Notice::PlanCancelled { site: "Shop".into(), when: first_day("16:00", "18:00") }
}

fn restored() -> Notice {
    Notice::PlanRestored { site: "Shop".into(), when: first_day("16:00", "18:00") }
}

async fn write(cabinet: &Cabinet, news: Vec<Notice>) {
    let boris = cabinet.person(BORIS).await.id;
    let news = news.into_iter().map(|notice| (boris, notice)).collect();
    cabinet.app.domain.write(move |db| Box::pin(notices::write(db, news, NOON))).await.unwrap();
}

/// What Boris reads of his plans.
async fn news(cabinet: &Cabinet) -> Vec<&'static str> {
    let kind = |text: &String| match text {
        text if text.contains("cancelled") => Some("cancelled"),
        text if text.contains("Shop") => Some("restored"),
        _ => None,
    };
    cabinet.emulator.texts(BORIS).await.iter().filter_map(kind).collect()
}

#[tokio::test]
async fn a_failed_notice_still_goes_first() {
    let layer = |inner| Arc::new(RefusesFirst { inner, has_refused: AtomicBool::new(false) }) as Arc<dyn Store>;
    let cabinet = Cabinet::with_store_layer(layer).await;
    write(&cabinet, vec![cancelled(), restored()]).await;
    all_are_sent(&cabinet.app).await;
    let arrived = async |_: &_| (news(&cabinet).await.len() == 2).then_some(());
    cabinet.emulator.until("both arrive", arrived).await;
    send_again(&cabinet.app).await;
    cabinet.app.bot.post("the last", BORIS, "That is all.").await.unwrap();
    cabinet.emulator.receives(BORIS, "That is all.").await;
    assert_eq!(news(&cabinet).await, ["cancelled", "restored"]);
    cabinet.close().await;
}

#[tokio::test]
async fn a_cancelled_notice_is_not_sent_with_a_later_one() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let request = async |request| {
        let store = cabinet.app.domain.store();
        // By the clock of the bot, which would prune a job that was cancelled months ago.
        let now = Clock::machine().now();
        store.operator().request_jobs(cabinet.app.bot_id, request, now).await.unwrap();
        cabinet.app.bot.wake_jobs();
    };
    request(JobRequest::Pause("notifications".into())).await;
    write(&cabinet, vec![cancelled()]).await;
    request(JobRequest::Cancel(jobs_of_notices(&cabinet.app).await.iter().map(|job| job.id).collect())).await;
    write(&cabinet, vec![restored()]).await;
    request(JobRequest::Resume("notifications".into())).await;
    let is_sent = async || {
        let jobs = jobs_of_notices(&cabinet.app).await;
        (jobs[0].state == JobState::Completed && jobs[1].state == JobState::Cancelled).then_some(())
    };
    until("the second is sent", is_sent).await;
    cabinet.app.bot.post("the last", BORIS, "That is all.").await.unwrap();
    cabinet.emulator.receives(BORIS, "That is all.").await;
    assert_eq!(news(&cabinet).await, ["restored"]);
    cabinet.close().await;
}
