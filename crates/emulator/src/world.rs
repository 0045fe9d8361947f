//! One bot's world: its people, chats, messages, files, and the updates that wait for it.
//!
//! A world lies behind one lock. All changes go through the functions here, so that each one wakes waiting readers, is
//! published to the inspector and is added to the event log. Nothing here waits or does I/O: the event log is written
//! when the lock is released.

pub mod callback;
pub mod chat;
pub mod content;
pub mod event;
pub mod fault;
pub mod file;
pub mod hints;
pub mod keyboard;
pub mod limit;
mod membership;
pub mod message;
mod migration;
pub mod overview;
pub mod profile;
pub mod queue;
pub mod render;
pub mod update;
pub mod user;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::json;
use tokio::sync::Notify;

use self::callback::Presses;
use self::chat::{Chat, ChatKind, Group, MemberStatus};
use self::content::{Content, Service};
use self::event::{Events, InspectorEntry, InspectorLog};
use self::fault::{Faults, UpdateFault};
use self::file::{FileNo, Files, StoredFile};
use self::hints::Hints;
use self::keyboard::Markup;
use self::limit::{Limits, RateUsage};
use self::message::{Extra, Message};
use self::profile::Profile;
use self::queue::{Lane, Queue, QueuedUpdate};
use self::render::{Audience, ChatView, MessageView};
use self::update::UpdateKind;
use self::user::{Abilities, User};
use crate::clock::Clock;
use crate::event_log::EventLog;
use crate::token::Token;

#[derive(Debug)]
pub struct World {
    pub token: Token,
    pub clock: Arc<Clock>,
    pub me: User,
    pub abilities: Abilities,
    pub profile: Profile,
    hints: Hints,
    pub files: Files,
    pub queue: Queue,
    pub presses: Presses,
    pub faults: Faults,
    pub limits: Limits,
    pub rate_usage: RateUsage,
    pub events: Events,
    pub log: InspectorLog,
    /// Woken when an update is queued or something about delivery changes.
    pub updates_ready: Arc<Notify>,
    /// The number of the newest `getUpdates` call. An older call that still waits compares it with its own number.
    pub poller: u64,
    /// Rises each time the webhook is set or deleted.
    pub webhook_generation: u64,
    /// Whether the webhook was set or deleted and posting has not been restarted yet.
    pub webhook_changed: bool,
    pub created_ms: i64,
    pub event_log: Option<Arc<EventLog>>,
    users: HashMap<i64, User>,
    chats: HashMap<i64, Chat>,
    /// Each user's profile photos, newest first, each in its sizes.
    photos: HashMap<i64, Vec<Box<[FileNo]>>>,
    next_user: i64,
}

/// A message to post.
#[derive(Debug)]
pub struct NewMessage {
    pub from: i64,
    pub content: Content,
    pub markup: Option<Markup>,
    pub extra: Option<Box<Extra>>,
}

impl World {
    pub fn new(token: Token, limits: Limits) -> Self {
        let clock = Arc::new(Clock::default());
        Self {
            me: User::unnamed_bot(token.bot_id()),
            abilities: Abilities::default(),
            profile: Profile::default(),
            hints: Hints::default(),
            files: Files::new(token.as_str()),
            queue: Queue::default(),
            presses: Presses::default(),
            faults: Faults::default(),
            limits,
            rate_usage: RateUsage::default(),
            events: Events::default(),
            log: InspectorLog::default(),
            updates_ready: Arc::default(),
            poller: 0,
            webhook_generation: 0,
            webhook_changed: false,
            created_ms: clock.now_ms(),
            event_log: None,
            users: HashMap::new(),
            chats: HashMap::new(),
            photos: HashMap::new(),
            next_user: 1_000_000_000 + fastrand::i64(0..1_000_000),
            clock,
            token,
        }
    }

    pub fn user(&self, id: i64) -> Option<&User> {
        if id == self.me.id { Some(&self.me) } else { self.users.get(&id) }
    }

    pub fn users(&self) -> impl Iterator<Item = &User> {
        self.users.values()
    }

    pub fn chat(&self, id: i64) -> Option<&Chat> {
        self.chats.get(&id)
    }

    pub fn chats(&self) -> impl Iterator<Item = &Chat> {
        self.chats.values()
    }

    pub fn chat_mut(&mut self, id: i64) -> Option<&mut Chat> {
        self.chats.get_mut(&id)
    }

    /// An unused id for a new user.
    pub fn free_user_id(&mut self) -> i64 {
        loop {
            self.next_user += 1;
            if self.user(self.next_user).is_none() {
                return self.next_user;
            }
        }
    }

    /// Adds or changes a user, and creates the private chat if it is missing.
    pub fn put_user(&mut self, user: User) {
        let id = user.id;
        self.save("user", &user);
        self.events.publish("user", || json!({ "user": user }));
        self.users.insert(id, user);
        if !self.chats.contains_key(&id) {
            self.put_chat(Chat::private(id));
        }
    }

    pub fn put_chat(&mut self, chat: Chat) {
        let id = chat.id;
        self.chats.insert(id, chat);
        self.chat_changed(id);
    }

    /// Saves and publishes a change of the chat itself: members, title or pins.
    pub fn chat_changed(&mut self, id: i64) {
        let Some(chat) = self.chats.get(&id) else { return };
        self.save("chat", chat);
        self.events.publish("chat", || json!({ "chat": self.chat_overview(chat) }));
    }

    /// Creates a group and adds the bot and these people to its members. The first person is its owner.
    pub fn create_group(&mut self, id: i64, kind: ChatKind, mut group: Group, people: &[i64]) {
        for person in people.iter().chain([&self.me.id]) {
            group.members.entry(*person).or_insert(MemberStatus::Member);
        }
        let creator = people.first().copied().unwrap_or(self.me.id);
        if creator != self.me.id {
            group.members.insert(creator, MemberStatus::Creator);
        }
        let own = group.members[&self.me.id];
        self.put_chat(Chat::group(id, kind, group));
        self.bot_status_changed(id, creator, MemberStatus::Left, own);
        self.post_service_message(id, creator, Service::GroupCreated { supergroup: kind == ChatKind::Supergroup });
    }

    /// Posts a service message and queues it for the bot.
    pub fn post_service_message(&mut self, chat: i64, from: i64, service: Service) -> Option<i32> {
        self.post_service_message_in(chat, from, service, None)
    }

    /// The same with additional data, such as a topic.
    pub fn post_service_message_in(
        &mut self,
        chat: i64,
        from: i64,
        service: Service,
        extra: Option<Box<Extra>>,
    ) -> Option<i32> {
        let content = Content::Service(Box::new(service));
        let id = self.post(chat, NewMessage { from, content, markup: None, extra })?;
        self.queue_message(UpdateKind::Message, chat, id);
        Some(id)
    }

    /// Posts a message and returns its id; none if there is no such chat. Queues no update.
    pub fn post(&mut self, chat_id: i64, draft: NewMessage) -> Option<i32> {
        let date = self.clock.now();
        let chat = self.chats.get_mut(&chat_id)?;
        let (id, revision) = chat.next_id_and_revision();
        chat.put(Message {
            id,
            from: draft.from,
            date,
            edit_date: None,
            said_at: revision,
            changed_at: revision,
            content: draft.content,
            markup: draft.markup.map(Box::new),
            extra: draft.extra,
        });
        self.message_changed("message", chat_id, id);
        Some(id)
    }

    /// Changes a message in place. `dated` marks it as edited, which reactions and votes do not do.
    pub fn change(&mut self, chat_id: i64, id: i32, dated: bool, change: impl FnOnce(&mut Message)) -> bool {
        let now = self.clock.now();
        let Some(chat) = self.chats.get_mut(&chat_id) else {
            return false;
        };
        let revision = chat.next_revision();
        let Some(message) = chat.message_mut(id) else {
            return false;
        };
        change(message);
        message.changed_at = revision;
        if dated {
            message.edit_date = Some(now);
        }
        self.message_changed("edit", chat_id, id);
        true
    }

    /// Deletes messages, and returns how many of them existed.
    pub fn delete(&mut self, chat_id: i64, ids: &[i32]) -> usize {
        let Some(chat) = self.chats.get_mut(&chat_id) else {
            return 0;
        };
        let gone: Vec<i32> = ids.iter().copied().filter(|id| chat.remove(*id).is_some()).collect();
        chat.wake();
        if !gone.is_empty() {
            self.save("gone", &json!({"chat": chat_id, "ids": gone}));
            self.events.publish("delete", || json!({"chat_id": chat_id, "message_ids": gone}));
        }
        gone.len()
    }

    pub fn add_file(&mut self, file: StoredFile) -> FileNo {
        if let Some(event_log) = &self.event_log {
            event_log.save_upload(&file);
            event_log.save("file", &file);
        }
        self.files.add(file)
    }

    /// The path of a download link, which works for an hour.
    pub fn open_link(&mut self, no: FileNo) -> Option<String> {
        let (path, until) = self.files.open_link(no, self.clock.now())?;
        self.save("link", &(no, until));
        Some(path)
    }

    pub fn profile_photos(&self, user: i64) -> &[Box<[FileNo]>] {
        self.photos.get(&user).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn add_profile_photo(&mut self, user: i64, sizes: Box<[FileNo]>) {
        self.save("photo", &(user, &sizes));
        self.photos.entry(user).or_default().insert(0, sizes);
    }

    pub fn profile_changed(&mut self) {
        self.save("profile", &self.profile);
        self.events.publish("profile", || self.profile_overview());
    }

    /// What the chat page shows beside the messages.
    pub fn hints(&self) -> &Hints {
        &self.hints
    }

    /// Replaces all hints.
    pub fn set_hints(&mut self, hints: Hints) {
        self.hints = hints;
        self.save("hints", &self.hints);
        self.events.publish("hints", || json!({ "hints": self.hints }));
    }

    pub(crate) fn restore_hints(&mut self, hints: Hints) {
        self.hints = hints;
    }

    pub fn me_changed(&mut self) {
        self.save("me", &json!({"user": self.me, "abilities": self.abilities}));
        self.events.publish("profile", || self.profile_overview());
    }

    /// Queues a message for the bot as `message` or `edited_message`. The caller checks privacy mode.
    pub fn queue_message(&mut self, kind: UpdateKind, chat_id: i64, id: i32) {
        let Some(json) = self.rendered(chat_id, id, Audience::Bot) else {
            return;
        };
        self.queue_update(kind, Lane::Chat(chat_id), chat_id, &json);
    }

    /// Queues an update whose object is `inner`. From a chat without the bot, only changes of its membership are
    /// queued.
    pub fn queue_update(&mut self, kind: UpdateKind, lane: Lane, chat_id: i64, inner: &[u8]) {
        let closed = kind != UpdateKind::MyChatMember && self.chat(chat_id).is_some_and(|chat| chat.closed_to_bot);
        if closed || !self.queue.allowed.allows(kind) || !self.queue.has_room() {
            return;
        }
        let held = self.queue.take_held(chat_id);
        // An update that releases held ones gets no fault itself: it has to be delivered before them.
        let fault = if held.is_empty() { self.faults.take_for_update(chat_id) } else { None };
        if fault.as_ref().is_some_and(|fault| fault.spec.updates == Some(UpdateFault::RestartIds)) {
            self.queue.restart_ids();
        }
        let (id, now_ms) = (self.queue.take_id(), self.clock.now_ms());
        let update = QueuedUpdate::new(id, kind, lane, now_ms, update_json(id, kind, inner));
        self.log_update(&update.json);
        match fault {
            Some(fault) => self.queue_with_fault(update, &fault.spec, now_ms),
            None => {
                self.enqueue(update);
            }
        }
        for update in held {
            self.forget_updates(&[update.number]);
            self.enqueue(update);
        }
    }

    /// Puts an update at the end of the queue; returns its number.
    pub fn enqueue(&mut self, update: QueuedUpdate) -> u64 {
        let next_id = self.queue.next_id();
        let update = self.queue.push(update);
        if let Some(event_log) = &self.event_log {
            event_log.save_update(update, next_id);
        }
        self.updates_ready.notify_waiters();
        update.number
    }

    /// Records that the bot has taken these updates, or that they have expired.
    pub fn forget_updates(&self, numbers: &[u64]) {
        if !numbers.is_empty() {
            self.save("taken", &numbers);
        }
    }

    pub fn message_view<'a>(&'a self, chat: &'a Chat, message: &'a Message, audience: Audience) -> MessageView<'a> {
        MessageView { world: self, chat, message, audience, nested: false }
    }

    /// A message as JSON.
    pub fn rendered(&self, chat_id: i64, id: i32, audience: Audience) -> Option<Vec<u8>> {
        let chat = self.chat(chat_id)?;
        // Most messages fit without a second allocation.
        let mut json = Vec::with_capacity(1024);
        serde_json::to_writer(&mut json, &self.message_view(chat, chat.message(id)?, audience)).ok()?;
        Some(json)
    }

    /// `my_chat_member`: the bot was added, removed, blocked or unblocked.
    pub fn bot_status_changed(&mut self, chat_id: i64, by: i64, old: MemberStatus, new: MemberStatus) {
        self.member_status_changed(UpdateKind::MyChatMember, chat_id, by, self.me.id, old, new);
    }

    /// Queues a `ChatMemberUpdated`.
    pub fn member_status_changed(
        &mut self,
        kind: UpdateKind,
        chat_id: i64,
        by: i64,
        user: i64,
        old: MemberStatus,
        new: MemberStatus,
    ) {
        let Some(chat) = self.chat(chat_id) else { return };
        let inner = json!({
            "chat": ChatView { world: self, chat },
            "from": self.user(by),
            "date": self.clock.now(),
            "old_chat_member": self.member(user, old),
            "new_chat_member": self.member(user, new),
        });
        let inner = inner.to_string();
        self.queue_update(kind, Lane::Chat(chat_id), chat_id, inner.as_bytes());
    }

    pub(crate) fn save<T: Serialize>(&self, kind: &'static str, value: &T) {
        if let Some(event_log) = &self.event_log {
            event_log.save(kind, value);
        }
    }

    /// Restores a user from the event log, without saving or publishing it.
    pub(crate) fn restore_user(&mut self, user: User) {
        self.users.insert(user.id, user);
    }

    pub(crate) fn restore_chat(&mut self, chat: Chat) {
        match self.chats.get_mut(&chat.id) {
            Some(known) => known.update_keeping_messages(chat),
            None => drop(self.chats.insert(chat.id, chat)),
        }
    }

    fn log_update(&mut self, json: &Bytes) {
        let entry = InspectorEntry::Update { id: self.log.next_id(), at_ms: self.clock.now_ms(), json: json.clone() };
        self.events.publish("update", || entry.to_json());
        self.log.push(entry);
    }

    fn message_changed(&self, event: &'static str, chat_id: i64, id: i32) {
        let Some(chat) = self.chats.get(&chat_id) else { return };
        chat.wake();
        let Some(message) = chat.message(id) else { return };
        if self.event_log.is_some() {
            self.save("message", &json!({"chat": chat_id, "message": message}));
        }
        let view = || json!({"chat_id": chat_id, "message": self.message_view(chat, message, Audience::People)});
        self.events.publish(event, view);
    }
}

fn update_json(id: i64, kind: UpdateKind, inner: &[u8]) -> Bytes {
    let mut json = Vec::with_capacity(inner.len() + 48);
    json.extend_from_slice(format!("{{\"update_id\":{id},\"{}\":", kind.name()).as_bytes());
    json.extend_from_slice(inner);
    json.push(b'}');
    json.into()
}
