//! What the stores on an SQL database share.
//!
//! Operations wait in a queue and are carried out in groups: the questions of a group are asked in one query, a plan
//! decides each operation by the answers and by what the group did before it, and all rows are written together. Here is
//! everything of it that is not SQL, and the queries that both databases understand; `store` is the whole face. Each
//! database keeps its own connections, its transactions, its tables, and the SQL that differs.

pub(super) mod alone;
pub(super) mod bulk;
pub(super) mod columns;
pub(super) mod decide;
pub(super) mod facts;
pub(super) mod failure;
mod forget;
pub(super) mod numbers;
pub(super) mod opens;
pub(super) mod operation;
pub(super) mod overview;
pub(super) mod plan;
pub(super) mod queue;
pub(super) mod reads;
pub(super) mod request;
pub(super) mod rows;
pub(super) mod store;
pub(super) mod versions;
pub(super) mod writers;
