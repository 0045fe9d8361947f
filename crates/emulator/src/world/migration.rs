//! A group becomes a supergroup: a new chat with a new id. The old chat only refers to the new one.

use super::World;
use super::chat::{Chat, ChatKind, Group};
use super::content::Service;

impl World {
    /// Upgrades a group on behalf of the user `by`; none if it is not a group, or was upgraded before.
    pub fn migrate(&mut self, old: i64, new: i64, by: i64) -> Option<()> {
        let group = self.chat_mut(old).filter(|chat| chat.kind == ChatKind::Group)?.group.as_mut()?;
        if group.migrated_to.is_some() {
            return None;
        }
        group.migrated_to = Some(new);
        let upgraded = Group {
            title: group.title.clone(),
            username: group.username.clone(),
            members: group.members.clone(),
            ..Group::default()
        };
        self.post_service_message(old, by, Service::MigratedTo(new));
        self.chat_changed(old);
        self.put_chat(Chat::group(new, ChatKind::Supergroup, upgraded));
        self.post_service_message(new, by, Service::MigratedFrom(old));
        Some(())
    }
}
