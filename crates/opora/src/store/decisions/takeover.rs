//! Claims. Before a lease is granted, earlier leaders are fenced off from the database, and every decision is carried
//! out in Redis.

use std::collections::HashSet;

use futures_util::future::{try_join, try_join_all};

use super::DecisionStore;
use super::record::Decision;
use crate::key::ConversationKey;
use crate::store::{Epoch, Holder, Lease, LeaseAnswer, Store, StoreError, StoreResult};

/// How many decisions are compared at once.
const PAGE: usize = 500;

impl DecisionStore {
    pub(super) async fn claim_both(&self, bot: i64, holder: &Holder, seen: Option<&Lease>) -> StoreResult<LeaseAnswer> {
        if let Some(held) = self.redis.blocking_lease(bot, seen).await? {
            return Ok(LeaseAnswer::Held(Box::new(held)));
        }
        self.database.set_verify_timeout(holder);
        self.database.verify().await?;
        let (fence, generation) = try_join(self.database.fence(bot), self.redis.generation_now()).await?;
        if fence.as_ref().is_some_and(|fence| fence.generation != generation) {
            return Err(StoreError::Unsupported(OTHER_REDIS));
        }
        // A Redis that lost its last second must not grant an epoch twice.
        let floor = fence.map_or(Epoch(0), |fence| fence.epoch);
        let answer = self.redis.claim_above(floor, bot, holder, seen).await?;
        if let LeaseAnswer::Granted(epoch) = answer
            && let Err(error) = self.carry_out_decisions(bot, epoch, &generation).await
        {
            // If the release fails too, the lease runs out.
            let _ = self.redis.release(bot, epoch).await;
            return Err(error.for_claim());
        }
        Ok(answer)
    }

    /// Fences off earlier leaders, then carries out their decisions.
    async fn carry_out_decisions(&self, bot: i64, epoch: Epoch, generation: &str) -> StoreResult<()> {
        // Noted before the call: the answer may be lost.
        self.fence_epochs.lock().insert(bot, epoch);
        if !self.database.raise(bot, epoch, generation).await? {
            return Err(StoreError::fenced(epoch, "the database has a later epoch"));
        }
        let mut after = None;
        let mut redone = 0;
        loop {
            let page = self.database.decided_versions_after(bot, after.as_ref(), PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            let first = page[0].0.clone();
            let last = last.clone();
            let behind = self.redis.not_carried_out(bot, page).await?;
            redone += behind.len();
            self.redo_all_in_redis(epoch, &first, &last, behind).await?;
            // The regular renewal has not started yet.
            self.redis.renew(bot, epoch).await?;
            after = Some(last);
        }
        for key in self.database.decided_with_secrets(bot).await? {
            if let Some(mut decision) = self.database.decision(&key).await? {
                self.drop_secrets(&mut decision).await?;
            }
        }
        // Also messages of the turns that were carried out just now.
        let sent = self.redis.begin(bot, epoch).await?;
        self.note_settled(sent.into_iter());
        // No decision of an earlier lease can still be running.
        self.uncertain.lock().retain(|key| key.bot != bot);
        if redone > 0 {
            tracing::warn!(bot, decisions = redone, "carried out decided turns that were missing in Redis");
        }
        Ok(())
    }

    /// Carries out the decisions of a page that are missing in Redis.
    async fn redo_all_in_redis(
        &self,
        epoch: Epoch,
        first: &ConversationKey,
        last: &ConversationKey,
        behind: Vec<ConversationKey>,
    ) -> StoreResult<()> {
        if behind.is_empty() {
            return Ok(());
        }
        let behind: HashSet<_> = behind.into_iter().collect();
        let mut decisions: Vec<Decision> = Vec::with_capacity(behind.len());
        for decision in self.database.decisions_between(first, last).await? {
            match decision {
                Ok(decision) if behind.contains(&decision.commit.key) => decisions.push(decision),
                Ok(_) => {}
                // Only this conversation cannot be opened.
                Err(error) => tracing::error!(%error, "cannot carry out a decision"),
            }
        }
        try_join_all(decisions.into_iter().map(|decision| self.redo_in_redis(epoch, decision))).await.map(drop)
    }
}

const OTHER_REDIS: &str = "this is not the Redis that the database belongs to: it was emptied, or it is another one. Nothing \
                           was written; restore the right one, or accept this one as it is with `opora state accept`";
