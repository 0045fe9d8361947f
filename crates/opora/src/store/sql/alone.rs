//! Operations that are carried out alone, within a transaction: leases, cleaning, the operator's hand.

use std::future::Future;

use super::bulk::Bulk;
use super::columns::{Columns, Value, count};
use super::facts::Facts;
use super::failure::GroupFailed;
use super::forget::forget;
use super::operation::{Alone, Import, Old};
use super::reads::{self, LEASE};
use super::request::{Answered, Decided, Reply, Verdict, blame};
use super::rows::Rows;
use crate::clock::Millis;
use crate::key::DialogueKey;
use crate::store::{Bounds, Cleaned, Epoch, Holder, Lease, LeaseAnswer, ParkedId, StoreResult, Version};

/// How many rows of a table one call of `clean` removes.
const CLEAN_LIMIT: i64 = 5_000;

/// A connection in a transaction.
pub(in crate::store) trait Session: Send {
    /// What it answers.
    type Row: Columns + Send;

    /// Ends a conversation by its key, at a time.
    const RESET: &'static str;

    /// Carries a statement out; how many rows it touched.
    fn change(
        &mut self,
        statement: &'static str,
        values: Vec<Value>,
    ) -> impl Future<Output = Result<u64, GroupFailed>> + Send;
    /// The one row that a query finds.
    fn row(
        &mut self,
        query: &'static str,
        values: Vec<Value>,
    ) -> impl Future<Output = Result<Option<Self::Row>, GroupFailed>> + Send;
    /// All rows that a query finds.
    fn rows(
        &mut self,
        query: &'static str,
        values: Vec<Value>,
    ) -> impl Future<Output = Result<Vec<Self::Row>, GroupFailed>> + Send;
    /// The leases, which do not change until the transaction ends: all of them, or the one of an epoch.
    fn leases(&mut self, epoch: Option<Epoch>) -> impl Future<Output = Result<Facts, GroupFailed>> + Send;
    /// Waits until no transaction under a bot's lease is under way, and lets none begin.
    fn stop_writers(&mut self, bot: i64) -> impl Future<Output = Result<(), GroupFailed>> + Send;
    /// Waits until no turn of these conversations is being committed, and lets none begin; then tells of each, in their
    /// order, its version and whether it is open.
    fn standing(&mut self, keys: Rows) -> impl Future<Output = Result<Vec<Self::Row>, GroupFailed>> + Send;
    /// Removes conversations that ended before a time; none of them begins anew at a version that it had before.
    fn forget_ended(
        &mut self,
        bot: i64,
        before: Millis,
        limit: i64,
    ) -> impl Future<Output = Result<u64, GroupFailed>> + Send;
    /// Writes rows.
    fn write(&mut self, bulk: Bulk) -> impl Future<Output = Result<(), GroupFailed>> + Send;
}

/// Carries it out and keeps its answer for the commit, or answers at once why there will be none.
pub(in crate::store) async fn carry_out(
    alone: Alone,
    reply: Reply,
    session: &mut impl Session,
) -> Result<Decided, GroupFailed> {
    match run(alone, session).await {
        Ok(verdict) => Ok(Decided::new(reply, verdict)),
        Err(failed) => {
            blame(reply, &failed);
            Err(failed)
        }
    }
}

async fn run(alone: Alone, session: &mut impl Session) -> Result<Verdict, GroupFailed> {
    Ok(match alone {
        Alone::Claim { bot, holder, seen } => Ok(claim(session, bot, &holder, seen.as_deref()).await?.into()),
        Alone::Release { bot, epoch } => release(session, bot, epoch).await?.map(Answered::from),
        Alone::ClearLease { bot } => Ok(clear(session, bot).await?.into()),
        Alone::Clean { epoch, bounds, old } => clean(session, epoch, bounds, old).await?.map(Answered::from),
        Alone::Reset { key, now } => Ok(reset(session, &key, now).await?.into()),
        Alone::Forget { bot, user, now } => Ok(forget(session, bot, user, now).await?.into()),
        Alone::Import(import) => Ok(import_all(session, std::slice::from_ref(&import)).await?.contains(&true).into()),
        Alone::RetryParked { id } => Ok(touch(session, RETRY_PARKED, id).await?.into()),
        Alone::DropParked { id } => Ok(touch(session, DROP_PARKED, id).await?.into()),
    })
}

async fn claim(
    session: &mut impl Session,
    bot: i64,
    holder: &Holder,
    seen: Option<&Lease>,
) -> Result<LeaseAnswer, GroupFailed> {
    session.stop_writers(bot).await?;
    let held = session.row(LEASE, vec![Value::Number(bot)]).await?;
    if let Some(held) = held.as_ref().map(reads::lease).transpose()?
        && !held.is_unchanged(seen)
    {
        return Ok(LeaseAnswer::Held(Box::new(held)));
    }
    let values = vec![Value::Number(bot), Value::Text(serde_json::to_string(holder)?)];
    let granted = session.row(CLAIM, values).await?;
    let epoch = granted.map(|row| row.number(0)).transpose()?;
    epoch.map(|epoch| LeaseAnswer::Granted(Epoch(epoch))).ok_or_else(|| GroupFailed::because("no lease was made"))
}

/// Epochs rise over all bots of the database: so an epoch alone says whose it is, and the numbers of two bots never meet.
const CLAIM: &str = "
INSERT INTO opora_leases (bot, epoch, holder, renewals, numbers)
VALUES ($1, (SELECT coalesce(max(epoch), 0) + 1 FROM opora_leases), $2, 0, 0)
ON CONFLICT (bot) DO UPDATE SET
    epoch = excluded.epoch, holder = excluded.holder, renewals = 0, numbers = 0
RETURNING epoch";

async fn release(session: &mut impl Session, bot: i64, epoch: Epoch) -> Result<StoreResult<()>, GroupFailed> {
    session.stop_writers(bot).await?;
    if let Err(refused) = session.leases(None).await?.lease_of(bot, epoch) {
        return Ok(Err(refused));
    }
    let_go(session, bot).await.map(Ok)
}

async fn clear(session: &mut impl Session, bot: i64) -> Result<(), GroupFailed> {
    session.stop_writers(bot).await?;
    let_go(session, bot).await
}

/// The epoch stays, so that the next one is higher.
async fn let_go(session: &mut impl Session, bot: i64) -> Result<(), GroupFailed> {
    session.change("UPDATE opora_leases SET holder = NULL WHERE bot = $1", vec![Value::Number(bot)]).await?;
    Ok(())
}

async fn clean(
    session: &mut impl Session,
    epoch: Epoch,
    Bounds { marks_before, records_before, parked_most, .. }: Bounds,
    old: Old,
) -> Result<StoreResult<Cleaned>, GroupFailed> {
    let bot = match session.leases(Some(epoch)).await?.bot_of(epoch) {
        Ok(bot) => bot,
        Err(refused) => return Ok(Err(refused)),
    };
    let (statement, before) = match old {
        Old::Marks => (CLEAN_MARKS, marks_before),
        Old::Posts => (CLEAN_POSTS, marks_before),
        Old::Transitions => (CLEAN_TRANSITIONS, records_before),
        Old::Failed => (CLEAN_FAILED, records_before),
        Old::Labels => (CLEAN_LABELS, records_before),
        Old::Ended => {
            let aged = session.forget_ended(bot, records_before, CLEAN_LIMIT).await?;
            return Ok(Ok(Cleaned { aged, parked: 0 }));
        }
        Old::Parked => {
            let parked = session.change(BOUND_PARKED, numbers([bot, count(parked_most), CLEAN_LIMIT])).await?;
            return Ok(Ok(Cleaned { aged: 0, parked }));
        }
    };
    let aged = session.change(statement, numbers([bot, before.0, CLEAN_LIMIT])).await?;
    Ok(Ok(Cleaned { aged, parked: 0 }))
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

/// All from the newest that is too many.
const BOUND_PARKED: &str = "
DELETE FROM opora_parked WHERE id IN (
    SELECT id FROM opora_parked
    WHERE bot = $1 AND id <= (SELECT id FROM opora_parked WHERE bot = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)
    ORDER BY id LIMIT $3)";

async fn reset<S: Session>(session: &mut S, key: &DialogueKey, now: Millis) -> Result<bool, GroupFailed> {
    let values = vec![Value::Text(key.to_string()), Value::Number(now.0)];
    Ok(session.change(S::RESET, values).await? > 0)
}

/// Imports conversations, none of them twice; answers of each whether it was.
pub(in crate::store) async fn import_all(
    session: &mut impl Session,
    imports: &[Import],
) -> Result<Vec<bool>, GroupFailed> {
    let mut keys = Rows::default();
    let mut bulk = Bulk::default();
    imports.iter().try_for_each(|import| keys.add(&import.row.key))?;
    let standing = session.standing(keys).await?;
    if standing.len() != imports.len() {
        return Err(GroupFailed::because("the version floor is missing"));
    }
    let mut done = Vec::with_capacity(imports.len());
    for (Import { row, replace, is_exact, .. }, standing) in imports.iter().zip(standing) {
        let is_imported = *replace || !standing.flag(1)?;
        if is_imported {
            // A turn that is under way must notice that the conversation was changed beneath it.
            let from = Version(standing.number(0)?);
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

async fn touch(session: &mut impl Session, statement: &'static str, id: ParkedId) -> Result<bool, GroupFailed> {
    Ok(session.change(statement, numbers([id.0])).await? > 0)
}
