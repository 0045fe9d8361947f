//! What staff change: amounts by hand, payments, and the end of a month. Each within one commit.
//!
//! What belongs to a month that is closed stays as it is. Who changes or removes it writes a correction instead, into the
//! first month that is open.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ActiveModelTrait, ColumnTrait, EntityTrait, QueryFilter, QuerySelect, Set};
use serde_json::json;

use super::ledger::{credit_before, whole_sum};
use super::news::{self, About};
use super::posting::{self, Deltas, Sums};
use super::tables::{adjustment, change, entry, payment, period};
use super::{Basis, Kind, Money, PayNews, Period, Seen, Why};
use crate::audit;
use crate::domain::Writing;

/// The version that whoever pays has seen of a month in which the person has nothing yet.
pub const NO_ENTRY: i64 = 0;

/// A bonus, or with a minus a deduction.
#[derive(Clone, Debug)]
pub struct Manual {
    pub user_id: i64,
    pub day: NaiveDate,
    pub amount: Money,
    pub reason: String,
    pub by: i64,
}

/// How somebody wants an amount to be. None: not at all.
#[derive(Clone, Debug)]
pub struct Edit {
    pub id: i64,
    /// What was seen; see [`super::Line::version`].
    pub version: i64,
    pub amount: Option<Money>,
    pub reason: String,
    pub by: i64,
}

/// A mark that somebody was paid.
#[derive(Clone, Copy, Debug)]
pub struct Paid {
    pub period: Period,
    pub user_id: i64,
    pub amount: Money,
    /// Of the entry that was seen; see [`NO_ENTRY`].
    pub version: i64,
    /// It may be more than is due: what is beyond counts for the months after.
    pub is_advance: bool,
    pub by: i64,
}

pub async fn add(db: &Writing<'_, '_>, manual: Manual, at: Millis) -> Result<(), WriteError> {
    let month = open_period(db, Period::of(manual.day)).await?;
    let Manual { user_id, day, amount, reason, by } = manual;
    let (day, why) = (day.to_string(), Some(reason.clone()));
    let row = adjustment::Model { user_id, day, reason: why, ..blank(amount, month, by, at) };
    insert(db, row, at).await?;
    news::tell(db, About { user_id, by, month }, PayNews::Added { amount, reason }, at).await
}

/// Changes what is written by hand, or removes it; in a closed month, by a correction.
pub async fn edit(db: &Writing<'_, '_>, edit: Edit, at: Millis) -> Result<(), WriteError> {
    let found = adjustment::Entity::find_by_id(edit.id).lock_exclusive().one(db).await?;
    let row = found.filter(|row| row.deleted_at.is_none()).ok_or_else(|| Why::Gone.refuse())?;
    if !row.kind.parse().is_ok_and(Kind::is_manual) {
        return Err(Why::NotManual.refuse());
    }
    if is_closed(db, &row.period).await? {
        return correct(db, row, edit, at).await;
    }
    if row.version != edit.version {
        return Err(Why::Stale.refuse());
    }
    let (about, before) = (about(&row, edit.by)?, Money::from_kopecks(row.amount_kopecks));
    let what = edited(&row, &edit, before, None);
    let mut deltas = Deltas::new();
    posting::add(&mut deltas, &row, Sums::of(&row).minus());
    let after = match edit.amount {
        Some(amount) => {
            let kind = manual_kind(amount).name().to_owned();
            let after = adjustment::Model { kind, amount_kopecks: amount.kopecks(), reason: Some(edit.reason), ..row };
            posting::add(&mut deltas, &after, Sums::of(&after));
            after
        }
        None => adjustment::Model { deleted_at: Some(at.0), ..row },
    };
    let deed = if edit.amount.is_some() { "changed" } else { "removed" };
    update(db, after, edit.by, deed, at).await?;
    posting::apply(db, deltas).await?;
    news::tell(db, about, what, at).await
}

/// Brings back what was removed, while its month is open.
pub async fn restore(db: &Writing<'_, '_>, id: i64, by: i64, at: Millis) -> Result<(), WriteError> {
    let found = adjustment::Entity::find_by_id(id).lock_exclusive().one(db).await?;
    let row = found.filter(|row| row.deleted_at.is_some()).ok_or_else(|| Why::Gone.refuse())?;
    if is_closed(db, &row.period).await? {
        return Err(Why::Closed.refuse());
    }
    let row = adjustment::Model { deleted_at: None, ..row };
    let (about, amount) = (about(&row, by)?, Money::from_kopecks(row.amount_kopecks));
    let what = PayNews::Restored { amount, reason: row.reason.clone().unwrap_or_default() };
    let mut deltas = Deltas::new();
    posting::add(&mut deltas, &row, Sums::of(&row));
    update(db, row, by, "restored", at).await?;
    posting::apply(db, deltas).await?;
    news::tell(db, about, what, at).await
}

/// Marks that somebody was paid. An advance may be the first that a person has in a month.
pub async fn pay(db: &Writing<'_, '_>, paid: Paid, at: Millis) -> Result<(), WriteError> {
    let month = paid.period.to_string();
    if paid.is_advance && paid.version == NO_ENTRY {
        begin(db, paid.period, paid.user_id).await?;
    }
    let seen = entry::Column::Period.eq(month.as_str()).and(entry::Column::UserId.eq(paid.user_id));
    let marked = entry::Entity::update_many()
        .col_expr(entry::Column::PaidKopecks, Expr::col(entry::Column::PaidKopecks).add(paid.amount.kopecks()))
        .col_expr(entry::Column::Version, Expr::col(entry::Column::Version).add(1))
        .filter(seen.and(entry::Column::Version.eq(paid.version)))
        .exec(db)
        .await?;
    if marked.rows_affected == 0 {
        let entry = entry::Entity::find_by_id((month, paid.user_id)).one(db).await?;
        return Err(entry.map_or(Why::NothingThere, |_| Why::Stale).refuse());
    }
    if !paid.is_advance && is_overpaid(db, &month, paid.user_id).await? {
        return Err(Why::MoreThanDue.refuse());
    }
    let row = payment::ActiveModel {
        period: Set(month.clone()),
        user_id: Set(paid.user_id),
        amount_kopecks: Set(paid.amount.kopecks()),
        paid_at: Set(at.0),
        paid_by: Set(paid.by),
        ..Default::default()
    };
    row.insert(db).await?;
    note(db, "payment marked", ("user", paid.user_id), &month, paid.by, at).await?;
    let about = About { user_id: paid.user_id, by: paid.by, month: paid.period };
    news::tell(db, about, PayNews::Paid { amount: paid.amount }, at).await
}

/// Makes an entry without amounts, unless there is one. Of a closed month there is none to make.
async fn begin(db: &Writing<'_, '_>, month: Period, user_id: i64) -> Result<(), WriteError> {
    if open_period(db, month).await? != month {
        return Ok(());
    }
    // Shared, so that nobody closes the month meanwhile.
    let found = period::Entity::find_by_id(month.to_string()).lock_shared().one(db).await?;
    if found.is_none_or(|period| period.status == posting::CLOSED) {
        return Ok(());
    }
    let row = entry::ActiveModel {
        period: Set(month.to_string()),
        user_id: Set(user_id),
        hours_hundredths: Set(0),
        earned_kopecks: Set(0),
        bonus_kopecks: Set(0),
        deduction_kopecks: Set(0),
        total_kopecks: Set(0),
        paid_kopecks: Set(0),
        version: Set(NO_ENTRY),
    };
    let there = OnConflict::columns([entry::Column::Period, entry::Column::UserId]).do_nothing().to_owned();
    entry::Entity::insert_many([row]).on_conflict(there).exec_without_returning(db).await?;
    Ok(())
}

/// Whether somebody has been paid more than is due by now, with what was too much before.
async fn is_overpaid(db: &Writing<'_, '_>, month: &str, user_id: i64) -> Result<bool, WriteError> {
    let found = entry::Entity::find_by_id((month.to_owned(), user_id)).one(db).await?;
    let due = found.map_or(0, |row| row.total_kopecks - row.paid_kopecks);
    Ok(Money::from_kopecks(due) < credit_before(db, user_id, month).await?)
}

/// A payment that was marked by mistake.
pub async fn take_back(db: &Writing<'_, '_>, id: i64, by: i64, at: Millis) -> Result<(), WriteError> {
    let found = payment::Entity::find_by_id(id).one(db).await?.ok_or_else(|| Why::Gone.refuse())?;
    let gone = payment::Entity::update_many()
        .set(payment::ActiveModel {
            taken_back_at: Set(Some(at.0)),
            taken_back_by: Set(Some(by)),
            ..Default::default()
        })
        .filter(payment::Column::Id.eq(id).and(payment::Column::TakenBackAt.is_null()))
        .exec(db)
        .await?;
    if gone.rows_affected == 0 {
        return Err(Why::Gone.refuse());
    }
    entry::Entity::update_many()
        .col_expr(entry::Column::PaidKopecks, Expr::col(entry::Column::PaidKopecks).sub(found.amount_kopecks))
        .col_expr(entry::Column::Version, Expr::col(entry::Column::Version).add(1))
        .filter(entry::Column::Period.eq(found.period.as_str()).and(entry::Column::UserId.eq(found.user_id)))
        .exec(db)
        .await?;
    note(db, "payment taken back", ("user", found.user_id), &found.period, by, at).await?;
    let about = About { user_id: found.user_id, by, month: month_of(&found.period)? };
    news::tell(db, about, PayNews::TakenBack { amount: Money::from_kopecks(found.amount_kopecks) }, at).await
}

/// Closes a month for good; refused where it is not what was seen.
pub async fn close(db: &Writing<'_, '_>, month: Period, seen: Seen, by: i64, at: Millis) -> Result<(), WriteError> {
    if is_closed(db, &month.to_string()).await? {
        return Err(Why::Closed.refuse());
    }
    open_period(db, month).await?;
    let closed = period::ActiveModel {
        status: Set(posting::CLOSED.to_owned()),
        closed_at: Set(Some(at.0)),
        closed_by: Set(Some(by)),
        ..Default::default()
    };
    let month = month.to_string();
    let open = period::Column::Id.eq(month.as_str()).and(period::Column::Status.eq(posting::OPEN));
    let done = period::Entity::update_many().set(closed).filter(open).exec(db).await?;
    if done.rows_affected == 0 {
        return Err(Why::Closed.refuse());
    }
    // The month is ours alone by now, so its sums stay.
    let stands: Option<(i64, i64)> = entry::Entity::find()
        .filter(entry::Column::Period.eq(month.as_str()))
        .select_only()
        .column_as(whole_sum("total_kopecks"), "total")
        .column_as(whole_sum("version"), "version")
        .into_tuple()
        .one(db)
        .await?;
    let (total, version) = stands.unwrap_or_default();
    if seen != (Seen { total: Money::from_kopecks(total), version }) {
        return Err(Why::Stale.refuse());
    }
    let number = month.replace('-', "").parse().unwrap_or_default();
    note(db, "pay period closed", ("payroll_period", number), &month, by, at).await
}

/// Writes what a closed row should have been more or less into an open month.
async fn correct(db: &Writing<'_, '_>, row: adjustment::Model, edit: Edit, at: Millis) -> Result<(), WriteError> {
    let corrections = adjustment::Entity::find()
        .filter(adjustment::Column::CorrectsId.eq(row.id).and(adjustment::Column::DeletedAt.is_null()))
        .all(db)
        .await?;
    let seen = row.version + i64::try_from(corrections.len()).unwrap_or_default();
    if seen != edit.version {
        return Err(Why::Stale.refuse());
    }
    let stands = row.amount_kopecks + corrections.iter().map(|one| one.amount_kopecks).sum::<i64>();
    let stands = Money::from_kopecks(stands);
    let difference = edit.amount.unwrap_or_default() - stands;
    if difference == Money::ZERO {
        return Err(Why::BadAmount.refuse());
    }
    let about = about(&row, edit.by)?;
    let month = open_period(db, about.month.next()).await?;
    let what = edited(&row, &edit, stands, Some(month));
    let correction = adjustment::Model {
        kind: Kind::Correction.name().to_owned(),
        user_id: row.user_id,
        day: row.day,
        corrects_id: Some(row.id),
        reason: Some(edit.reason),
        ..blank(difference, month, edit.by, at)
    };
    insert(db, correction, at).await?;
    news::tell(db, about, what, at).await
}

/// Whose an amount is, for whoever is told of it.
fn about(row: &adjustment::Model, by: i64) -> Result<About, WriteError> {
    Ok(About { user_id: row.user_id, by, month: month_of(&row.period)? })
}

/// What became of an amount, which stood so before.
fn edited(row: &adjustment::Model, edit: &Edit, before: Money, into: Option<Period>) -> PayNews {
    match edit.amount {
        Some(amount) => PayNews::Changed { before, amount, reason: edit.reason.clone(), into },
        None => PayNews::Removed { amount: before, reason: row.reason.clone().unwrap_or_default(), into },
    }
}

fn month_of(period: &str) -> Result<Period, WriteError> {
    period.parse().map_err(|_| Why::BadDay.refuse())
}

/// What all rows have in common that somebody writes.
fn blank(amount: Money, month: Period, by: i64, at: Millis) -> adjustment::Model {
    adjustment::Model {
        id: 0,
        user_id: 0,
        period: month.to_string(),
        day: String::new(),
        kind: manual_kind(amount).name().to_owned(),
        amount_kopecks: amount.kopecks(),
        hours_hundredths: 0,
        shift_id: None,
        task_id: None,
        plan_id: None,
        order_id: None,
        site_id: None,
        corrects_id: None,
        basis: posting::written(&Basis::Hand),
        reason: None,
        created_at: at.0,
        created_by: Some(by),
        deleted_at: None,
        version: 1,
    }
}

fn manual_kind(amount: Money) -> Kind {
    if amount.is_negative() { Kind::ManualDeduction } else { Kind::ManualBonus }
}

async fn insert(db: &Writing<'_, '_>, row: adjustment::Model, at: Millis) -> Result<(), WriteError> {
    let row = posting::fresh(row).insert(db).await?;
    let mut deltas = Deltas::new();
    posting::add(&mut deltas, &row, Sums::of(&row));
    let by = row.created_by.unwrap_or_default();
    remember(db, &row, by, "added", at).await?;
    posting::apply(db, deltas).await
}

async fn update(
    db: &Writing<'_, '_>,
    row: adjustment::Model,
    by: i64,
    deed: &'static str,
    at: Millis,
) -> Result<(), WriteError> {
    let changed = adjustment::ActiveModel {
        kind: Set(row.kind.clone()),
        amount_kopecks: Set(row.amount_kopecks),
        reason: Set(row.reason.clone()),
        deleted_at: Set(row.deleted_at),
        version: Set(row.version + 1),
        ..Default::default()
    };
    let seen = adjustment::Column::Id.eq(row.id).and(adjustment::Column::Version.eq(row.version));
    let done = adjustment::Entity::update_many().set(changed).filter(seen).exec(db).await?;
    if done.rows_affected == 0 {
        return Err(Why::Stale.refuse());
    }
    remember(db, &row, by, deed, at).await
}

/// Writes the history of an amount on.
async fn remember(
    db: &Writing<'_, '_>,
    row: &adjustment::Model,
    by: i64,
    deed: &'static str,
    at: Millis,
) -> Result<(), WriteError> {
    let line = change::ActiveModel {
        adjustment_id: Set(row.id),
        at: Set(at.0),
        by_id: Set(by),
        deed: Set(deed.to_owned()),
        amount_kopecks: Set(row.amount_kopecks),
        reason: Set(row.reason.clone().unwrap_or_default()),
        ..Default::default()
    };
    line.insert(db).await?;
    Ok(())
}

async fn is_closed(db: &Writing<'_, '_>, month: &str) -> Result<bool, WriteError> {
    let found = period::Entity::find_by_id(month).one(db).await?;
    Ok(found.is_some_and(|period| period.status == posting::CLOSED))
}

async fn open_period(db: &Writing<'_, '_>, month: Period) -> Result<Period, WriteError> {
    let open = posting::open_periods(db, &BTreeSet::from([month])).await?;
    Ok(open.get(&month).copied().unwrap_or(month))
}

async fn note(
    db: &Writing<'_, '_>,
    action: &'static str,
    subject: (&'static str, i64),
    month: &str,
    by: i64,
    at: Millis,
) -> Result<(), WriteError> {
    let detail = json!({ "period": month });
    audit::record(db, audit::Entry { at, actor: Some(by), action, subject, detail }).await
}
