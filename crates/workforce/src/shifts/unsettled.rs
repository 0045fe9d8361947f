//! What is still open in a month of pay that an owner wants to close.

use std::collections::BTreeMap;

use chrono::{Days, NaiveDate};
use chrono_tz::Tz;
use opora::clock::Millis;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, JoinType, QueryFilter, QueryOrder, QuerySelect};

use super::api::Shifts;
use super::tables::{cancellation, plan, shift};
use crate::payroll::Unsettled;
use crate::sites::{Period, Sites, local};

impl Shifts {
    /// Open shifts and undecided cancellations of these days, in the time zones of the sites; both ends included. One
    /// query for shifts, one for cancellations, one for the sites.
    pub async fn unsettled(&self, first: NaiveDate, last: NaiveDate) -> Result<Unsettled, DbErr> {
        // One more day at either end, because sites have their own time zones.
        let days = u64::try_from((last - first).num_days()).unwrap_or_default().saturating_add(3);
        let around = first.checked_sub_days(Days::new(1)).and_then(|before| Period::of_days(before, days, Tz::UTC));
        let Some(around) = around else { return Ok(Unsettled::default()) };
        let (open, pending) = tokio::try_join!(self.open_within(around), self.pending_within(around))?;
        let mut sites: Vec<i64> = open.iter().map(|one| one.0).chain(pending.iter().map(|one| one.0)).collect();
        sites.sort_unstable();
        sites.dedup();
        let sites = Sites::of_app(self.app()).with_ids(&sites).await?;
        let zones: BTreeMap<i64, Tz> = sites.iter().map(|site| (site.id, site.about.time_zone)).collect();
        let day_of = |site_id: i64, at: i64| {
            let day = local(Millis(at), zones.get(&site_id).copied().unwrap_or(Tz::UTC)).date();
            (first..=last).contains(&day).then_some(day)
        };
        let shifts = open.into_iter().filter_map(|(site_id, at, id)| Some((day_of(site_id, at)?, id)));
        let mut shifts: Vec<_> = shifts.collect();
        shifts.sort_unstable();
        let cancellations = pending.into_iter().filter(|(site_id, at)| day_of(*site_id, *at).is_some()).count();
        Ok(Unsettled { shifts, cancellations })
    }

    /// Site, start and id of each open shift.
    async fn open_within(&self, around: Period) -> Result<Vec<(i64, i64, i64)>, DbErr> {
        shift::Entity::find()
            // An index has exactly this condition.
            .filter(Expr::cust("status = 'active'"))
            .filter(shift::Column::StartedAt.gte(around.from.0).and(shift::Column::StartedAt.lt(around.to.0)))
            .select_only()
            .column(shift::Column::SiteId)
            .column(shift::Column::StartedAt)
            .column(shift::Column::Id)
            .into_tuple()
            .all(self.db())
            .await
    }

    /// Site and start of each plan with an undecided cancellation. A fine belongs to the day of the plan.
    async fn pending_within(&self, around: Period) -> Result<Vec<(i64, i64)>, DbErr> {
        let of_plan =
            Expr::col((plan::Entity, plan::Column::Id)).equals((cancellation::Entity, cancellation::Column::PlanId));
        let mut found = cancellation::Entity::find()
            .filter(Expr::cust("plan_cancellations.status = 'pending'"))
            .filter(plan::Column::StartsAt.gte(around.from.0).and(plan::Column::StartsAt.lt(around.to.0)))
            .select_only()
            .column(plan::Column::SiteId)
            .column(plan::Column::StartsAt)
            // The order of the index on undecided cancellations.
            .order_by_asc(cancellation::Column::Id);
        QuerySelect::query(&mut found).join(JoinType::InnerJoin, plan::Entity, of_plan);
        found.into_tuple().all(self.db()).await
    }
}
