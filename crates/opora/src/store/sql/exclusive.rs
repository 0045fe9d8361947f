//! Operations that run exclusively in a transaction: leases, cleaning, operator commands.

use std::future::Future;

use super::bulk::Bulk;
use super::columns::{Columns, Value, count, values};
use super::facts::Facts;
use super::failure::{GroupError, NotDone, refusable};
use super::forget::forget;
use super::operation::{CleaningTarget, ExclusiveOperation, Import};
use super::reads::{self, LEASE};
use super::request::{PendingReply, ReplySender, Response, blame};
use super::rows::Rows;
use crate::clock::Millis;
use crate::key::ConversationKey;
use crate::store::{Cleaned, CleaningLimits, Epoch, Holder, Lease, LeaseAnswer, ParkedId, Version};

/// The most rows of a table that one call of `clean` removes.
const CLEAN_LIMIT: i64 = 5_000;

/// A connection in a transaction.
pub(in crate::store) trait Session: Send {
    type Row: Columns + Send;

    /// Ends a conversation; takes its key and the time.
    const RESET: &'static str;

    /// Runs a statement. Returns the number of changed rows.
    fn change(
        &mut self,
        statement: &'static str,
        values: Vec<Value>,
    ) -> impl Future<Output = Result<u64, GroupError>> + Send;
    fn row(
        &mut self,
        query: &'static str,
        values: Vec<Value>,
    ) -> impl Future<Output = Result<Option<Self::Row>, GroupError>> + Send;
    fn rows(
        &mut self,
        query: &'static str,
        values: Vec<Value>,
    ) -> impl Future<Output = Result<Vec<Self::Row>, GroupError>> + Send;
    /// The leases, locked until the transaction ends: all of them, or the one of an epoch.
    fn leases(&mut self, epoch: Option<Epoch>) -> impl Future<Output = Result<Facts, GroupError>> + Send;
    /// Waits for running transactions under a bot's lease, and blocks new ones.
    fn stop_writers(&mut self, bot: i64) -> impl Future<Output = Result<(), GroupError>> + Send;
    /// Locks these conversations against commits. Returns the version of each, in order, and whether it is open.
    fn lock_conversations(&mut self, keys: Rows) -> impl Future<Output = Result<Vec<Self::Row>, GroupError>> + Send;
    /// Removes conversations that ended before a time, and raises the version floor above their versions.
    fn forget_ended(
        &mut self,
        bot: i64,
        before: Millis,
        limit: i64,
    ) -> impl Future<Output = Result<u64, GroupError>> + Send;
    fn write(&mut self, bulk: Bulk) -> impl Future<Output = Result<(), GroupError>> + Send;
}

/// Runs an operation and keeps its response for the commit. A failure is sent at once.
pub(in crate::store) async fn run_and_reply(
    exclusive: ExclusiveOperation,
    reply: ReplySender,
    session: &mut impl Session,
) -> Result<PendingReply, GroupError> {
    match refusable(run(exclusive, session).await) {
        Ok(result) => Ok(PendingReply::new(reply, result)),
        Err(failed) => {
            blame(reply, &failed);
            Err(failed)
        }
    }
}

async fn run(exclusive: ExclusiveOperation, session: &mut impl Session) -> Result<Response, NotDone> {
    Ok(match exclusive {
        ExclusiveOperation::Claim { bot, holder, seen } => claim(session, bot, &holder, seen.as_deref()).await?.into(),
        ExclusiveOperation::Release { bot, epoch } => release(session, bot, epoch).await?.into(),
        ExclusiveOperation::ClearLease { bot } => clear(session, bot).await?.into(),
        ExclusiveOperation::Clean { epoch, limits, old } => clean(session, epoch, limits, old).await?.into(),
        ExclusiveOperation::Reset { key, now } => reset(session, &key, now).await?.into(),
        ExclusiveOperation::Forget { bot, user, now } => forget(session, bot, user, now).await?.into(),
        ExclusiveOperation::Import(import) => {
            import_all(session, std::slice::from_ref(&import)).await?.contains(&true).into()
        }
        ExclusiveOperation::RetryParked { id } => change_parked(session, RETRY_PARKED, id).await?.into(),
        ExclusiveOperation::DropParked { id } => change_parked(session, DROP_PARKED, id).await?.into(),
    })
}

async fn claim(
    session: &mut impl Session,
    bot: i64,
    holder: &Holder,
    seen: Option<&Lease>,
) -> Result<LeaseAnswer, GroupError> {
    session.stop_writers(bot).await?;
    let current = session.row(LEASE, values![bot]).await?;
    if let Some(current) = current.as_ref().map(reads::lease).transpose()?
        && !current.is_unchanged(seen)
    {
        return Ok(LeaseAnswer::Held(Box::new(current)));
    }
    let values = values![bot, serde_json::to_string(holder)?];
    let granted = session.row(CLAIM, values).await?;
    let epoch = granted.map(|row| row.number(0)).transpose()?;
    epoch
        .map(|epoch| LeaseAnswer::Granted(Epoch(epoch)))
        .ok_or_else(|| GroupError::because("the lease was not created"))
}

/// Epochs rise over all bots of the database, so an epoch identifies its bot, and ids of two bots never collide.
const CLAIM: &str = "
INSERT INTO opora_leases (bot, epoch, holder, renewals, numbers)
VALUES ($1, (SELECT coalesce(max(epoch), 0) + 1 FROM opora_leases), $2, 0, 0)
ON CONFLICT (bot) DO UPDATE SET
    epoch = excluded.epoch, holder = excluded.holder, renewals = 0, numbers = 0
RETURNING epoch";

async fn release(session: &mut impl Session, bot: i64, epoch: Epoch) -> Result<(), NotDone> {
    session.stop_writers(bot).await?;
    session.leases(None).await?.lease_of(bot, epoch)?;
    Ok(clear_holder(session, bot).await?)
}

async fn clear(session: &mut impl Session, bot: i64) -> Result<(), GroupError> {
    session.stop_writers(bot).await?;
    clear_holder(session, bot).await
}

/// Keeps the epoch, so that the next one is higher.
async fn clear_holder(session: &mut impl Session, bot: i64) -> Result<(), GroupError> {
    session.change("UPDATE opora_leases SET holder = NULL WHERE bot = $1", values![bot]).await?;
    Ok(())
}

async fn clean(
    session: &mut impl Session,
    epoch: Epoch,
    CleaningLimits { marks_before, records_before, max_parked, .. }: CleaningLimits,
    old: CleaningTarget,
) -> Result<Cleaned, NotDone> {
    let bot = session.leases(Some(epoch)).await?.bot_of(epoch)?;
    let (statement, before) = match old {
        CleaningTarget::Marks => (CLEAN_MARKS, marks_before),
        CleaningTarget::Posts => (CLEAN_POSTS, marks_before),
        CleaningTarget::Transitions => (CLEAN_TRANSITIONS, records_before),
        CleaningTarget::Failed => (CLEAN_FAILED, records_before),
        CleaningTarget::Labels => (CLEAN_LABELS, records_before),
        CleaningTarget::Ended => {
            let aged = session.forget_ended(bot, records_before, CLEAN_LIMIT).await?;
            return Ok(Cleaned { aged, parked: 0 });
        }
        CleaningTarget::Parked => {
            let parked = session.change(BOUND_PARKED, numbers([bot, count(max_parked), CLEAN_LIMIT])).await?;
            return Ok(Cleaned { aged: 0, parked });
        }
    };
    let aged = session.change(statement, numbers([bot, before.0, CLEAN_LIMIT])).await?;
    Ok(Cleaned { aged, parked: 0 })
}

fn numbers<const N: usize>(numbers: [i64; N]) -> Vec<Value> {
    numbers.map(Value::Number).into()
}

const CLEAN_MARKS: &str = "
DELETE FROM opora_marks WHERE (bot, update_id, identity) IN (
    SELECT bot, update_id, identity FROM opora_marks WHERE bot = $1 AND taken_at < $2 ORDER BY taken_at LIMIT $3)";

const CLEAN_POSTS: &str = "
DELETE FROM opora_posts WHERE (once, bot) IN (SELECT once, bot FROM opora_posts WHERE bot = $1 AND at < $2 LIMIT $3)";

const CLEAN_TRANSITIONS: &str = "
DELETE FROM opora_transitions
WHERE id IN (SELECT id FROM opora_transitions WHERE bot = $1 AND at < $2 ORDER BY at LIMIT $3)";

const CLEAN_FAILED: &str = "
DELETE FROM opora_failed WHERE id IN (SELECT id FROM opora_failed WHERE bot = $1 AND at < $2 ORDER BY at LIMIT $3)";

const CLEAN_LABELS: &str = "
DELETE FROM opora_labels WHERE (bot, chat, label) IN (
    SELECT bot, chat, label FROM opora_labels WHERE bot = $1 AND at < $2 ORDER BY at LIMIT $3)";

/// Deletes the oldest rows above the limit.
const BOUND_PARKED: &str = "
DELETE FROM opora_parked WHERE id IN (
    SELECT id FROM opora_parked
    WHERE bot = $1 AND id <= (SELECT id FROM opora_parked WHERE bot = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)
    ORDER BY id LIMIT $3)";

async fn reset<S: Session>(session: &mut S, key: &ConversationKey, now: Millis) -> Result<bool, GroupError> {
    let values = values![key.to_string(), now.0];
    Ok(session.change(S::RESET, values).await? > 0)
}

/// Imports conversations, each key at most once. Returns whether each was imported.
pub(in crate::store) async fn import_all(
    session: &mut impl Session,
    imports: &[Import],
) -> Result<Vec<bool>, GroupError> {
    let mut keys = Rows::default();
    let mut bulk = Bulk::default();
    imports.iter().try_for_each(|import| keys.add(&import.row.key))?;
    let locked = session.lock_conversations(keys).await?;
    if locked.len() != imports.len() {
        return Err(GroupError::because("the version floor is missing"));
    }
    let mut done = Vec::with_capacity(imports.len());
    for (Import { row, replace, is_exact, .. }, current) in imports.iter().zip(locked) {
        let is_imported = *replace || !current.flag(1)?;
        if is_imported {
            // A running turn must be overtaken, so the version rises.
            let from = Version(current.number(0)?);
            let later = Version(from.0.saturating_add(1));
            let version = if *is_exact { row.version } else { row.version.max(later) };
            bulk.change(&row.key.to_string(), &row.key, (from, version), row.stored.as_ref(), row.updated_at)?;
        }
        done.push(is_imported);
    }
    session.write(bulk).await?;
    Ok(done)
}

const RETRY_PARKED: &str = "UPDATE opora_parked SET retry = true WHERE id = $1";

const DROP_PARKED: &str = "DELETE FROM opora_parked WHERE id = $1";

async fn change_parked(session: &mut impl Session, statement: &'static str, id: ParkedId) -> Result<bool, GroupError> {
    Ok(session.change(statement, numbers([id.0])).await? > 0)
}
