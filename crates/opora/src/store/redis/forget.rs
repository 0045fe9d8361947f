//! Forgets a person.

use super::RedisBackend;
use super::gather::PAGE_MOST;
use super::keeping::sum;
use super::keys::{PARTITIONS, Thing, partition_of};
use super::ordered::{name_of, number_of};
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{Filter, StoreResult};

impl RedisBackend {
    /// Removes what was said by a person and to the person; how much there was.
    ///
    /// A person's conversations may be in any partition, and posts to the person too: each partition is asked once.
    pub(super) async fn forget_person(&self, bot: i64, user: i64, now: Millis) -> StoreResult<u64> {
        if user <= 0 {
            return Ok(0);
        }
        let head = || vec![number_of(user), user.to_string(), now.0.to_string()];
        let mut parts: Vec<_> = (0..PARTITIONS).map(|partition| (partition, head())).collect();
        for key in self.conversations_of_person(bot, user).await? {
            parts[partition_of(&key)].1.push(name_of(&key));
        }
        sum(&self.write_rooms("forget", bot, Thing::Notes, parts).await?, 0)
    }

    /// The conversations of a person, ended ones too.
    pub(in crate::store) async fn conversations_of_person(&self, bot: i64, user: i64) -> StoreResult<Vec<DialogueKey>> {
        let filter = Filter { bot: Some(bot), user: Some(user), ended: true, ..Filter::default() };
        let mut keys = Vec::new();
        let mut after = None;
        loop {
            let page = self.list_rows(&filter, after.as_ref(), PAGE_MOST).await?;
            let is_last = page.len() < PAGE_MOST;
            keys.extend(page.into_iter().map(|row| row.key));
            after = keys.last().cloned();
            if is_last {
                break;
            }
        }
        let private = DialogueKey::private(bot, user);
        if !keys.contains(&private) {
            keys.push(private);
        }
        Ok(keys)
    }
}
