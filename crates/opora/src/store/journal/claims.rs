//! The lease, on Redis or on the journal. It changes its place only when it is asked for anew.
//!
//! Beside an application's tables the journal's lease is held along with the one on Redis. That one decides: whoever gets it
//! takes the journal's, whoever had that.

use std::sync::atomic::Ordering;

use futures_util::future::join;

use super::Shared;
use super::book::is_ours;
use crate::instance::describe;
use crate::store::{Epoch, Filter, Holder, Lease, LeaseAnswer, Store, StoreError, StoreResult};

/// How many conversations of the journal are read at once.
const PAGE: usize = 1_000;

impl Shared {
    pub(super) async fn claim(&self, bot: i64, holder: &Holder, seen: Option<&Lease>) -> StoreResult<LeaseAnswer> {
        if let Some(what) = self.refusal.lock().clone() {
            return Err(StoreError::Lost { what: format!("{what}. The journal {} is kept", self.book.name()) });
        }
        if self.is_away() {
            self.claim_here(bot, holder, seen).await
        } else {
            self.claim_there(bot, holder, seen).await
        }
    }

    /// Gives the lease back. That of a Redis which is away is claimed again when it is back.
    pub(super) async fn release(&self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        let is_here = is_ours(epoch);
        if !is_here && self.is_away() {
            return Ok(());
        }
        self.of_epoch(epoch)?.release(bot, epoch).await?;
        self.leases.lock().remove(&(bot, is_here));
        let held = self.held.lock().remove(&bot);
        if let Some((here, _)) = held
            && self.book.store().release(bot, here).await.is_ok()
        {
            // Else it runs out.
            self.leases.lock().remove(&(bot, true));
        }
        Ok(())
    }

    pub(super) async fn renew(&self, bot: i64, epoch: Epoch) -> StoreResult<()> {
        let store = self.of_epoch(epoch)?;
        if is_ours(epoch) {
            return store.renew(bot, epoch).await;
        }
        let (renewed, held) = join(store.renew(bot, epoch), self.renew_held(bot)).await;
        held.and(renewed)
    }

    /// Renews the journal's lease beside the one on Redis, which is not to wait for it. A database that is away ends nothing;
    /// that somebody else has it does.
    async fn renew_held(&self, bot: i64) -> StoreResult<()> {
        let Some((here, patience)) = self.held.lock().get(&bot).copied() else { return Ok(()) };
        match tokio::time::timeout(patience, self.book.store().renew(bot, here)).await {
            Ok(Err(error)) if error.ends_the_lease() => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes the journal's lease beside the one on Redis, where others can reach the journal. One in a file is left alone:
    /// Redis can be used also while this disk is full.
    async fn hold_here(&self, bot: i64, holder: &Holder) -> StoreResult<()> {
        if self.book.tables().is_some() {
            let here = self.take_here(bot, holder).await?;
            self.held.lock().insert(bot, (here, holder.waits_aside()));
        }
        Ok(())
    }

    /// Takes the journal's lease, whoever had it: who still writes under an older one is refused from now on.
    pub(super) async fn take_here(&self, bot: i64, holder: &Holder) -> StoreResult<Epoch> {
        let seen = self.book.store().lease(bot).await?;
        match self.book.store().claim(bot, holder, seen.as_ref()).await? {
            LeaseAnswer::Granted(here) => {
                self.granted((bot, true), here, holder);
                Ok(here)
            }
            LeaseAnswer::Held(_) => Err(StoreError::Unavailable("the journal is in use".into())),
        }
    }

    /// Claims on the journal.
    async fn claim_here(&self, bot: i64, holder: &Holder, seen: Option<&Lease>) -> StoreResult<LeaseAnswer> {
        let answer = self.claim_from(self.book.store(), (bot, true), holder, seen).await?;
        if let LeaseAnswer::Granted(epoch) = answer {
            self.granted((bot, true), epoch, holder);
            self.held.lock().remove(&bot);
            self.end_decisions(bot, epoch).await?;
            // What a turn has decided stands, and nobody here knows it: such a conversation goes on when Redis has that
            // turn. By now none is on its way any more.
            let unsure = self.there.get().map(|there| there.unsure_of(bot)).unwrap_or_default();
            unsure.iter().for_each(|key| self.copies.forget(key));
            self.book.begin(bot).await?;
            self.book.keep_marks(bot, &self.copies.taken_by(bot), self.clock.now()).await?;
            self.read_imported(bot).await?;
            self.on_journal.write().insert(bot);
        }
        Ok(answer)
    }

    /// Lets nobody decide any more under a lease on Redis: what is written from now on is written by the journal's turns. A
    /// turn that hangs is refused, and not decided after the journal has taken its input.
    async fn end_decisions(&self, bot: i64, here: Epoch) -> StoreResult<()> {
        let Some(database) = self.book.tables() else { return Ok(()) };
        let there = self.there.get().and_then(|there| there.raised(bot));
        let known = there.max(self.raised.lock().get(&bot).copied());
        // Noted before it is asked for: its answer may be lost.
        let is_ended = database.end_decisions(bot, known, |raised| _ = self.raised.lock().insert(bot, raised)).await;
        if is_ended.map_err(|error| self.book.away(error))? {
            return Ok(());
        }
        // If that fails, it runs out.
        let _ = self.book.store().release(bot, here).await;
        let what = format!(
            "while Redis was away from here, another instance has led with it, as the journal {} shows: a journal is for a \
             single instance. It is kept: end the other one and start this one again",
            self.book.name()
        );
        Err(StoreError::Lost { what })
    }

    /// Claims on Redis, and replays what the journal has before anything else is done under the lease.
    async fn claim_there(&self, bot: i64, holder: &Holder, seen: Option<&Lease>) -> StoreResult<LeaseAnswer> {
        let there = self.there()?;
        let was_ours = self.leases.lock().contains_key(&(bot, false));
        let answer = self.claim_from(there.store(), (bot, false), holder, seen).await?;
        match &answer {
            LeaseAnswer::Granted(epoch) => {
                self.granted((bot, false), *epoch, holder);
                if self.accepted.swap(there.redis().losses_accepted(), Ordering::AcqRel)
                    != there.redis().losses_accepted()
                {
                    self.copies.forget_all();
                }
                // First: whoever goes on there, because Redis is away from them alone, must not write down what is then taken for
                // nothing and emptied.
                let hold_and_replay = async {
                    self.hold_here(bot, holder).await?;
                    self.replay(bot, *epoch, holder).await
                };
                hold_and_replay.await.map_err(StoreError::of_a_claim)?;
                self.copies.begin_term();
                self.on_journal.write().remove(&bot);
            }
            LeaseAnswer::Held(lease) if !self.book.is_empty(bot).await? => {
                let who = describe(&lease.holder);
                let journal = self.book.name();
                let what = format!(
                    "while Redis was away, this instance went on with the journal {journal}, and {who} has taken the lease: \
                     a journal is for a single instance. It is kept: end the other one and start this one again"
                );
                if was_ours {
                    return Err(StoreError::Lost { what });
                }
                tracing::error!(bot, %what, "the journal cannot be replayed yet");
            }
            LeaseAnswer::Held(_) => {}
        }
        Ok(answer)
    }

    /// Claims; a lease that is our own is claimed anew.
    async fn claim_from(
        &self,
        store: &dyn Store,
        (bot, is_here): (i64, bool),
        holder: &Holder,
        seen: Option<&Lease>,
    ) -> StoreResult<LeaseAnswer> {
        let answer = store.claim(bot, holder, seen).await?;
        let LeaseAnswer::Held(lease) = &answer else { return Ok(answer) };
        let is_ours = self.leases.lock().get(&(bot, is_here)) == Some(&lease.holder.token);
        if is_ours { store.claim(bot, holder, Some(lease)).await } else { Ok(answer) }
    }

    fn granted(&self, (bot, is_here): (i64, bool), epoch: Epoch, holder: &Holder) {
        self.leases.lock().insert((bot, is_here), holder.token.clone());
        let mut epochs = self.epochs.lock();
        // Of each store the last two: what was under way under the former may still be settled.
        let mut former: Vec<_> =
            epochs.iter().filter(|(known, of)| is_ours(**known) == is_here && **of == bot).collect();
        former.sort();
        let over: Vec<_> = former.iter().rev().skip(1).map(|(epoch, _)| **epoch).collect();
        for epoch in over {
            epochs.remove(&epoch);
        }
        epochs.insert(epoch, bot);
    }

    /// Which conversations the journal has, as an earlier process may have left them.
    async fn read_imported(&self, bot: i64) -> StoreResult<()> {
        let filter = Filter { bot: Some(bot), ended: true, ..Filter::default() };
        let mut after = None;
        loop {
            let rows = self.book.store().list(&filter, after.as_ref(), PAGE).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = Some(last.key.clone());
            self.imported.lock().extend(rows.into_iter().map(|row| row.key));
        }
    }
}
