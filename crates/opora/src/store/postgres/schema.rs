//! The migration of the tables, one instance at a time, and their generation.

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::{Connection, PgConnection};

use super::server::ANSWER_TIMEOUT;
use crate::store::sql::failure::unavailable;
use crate::store::sql::tables::{Limits, STORE_TABLES, within};
use crate::store::{Database, Epoch, StoreResult, WriteError};

/// Only one process migrates at a time; others wait longer than a usual statement may take. The lock covers this schema
/// of this database.
const MIGRATION_LOCK: &str = "
SET LOCAL lock_timeout = '60s';
SET LOCAL statement_timeout = 0;
SELECT pg_advisory_xact_lock(1869639538, hashtext(current_schema()));";

/// The timeout of this lock, with the round trip.
const MIGRATION_LOCK_TIMEOUT: Duration = Duration::from_secs(60 + 5);
/// The timeout of a migration: an index on a large table takes time.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(15 * 60);
const LIMITS: Limits = Limits { answer: ANSWER_TIMEOUT, script: MIGRATION_TIMEOUT };

/// Migrates the tables to this library's version. No right to create tables is needed if they are up to date.
pub(super) async fn migrate(connection: &mut PgConnection) -> StoreResult<()> {
    let version = STORE_TABLES.version(&mut Database::postgres_commit(connection), &LIMITS).await;
    if version.map_err(unavailable)? == Some(STORE_TABLES.latest()) {
        return Ok(());
    }
    let mut transaction = within(ANSWER_TIMEOUT, connection.begin()).await.map_err(unavailable)?;
    within(MIGRATION_LOCK_TIMEOUT, sqlx::raw_sql(MIGRATION_LOCK).execute(&mut *transaction))
        .await
        .map_err(unavailable)?;
    let migrated = STORE_TABLES.migrate(&mut Database::postgres_commit(&mut transaction), &LIMITS).await;
    migrated.map_err(WriteError::into_store_error)?;
    within(MIGRATION_TIMEOUT, transaction.commit()).await.map_err(unavailable)
}

/// Counts the generation table: 1 if the tables exist, else 0.
pub(super) const HAS_GENERATION: &str = "
    SELECT count(*) FROM pg_catalog.pg_class
    WHERE relname = 'opora_generation' AND pg_catalog.pg_table_is_visible(oid)";
pub(super) const GENERATION: &str = "SELECT generation FROM opora_generation";

/// The generation of the tables, if there are any.
pub(super) async fn generation(connection: &mut PgConnection) -> sqlx::Result<Option<String>> {
    let counted = sqlx::query_scalar::<_, i64>(HAS_GENERATION).fetch_one(&mut *connection);
    match within(ANSWER_TIMEOUT, counted).await? {
        0 => Ok(None),
        _ => within(ANSWER_TIMEOUT, sqlx::query_scalar(GENERATION).fetch_optional(connection)).await,
    }
}

/// Raises the counters after an accepted loss. Versions start at the time in seconds, which no conversation can have
/// reached, so that no old button fits a later state. Epochs, and with them ids, continue above the last known lease.
pub(super) async fn raise_counters(connection: &mut PgConnection, leases: &BTreeMap<i64, Epoch>) -> sqlx::Result<()> {
    const VERSIONS: &str = "
        SET LOCAL statement_timeout = 0;
        UPDATE opora_version_floor SET floor = greatest(floor, extract(epoch FROM now())::bigint);
        UPDATE opora_conversations AS c SET version = f.floor FROM opora_version_floor AS f WHERE c.version < f.floor;";
    const EPOCHS: &str = "
        INSERT INTO opora_leases (bot, epoch, holder, renewals, numbers)
        SELECT $1, $2, NULL, 0, 0 WHERE $2 > (SELECT coalesce(max(epoch), 0) FROM opora_leases)
        ON CONFLICT (bot) DO UPDATE SET epoch = excluded.epoch WHERE opora_leases.holder IS NULL";
    let mut transaction = within(ANSWER_TIMEOUT, connection.begin()).await?;
    within(MIGRATION_TIMEOUT, sqlx::raw_sql(VERSIONS).execute(&mut *transaction)).await?;
    // The highest epoch is enough, because epochs are unique over all bots. A leader that works here already, because
    // the loss was accepted on another machine, is not fenced.
    if let Some((bot, epoch)) = leases.iter().max_by_key(|(_, epoch)| **epoch) {
        let raised = sqlx::query(EPOCHS).bind(bot).bind(epoch.0).execute(&mut *transaction);
        within(ANSWER_TIMEOUT, raised).await?;
    }
    within(MIGRATION_TIMEOUT, transaction.commit()).await
}

/// Refuses tables of another version. Changes nothing.
pub(super) async fn check(connection: &mut PgConnection) -> StoreResult<()> {
    STORE_TABLES.check(&mut Database::postgres_commit(connection), &LIMITS).await
}
