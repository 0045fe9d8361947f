//! Late starts: what people read, and their number for the charts. They follow the same rule as pay, whether or not a
//! late minute has a price.

use std::collections::BTreeMap;

use chrono::{Days, NaiveDate};
use chrono_tz::Tz;
use opora::clock::Millis;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QuerySelect};

use super::api::Shifts;
use super::minutes_late;
use super::records::Shift;
use super::tables::shift;
use crate::sites::{Period, Sites, local};
use crate::text;
use crate::texts::Language;

/// True if [`super::minutes_late`] is positive. An index has exactly this condition.
const LATE: &str = "penalises_lateness AND started_at - planned_start >= (late_threshold_minutes + 1) * 60000";

/// How late a shift began, and how much of that the site forgives; none for a shift that counts as punctual.
pub fn late_text(shift: &Shift, language: Language) -> Option<String> {
    let (counted, forgiven) = (minutes_late(shift), shift.late_threshold_minutes);
    (counted > 0).then(|| text!(language, "cabinet-late", minutes = counted + forgiven, forgiven = forgiven))
}

impl Shifts {
    /// The number of late starts on each of these days, in the time zones of the sites; both ends included, days
    /// without any left out.
    pub async fn late_starts(&self, first: NaiveDate, last: NaiveDate) -> Result<BTreeMap<NaiveDate, i64>, DbErr> {
        // One more day at either end, because sites have their own time zones.
        let days = u64::try_from((last - first).num_days()).unwrap_or_default().saturating_add(3);
        let around = first.checked_sub_days(Days::new(1)).and_then(|before| Period::of_days(before, days, Tz::UTC));
        let Some(around) = around else { return Ok(BTreeMap::new()) };
        let late: Vec<(i64, i64)> = shift::Entity::find()
            .filter(Expr::cust(LATE))
            .filter(shift::Column::StartedAt.gte(around.from.0))
            .filter(shift::Column::StartedAt.lt(around.to.0))
            .select_only()
            .column(shift::Column::SiteId)
            .column(shift::Column::StartedAt)
            .into_tuple()
            .all(self.db())
            .await?;
        let mut sites: Vec<i64> = late.iter().map(|(site_id, _)| *site_id).collect();
        sites.sort_unstable();
        sites.dedup();
        let sites = Sites::of_app(self.app()).with_ids(&sites).await?;
        let zones: BTreeMap<i64, Tz> = sites.iter().map(|site| (site.id, site.about.time_zone)).collect();
        let mut counts = BTreeMap::new();
        for (site_id, started_at) in late {
            let day = local(Millis(started_at), zones.get(&site_id).copied().unwrap_or(Tz::UTC)).date();
            if (first..=last).contains(&day) {
                *counts.entry(day).or_default() += 1;
            }
        }
        Ok(counts)
    }
}
