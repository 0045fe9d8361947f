//! Faults of the outbox.

use opora::clock::Millis;
use opora::store::{Epoch, IfUnsure, OutboxId, Outgoing, Seq, Settled, Settlement, Statistics, StoreResult};

use super::{Broken, Fault};

impl Broken {
    pub(super) fn change_outgoing(&self, outgoing: &mut [Outgoing]) {
        for call in outgoing {
            match self.fault {
                Fault::LosesUploads => call.extras.uploads.clear(),
                Fault::LosesIfUnsure => call.extras.if_unsure = IfUnsure::Resend,
                Fault::LosesPriority => call.extras.low_priority = false,
                Fault::LosesLabels => call.extras.label = None,
                Fault::KeepsSecrets => call.extras.secret = false,
                _ => (),
            }
        }
    }

    pub(super) async fn broken_sending(&self, ids: Vec<OutboxId>) -> Vec<OutboxId> {
        if self.fault == Fault::SendingMarksAll { self.all_unsent().await } else { ids }
    }

    pub(super) async fn broken_not_sent(&self, ids: Vec<OutboxId>) -> Vec<OutboxId> {
        if self.fault == Fault::NotSentClearsAll { self.all_unsent().await } else { ids }
    }

    async fn all_unsent(&self) -> Vec<OutboxId> {
        let bots = self.inner.operator().bots().await.unwrap();
        let rows = self.inner.unsent(bots[0], OutboxId(0), usize::MAX).await.unwrap();
        rows.into_iter().map(|row| row.id).collect()
    }

    pub(super) async fn broken_settle(&self, epoch: Epoch, mut settled: Vec<Settled>, at: Millis) -> StoreResult<()> {
        let epoch = self.epoch("settle", epoch).await;
        if self.does_nothing("settle") {
            return Ok(());
        }
        if self.fault == Fault::SettlesFirstOnly {
            settled.truncate(1);
        }
        let mut changed = Vec::new();
        for Settled { id, outcome } in settled {
            changed.extend(self.change_outcome(id, outcome).await?);
        }
        let at = if self.fault == Fault::LabelsWithoutAge { Millis(0) } else { at };
        self.inner.settle(epoch, changed, at).await
    }

    async fn change_outcome(&self, id: OutboxId, outcome: Settlement) -> StoreResult<Vec<Settled>> {
        let bot = self.inner.operator().bots().await?[0];
        let one = |outcome| Ok(vec![Settled { id, outcome }]);
        match (self.fault, outcome) {
            (Fault::FailedIsForgotten, Settlement::Failed(_)) => one(Settlement::Sent { labelled: None }),
            (Fault::FailedStays, Settlement::Failed(_)) => Ok(Vec::new()),
            (Fault::MovesEveryone, Settlement::Moved { to, .. }) => {
                let rows = self.inner.unsent(bot, OutboxId(0), usize::MAX).await?;
                let chats = rows.into_iter().filter_map(|row| row.outgoing.chat);
                Ok(chats.map(|from| Settled { id, outcome: Settlement::Moved { from, to } }).collect())
            }
            (Fault::MovesNothingLater, Settlement::Moved { from, to }) => {
                let rows = self.inner.unsent(bot, id, usize::MAX).await?;
                let back = rows.into_iter().find(|row| row.outgoing.chat == Some(from));
                let back = back.map(|row| Settled { id: row.id, outcome: Settlement::Moved { from: to, to: from } });
                Ok([Settled { id, outcome: Settlement::Moved { from, to } }].into_iter().chain(back).collect())
            }
            (Fault::LabelsWithoutChat, Settlement::Sent { labelled: Some((_, label, message)) }) => {
                one(Settlement::Sent { labelled: Some((0, label, message)) })
            }
            (Fault::KeepsTheFirstLabel, Settlement::Sent { labelled: Some((chat, label, message)) }) => {
                let first = self.inner.labelled(bot, chat, &label).await?.unwrap_or(message);
                one(Settlement::Sent { labelled: Some((chat, label, first)) })
            }
            (_, outcome) => one(outcome),
        }
    }

    pub(super) async fn broken_statistics(&self, bot: Option<i64>) -> StoreResult<Statistics> {
        let bot = bot.filter(|_| self.fault != Fault::CountsAllBots);
        let mut counted = self.inner.statistics(bot).await?;
        if self.fault == Fault::NewestForOldest
            && let Some(bot) = bot
        {
            let rows = self.inner.unsent(bot, OutboxId(0), usize::MAX).await?;
            counted.outbox_oldest = rows.last().map(|row| row.at);
            let inputs = self.inner.waiting(bot, Seq(0), usize::MAX).await?;
            counted.inbox_oldest = inputs.last().map(|row| row.incoming.at);
        }
        Ok(if self.fault == Fault::CountsNothing { Statistics::default() } else { counted })
    }
}
