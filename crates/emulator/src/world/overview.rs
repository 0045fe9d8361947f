//! JSON overviews of a world for the chat page, which shows more than the bot sees.

use serde::Serialize;
use serde_json::{Value, json};

use super::World;
use super::chat::{Chat, MemberStatus};
use super::render::{Audience, ChatView};

/// The rights of an administrator: all of them, which is simplest for tests.
const RIGHTS: [&str; 15] = [
    "can_manage_chat",
    "can_delete_messages",
    "can_manage_video_chats",
    "can_restrict_members",
    "can_promote_members",
    "can_change_info",
    "can_invite_users",
    "can_post_stories",
    "can_edit_stories",
    "can_delete_stories",
    "can_pin_messages",
    "can_manage_topics",
    "can_manage_direct_messages",
    "can_manage_tags",
    // Newer than Bot API 10.1, but some clients cannot read an administrator without it.
    "can_send_welcome_messages",
];

impl World {
    /// `getMe`.
    pub fn me_overview(&self) -> Value {
        #[derive(Serialize)]
        struct Me<'a> {
            #[serde(flatten)]
            user: &'a super::user::User,
            #[serde(flatten)]
            abilities: &'a super::user::Abilities,
        }
        json!(Me { user: &self.me, abilities: &self.abilities })
    }

    pub fn chat_overview(&self, chat: &Chat) -> Value {
        let mut shown = json!(ChatView { world: self, chat });
        let present = |status: &MemberStatus| !matches!(status, MemberStatus::Left | MemberStatus::Kicked);
        let members: Vec<i64> = match &chat.group {
            Some(group) => {
                let here = group.members.iter().filter(|(id, status)| **id != self.me.id && present(status));
                here.map(|(id, _)| *id).collect()
            }
            None => vec![chat.id],
        };
        let blocked = chat.is_private() && chat.closed_to_bot;
        shown["blocked_by"] = if blocked { json!([chat.id]) } else { json!([]) };
        shown["member_ids"] = json!(members);
        shown["is_member"] = json!(!chat.closed_to_bot);
        shown["topics"] = json!(chat.group.as_ref().map(|group| &group.topics[..]).unwrap_or_default());
        shown["pinned_message_id"] = json!(chat.pinned.last());
        shown["last_message"] =
            json!(chat.last_message().map(|message| self.message_view(chat, message, Audience::People)));
        shown
    }

    pub fn profile_overview(&self) -> Value {
        let text = |texts| super::profile::in_language(texts, "").unwrap_or_default();
        let private = self.profile.commands.get("private/").or_else(|| self.profile.commands.get("default/"));
        json!({
            "bot": self.me_overview(),
            "commands": private.map(Vec::as_slice).unwrap_or_default(),
            "menu_button": self.profile.menu_buttons.get(&0).map_or(json!({"type": "commands"}), |it| json!(it)),
            "description": text(&self.profile.descriptions),
            "short_description": text(&self.profile.short_descriptions),
        })
    }

    /// `getWebhookInfo`.
    pub fn webhook_info(&self) -> Value {
        let nothing = super::profile::Webhook::default();
        let webhook = self.profile.webhook.as_ref().unwrap_or(&nothing);
        let mut info = json!({
            "url": webhook.url,
            "has_custom_certificate": webhook.has_custom_certificate,
            "pending_update_count": self.queue.len(),
        });
        if self.profile.webhook.is_some() {
            info["max_connections"] = webhook.max_connections.into();
            info["ip_address"] = json!(webhook.ip_address.as_deref().unwrap_or("127.0.0.1"));
        }
        if let Some((date, message)) = &webhook.last_error {
            info["last_error_date"] = json!(date);
            info["last_error_message"] = json!(message);
        }
        if !self.queue.allowed.names().is_empty() {
            info["allowed_updates"] = json!(self.queue.allowed.names());
        }
        info
    }

    /// A `ChatMember`.
    pub fn member(&self, user: i64, status: MemberStatus) -> Value {
        let user = json!(self.user(user));
        match status {
            MemberStatus::Creator => json!({"status": "creator", "user": user, "is_anonymous": false}),
            MemberStatus::Administrator => {
                let mut member = json!({
                    "status": "administrator", "user": user, "can_be_edited": false, "is_anonymous": false,
                });
                for right in RIGHTS {
                    member[right] = true.into();
                }
                member
            }
            MemberStatus::Member => json!({"status": "member", "user": user}),
            MemberStatus::Left => json!({"status": "left", "user": user}),
            MemberStatus::Kicked => json!({"status": "kicked", "user": user, "until_date": 0}),
        }
    }
}
