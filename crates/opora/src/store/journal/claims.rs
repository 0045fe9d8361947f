//! The lease, on Redis or on the journal. It moves between them only by a new claim.
//!
//! If the journal is in an application's database, the leader holds the journal's lease too. The lease on Redis
//! decides: its holder takes the journal's lease from any other instance.

use std::sync::atomic::Ordering;

use futures_util::future::join;

use super::database::is_journal_epoch;
use super::{PrimaryStore, Shared};
use crate::store::{Epoch, Filter, Holder, Lease, LeaseAnswer, Store, StoreError, StoreResult, describe_holder};

/// How many conversations of the journal are read at once.
const PAGE: usize = 1_000;

impl Shared {
    pub(super) async fn claim(&self, bot: i64, holder: &Holder, seen: Option<&Lease>) -> StoreResult<LeaseAnswer> {
        if let Some(what) = self.refusal.lock().clone() {
            return Err(StoreError::Lost { what: format!("{what}. The journal {} is kept", self.journal.name()) });
        }
        if self.is_away() {
            self.claim_on_journal(bot, holder, seen).await
        } else {
            self.claim_on_redis(bot, holder, seen).await
        }
    }

    /// Releases the lease. A lease on a Redis that is away stays, and is claimed again when Redis is back.
    pub(super) async fn release(&self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        let is_on_journal = is_journal_epoch(epoch);
        if !is_on_journal && self.is_away() {
            return Ok(());
        }
        self.store_of_epoch(epoch)?.release(bot, epoch).await?;
        self.lease_tokens.lock().remove(&(bot, is_on_journal));
        let lease = self.journal_leases.lock().remove(&bot);
        if let Some((journal_epoch, _)) = lease
            && self.journal.store().release(bot, journal_epoch).await.is_ok()
        {
            // If the release fails, the lease runs out.
            self.lease_tokens.lock().remove(&(bot, true));
        }
        Ok(())
    }

    pub(super) async fn renew(&self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        let store = self.store_of_epoch(epoch)?;
        if is_journal_epoch(epoch) {
            return store.renew(bot, epoch).await;
        }
        let (renewed, held) = join(store.renew(bot, epoch), self.renew_journal_lease(bot)).await;
        held.and(renewed)
    }

    /// Renews the journal's lease that is held beside the one on Redis, with a time limit. An unreachable database is
    /// ignored; an error says that another instance took the lease.
    async fn renew_journal_lease(&self, bot: i64) -> StoreResult<()> {
        let Some((journal_epoch, patience)) = self.journal_leases.lock().get(&bot).copied() else { return Ok(()) };
        match tokio::time::timeout(patience, self.journal.store().renew(bot, journal_epoch)).await {
            Ok(Err(error)) if error.ends_lease() => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes the journal's lease beside the one on Redis, if the journal is in a shared database. A journal file is not
    /// written: Redis must stay usable while this disk is full.
    async fn hold_journal_lease(&self, bot: i64, holder: &Holder) -> StoreResult<()> {
        if self.journal.application_database().is_some() {
            let journal_epoch = self.take_journal_lease(bot, holder).await?;
            self.journal_leases.lock().insert(bot, (journal_epoch, holder.side_check_timeout()));
        }
        Ok(())
    }

    /// Takes the journal's lease from any holder: writes under an older epoch are refused from now on.
    pub(super) async fn take_journal_lease(&self, bot: i64, holder: &Holder) -> StoreResult<Epoch> {
        let seen = self.journal.store().lease(bot).await?;
        match self.journal.store().claim(bot, holder, seen.as_ref()).await? {
            LeaseAnswer::Granted(journal_epoch) => {
                self.granted((bot, true), journal_epoch, holder);
                Ok(journal_epoch)
            }
            LeaseAnswer::Held(_) => Err(StoreError::Unavailable("the journal is in use".into())),
        }
    }

    async fn claim_on_journal(&self, bot: i64, holder: &Holder, seen: Option<&Lease>) -> StoreResult<LeaseAnswer> {
        let answer = self.claim_or_reclaim(self.journal.store(), (bot, true), holder, seen).await?;
        if let LeaseAnswer::Granted(epoch) = answer {
            self.granted((bot, true), epoch, holder);
            self.journal_leases.lock().remove(&bot);
            self.end_decisions(bot, epoch).await?;
            // A decided turn stands, but its result is not known here: its conversation has to wait for Redis. No
            // decision can still be under way, because `end_decisions` has raised the fence.
            let decisions = self.primary.get().and_then(PrimaryStore::decision_store);
            let uncertain = decisions.map(|decisions| decisions.uncertain_conversations(bot)).unwrap_or_default();
            uncertain.iter().for_each(|key| self.copies.forget(key));
            self.journal.begin_outage(bot).await?;
            self.journal.keep_marks(bot, &self.copies.recent_marks(bot), self.clock.now()).await?;
            self.read_imported(bot).await?;
            self.on_journal.write().insert(bot);
        }
        Ok(answer)
    }

    /// Raises the fence, so that no turn is decided under the lease on Redis any more. Otherwise a hanging turn could
    /// be decided after the journal has processed its input.
    async fn end_decisions(&self, bot: i64, journal_epoch: Epoch) -> StoreResult<()> {
        let Some(database) = self.journal.application_database() else { return Ok(()) };
        let decisions = self.primary.get().and_then(PrimaryStore::decision_store);
        let raised = decisions.and_then(|decisions| decisions.fence_epoch(bot));
        let highest_epoch = raised.max(self.fence_epochs.lock().get(&bot).copied());
        // Noted before the call: the answer may be lost.
        let note = |raised| _ = self.fence_epochs.lock().insert(bot, raised);
        let is_ended = database.end_decisions(bot, highest_epoch, note).await;
        if is_ended.map_err(|error| self.journal.explain_failure(error))? {
            return Ok(());
        }
        // If the release fails, the lease runs out.
        let _ = self.journal.store().release(bot, journal_epoch).await;
        let message = format!(
            "while Redis was unreachable from here, another instance was leader with it, as the journal {} shows: a journal is \
             for a single instance. The journal is kept: stop the other instance and start this one again",
            self.journal.name()
        );
        Err(StoreError::Lost { what: message })
    }

    /// Claims on Redis, and replays the journal before anything else is done under the lease.
    async fn claim_on_redis(&self, bot: i64, holder: &Holder, seen: Option<&Lease>) -> StoreResult<LeaseAnswer> {
        let primary = self.primary()?;
        let was_ours = self.lease_tokens.lock().contains_key(&(bot, false));
        let answer = self.claim_or_reclaim(primary.store(), (bot, false), holder, seen).await?;
        match &answer {
            LeaseAnswer::Granted(epoch) => {
                self.granted((bot, false), *epoch, holder);
                if self.losses_accepted.swap(primary.redis().losses_accepted(), Ordering::AcqRel)
                    != primary.redis().losses_accepted()
                {
                    self.copies.forget_all();
                }
                // The journal's lease comes first: an instance that has lost only its own connection to Redis must not
                // record turns that this replay would delete.
                let hold_and_replay = async {
                    self.hold_journal_lease(bot, holder).await?;
                    self.replay(bot, *epoch, holder).await
                };
                hold_and_replay.await.map_err(StoreError::for_claim)?;
                self.copies.clear_pending();
                self.on_journal.write().remove(&bot);
            }
            LeaseAnswer::Held(lease) if !self.journal.is_empty(bot).await? => {
                let other = describe_holder(&lease.holder);
                let journal = self.journal.name();
                let message = format!(
                    "while Redis was away, this instance went on with the journal {journal}, and {other} has taken the lease: \
                     a journal is for a single instance. The journal is kept: stop the other instance and start this one again"
                );
                if was_ours {
                    return Err(StoreError::Lost { what: message });
                }
                tracing::error!(bot, reason = %message, "the journal cannot be replayed yet");
            }
            LeaseAnswer::Held(_) => {}
        }
        Ok(answer)
    }

    /// Claims the lease, also if this process holds it already.
    async fn claim_or_reclaim(
        &self,
        store: &dyn Store,
        (bot, is_on_journal): (i64, bool),
        holder: &Holder,
        seen: Option<&Lease>,
    ) -> StoreResult<LeaseAnswer> {
        let answer = store.claim(bot, holder, seen).await?;
        let LeaseAnswer::Held(lease) = &answer else { return Ok(answer) };
        let held_token = &lease.holder.token;
        // The token of this claim: an earlier attempt was granted, and its answer was lost.
        let is_ours =
            *held_token == holder.token || self.lease_tokens.lock().get(&(bot, is_on_journal)) == Some(held_token);
        if is_ours { store.claim(bot, holder, Some(lease)).await } else { Ok(answer) }
    }

    fn granted(&self, (bot, is_on_journal): (i64, bool), epoch: Epoch, holder: &Holder) {
        self.lease_tokens.lock().insert((bot, is_on_journal), holder.token.clone());
        let mut epochs = self.epochs.lock();
        // Keeps the last two epochs of each store: messages sent under the former one may still be settled.
        let mut former: Vec<_> =
            epochs.iter().filter(|(known, of)| is_journal_epoch(**known) == is_on_journal && **of == bot).collect();
        former.sort();
        let expired: Vec<_> = former.iter().rev().skip(1).map(|(epoch, _)| **epoch).collect();
        for epoch in expired {
            epochs.remove(&epoch);
        }
        epochs.insert(epoch, bot);
    }

    /// Reads which conversations the journal has: an earlier process may have left some.
    async fn read_imported(&self, bot: i64) -> StoreResult<()> {
        let filter = Filter { bot: Some(bot), ended: true, ..Filter::default() };
        let mut after = None;
        loop {
            let rows = self.journal.store().list(&filter, after.as_ref(), PAGE).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = Some(last.key.clone());
            self.imported.lock().extend(rows.into_iter().map(|row| row.key));
        }
    }
}
