//! Pages of a person's adjustments in a month. A page starts at a cursor: the day and the id of an adjustment.

use std::fmt;
use std::str::FromStr;

use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect, Select};

use super::super::tables::adjustment;
use crate::money::day_of;

const PAGE_SIZE: usize = 500;

/// A position among the adjustments: `2026-01-31.352`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdjustmentCursor {
    day: String,
    id: i64,
}

/// The text is not a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor such as 2026-01-31.352")]
pub struct InvalidCursor;

/// A page of these adjustments, newest day first, with the cursor of the next page.
pub async fn page(
    db: &impl ConnectionTrait,
    rows: Select<adjustment::Entity>,
    after: Option<&AdjustmentCursor>,
) -> Result<(Vec<adjustment::Model>, Option<AdjustmentCursor>), DbErr> {
    let (day, id) = (adjustment::Column::Day, adjustment::Column::Id);
    let rows = match after {
        // The separate bound on the day allows the use of an index.
        Some(mark) => {
            let later = day.lt(mark.day.as_str()).or(id.gt(mark.id));
            rows.filter(day.lte(mark.day.as_str())).filter(later)
        }
        None => rows,
    };
    // One more row tells whether there is another page.
    let limit = u64::try_from(PAGE_SIZE).unwrap_or(u64::MAX).saturating_add(1);
    let mut found = rows.order_by_desc(day).order_by_asc(id).limit(limit).all(db).await?;
    let has_more = found.len() > PAGE_SIZE;
    found.truncate(PAGE_SIZE);
    let next_page = found.last().filter(|_| has_more).map(|row| AdjustmentCursor { day: row.day.clone(), id: row.id });
    Ok((found, next_page))
}

impl fmt::Display for AdjustmentCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.day, self.id)
    }
}

impl FromStr for AdjustmentCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (day, id) = text.split_once('.').ok_or(InvalidCursor)?;
        let (day, id) = (day_of(day).ok_or(InvalidCursor)?, id.parse().map_err(|_| InvalidCursor)?);
        Ok(Self { day: day.to_string(), id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_parses_from_its_text() {
        let mark = AdjustmentCursor { day: "2026-01-31".into(), id: 352 };
        assert_eq!(mark.to_string().parse(), Ok(mark));
        for odd in ["", "2026-01-31", "2026-01-31.", "2026-02-30.1", "x.1", "2026-01-31.1;DROP", "2026-01-31.1.2"] {
            assert_eq!(odd.parse::<AdjustmentCursor>(), Err(InvalidCursor), "{odd}");
        }
    }
}
