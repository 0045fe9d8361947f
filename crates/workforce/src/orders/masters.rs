//! Masters with what they have to do, and how they do it.

use std::collections::HashMap;

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, DbErr, EntityTrait, FromQueryResult, QueryFilter, QuerySelect, QueryTrait};

use super::OrderStatus;
use super::api::Orders;
use super::tables::{order, rating};
use crate::money::Money;
use crate::person::{MASTERS, Person};
use crate::shifts::Shifts;
use crate::sites::{Period, Position};

/// A master with the load.
#[derive(Clone, Debug)]
pub struct MasterLoad {
    pub person: Person,
    /// Orders that the master has and has not ended.
    pub open: i64,
    /// Those of them at which the master is.
    pub on_site: i64,
    pub is_on_shift: bool,
    /// From the place where the shift was opened; None if it or the place of the order is unknown.
    pub distance_m: Option<i64>,
}

/// What a master did in a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MasterResults {
    pub closed: i64,
    /// Without a long repair.
    pub fixed_at_once: i64,
    pub total: Money,
    pub share: Money,
    /// The sum of the stars and their number, of all ratings.
    pub stars: i64,
    pub ratings: i64,
}

impl Orders {
    /// All masters: those on an open shift first, the nearest before the others, then those with the fewest orders.
    pub async fn masters(&self, place: Option<Position>) -> Result<Vec<MasterLoad>, DbErr> {
        #[derive(FromQueryResult)]
        struct Row {
            master_id: i64,
            status: String,
            n: i64,
        }
        let people = self.app.people.with_any(MASTERS).await?;
        let ids: Vec<i64> = people.iter().map(|person| person.id).collect();
        let loads = order::Entity::find()
            .select_only()
            .columns([order::Column::MasterId, order::Column::Status])
            .column_as(order::Column::Id.count(), "n")
            .filter(order::Column::MasterId.is_in(ids.iter().copied()))
            .filter(order::Column::Status.is_in(OrderStatus::AT_MASTER.map(OrderStatus::name)))
            .group_by(order::Column::MasterId)
            .group_by(order::Column::Status);
        let loads: Vec<Row> = loads.into_model().all(self.db()).await?;
        let shifts = Shifts::of_app(&self.app).active_of_people(&ids).await?;
        let mut masters: Vec<_> = people
            .into_iter()
            .map(|person| {
                let of_master = || loads.iter().filter(|row| row.master_id == person.id);
                let shift = shifts.iter().find(|shift| shift.user_id == person.id);
                let distance = shift.and_then(|shift| Some(shift.opened_at?.distance_m(place?)));
                MasterLoad {
                    open: of_master().map(|row| row.n).sum(),
                    on_site: of_master().filter(|row| row.status == OrderStatus::OnSite.name()).map(|row| row.n).sum(),
                    is_on_shift: shift.is_some(),
                    distance_m: distance,
                    person,
                }
            })
            .collect();
        masters.sort_by_key(|one| (!one.is_on_shift, one.distance_m.unwrap_or(i64::MAX), one.open, one.person.id));
        Ok(masters)
    }

    /// What masters did in a time, by the instant of closing; their ratings are those of all times.
    pub async fn results(&self, period: Option<Period>) -> Result<HashMap<i64, MasterResults>, DbErr> {
        #[derive(FromQueryResult)]
        struct Row {
            master_id: i64,
            closed: i64,
            at_once: i64,
            total: i64,
            share: i64,
        }
        #[derive(FromQueryResult)]
        struct Stars {
            master_id: i64,
            stars: i64,
            ratings: i64,
        }
        let sum = |sum: &'static str| Expr::cust(sum).cast_as("BIGINT");
        let closed = order::Entity::find()
            .select_only()
            .column(order::Column::MasterId)
            .column_as(order::Column::Id.count(), "closed")
            .column_as(sum("SUM(CASE WHEN long_repair_until IS NULL THEN 1 ELSE 0 END)"), "at_once")
            .column_as(sum("SUM(total_kopecks)"), "total")
            .column_as(sum("SUM(share_kopecks)"), "share")
            .filter(order::Column::ClosedAt.is_not_null())
            .apply_if(period, |query, period| {
                query.filter(order::Column::ClosedAt.gte(period.from.0).and(order::Column::ClosedAt.lt(period.to.0)))
            })
            .group_by(order::Column::MasterId);
        let stars = rating::Entity::find()
            .select_only()
            .column(rating::Column::MasterId)
            .column_as(sum("SUM(stars)"), "stars")
            .column_as(rating::Column::OrderId.count(), "ratings")
            .group_by(rating::Column::MasterId);
        let (closed, stars) =
            tokio::try_join!(closed.into_model::<Row>().all(self.db()), stars.into_model::<Stars>().all(self.db()))?;
        let mut results: HashMap<i64, MasterResults> = HashMap::new();
        for row in closed {
            let of_master = results.entry(row.master_id).or_default();
            (of_master.closed, of_master.fixed_at_once) = (row.closed, row.at_once);
            (of_master.total, of_master.share) = (Money::from_kopecks(row.total), Money::from_kopecks(row.share));
        }
        for row in stars {
            let of_master = results.entry(row.master_id).or_default();
            (of_master.stars, of_master.ratings) = (row.stars, row.ratings);
        }
        Ok(results)
    }
}
