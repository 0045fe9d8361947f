//! What the SQLite and PostgreSQL stores share.
//!
//! Operations wait in a queue and run in groups (group commit). One query reads what a group needs, a plan decides each
//! operation by that and by the operations before it, and all rows are written together. This module holds everything
//! that is not SQL, and the queries that both databases understand. Each database has its own connections, transactions
//! and tables, and the SQL that differs.

pub(super) mod bulk;
pub(super) mod columns;
pub(super) mod decide;
pub(super) mod exclusive;
pub(super) mod facts;
pub(super) mod failure;
mod forget;
pub(super) mod jobs;
pub(super) mod numbers;
pub(super) mod opens;
pub(super) mod operation;
pub(super) mod overview;
pub(super) mod plan;
pub(super) mod queue;
pub(super) mod reads;
pub(super) mod request;
pub(super) mod rows;
pub(super) mod statements;
pub(super) mod store;
pub(super) mod tables;
pub(super) mod writers;
