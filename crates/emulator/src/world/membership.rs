//! Joining, leaving, blocking, reacting and voting, and the updates that the bot gets.

use serde_json::json;
use serde_json::value::RawValue;

use super::World;
use super::chat::MemberStatus;
use super::content::{Content, Poll, Service};
use super::message::Reaction;
use super::queue::Lane;
use super::render::{ChatView, PollView};
use super::update::UpdateKind;

impl World {
    /// A person blocks the bot or unblocks it.
    pub fn set_blocked(&mut self, user: i64, blocked: bool) {
        let Some(chat) = self.chat_mut(user) else { return };
        if chat.closed_to_bot == blocked {
            return;
        }
        chat.closed_to_bot = blocked;
        let (old, new) = if blocked {
            (MemberStatus::Member, MemberStatus::Kicked)
        } else {
            (MemberStatus::Kicked, MemberStatus::Member)
        };
        self.bot_status_changed(user, user, old, new);
        self.chat_changed(user);
    }

    /// A person or the bot leaves a group.
    pub fn leave(&mut self, chat_id: i64, user: i64) -> bool {
        self.move_member(chat_id, user, MemberStatus::Left)
    }

    pub fn join(&mut self, chat_id: i64, user: i64) -> bool {
        self.move_member(chat_id, user, MemberStatus::Member)
    }

    fn move_member(&mut self, chat_id: i64, user: i64, new: MemberStatus) -> bool {
        let me = self.me.id;
        let Some(chat) = self.chat_mut(chat_id) else {
            return false;
        };
        let Some(group) = &mut chat.group else { return false };
        let old = group.members.insert(user, new).unwrap_or(MemberStatus::Left);
        let here = |status| !matches!(status, MemberStatus::Left | MemberStatus::Kicked);
        if here(old) == here(new) {
            group.members.insert(user, old);
            return false;
        }
        if user == me {
            chat.closed_to_bot = !here(new);
            self.bot_status_changed(chat_id, user, old, new);
        } else {
            self.member_status_changed(UpdateKind::ChatMember, chat_id, user, user, old, new);
        }
        let service = if here(new) { Service::Joined(vec![user]) } else { Service::Left(user) };
        self.post_service_message(chat_id, user, service);
        self.chat_changed(chat_id);
        true
    }

    /// Sets or removes the reaction of a user. Only reactions of people make an update.
    pub fn react(&mut self, chat_id: i64, id: i32, user: i64, kinds: Option<Box<RawValue>>) -> bool {
        let mut old = None;
        let new = kinds.clone();
        let there = self.change(chat_id, id, false, |message| {
            let reactions = &mut message.extra_mut().reactions;
            old = reactions.iter().position(|it| it.user == user).map(|at| reactions.remove(at).kinds);
            reactions.extend(kinds.map(|kinds| Reaction { user, kinds }));
        });
        if !there {
            return false;
        }
        self.events.publish(
            "reaction",
            || json!({"chat_id": chat_id, "message_id": id, "reactions": self.reactions(chat_id, id)}),
        );
        if user != self.me.id
            && let Some(chat) = self.chat(chat_id)
        {
            let inner = json!({
                "chat": ChatView { world: self, chat }, "message_id": id, "user": self.user(user),
                "date": self.clock.now(),
                "old_reaction": old.map_or(json!([]), |kinds| json!(kinds)),
                "new_reaction": new.map_or(json!([]), |kinds| json!(kinds)),
            });
            let inner = inner.to_string();
            self.queue_update(UpdateKind::MessageReaction, Lane::Chat(chat_id), chat_id, inner.as_bytes());
        }
        true
    }

    /// The reactions to a message, with their users.
    pub fn reactions(&self, chat_id: i64, id: i32) -> Vec<serde_json::Value> {
        let message = self.chat(chat_id).and_then(|chat| chat.message(id));
        let reactions = message.and_then(|message| message.extra.as_ref()).map(|extra| &extra.reactions[..]);
        reactions.unwrap_or_default().iter().map(|it| json!({"from": it.user, "reaction": it.kinds})).collect()
    }

    /// Sets the vote of a person; an empty one withdraws it. Returns why a vote is not possible.
    pub fn vote(
        &mut self,
        chat_id: i64,
        id: i32,
        user: i64,
        chosen: &[usize],
    ) -> Result<serde_json::Value, &'static str> {
        let Some(Content::Poll(poll)) = self.chat(chat_id).and_then(|chat| chat.message(id)).map(|it| &it.content)
        else {
            return Err("there is no such poll");
        };
        check_vote(poll, user, chosen, self.clock.now())?;
        let anonymous = poll.anonymous;
        self.change(chat_id, id, false, |message| {
            if let Content::Poll(poll) = &mut message.content {
                for (place, option) in poll.options.iter_mut().enumerate() {
                    option.voters.retain(|voter| *voter != user);
                    if chosen.contains(&place) {
                        option.voters.push(user);
                    }
                }
            }
        });
        let Some(Content::Poll(poll)) = self.chat(chat_id).and_then(|chat| chat.message(id)).map(|it| &it.content)
        else {
            return Err("there is no such poll");
        };
        let shown = json!(PollView { world: self, poll, in_message: false });
        let (inner, poll_id) = (shown.to_string(), poll.id.clone());
        self.queue_update(UpdateKind::Poll, Lane::Chat(chat_id), chat_id, inner.as_bytes());
        if !anonymous {
            let ids: Vec<String> = chosen.iter().map(usize::to_string).collect();
            let answer = json!({
                "poll_id": poll_id, "user": self.user(user), "option_ids": chosen, "option_persistent_ids": ids,
            });
            let answer = answer.to_string();
            self.queue_update(UpdateKind::PollAnswer, Lane::Chat(chat_id), chat_id, answer.as_bytes());
        }
        Ok(shown)
    }
}

fn check_vote(poll: &Poll, user: i64, chosen: &[usize], now: i64) -> Result<(), &'static str> {
    let voted = poll.options.iter().any(|option| option.voters.contains(&user));
    if poll.is_closed(now) {
        Err("the poll is closed")
    } else if chosen.iter().any(|place| *place >= poll.options.len()) {
        Err("there is no such option")
    } else if chosen.len() > 1 && !poll.several_answers {
        Err("the poll takes one answer")
    } else if voted && !poll.revoting {
        Err("the vote cannot be changed")
    } else {
        Ok(())
    }
}
