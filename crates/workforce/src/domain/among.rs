//! Rows of some sites, or of all of them.

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{IntoSimpleExpr, Value};

/// More numbers than this are written into the statement.
const BOUND_MOST: usize = 20;

/// That a column has one of these numbers. A long list is the same for everybody who asks (all sites), and stands in the
/// statement itself: PostgreSQL makes a table of such constants, while it compares each row with every bound value.
pub fn among(column: impl IntoSimpleExpr, ids: &[i64]) -> Expr {
    let column = column.into_simple_expr();
    if ids.len() <= BOUND_MOST {
        return column.is_in(ids.iter().copied());
    }
    column.is_in(ids.iter().map(|id| Expr::Constant(Value::BigInt(Some(*id)))))
}
