//! Posts messages, sets timers and enqueues jobs outside of turns: for jobs, pages and broadcasts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use serde::Serialize;

use crate::clock::{Clock, When};
use crate::jobs::RunnerHandle;
use crate::key::ConversationKey;
use crate::outbox::{Broadcast, BroadcastError, Courier, Progress, posted_rows};
use crate::schedule::ScheduleHandle;
use crate::store::requester::{alarm_name, unbound_timer_body};
use crate::store::{
    Commit, Enqueued, Epoch, NewJob, Opened, Outgoing, Store, StoreError, TimerChange, Version, enqueued_jobs,
};
use crate::telegram::{Destination, IntoOutgoing, Say, SayError, Tag};

/// The name of an empty post that tests whether the store accepts posts.
const PROBE_POST: &str = "opora:probe";

/// Posts messages and sets timers while the bot leads. Clones share it.
#[derive(Clone, Default)]
pub struct Handle(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// While the bot leads here.
    running: RwLock<Option<Running>>,
    /// The bot stops in order: what still runs may post, and nothing new should begin.
    is_stopping: AtomicBool,
    /// While the bot runs here, also as a standby.
    jobs: RwLock<Option<JobQueue>>,
}

/// Where jobs are enqueued.
#[derive(Clone)]
pub(super) struct JobQueue {
    pub(super) bot: i64,
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Clock,
}

#[derive(Clone)]
pub(super) struct Running {
    pub(super) bot: i64,
    pub(super) epoch: Epoch,
    pub(super) store: Arc<dyn Store>,
    pub(super) courier: Courier,
    pub(super) clock: Clock,
    pub(super) schedule: ScheduleHandle,
    pub(super) jobs: RunnerHandle,
}

/// Why a message was not posted, or a timer was not set.
#[derive(Debug, thiserror::Error)]
pub enum HandleError {
    /// The bot does not run here, or stands by.
    #[error("the bot does not run here")]
    NotLeading,
    /// The message is invalid.
    #[error(transparent)]
    Message(#[from] SayError),
    /// The body of the timer cannot be written as JSON.
    #[error("the body of a timer cannot be written: {0}")]
    Body(#[from] serde_json::Error),
    /// The job cannot be stored.
    #[error("{0}")]
    Job(String),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl From<BroadcastError> for HandleError {
    fn from(error: BroadcastError) -> Self {
        match error {
            BroadcastError::Say(error) => Self::Message(error),
            BroadcastError::Store(error) => Self::Store(error),
            BroadcastError::Stopped => Self::NotLeading,
        }
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl Handle {
    pub(super) fn set(&self, running: Option<Running>) {
        *self.0.running.write() = running;
        self.0.is_stopping.store(false, Ordering::Release);
    }

    /// From now on [`Handle::is_running`] is false, while posts are still accepted.
    pub(super) fn set_stopping(&self) {
        self.0.is_stopping.store(true, Ordering::Release);
    }

    pub(super) fn open(&self, jobs: Option<JobQueue>) {
        *self.0.jobs.write() = jobs;
    }

    /// Whether the bot runs and leads here, and does not stop. [`Handle::check_accepts_posts`] also asks the store.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.0.is_stopping.load(Ordering::Acquire) && self.0.running.read().is_some()
    }

    /// Checks that the store accepts posts now. Nothing is sent. A store with a journal accepts no posts while its
    /// server is unreachable, although the bot leads and answers. Call this before you promise a message to a person.
    pub async fn check_accepts_posts(&self) -> Result<(), HandleError> {
        let running = self.running()?;
        // An empty post under a fixed name. After the first one the store writes nothing.
        running.store.post(running.epoch, PROBE_POST, Vec::new(), running.clock.now()).await?;
        Ok(())
    }

    /// Posts a message to a private chat or a group. When this returns, the message is in the outbox. A second call
    /// with the same `once` posts nothing, so a job that runs again does not notify people twice. Its buttons belong to
    /// no turn, so a press is never outdated by version.
    pub async fn post(&self, once: &str, chat: i64, message: impl Into<Say>) -> Result<(), HandleError> {
        self.post_all(once, vec![(chat, message)]).await
    }

    /// Posts messages to several chats, all or none.
    pub async fn post_all(&self, once: &str, messages: Vec<(i64, impl Into<Say>)>) -> Result<(), HandleError> {
        let running = self.running()?;
        let mut rows = Vec::with_capacity(messages.len());
        for (chat, message) in messages {
            let destination = Destination::chat(chat);
            let outgoing = message.into().untagged().into_outgoing(&destination, &Tag::new(Version::default()))?;
            let key =
                ConversationKey { bot: running.bot, chat, user: chat.max(0), thread: 0, business: Box::default() };
            rows.push((key, outgoing));
        }
        running.post(once, rows).await?;
        Ok(())
    }

    /// Posts a message to many chats, page by page, and returns when the last one is in the outbox. After a restart the
    /// same broadcast continues where it stopped; [`Broadcast::watch`] reports its progress. If the bot stops or loses
    /// the lease, the error is [`HandleError::NotLeading`].
    pub async fn broadcast<I: Iterator<Item = i64>>(&self, broadcast: Broadcast<I>) -> Result<Progress, HandleError> {
        let running = self.running()?;
        Ok(broadcast.run(&running.courier).await?)
    }

    /// Sets a timer of a conversation, and replaces one of the same name. When this returns, the timer is durable. No
    /// dialogue needs to be open. An [entry](crate::dialogue::Dialogue::start) for [`timer`](crate::input::timer) of
    /// that name handles it, like a timer that [`Turn::timer`](crate::turn::Turn::timer) binds to no state. Without an
    /// entry it is parked. For reminders use [`Handle::alarm`].
    pub async fn timer(
        &self,
        key: &ConversationKey,
        name: &str,
        when: impl Into<When>,
        body: &impl Serialize,
    ) -> Result<(), HandleError> {
        let running = self.running()?;
        let due_at = when.into().resolve(running.clock.now());
        let body = unbound_timer_body(body)?.into();
        running.change_timer(key, TimerChange::Set { name: name.into(), due_at, body }).await?;
        running.schedule.wake_at(due_at);
        Ok(())
    }

    /// Cancels a timer of a conversation, if there is one of that name.
    pub async fn cancel_timer(&self, key: &ConversationKey, name: &str) -> Result<(), HandleError> {
        Ok(self.running()?.change_timer(key, TimerChange::Cancel(name.into())).await?)
    }

    /// Forgets a person and returns the number of removed rows; see [`Store::forget`]. A standby can call the store
    /// directly, because this needs no lease.
    pub async fn forget(&self, user: i64) -> Result<u64, HandleError> {
        let running = self.running()?;
        Ok(running.store.forget(running.bot, user, running.clock.now()).await?)
    }

    /// Sets an alarm of a conversation like [`Turn::alarm`](crate::turn::Turn::alarm), and replaces one of the same
    /// name. When this returns, the alarm is durable. An [entry](crate::dialogue::Dialogue::start) for
    /// [`alarm`](crate::input::alarm) handles it: an entry for `reminder:` handles `reminder:1` and `reminder:2`.
    /// Without an entry the alarm is parked.
    pub async fn alarm(
        &self,
        key: &ConversationKey,
        name: &str,
        when: impl Into<When>,
        body: &impl Serialize,
    ) -> Result<(), HandleError> {
        self.timer(key, &alarm_name(name), when, body).await
    }

    /// Cancels an alarm of a conversation, no matter whether a turn or a handle set it.
    pub async fn cancel_alarm(&self, key: &ConversationKey, name: &str) -> Result<(), HandleError> {
        self.cancel_timer(key, &alarm_name(name)).await
    }

    /// Enqueues a job, from any instance on which the bot runs, also from a standby. When this returns, the job is
    /// durable. If the store fails, the job may be stored nevertheless; enqueue a [unique](crate::jobs::Unique) job
    /// again.
    pub async fn enqueue(&self, job: impl Into<NewJob>) -> Result<Enqueued, HandleError> {
        let enqueued = self.enqueue_all(vec![job.into()]).await?;
        enqueued.first().copied().ok_or(HandleError::NotLeading)
    }

    /// Enqueues jobs, all or none of them in SQL.
    pub async fn enqueue_all(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>, HandleError> {
        NewJob::check_all(&jobs).map_err(HandleError::Job)?;
        let queue = self.0.jobs.read().clone();
        let JobQueue { bot, store, clock } = queue.ok_or(HandleError::NotLeading)?;
        let enqueued = store.enqueue_jobs(bot, jobs.clone(), clock.now()).await?;
        let is_new = |(job, enqueued)| matches!(enqueued, &Enqueued::New(_)).then_some(job);
        let jobs: Vec<_> = jobs.into_iter().zip(&enqueued).filter_map(is_new).collect();
        match self.running() {
            Ok(running) => running.jobs.enqueued(&jobs, false),
            Err(_) => enqueued_jobs::count(enqueued_jobs::kinds(&jobs)),
        }
        Ok(enqueued)
    }

    /// Makes the leader look for jobs at once, if that is this instance. The application's writes may have added some;
    /// without this call they start within a second.
    pub fn wake_jobs(&self) {
        if let Ok(running) = self.running() {
            running.jobs.wake();
        }
    }

    fn running(&self) -> Result<Running, HandleError> {
        self.0.running.read().clone().ok_or(HandleError::NotLeading)
    }
}

impl Running {
    /// Changes a timer in its own commit. Repeats it if a turn committed in between.
    async fn change_timer(&self, key: &ConversationKey, change: TimerChange) -> Result<(), StoreError> {
        let key = self.store.conversation_of(key.clone());
        loop {
            let now = self.clock.now();
            let opened = self.store.open_for_turn(self.epoch, &key, None, now).await?;
            // Cannot happen: this commit processes no input.
            let Opened::At { version, .. } = opened else { return Ok(()) };
            let commit = Commit::new(key.clone(), version, now);
            match self.store.commit(self.epoch, Commit { timers: vec![change.clone()], ..commit }).await {
                Err(StoreError::Overtaken(_)) => {}
                Ok(_) => return Ok(()),
                Err(error) => return self.store.abandon_turn(self.epoch, &key).await.and(Err(error)),
            }
        }
    }

    /// Adds rows to the outbox and hands them to the courier.
    pub(super) async fn post(&self, once: &str, rows: Vec<(ConversationKey, Outgoing)>) -> Result<(), StoreError> {
        // After an error the rows may be stored nevertheless, so the courier reads the outbox again.
        let at = self.clock.now();
        let posted = self.store.post(self.epoch, once, rows.clone(), at).await;
        let ids = posted.inspect_err(|_| self.courier.reload())?;
        if ids.is_empty() && !rows.is_empty() {
            metrics::counter!("opora_posts_known_total").increment(1);
            tracing::debug!(once, "already posted under this name; nothing is posted");
        }
        self.courier.enqueue(posted_rows(ids, rows, at));
        Ok(())
    }
}
