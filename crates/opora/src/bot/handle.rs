//! Reaching people outside of turns: jobs, pages and broadcasts.

use std::sync::Arc;

use parking_lot::RwLock;
use serde::Serialize;

use crate::asking::{alarm_name, timer_of_nobody};
use crate::clock::Clock;
use crate::key::DialogueKey;
use crate::outbox::{Broadcast, BroadcastError, Courier, Progress, posted_rows};
use crate::schedule::Wakeup;
use crate::store::{Commit, Epoch, Opened, Outgoing, Store, StoreError, TimerChange, Version};
use crate::telegram::{Destination, IntoOutgoing, Say, SayError, Tag};
use crate::turn::When;

/// The name of a post without messages, by which it is found out whether posts are taken.
const IS_ANYTHING_TAKEN: &str = "opora:is anything taken";

/// Posts messages and sets timers while the bot runs. Clones share it.
#[derive(Clone, Default)]
pub struct Handle(Arc<RwLock<Option<Running>>>);

#[derive(Clone)]
pub(super) struct Running {
    pub(super) bot: i64,
    pub(super) epoch: Epoch,
    pub(super) store: Arc<dyn Store>,
    pub(super) courier: Courier,
    pub(super) clock: Clock,
    pub(super) wakeup: Wakeup,
}

/// Why a message was not posted, or a timer not set.
#[derive(Debug, thiserror::Error)]
pub enum NotRunning {
    /// The bot does not run, or stands by.
    #[error("the bot does not run here")]
    NotLeading,
    /// The message is not one that Telegram takes.
    #[error(transparent)]
    Message(#[from] SayError),
    /// The body of the timer cannot be written as JSON.
    #[error("the body of a timer cannot be written: {0}")]
    Body(#[from] serde_json::Error),
    /// The store failed.
    #[error("{0}")]
    Store(
        #[source]
        #[from]
        StoreError,
    ),
}

impl From<BroadcastError> for NotRunning {
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
        *self.0.write() = running;
    }

    /// Whether the bot runs here, and leads. Whether its store takes posts, [`Handle::takes_posts`] tells.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.0.read().is_some()
    }

    /// Whether the store takes what is posted now. A bot may lead and answer while it does not: a store with a journal
    /// takes no posts while its server is unreachable. Ask here before you promise a person a message. Nothing is sent by it.
    pub async fn takes_posts(&self) -> Result<(), NotRunning> {
        let running = self.running()?;
        // An empty post under a name of its own: the store itself decides, and after the first one nothing is written.
        running.store.post(running.epoch, IS_ANYTHING_TAKEN, Vec::new(), running.clock.now()).await?;
        Ok(())
    }

    /// Posts a message to a private chat or a group. When this answers, it is in the outbox. A second call with the
    /// same `once` posts nothing, so a job that runs again does not tell people twice. Its buttons belong to no turn:
    /// the state alone judges a press.
    pub async fn post(&self, once: &str, chat: i64, message: impl Into<Say>) -> Result<(), NotRunning> {
        self.post_all(once, vec![(chat, message)]).await
    }

    /// Posts messages to several chats, all of them or none.
    pub async fn post_all(&self, once: &str, messages: Vec<(i64, impl Into<Say>)>) -> Result<(), NotRunning> {
        let running = self.running()?;
        let mut rows = Vec::with_capacity(messages.len());
        for (chat, message) in messages {
            let place = Destination::chat(chat);
            let outgoing = message.into().untagged().into_outgoing(&place, &Tag::new(Version::default()))?;
            let key = DialogueKey { bot: running.bot, chat, user: chat.max(0), thread: 0, business: Box::default() };
            rows.push((key, outgoing));
        }
        running.post(once, rows).await?;
        Ok(())
    }

    /// Posts a message to many chats, page by page, and ends when the last is in the outbox. After a restart the same
    /// broadcast goes on where it stopped; [`Broadcast::watch`] tells how far it has come. If the bot stops meanwhile,
    /// or does not lead any more, the answer is [`NotRunning::NotLeading`].
    pub async fn broadcast<I: Iterator<Item = i64>>(&self, broadcast: Broadcast<I>) -> Result<Progress, NotRunning> {
        let running = self.running()?;
        Ok(broadcast.run(&running.courier).await?)
    }

    /// Sets a timer of a conversation, in place of one of the same name, whether or not anything is open there; when
    /// this answers, it is durable. When it fires, an [entry](crate::dialogue::Dialogue::start) for
    /// [`timer`](crate::input::timer) of that name hears it, as it hears a timer that
    /// [`Turn::timer`](crate::turn::Turn::timer) binds to no state. Without such an entry it is kept for the operator.
    /// For reminders there is [`Handle::alarm`].
    pub async fn timer(
        &self,
        key: &DialogueKey,
        name: &str,
        when: impl Into<When>,
        body: &impl Serialize,
    ) -> Result<(), NotRunning> {
        let running = self.running()?;
        let due_at = when.into().by(running.clock.now());
        let body = timer_of_nobody(body)?.into();
        running.change_timer(key, TimerChange::Set { name: name.into(), due_at, body }).await?;
        running.wakeup.at(due_at);
        Ok(())
    }

    /// Cancels a timer of a conversation, if there is one of that name.
    pub async fn cancel_timer(&self, key: &DialogueKey, name: &str) -> Result<(), NotRunning> {
        Ok(self.running()?.change_timer(key, TimerChange::Cancel(name.into())).await?)
    }

    /// Forgets a person: see [`Store::forget`]. Answers how much there was. An instance that stands by may ask its
    /// store itself, which needs no lease.
    pub async fn forget(&self, user: i64) -> Result<u64, NotRunning> {
        let running = self.running()?;
        Ok(running.store.forget(running.bot, user, running.clock.now()).await?)
    }

    /// Sets an alarm of a conversation, in place of one of the same name, as [`Turn::alarm`](crate::turn::Turn::alarm)
    /// does; when this answers, it is durable. An [entry](crate::dialogue::Dialogue::start) for
    /// [`alarm`](crate::input::alarm) hears it: one entry for `reminder:` hears `reminder:1` and `reminder:2`. Without
    /// one it is kept for the operator.
    pub async fn alarm(
        &self,
        key: &DialogueKey,
        name: &str,
        when: impl Into<When>,
        body: &impl Serialize,
    ) -> Result<(), NotRunning> {
        self.timer(key, &alarm_name(name), when, body).await
    }

    /// Cancels an alarm of a conversation, whether a turn has set it or a handle.
    pub async fn cancel_alarm(&self, key: &DialogueKey, name: &str) -> Result<(), NotRunning> {
        self.cancel_timer(key, &alarm_name(name)).await
    }

    fn running(&self) -> Result<Running, NotRunning> {
        self.0.read().clone().ok_or(NotRunning::NotLeading)
    }
}

impl Running {
    /// Changes a timer in a commit of its own; a turn that comes between goes first.
    async fn change_timer(&self, key: &DialogueKey, change: TimerChange) -> Result<(), StoreError> {
        let key = self.store.conversation_of(key.clone());
        loop {
            let now = self.clock.now();
            let opened = self.store.open_for_turn(self.epoch, &key, None, now).await?;
            // Without a mark there is nothing that could be taken.
            let Opened::At { version, .. } = opened else { return Ok(()) };
            let commit = Commit::new(key.clone(), version, now);
            match self.store.commit(self.epoch, Commit { timers: vec![change.clone()], ..commit }).await {
                Err(StoreError::Overtaken(_)) => {}
                Ok(_) => return Ok(()),
                Err(error) => return self.store.abandon_turn(self.epoch, &key).await.and(Err(error)),
            }
        }
    }

    /// Puts rows into the outbox and tells the courier.
    pub(super) async fn post(&self, once: &str, rows: Vec<(DialogueKey, Outgoing)>) -> Result<(), StoreError> {
        // If only the answer was lost, the rows are there, and a second call would post nothing.
        let at = self.clock.now();
        let posted = self.store.post(self.epoch, once, rows.clone(), at).await;
        let ids = posted.inspect_err(|_| self.courier.reload())?;
        if ids.is_empty() && !rows.is_empty() {
            metrics::counter!("opora_posts_known_total").increment(1);
            tracing::debug!(once, "a post of this name was made before; nothing is posted");
        }
        self.courier.enqueue(posted_rows(ids, rows, at));
        Ok(())
    }
}
