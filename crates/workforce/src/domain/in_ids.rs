//! Conditions on a list of ids.

use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{IntoSimpleExpr, Value};

/// Longer lists are written into the statement as constants.
const BOUND_MOST: usize = 20;

/// The condition that a column has one of these ids. A long list is the same for every request (all sites), so it
/// becomes constants: PostgreSQL hashes constants, while it compares each row with every bound value.
pub fn in_ids(column: impl IntoSimpleExpr, ids: &[i64]) -> Expr {
    let column = column.into_simple_expr();
    if ids.len() <= BOUND_MOST {
        return column.is_in(ids.iter().copied());
    }
    column.is_in(ids.iter().map(|id| Expr::Constant(Value::BigInt(Some(*id)))))
}
