//! What a cancelled plan costs: the one place where fines of cancellations are calculated.
//!
//! The bot warns by it, pages and buttons name it, and the commit that rejects a reason posts it. A cancellation costs
//! nothing while its reason is undecided or accepted.

use opora::clock::Millis;
use sea_orm::DbErr;

use super::records::{Cancellation, Plan};
use super::{Shifts, fines_from_settings};
use crate::money::Money;

const HOUR_MS: i64 = 60 * 60_000;

/// The fines for a rejected cancellation, as positive prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fines {
    pub notice_hours: i64,
    pub short_notice: Money,
    pub invalid_reason: Money,
}

/// What a cancellation costs if its reason is rejected. Prices are positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancellationCost {
    pub invalid_reason: Money,
    /// None if the notice was long enough.
    pub short_notice: Option<Money>,
}

impl Fines {
    /// What a rejected reason costs.
    pub fn cost(&self, is_short_notice: bool) -> CancellationCost {
        CancellationCost {
            invalid_reason: self.invalid_reason,
            short_notice: is_short_notice.then_some(self.short_notice),
        }
    }
}

/// Whether a plan that starts then is cancelled at short notice.
pub const fn is_short_notice(starts_at: Millis, cancelled_at: Millis, notice_hours: i64) -> bool {
    starts_at.0 - cancelled_at.0 < notice_hours * HOUR_MS
}

impl CancellationCost {
    /// The whole fine.
    pub fn total(&self) -> Money {
        self.invalid_reason + self.short_notice.unwrap_or_default()
    }
}

impl Shifts {
    /// The fines for cancelling a plan.
    pub async fn fines(&self) -> Result<Fines, DbErr> {
        fines_from_settings(self.app()).await
    }

    /// What it would cost a person to cancel a plan at an instant, if the reason were rejected. To be said before the
    /// person cancels.
    pub async fn fine_if_rejected(&self, plan: &Plan, at: Millis) -> Result<CancellationCost, DbErr> {
        let fines = self.fines().await?;
        Ok(fines.cost(is_short_notice(plan.period.from, at, fines.notice_hours)))
    }

    /// What it costs to reject the reason of a cancelled plan. To be said before the decision.
    pub async fn fine_of(&self, cancelled: &Cancellation) -> Result<CancellationCost, DbErr> {
        Ok(self.fines().await?.cost(cancelled.is_short_notice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINES: Fines =
        Fines { notice_hours: 24, short_notice: Money::from_roubles(300), invalid_reason: Money::from_roubles(500) };

    #[test]
    fn short_notice_adds_its_fine() {
        let starts_at = Millis(100 * HOUR_MS);
        let cost = |hours_before: i64, ms: i64| {
            let cancelled_at = Millis(starts_at.0 - hours_before * HOUR_MS + ms);
            FINES.cost(is_short_notice(starts_at, cancelled_at, FINES.notice_hours)).total()
        };
        assert_eq!(cost(24, 0), Money::from_roubles(500));
        assert_eq!(cost(24, 1), Money::from_roubles(800));
        assert_eq!(cost(-1, 0), Money::from_roubles(800));
    }
}
