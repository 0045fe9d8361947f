//! Forgets a person.

use super::data::BotData;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::Origin;
use crate::store::operator::is_of_person;

impl BotData {
    /// Removes the messages from and to a person. Returns the number of removed rows.
    pub(super) fn forget_person(&mut self, user: i64, now: Millis) -> u64 {
        if user <= 0 {
            return 0;
        }
        let inputs = self.inbox.of_person(user);
        for row in &inputs {
            self.inbox.remove(row.seq);
            if let Origin::Update(mark) = &row.incoming.origin {
                self.marks.take(mark.clone(), now);
            }
        }
        let stays = |key: &ConversationKey| !is_of_person(key, user);
        let before = self.effects.len() + self.parked.len() + self.transitions.len();
        self.effects.retain(|_, row| stays(&row.key));
        self.parked.retain(|_, row| stays(&row.key));
        let by_age = &mut self.transitions_by_age;
        self.transitions.retain(|id, row| {
            let stays = stays(&row.key);
            if !stays {
                by_age.remove(row.at, *id);
            }
            stays
        });
        let others = before - self.effects.len() - self.parked.len() - self.transitions.len();
        (inputs.len() + others) as u64
            + self.conversations.forget_person(user, now)
            + self.outbox.forget_person(user)
            + self.timers.forget_person(user)
    }
}
