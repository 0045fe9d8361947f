//! Chats and what was said in them.
//!
//! Message ids count from one in each chat. Every change of a chat raises its revision, which is what a waiting reader
//! compares with.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::limit::Gauge;
use super::message::Message;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatKind {
    Private,
    Group,
    Supergroup,
}

impl ChatKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Group => "group",
            Self::Supergroup => "supergroup",
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Chat {
    pub id: i64,
    pub kind: ChatKind,
    pub revision: u32,
    /// In a private chat: the person blocked the bot. In a group: the bot is not in it.
    pub closed_to_bot: bool,
    /// Newest last.
    pub pinned: Vec<i32>,
    /// None in a private chat.
    pub group: Option<Box<Group>>,
    /// Message 1 is at 0; a deleted one leaves its place empty.
    #[serde(skip)]
    history: Vec<Option<Box<Message>>>,
    /// Ids handed out, also to messages that are gone.
    pub last_message_id: i32,
    #[serde(skip)]
    pub gauge: Gauge,
    #[serde(skip)]
    waiting: Option<Arc<Notify>>,
}

/// What only groups have.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Group {
    pub title: String,
    pub username: Option<String>,
    pub forum: bool,
    pub members: BTreeMap<i64, Standing>,
    pub topics: Vec<Topic>,
    pub migrated_to: Option<i64>,
}

/// A member's place in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Creator,
    Administrator,
    Member,
    Left,
    Kicked,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    #[serde(rename = "message_thread_id")]
    pub thread: i32,
    pub name: String,
}

impl Chat {
    pub fn private(id: i64) -> Self {
        Self::empty(id, ChatKind::Private, None)
    }

    pub fn group(id: i64, kind: ChatKind, group: Group) -> Self {
        Self::empty(id, kind, Some(Box::new(group)))
    }

    pub fn message(&self, id: i32) -> Option<&Message> {
        self.history.get(place(id)?)?.as_deref()
    }

    pub fn message_mut(&mut self, id: i32) -> Option<&mut Message> {
        self.history.get_mut(place(id)?)?.as_deref_mut()
    }

    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.history.iter().flatten().map(|message| &**message)
    }

    pub fn last_message(&self) -> Option<&Message> {
        self.messages().next_back()
    }

    /// Takes the next id and revision for a message about to be said.
    pub fn next_place(&mut self) -> (i32, u32) {
        self.last_message_id += 1;
        (self.last_message_id, self.next_revision())
    }

    pub fn next_revision(&mut self) -> u32 {
        self.revision += 1;
        self.revision
    }

    /// Puts a message into its place, new or anew.
    pub fn put(&mut self, message: Message) {
        let Some(place) = place(message.id) else { return };
        if place >= self.history.len() {
            self.history.resize_with(place + 1, || None);
        }
        self.last_message_id = self.last_message_id.max(message.id);
        self.revision = self.revision.max(message.changed_at);
        self.history[place] = Some(Box::new(message));
    }

    pub fn remove(&mut self, id: i32) -> Option<Box<Message>> {
        let message = self.history.get_mut(place(id)?)?.take()?;
        self.pinned.retain(|pinned| *pinned != id);
        self.next_revision();
        Some(message)
    }

    /// What was said or changed after `revision`, in the order of the chat.
    pub fn changed_since(&self, revision: u32) -> impl Iterator<Item = &Message> {
        self.messages().filter(move |message| message.changed_at > revision)
    }

    /// The revision at which `message_id` was said; for a message that is gone, that of the last one before it.
    pub fn revision_of(&self, message_id: i32) -> u32 {
        let before = usize::try_from(message_id).unwrap_or(0).min(self.history.len());
        self.history[..before].iter().rev().flatten().next().map_or(0, |message| message.said_at)
    }

    /// Wakes everybody who waits for a change of this chat.
    pub fn wake(&self) {
        if let Some(waiting) = &self.waiting {
            waiting.notify_waiters();
        }
    }

    /// What to wait on; made when the first reader asks, since most chats have none.
    pub fn waiting(&mut self) -> Arc<Notify> {
        self.waiting.get_or_insert_default().clone()
    }

    pub fn standing(&self, user: i64) -> Option<Standing> {
        self.group.as_ref()?.members.get(&user).copied()
    }

    pub fn is_private(&self) -> bool {
        self.kind == ChatKind::Private
    }

    /// Becomes `newer` in everything but what was said.
    pub fn take_over(&mut self, newer: Self) {
        let history = std::mem::take(&mut self.history);
        *self = Self { history, ..newer };
    }

    fn empty(id: i64, kind: ChatKind, group: Option<Box<Group>>) -> Self {
        Self {
            id,
            kind,
            revision: 0,
            closed_to_bot: false,
            pinned: Vec::new(),
            group,
            history: Vec::new(),
            last_message_id: 0,
            gauge: Gauge::default(),
            waiting: None,
        }
    }
}

fn place(id: i32) -> Option<usize> {
    usize::try_from(id).ok()?.checked_sub(1)
}
