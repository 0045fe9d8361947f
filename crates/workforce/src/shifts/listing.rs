//! Lists of shifts, page by page.
//!
//! A page starts at a cursor: the start time and the id of a shift. Nothing is counted or skipped, so the last page is
//! as fast as the first.

use std::fmt;
use std::str::FromStr;

use opora::clock::Millis;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, Condition, DbErr, EntityTrait, Order, QueryFilter, QueryOrder, QuerySelect};

use super::api::Shifts;
use super::records::Shift;
use super::tables::shift;
use crate::domain::in_ids;
use crate::sites::Period;

/// Which shifts are listed.
#[derive(Clone, Copy, Debug)]
pub enum ShiftFilter<'a> {
    /// All shifts at these sites.
    Sites(&'a [i64]),
    Person(i64),
}

/// A position in a list: `1767268800000-352`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShiftCursor {
    started_at: Millis,
    id: i64,
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageStart {
    #[default]
    Newest,
    /// Starts with the first older shift.
    Before(ShiftCursor),
    /// Ends with the last newer shift.
    After(ShiftCursor),
}

/// A page of shifts, newest first, with the cursors of the neighbouring pages.
#[derive(Clone, Debug, PartialEq)]
pub struct ShiftPage {
    pub shifts: Vec<Shift>,
    pub newer: Option<ShiftCursor>,
    pub older: Option<ShiftCursor>,
}

impl Shifts {
    /// A page of shifts that started in a period.
    pub async fn list_page(
        &self,
        filter: ShiftFilter<'_>,
        period: Period,
        from: PageStart,
        max_shifts: usize,
    ) -> Result<ShiftPage, DbErr> {
        let condition = match filter {
            ShiftFilter::Sites(sites) => in_ids(shift::Column::SiteId, sites),
            ShiftFilter::Person(id) => shift::Column::UserId.eq(id),
        };
        // One more row tells whether there is another page.
        let limit = u64::try_from(max_shifts).unwrap_or(u64::MAX).saturating_add(1);
        let order = if matches!(from, PageStart::After(_)) { Order::Asc } else { Order::Desc };
        let found = shift::Entity::find().filter(condition).filter(within(period, from)).limit(limit);
        let found = found.order_by(shift::Column::StartedAt, order.clone()).order_by(shift::Column::Id, order);
        let rows = found.all(self.db()).await?;
        let mut shifts = rows.into_iter().map(Shift::try_from).collect::<Result<Vec<_>, _>>()?;
        let has_more = shifts.len() > max_shifts;
        shifts.truncate(max_shifts);
        if matches!(from, PageStart::After(_)) {
            shifts.reverse();
        }
        let (has_newer, has_older) = match from {
            PageStart::Newest => (false, has_more),
            PageStart::Before(_) => (true, has_more),
            PageStart::After(_) => (has_more, true),
        };
        let newer = shifts.first().filter(|_| has_newer).map(ShiftCursor::at);
        let older = shifts.last().filter(|_| has_older).map(ShiftCursor::at);
        Ok(ShiftPage { shifts, newer, older })
    }
}

impl ShiftCursor {
    fn at(shift: &Shift) -> Self {
        Self { started_at: shift.started_at, id: shift.id }
    }
}

impl fmt::Display for ShiftCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.started_at.0, self.id)
    }
}

impl FromStr for ShiftCursor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('-').and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)));
        let (at, id) = parts.ok_or_else(|| format!("`{text}` is not a cursor"))?;
        Ok(Self { started_at: Millis(at), id })
    }
}

/// Shifts of a period on one side of a cursor. The separate bound on the time allows the use of an index.
fn within(period: Period, from: PageStart) -> Condition {
    let (started, id) = (shift::Column::StartedAt, shift::Column::Id);
    let then = Condition::all().add(started.gte(period.from.0)).add(started.lt(period.to.0));
    match from {
        PageStart::Newest => then,
        PageStart::Before(mark) => {
            let older = started.lt(mark.started_at.0).or(id.lt(mark.id));
            then.add(started.lte(mark.started_at.0)).add(older)
        }
        PageStart::After(mark) => {
            let newer = started.gt(mark.started_at.0).or(id.gt(mark.id));
            then.add(started.gte(mark.started_at.0)).add(newer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_parses_from_its_text() {
        let mark = ShiftCursor { started_at: Millis(1_767_268_800_000), id: 352 };
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for odd in ["", "1", "1-", "-1", "a-b", "1-2-3", "1;DROP"] {
            assert!(odd.parse::<ShiftCursor>().is_err(), "{odd}");
        }
    }
}
