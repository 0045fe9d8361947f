//! The front door, where shifts are listed page by page.
//!
//! A page begins where another one ended, by the time and the number of the shift there: nothing is counted or passed over,
//! so the last page of a year is as near as the first.

use std::fmt;
use std::str::FromStr;

use opora::clock::Millis;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, Condition, DbErr, EntityTrait, Order, QueryFilter, QueryOrder, QuerySelect};

use super::doors::Shifts;
use super::records::Shift;
use super::tables::shift;
use crate::domain::among;
use crate::sites::Period;

/// Whose shifts are listed.
#[derive(Clone, Copy, Debug)]
pub enum Whose<'a> {
    /// Everybody's at these sites.
    Sites(&'a [i64]),
    Person(i64),
}

/// A place in a list: `1767268800000-352`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    started_at: Millis,
    id: i64,
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum From {
    #[default]
    Newest,
    /// With the first that is older.
    Before(Mark),
    /// So that it ends with the last that is newer.
    After(Mark),
}

/// A page of shifts, the newest first, and where the pages around it begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    pub shifts: Vec<Shift>,
    pub newer: Option<Mark>,
    pub older: Option<Mark>,
}

impl Shifts {
    /// So many shifts that began in a period.
    pub async fn listed(&self, whose: Whose<'_>, period: Period, from: From, most: usize) -> Result<Listed, DbErr> {
        let of_whom = match whose {
            Whose::Sites(sites) => among(shift::Column::SiteId, sites),
            Whose::Person(id) => shift::Column::UserId.eq(id),
        };
        // One more tells whether there are more.
        let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        let order = if matches!(from, From::After(_)) { Order::Asc } else { Order::Desc };
        let found = shift::Entity::find().filter(of_whom).filter(within(period, from)).limit(limit);
        let found = found.order_by(shift::Column::StartedAt, order.clone()).order_by(shift::Column::Id, order);
        let rows = found.all(self.reading()).await?;
        let mut shifts = rows.into_iter().map(Shift::try_from).collect::<Result<Vec<_>, _>>()?;
        let has_more = shifts.len() > most;
        shifts.truncate(most);
        if matches!(from, From::After(_)) {
            shifts.reverse();
        }
        let (has_newer, has_older) = match from {
            From::Newest => (false, has_more),
            From::Before(_) => (true, has_more),
            From::After(_) => (has_more, true),
        };
        let newer = shifts.first().filter(|_| has_newer).map(Mark::of);
        let older = shifts.last().filter(|_| has_older).map(Mark::of);
        Ok(Listed { shifts, newer, older })
    }
}

impl Mark {
    fn of(shift: &Shift) -> Self {
        Self { started_at: shift.started_at, id: shift.id }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.started_at.0, self.id)
    }
}

impl FromStr for Mark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('-').and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)));
        let (at, id) = parts.ok_or_else(|| format!("`{text}` is no place in a list"))?;
        Ok(Self { started_at: Millis(at), id })
    }
}

/// What began in a period, on one side of a place. The bound on the time alone is what an index knows.
fn within(period: Period, from: From) -> Condition {
    let (started, id) = (shift::Column::StartedAt, shift::Column::Id);
    let then = Condition::all().add(started.gte(period.from.0)).add(started.lt(period.to.0));
    match from {
        From::Newest => then,
        From::Before(mark) => {
            let older = started.lt(mark.started_at.0).or(id.lt(mark.id));
            then.add(started.lte(mark.started_at.0)).add(older)
        }
        From::After(mark) => {
            let newer = started.gt(mark.started_at.0).or(id.gt(mark.id));
            then.add(started.gte(mark.started_at.0)).add(newer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_list_comes_back_as_it_was() {
        let mark = Mark { started_at: Millis(1_767_268_800_000), id: 352 };
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for odd in ["", "1", "1-", "-1", "a-b", "1-2-3", "1;DROP"] {
            assert!(odd.parse::<Mark>().is_err(), "{odd}");
        }
    }
}
