//! One bot's world: its people, chats, messages, files, and the updates that wait for it.
//!
//! Everything of a bot lies behind one lock and every change goes through the few functions here, so that nothing can
//! change without its readers being woken, its watchers told and its journal given a record of it. Nothing here waits or
//! does I/O: the record is written when the lock is released.

pub mod callback;
pub mod chat;
pub mod content;
pub mod event;
pub mod fault;
pub mod file;
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
use self::chat::{Chat, ChatKind, Group, Standing};
use self::content::{Content, Service};
use self::event::{Entry, Events, Log};
use self::fault::{Delivery, Faults};
use self::file::{FileNo, Files, StoredFile};
use self::keyboard::Markup;
use self::limit::{Gauge, Limits};
use self::message::{Extra, Message};
use self::profile::Profile;
use self::queue::{Lane, Queue, Queued};
use self::render::{Audience, ChatView, MessageView};
use self::update::UpdateKind;
use self::user::{Abilities, User};
use crate::clock::Clock;
use crate::journal::Journal;
use crate::token::Token;

#[derive(Debug)]
pub struct World {
    pub token: Token,
    pub clock: Arc<Clock>,
    pub me: User,
    pub abilities: Abilities,
    pub profile: Profile,
    pub files: Files,
    pub queue: Queue,
    pub presses: Presses,
    pub faults: Faults,
    pub limits: Limits,
    pub gauge: Gauge,
    pub events: Events,
    pub log: Log,
    /// Woken when an update is queued or something about delivery changes.
    pub updates_ready: Arc<Notify>,
    /// The newest `getUpdates` call; an older one that still waits sees that it is not its own.
    pub poller: u64,
    /// Raised each time the webhook is set or deleted.
    pub webhook_generation: u64,
    /// The same, until somebody has begun to post for the new one.
    pub webhook_changed: bool,
    pub created_ms: i64,
    pub journal: Option<Arc<Journal>>,
    users: HashMap<i64, User>,
    chats: HashMap<i64, Chat>,
    /// Each user's profile photos, newest first, each in its sizes.
    photos: HashMap<i64, Vec<Box<[FileNo]>>>,
    next_user: i64,
}

/// A message about to be said.
#[derive(Debug)]
pub struct Draft {
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
            files: Files::new(token.as_str()),
            queue: Queue::default(),
            presses: Presses::default(),
            faults: Faults::default(),
            limits,
            gauge: Gauge::default(),
            events: Events::default(),
            log: Log::default(),
            updates_ready: Arc::default(),
            poller: 0,
            webhook_generation: 0,
            webhook_changed: false,
            created_ms: clock.now_ms(),
            journal: None,
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

    /// An id for a user who brought none.
    pub fn free_user_id(&mut self) -> i64 {
        loop {
            self.next_user += 1;
            if self.user(self.next_user).is_none() {
                return self.next_user;
            }
        }
    }

    /// Adds or renames a user; its private chat is there at once.
    pub fn put_user(&mut self, user: User) {
        let id = user.id;
        self.save("user", &user);
        self.events.tell("user", || json!({ "user": user }));
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

    /// Says that something about a chat itself is different: members, title, pins.
    pub fn chat_changed(&mut self, id: i64) {
        let Some(chat) = self.chats.get(&id) else { return };
        self.save("chat", chat);
        self.events.tell("chat", || json!({ "chat": self.chat_overview(chat) }));
    }

    /// Creates a group with the bot and these people in it, besides whom it names already. The first is its owner.
    pub fn create_group(&mut self, id: i64, kind: ChatKind, mut group: Group, people: &[i64]) {
        for person in people.iter().chain([&self.me.id]) {
            group.members.entry(*person).or_insert(Standing::Member);
        }
        let creator = people.first().copied().unwrap_or(self.me.id);
        if creator != self.me.id {
            group.members.insert(creator, Standing::Creator);
        }
        let own = group.members[&self.me.id];
        self.put_chat(Chat::group(id, kind, group));
        self.bot_standing_changed(id, creator, Standing::Left, own);
        self.note(id, creator, Service::GroupCreated { supergroup: kind == ChatKind::Supergroup });
    }

    /// Says something in a chat on behalf of Telegram; the bot hears of it.
    pub fn note(&mut self, chat: i64, from: i64, service: Service) -> Option<i32> {
        self.note_in(chat, from, service, None)
    }

    /// The same in a topic.
    pub fn note_in(&mut self, chat: i64, from: i64, service: Service, extra: Option<Box<Extra>>) -> Option<i32> {
        let content = Content::Service(Box::new(service));
        let id = self.post(chat, Draft { from, content, markup: None, extra })?;
        self.queue_message(UpdateKind::Message, chat, id);
        Some(id)
    }

    /// Says a message in a chat; none if there is no such chat. The bot's own messages make no update.
    pub fn post(&mut self, chat_id: i64, draft: Draft) -> Option<i32> {
        let date = self.clock.now();
        let chat = self.chats.get_mut(&chat_id)?;
        let (id, revision) = chat.next_place();
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

    /// Changes a message in place. `dated` marks it as edited; a reaction or a vote does not.
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

    /// Deletes messages; those that are not there are passed over.
    pub fn delete(&mut self, chat_id: i64, ids: &[i32]) -> usize {
        let Some(chat) = self.chats.get_mut(&chat_id) else {
            return 0;
        };
        let gone: Vec<i32> = ids.iter().copied().filter(|id| chat.remove(*id).is_some()).collect();
        chat.wake();
        if !gone.is_empty() {
            self.save("gone", &json!({"chat": chat_id, "ids": gone}));
            self.events.tell("delete", || json!({"chat_id": chat_id, "message_ids": gone}));
        }
        gone.len()
    }

    pub fn add_file(&mut self, file: StoredFile) -> FileNo {
        if let Some(journal) = &self.journal {
            journal.save_upload(&file);
            journal.save("file", &file);
        }
        self.files.add(file)
    }

    /// The path of a link to a file, which works for an hour from now.
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
        self.events.tell("profile", || self.profile_overview());
    }

    pub fn me_changed(&mut self) {
        self.save("me", &json!({"user": self.me, "abilities": self.abilities}));
        self.events.tell("profile", || self.profile_overview());
    }

    /// Queues a message for the bot as `message` or `edited_message`; privacy is the caller's to see to.
    pub fn queue_message(&mut self, kind: UpdateKind, chat_id: i64, id: i32) {
        let Some(json) = self.rendered(chat_id, id, Audience::Bot) else {
            return;
        };
        self.queue_update(kind, Lane::Chat(chat_id), chat_id, &json);
    }

    /// Queues an update whose object is `inner`. Of a chat that the bot is out of it hears only that it is.
    pub fn queue_update(&mut self, kind: UpdateKind, lane: Lane, chat_id: i64, inner: &[u8]) {
        let closed = kind != UpdateKind::MyChatMember && self.chat(chat_id).is_some_and(|chat| chat.closed_to_bot);
        if closed || !self.queue.allowed.allows(kind) || !self.queue.has_room() {
            return;
        }
        let held = self.queue.take_held(chat_id);
        // What lets a held one go is not struck itself: it must be there for the other to come behind.
        let fault = if held.is_empty() { self.faults.strike_update(chat_id) } else { None };
        if fault.as_ref().is_some_and(|fault| fault.order.updates == Some(Delivery::RestartIds)) {
            self.queue.restart_ids();
        }
        let (id, now_ms) = (self.queue.take_id(), self.clock.now_ms());
        let update = Queued::new(id, kind, lane, now_ms, update_json(id, kind, inner));
        self.note_update(&update.json);
        match fault {
            Some(fault) => self.queue_struck(update, &fault.order, now_ms),
            None => {
                self.enqueue(update);
            }
        }
        for update in held {
            self.forget_updates(&[update.number]);
            self.enqueue(update);
        }
    }

    /// Puts an update behind all that wait; gives its number.
    pub fn enqueue(&mut self, update: Queued) -> u64 {
        let next_id = self.queue.next_id();
        let update = self.queue.push(update);
        if let Some(journal) = &self.journal {
            journal.save_update(update, next_id);
        }
        self.updates_ready.notify_waiters();
        update.number
    }

    /// Updates, by their numbers, that the bot has taken, or that have expired.
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
        // Most messages fit, and need no second allocation.
        let mut json = Vec::with_capacity(1024);
        serde_json::to_writer(&mut json, &self.message_view(chat, chat.message(id)?, audience)).ok()?;
        Some(json)
    }

    /// `my_chat_member`: the bot was added, removed, blocked or unblocked.
    pub fn bot_standing_changed(&mut self, chat_id: i64, by: i64, old: Standing, new: Standing) {
        self.standing_changed(UpdateKind::MyChatMember, chat_id, by, self.me.id, old, new);
    }

    /// Queues a `ChatMemberUpdated`.
    pub fn standing_changed(
        &mut self,
        kind: UpdateKind,
        chat_id: i64,
        by: i64,
        user: i64,
        old: Standing,
        new: Standing,
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
        if let Some(journal) = &self.journal {
            journal.save(kind, value);
        }
    }

    /// Puts a chat or user back as it was, telling nobody: the journal is being read.
    pub(crate) fn restore_user(&mut self, user: User) {
        self.users.insert(user.id, user);
    }

    pub(crate) fn restore_chat(&mut self, chat: Chat) {
        match self.chats.get_mut(&chat.id) {
            Some(known) => known.take_over(chat),
            None => drop(self.chats.insert(chat.id, chat)),
        }
    }

    fn note_update(&mut self, json: &Bytes) {
        let entry = Entry::Update { id: self.log.next_id(), at_ms: self.clock.now_ms(), json: json.clone() };
        self.events.tell("update", || entry.shown());
        self.log.push(entry);
    }

    fn message_changed(&self, event: &'static str, chat_id: i64, id: i32) {
        let Some(chat) = self.chats.get(&chat_id) else { return };
        chat.wake();
        let Some(message) = chat.message(id) else { return };
        if self.journal.is_some() {
            self.save("message", &json!({"chat": chat_id, "message": message}));
        }
        let view = || json!({"chat_id": chat_id, "message": self.message_view(chat, message, Audience::People)});
        self.events.tell(event, view);
    }
}

fn update_json(id: i64, kind: UpdateKind, inner: &[u8]) -> Bytes {
    let mut json = Vec::with_capacity(inner.len() + 48);
    json.extend_from_slice(format!("{{\"update_id\":{id},\"{}\":", kind.name()).as_bytes());
    json.extend_from_slice(inner);
    json.push(b'}');
    json.into()
}
