//! A person's rows of a month, page by page: one begins where another ended, by the day and the number of the row there.

use std::fmt;
use std::str::FromStr;

use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect, Select};

use super::super::tables::adjustment;
use crate::money::day_of;

/// How many rows a page has.
const LINES: usize = 500;

/// A place among the rows: `2026-01-31.352`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMark {
    day: String,
    id: i64,
}

/// What was named is no place among rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a place such as 2026-01-31.352")]
pub struct NotAMark;

/// A page of these rows, the newest day first, and where the next one begins.
pub async fn page(
    db: &impl ConnectionTrait,
    rows: Select<adjustment::Entity>,
    after: Option<&LineMark>,
) -> Result<(Vec<adjustment::Model>, Option<LineMark>), DbErr> {
    let (day, id) = (adjustment::Column::Day, adjustment::Column::Id);
    let rows = match after {
        // The bound on the day alone is what an index knows.
        Some(mark) => {
            let later = day.lt(mark.day.as_str()).or(id.gt(mark.id));
            rows.filter(day.lte(mark.day.as_str())).filter(later)
        }
        None => rows,
    };
    // One more tells whether there are more.
    let most = u64::try_from(LINES).unwrap_or(u64::MAX).saturating_add(1);
    let mut found = rows.order_by_desc(day).order_by_asc(id).limit(most).all(db).await?;
    let has_more = found.len() > LINES;
    found.truncate(LINES);
    let further = found.last().filter(|_| has_more).map(|row| LineMark { day: row.day.clone(), id: row.id });
    Ok((found, further))
}

impl fmt::Display for LineMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.day, self.id)
    }
}

impl FromStr for LineMark {
    type Err = NotAMark;

    fn from_str(text: &str) -> Result<Self, NotAMark> {
        let (day, id) = text.split_once('.').ok_or(NotAMark)?;
        let (day, id) = (day_of(day).ok_or(NotAMark)?, id.parse().map_err(|_| NotAMark)?);
        Ok(Self { day: day.to_string(), id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_among_rows_comes_back_as_it_was() {
        let mark = LineMark { day: "2026-01-31".into(), id: 352 };
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for odd in ["", "2026-01-31", "2026-01-31.", "2026-02-30.1", "x.1", "2026-01-31.1;DROP", "2026-01-31.1.2"] {
            assert_eq!(odd.parse::<LineMark>(), Err(NotAMark), "{odd}");
        }
    }
}
