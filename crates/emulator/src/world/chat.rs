//! Chats and their messages.
//!
//! Message ids count from one in each chat. Every change of a chat raises its revision, by which waiting readers notice
//! it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::limit::RateUsage;
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
    /// Message 1 is at index 0. A deleted message leaves `None`.
    #[serde(skip)]
    history: Vec<Option<Box<Message>>>,
    /// The last id that was given, also to a deleted message.
    pub last_message_id: i32,
    #[serde(skip)]
    pub rate_usage: RateUsage,
    #[serde(skip)]
    change_notify: Option<Arc<Notify>>,
}

/// Data that only groups have.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Group {
    pub title: String,
    pub username: Option<String>,
    pub forum: bool,
    pub members: BTreeMap<i64, MemberStatus>,
    pub topics: Vec<Topic>,
    pub migrated_to: Option<i64>,
}

/// The status of a member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberStatus {
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
        self.history.get(index_of(id)?)?.as_deref()
    }

    pub fn message_mut(&mut self, id: i32) -> Option<&mut Message> {
        self.history.get_mut(index_of(id)?)?.as_deref_mut()
    }

    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.history.iter().flatten().map(|message| &**message)
    }

    pub fn last_message(&self) -> Option<&Message> {
        self.messages().next_back()
    }

    /// The id and revision for a new message.
    pub fn next_id_and_revision(&mut self) -> (i32, u32) {
        self.last_message_id += 1;
        (self.last_message_id, self.next_revision())
    }

    pub fn next_revision(&mut self) -> u32 {
        self.revision += 1;
        self.revision
    }

    /// Adds or replaces a message.
    pub fn put(&mut self, message: Message) {
        let Some(index) = index_of(message.id) else { return };
        if index >= self.history.len() {
            self.history.resize_with(index + 1, || None);
        }
        self.last_message_id = self.last_message_id.max(message.id);
        self.revision = self.revision.max(message.changed_at);
        self.history[index] = Some(Box::new(message));
    }

    pub fn remove(&mut self, id: i32) -> Option<Box<Message>> {
        let message = self.history.get_mut(index_of(id)?)?.take()?;
        self.pinned.retain(|pinned| *pinned != id);
        self.next_revision();
        Some(message)
    }

    /// The messages that were posted or changed after `revision`, in the order of the chat.
    pub fn changed_since(&self, revision: u32) -> impl Iterator<Item = &Message> {
        self.messages().filter(move |message| message.changed_at > revision)
    }

    /// The revision at which `message_id` was posted; for a deleted message, that of the last one before it.
    pub fn revision_of(&self, message_id: i32) -> u32 {
        let before = usize::try_from(message_id).unwrap_or(0).min(self.history.len());
        self.history[..before].iter().rev().flatten().next().map_or(0, |message| message.said_at)
    }

    /// Wakes the readers that wait for a change of this chat.
    pub fn wake(&self) {
        if let Some(change_notify) = &self.change_notify {
            change_notify.notify_waiters();
        }
    }

    /// Notifies of changes. Created for the first reader, because most chats have none.
    pub fn change_notify(&mut self) -> Arc<Notify> {
        self.change_notify.get_or_insert_default().clone()
    }

    pub fn member_status(&self, user: i64) -> Option<MemberStatus> {
        self.group.as_ref()?.members.get(&user).copied()
    }

    pub fn is_private(&self) -> bool {
        self.kind == ChatKind::Private
    }

    /// Replaces everything except the messages.
    pub fn update_keeping_messages(&mut self, newer: Self) {
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
            rate_usage: RateUsage::default(),
            change_notify: None,
        }
    }
}

fn index_of(id: i32) -> Option<usize> {
    usize::try_from(id).ok()?.checked_sub(1)
}
