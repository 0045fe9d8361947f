//! Faults of leases.

use opora::store::{Epoch, Holder, Lease, LeaseAnswer, StoreResult};

use super::{Broken, Fault};

impl Broken {
    pub(super) fn bot_of_lease(&self, bot: i64) -> i64 {
        if self.fault == Fault::OneLeaseForAllBots { 0 } else { bot }
    }

    pub(super) async fn broken_claim(
        &self,
        bot: i64,
        holder: &Holder,
        seen: Option<&Lease>,
    ) -> StoreResult<LeaseAnswer> {
        let bot = self.bot_of_lease(bot);
        let held = self.inner.lease(bot).await?;
        let seen = match (self.fault, seen) {
            (Fault::NeverTakesOver, _) => None,
            (Fault::GivesTheLeaseToAnyone, _) | (Fault::TakesOverAnyLease, Some(_)) => held,
            (Fault::IgnoresRenewals, Some(seen)) => held.map(|held| Lease { renewals: held.renewals, ..seen.clone() }),
            (_, seen) => seen.cloned(),
        };
        let answer = self.inner.claim(bot, holder, seen.as_ref()).await?;
        Ok(match answer {
            LeaseAnswer::Granted(_) if self.fault == Fault::RestartsEpochs => LeaseAnswer::Granted(Epoch(1)),
            other => other,
        })
    }
}
