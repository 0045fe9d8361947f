//! What comes before a lease is granted: nobody else can write to the database, and Redis knows of every decision.

use std::collections::HashSet;

use futures_util::future::{try_join, try_join_all};

use super::DecidedStore;
use super::record::Decision;
use crate::key::DialogueKey;
use crate::store::{Epoch, Holder, Lease, LeaseAnswer, Store, StoreError, StoreResult};

/// How many decisions are compared at once.
const PAGE: usize = 500;

impl DecidedStore {
    pub(super) async fn claim_both(&self, bot: i64, holder: &Holder, seen: Option<&Lease>) -> StoreResult<LeaseAnswer> {
        if let Some(held) = self.redis.held(bot, seen).await? {
            return Ok(LeaseAnswer::Held(Box::new(held)));
        }
        self.database.is_asked_by(holder);
        self.database.verify().await?;
        let (fence, generation) = try_join(self.database.fence(bot), self.redis.generation_now()).await?;
        if fence.as_ref().is_some_and(|fence| fence.generation != generation) {
            return Err(StoreError::Unsupported(OTHER_REDIS));
        }
        // A Redis that has forgotten its last second must not give an epoch twice.
        let floor = fence.map_or(Epoch(0), |fence| fence.epoch);
        let answer = self.redis.claim_above(floor, bot, holder, seen).await?;
        if let LeaseAnswer::Granted(epoch) = answer
            && let Err(error) = self.take_up(bot, epoch, &generation).await
        {
            // If that fails too, the lease runs out.
            let _ = self.redis.release(bot, epoch).await;
            return Err(error.of_a_claim());
        }
        Ok(answer)
    }

    /// Ends what earlier holders may still write, then carries out what they have decided.
    async fn take_up(&self, bot: i64, epoch: Epoch, generation: &str) -> StoreResult<()> {
        // Noted before it is asked for: its answer may be lost.
        self.raised.lock().insert(bot, epoch);
        if !self.database.raise(bot, epoch, generation).await? {
            return Err(StoreError::Fenced { mine: epoch, holder: "the database knows of a later one".to_owned() });
        }
        let mut after = None;
        let mut brought_back = 0;
        loop {
            let page = self.database.decided_after(bot, after.as_ref(), PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            let first = page[0].0.clone();
            let last = last.clone();
            let behind = self.redis.not_carried_out(bot, page).await?;
            brought_back += behind.len();
            self.bring_all_back(epoch, &first, &last, behind).await?;
            // Nobody else renews yet.
            self.redis.renew(bot, epoch).await?;
            after = Some(last);
        }
        for key in self.database.decided_with_secrets(bot).await? {
            if let Some(mut decision) = self.database.decision(&key).await? {
                self.drop_secrets(&mut decision).await?;
            }
        }
        // Also of what was brought back just now.
        let sent = self.redis.begin(bot, epoch).await?;
        self.settled.lock().note(sent.into_iter());
        // Nothing of an earlier term is on its way any more.
        self.unsure.lock().retain(|key| key.bot != bot);
        if brought_back > 0 {
            tracing::warn!(
                bot,
                decisions = brought_back,
                "turns were decided and not carried out in Redis; now they are"
            );
        }
        Ok(())
    }

    /// Carries out those of a page that are behind.
    async fn bring_all_back(
        &self,
        epoch: Epoch,
        first: &DialogueKey,
        last: &DialogueKey,
        behind: Vec<DialogueKey>,
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
                // Its conversation cannot be opened; the others can.
                Err(error) => tracing::error!(%error, "a decision cannot be carried out"),
            }
        }
        try_join_all(decisions.into_iter().map(|decision| self.bring_back(epoch, decision))).await.map(drop)
    }
}

const OTHER_REDIS: &str = "this is not the Redis that the database knows: it was emptied, or it is another one. Nothing was \
                           written; bring the right one back, or accept this one as it is with `opora state accept`";
