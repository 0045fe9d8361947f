//! Removes the data of a person.

use super::RedisBackend;
use super::gather::MAX_PAGE;
use super::keys::{KeyKind, PARTITIONS, partition_of};
use super::maintenance::sum;
use super::ordered::{name_of, number_of};
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{Filter, StoreResult};

impl RedisBackend {
    /// Removes everything of a person. Returns how many rows.
    ///
    /// Conversations and posts of a person may be in any partition, so each partition is called once.
    pub(super) async fn forget_person(&self, bot: i64, user: i64, now: Millis) -> StoreResult<u64> {
        if user <= 0 {
            return Ok(0);
        }
        let head = || vec![number_of(user), user.to_string(), now.0.to_string()];
        let mut parts: Vec<_> = (0..PARTITIONS).map(|partition| (partition, head())).collect();
        for key in self.conversations_of_person(bot, user).await? {
            parts[partition_of(&key)].1.push(name_of(&key));
        }
        sum(&self.writer.write_all("forget", None, bot, KeyKind::AiogramNotes, parts).await?, 0)
    }

    /// The conversations of a person, ended ones too.
    pub(crate) async fn conversations_of_person(&self, bot: i64, user: i64) -> StoreResult<Vec<ConversationKey>> {
        let filter = Filter { bot: Some(bot), user: Some(user), ended: true, ..Filter::default() };
        let mut keys = Vec::new();
        let mut after = None;
        loop {
            let page = self.list_rows(&filter, after.as_ref(), MAX_PAGE).await?;
            let is_last = page.len() < MAX_PAGE;
            keys.extend(page.into_iter().map(|row| row.key));
            after = keys.last().cloned();
            if is_last {
                break;
            }
        }
        let private = ConversationKey::private(bot, user);
        if !keys.contains(&private) {
            keys.push(private);
        }
        Ok(keys)
    }
}
