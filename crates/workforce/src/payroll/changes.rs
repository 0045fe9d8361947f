//! Changes by owners: manual adjustments, payments, closing a month and opening it again. Each within one commit.
//!
//! A closed month never changes. Changing or removing one of its adjustments writes a correction into the next open
//! month. An adjustment that has a correction is corrected from then on, also after its month was opened again: what
//! people read as its amount is the sum of both.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use opora::clock::Millis;
use opora::store::WriteError;
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ActiveModelTrait, ColumnTrait, EntityTrait, QueryFilter, QuerySelect, Set};
use serde_json::json;

use super::ledger::{bigint_sum, credit_before};
use super::pay_notice::{self, PayTarget};
use super::posting::{self, Deltas, Sums};
use super::tables::{adjustment, change, entry, payment, period};
use super::{Basis, Kind, Money, PayChange, PayrollMonth, PayrollRefusal, SeenMonth};
use crate::audit;
use crate::domain::Transaction;

/// The version of a month in which the person has no entry.
pub const NO_ENTRY: i64 = 0;

/// A bonus, or a deduction if the amount is negative.
#[derive(Clone, Debug)]
pub struct Manual {
    pub user_id: i64,
    pub day: NaiveDate,
    pub amount: Money,
    pub reason: String,
    pub by: i64,
}

/// A change of a manual adjustment. Without an amount it is removed.
#[derive(Clone, Debug)]
pub struct Edit {
    pub id: i64,
    /// What the owner saw; see [`super::Adjustment::version`].
    pub version: i64,
    pub amount: Option<Money>,
    pub reason: String,
    pub by: i64,
}

/// A payment to be marked.
#[derive(Clone, Copy, Debug)]
pub struct PaymentMark {
    pub period: PayrollMonth,
    pub user_id: i64,
    pub amount: Money,
    /// That of the entry that the owner saw; see [`NO_ENTRY`].
    pub version: i64,
    /// Whether it may exceed what is due. The excess counts for later months.
    pub is_advance: bool,
    pub by: i64,
}

/// A new share of a closed order.
#[derive(Clone, Debug)]
pub struct OrderCorrection {
    pub order_id: i64,
    pub share: Money,
    pub basis: Basis,
    /// The day of the correction.
    pub day: NaiveDate,
    pub reason: String,
    pub by: i64,
}

/// Adds an adjustment and returns its id.
pub async fn add(db: &Transaction<'_, '_>, manual: Manual, at: Millis) -> Result<i64, WriteError> {
    let month = open_period(db, PayrollMonth::containing(manual.day)).await?;
    let Manual { user_id, day, amount, reason, by } = manual;
    let (day, why) = (day.to_string(), Some(reason.clone()));
    let row = adjustment::Model { user_id, day, reason: why, ..manual_row(amount, month, by, at) };
    let id = insert(db, row, at).await?;
    pay_notice::write(db, PayTarget { user_id, by, month }, PayChange::Added { amount, reason }, at).await?;
    Ok(id)
}

/// Changes or removes a manual adjustment; in a closed month, or if it has corrections already, by a correction.
pub async fn edit(db: &Transaction<'_, '_>, edit: Edit, at: Millis) -> Result<(), WriteError> {
    let found = adjustment::Entity::find_by_id(edit.id).lock_exclusive().one(db).await?;
    let row = found.filter(|row| row.deleted_at.is_none()).ok_or_else(|| PayrollRefusal::Gone.refuse())?;
    if !row.kind.parse().is_ok_and(Kind::is_manual) {
        return Err(PayrollRefusal::NotManual.refuse());
    }
    let corrections = corrections_of(db, row.id).await?;
    if !corrections.is_empty() || is_closed(db, &row.period).await? {
        return correct(db, row, &corrections, edit, at).await;
    }
    if row.version != edit.version {
        return Err(PayrollRefusal::Stale.refuse());
    }
    let (about, before) = (pay_target(&row, edit.by)?, Money::from_kopecks(row.amount_kopecks));
    let pay_change = pay_change_of(&row, &edit, before, None);
    let mut deltas = Deltas::new();
    posting::add(&mut deltas, &row, Sums::from_row(&row).minus());
    let after = match edit.amount {
        Some(amount) => {
            let kind = manual_kind(amount).name().to_owned();
            let after = adjustment::Model { kind, amount_kopecks: amount.kopecks(), reason: Some(edit.reason), ..row };
            posting::add(&mut deltas, &after, Sums::from_row(&after));
            after
        }
        None => adjustment::Model { deleted_at: Some(at.0), ..row },
    };
    let deed = if edit.amount.is_some() { "changed" } else { "removed" };
    update(db, after, edit.by, deed, at).await?;
    posting::apply(db, deltas).await?;
    pay_notice::write(db, about, pay_change, at).await
}

/// Restores a removed adjustment while its month is open.
pub async fn restore(db: &Transaction<'_, '_>, id: i64, by: i64, at: Millis) -> Result<(), WriteError> {
    let found = adjustment::Entity::find_by_id(id).lock_exclusive().one(db).await?;
    let row = found.filter(|row| row.deleted_at.is_some()).ok_or_else(|| PayrollRefusal::Gone.refuse())?;
    if !row.kind.parse().is_ok_and(Kind::is_manual) {
        return Err(PayrollRefusal::NotManual.refuse());
    }
    if is_closed(db, &row.period).await? {
        return Err(PayrollRefusal::Closed.refuse());
    }
    let row = adjustment::Model { deleted_at: None, ..row };
    let (about, amount) = (pay_target(&row, by)?, Money::from_kopecks(row.amount_kopecks));
    let pay_change = PayChange::Restored { amount, reason: row.reason.clone().unwrap_or_default() };
    let mut deltas = Deltas::new();
    posting::add(&mut deltas, &row, Sums::from_row(&row));
    update(db, row, by, "restored", at).await?;
    posting::apply(db, deltas).await?;
    pay_notice::write(db, about, pay_change, at).await
}

/// Marks a payment and returns its id. An advance may create the entry of the month.
pub async fn pay(db: &Transaction<'_, '_>, paid: PaymentMark, at: Millis) -> Result<i64, WriteError> {
    let month = paid.period.to_string();
    if paid.is_advance && paid.version == NO_ENTRY {
        create_entry(db, paid.period, paid.user_id).await?;
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
        return Err(entry.map_or(PayrollRefusal::NothingThere, |_| PayrollRefusal::Stale).refuse());
    }
    if !paid.is_advance && is_overpaid(db, &month, paid.user_id).await? {
        return Err(PayrollRefusal::MoreThanDue.refuse());
    }
    let row = payment::ActiveModel {
        period: Set(month.clone()),
        user_id: Set(paid.user_id),
        amount_kopecks: Set(paid.amount.kopecks()),
        paid_at: Set(at.0),
        paid_by: Set(paid.by),
        ..Default::default()
    };
    let id = row.insert(db).await?.id;
    audit_change(db, "payment marked", ("user", paid.user_id), &month, paid.by, at).await?;
    let about = PayTarget { user_id: paid.user_id, by: paid.by, month: paid.period };
    pay_notice::write(db, about, PayChange::Paid { amount: paid.amount }, at).await?;
    Ok(id)
}

/// Creates an empty entry unless one exists or the month is closed.
async fn create_entry(db: &Transaction<'_, '_>, month: PayrollMonth, user_id: i64) -> Result<(), WriteError> {
    if open_period(db, month).await? != month {
        return Ok(());
    }
    // A shared lock, so the month cannot be closed meanwhile.
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
    let on_conflict = OnConflict::columns([entry::Column::Period, entry::Column::UserId]).do_nothing().to_owned();
    entry::Entity::insert_many([row]).on_conflict(on_conflict).exec_without_returning(db).await?;
    Ok(())
}

/// Whether the person has been paid more than is due, including credit from earlier months.
async fn is_overpaid(db: &Transaction<'_, '_>, month: &str, user_id: i64) -> Result<bool, WriteError> {
    let found = entry::Entity::find_by_id((month.to_owned(), user_id)).one(db).await?;
    let due = found.map_or(0, |row| row.total_kopecks - row.paid_kopecks);
    Ok(Money::from_kopecks(due) < credit_before(db, user_id, month).await?)
}

/// Takes back a payment.
pub async fn take_back(db: &Transaction<'_, '_>, id: i64, by: i64, at: Millis) -> Result<(), WriteError> {
    let found = payment::Entity::find_by_id(id).one(db).await?.ok_or_else(|| PayrollRefusal::Gone.refuse())?;
    let updated = payment::Entity::update_many()
        .set(payment::ActiveModel {
            taken_back_at: Set(Some(at.0)),
            taken_back_by: Set(Some(by)),
            ..Default::default()
        })
        .filter(payment::Column::Id.eq(id).and(payment::Column::TakenBackAt.is_null()))
        .exec(db)
        .await?;
    if updated.rows_affected == 0 {
        return Err(PayrollRefusal::Gone.refuse());
    }
    entry::Entity::update_many()
        .col_expr(entry::Column::PaidKopecks, Expr::col(entry::Column::PaidKopecks).sub(found.amount_kopecks))
        .col_expr(entry::Column::Version, Expr::col(entry::Column::Version).add(1))
        .filter(entry::Column::Period.eq(found.period.as_str()).and(entry::Column::UserId.eq(found.user_id)))
        .exec(db)
        .await?;
    audit_change(db, "payment taken back", ("user", found.user_id), &found.period, by, at).await?;
    let about = PayTarget { user_id: found.user_id, by, month: month_of(&found.period)? };
    pay_notice::write(db, about, PayChange::TakenBack { amount: Money::from_kopecks(found.amount_kopecks) }, at).await
}

/// Closes a month; refused if it has changed since it was seen.
pub async fn close(
    db: &Transaction<'_, '_>,
    month: PayrollMonth,
    seen: SeenMonth,
    by: i64,
    at: Millis,
) -> Result<(), WriteError> {
    if is_closed(db, &month.to_string()).await? {
        return Err(PayrollRefusal::Closed.refuse());
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
    let updated = period::Entity::update_many().set(closed).filter(open).exec(db).await?;
    if updated.rows_affected == 0 {
        return Err(PayrollRefusal::Closed.refuse());
    }
    // The status update holds the month exclusively, so its sums cannot change.
    let current: Option<(i64, i64)> = entry::Entity::find()
        .filter(entry::Column::Period.eq(month.as_str()))
        .select_only()
        .column_as(bigint_sum("total_kopecks"), "total")
        .column_as(bigint_sum("version"), "version")
        .into_tuple()
        .one(db)
        .await?;
    let (total, version) = current.unwrap_or_default();
    if seen != (SeenMonth { total: Money::from_kopecks(total), version }) {
        return Err(PayrollRefusal::Stale.refuse());
    }
    audit_change(db, "pay period closed", audit_subject(&month), &month, by, at).await
}

/// Opens a closed month again. Its amounts can change from then on, and what is due follows them. Payments stay marked:
/// the money has changed hands, and what is then too much counts for later months. Corrections that were written while
/// the month was closed stay where they are.
pub async fn reopen(
    db: &Transaction<'_, '_>,
    month: PayrollMonth,
    reason: String,
    by: i64,
    at: Millis,
) -> Result<(), WriteError> {
    let month = month.to_string();
    let closed = period::Column::Id.eq(month.as_str()).and(period::Column::Status.eq(posting::CLOSED));
    let open = period::ActiveModel {
        status: Set(posting::OPEN.to_owned()),
        closed_at: Set(None),
        closed_by: Set(None),
        ..Default::default()
    };
    let updated = period::Entity::update_many().set(open).filter(closed).exec(db).await?;
    if updated.rows_affected == 0 {
        return Err(PayrollRefusal::NotClosed.refuse());
    }
    let (subject, detail) = (audit_subject(&month), json!({ "period": month, "reason": reason }));
    audit::record(db, audit::Entry { at, actor: Some(by), action: "pay period reopened", subject, detail }).await
}

/// A month as the audit knows it: `payroll_period`, 202601.
pub fn audit_subject(month: &str) -> (&'static str, i64) {
    ("payroll_period", month.replace('-', "").parse().unwrap_or_default())
}

async fn corrections_of(db: &Transaction<'_, '_>, id: i64) -> Result<Vec<adjustment::Model>, WriteError> {
    let of_row = adjustment::Column::CorrectsId.eq(id).and(adjustment::Column::DeletedAt.is_null());
    Ok(adjustment::Entity::find().filter(of_row).all(db).await?)
}

/// Writes the difference to an adjustment into a later, open month.
async fn correct(
    db: &Transaction<'_, '_>,
    row: adjustment::Model,
    corrections: &[adjustment::Model],
    edit: Edit,
    at: Millis,
) -> Result<(), WriteError> {
    let seen = row.version + i64::try_from(corrections.len()).unwrap_or_default();
    if seen != edit.version {
        return Err(PayrollRefusal::Stale.refuse());
    }
    let current_kopecks = row.amount_kopecks + corrections.iter().map(|one| one.amount_kopecks).sum::<i64>();
    let current_amount = Money::from_kopecks(current_kopecks);
    let difference = edit.amount.unwrap_or_default() - current_amount;
    if difference == Money::ZERO {
        return Err(PayrollRefusal::BadAmount.refuse());
    }
    let about = pay_target(&row, edit.by)?;
    let month = open_period(db, about.month.next()).await?;
    let pay_change = pay_change_of(&row, &edit, current_amount, Some(month));
    let correction = adjustment::Model {
        kind: Kind::Correction.name().to_owned(),
        user_id: row.user_id,
        day: row.day,
        corrects_id: Some(row.id),
        reason: Some(edit.reason),
        ..manual_row(difference, month, edit.by, at)
    };
    insert(db, correction, at).await?;
    pay_notice::write(db, about, pay_change, at).await
}

/// Corrects the share of an order. The amount so far is reversed and the new one is posted, both as corrections in the
/// open month of the day.
pub async fn correct_order(
    db: &Transaction<'_, '_>,
    correction: OrderCorrection,
    at: Millis,
) -> Result<(), WriteError> {
    let OrderCorrection { order_id, share, basis, day, reason, by } = correction;
    let of_order = adjustment::Column::OrderId.eq(order_id);
    let found = adjustment::Entity::find().filter(of_order).lock_exclusive().one(db).await?;
    let row = found.ok_or_else(|| PayrollRefusal::Gone.refuse())?;
    let corrections = corrections_of(db, row.id).await?;
    let posted = row.amount_kopecks + corrections.iter().map(|one| one.amount_kopecks).sum::<i64>();
    let before = Money::from_kopecks(posted);
    if before == share {
        return Ok(());
    }
    let month = open_period(db, PayrollMonth::containing(day)).await?;
    for (amount, basis) in [(-before, Basis::Hand), (share, basis)] {
        if amount == Money::ZERO {
            continue;
        }
        let line = adjustment::Model {
            kind: Kind::Correction.name().to_owned(),
            user_id: row.user_id,
            day: day.to_string(),
            corrects_id: Some(row.id),
            basis: posting::basis_json(&basis),
            reason: Some(reason.clone()),
            ..manual_row(amount, month, by, at)
        };
        insert(db, line, at).await?;
    }
    let about = PayTarget { user_id: row.user_id, by, month };
    pay_notice::write(db, about, PayChange::Changed { before, amount: share, reason, into: None }, at).await
}

/// The person, author and month of a notice about an adjustment.
fn pay_target(row: &adjustment::Model, by: i64) -> Result<PayTarget, WriteError> {
    Ok(PayTarget { user_id: row.user_id, by, month: month_of(&row.period)? })
}

/// What a change did to an amount.
fn pay_change_of(row: &adjustment::Model, edit: &Edit, before: Money, into: Option<PayrollMonth>) -> PayChange {
    match edit.amount {
        Some(amount) => PayChange::Changed { before, amount, reason: edit.reason.clone(), into },
        None => PayChange::Removed { amount: before, reason: row.reason.clone().unwrap_or_default(), into },
    }
}

fn month_of(period: &str) -> Result<PayrollMonth, WriteError> {
    period.parse().map_err(|_| PayrollRefusal::BadDay.refuse())
}

/// A manual adjustment with default values.
fn manual_row(amount: Money, month: PayrollMonth, by: i64, at: Millis) -> adjustment::Model {
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
        basis: posting::basis_json(&Basis::Hand),
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

/// Stores an adjustment with its sums and the first line of its history. Returns its id.
async fn insert(db: &Transaction<'_, '_>, row: adjustment::Model, at: Millis) -> Result<i64, WriteError> {
    let row = posting::insertable(row).insert(db).await?;
    let mut deltas = Deltas::new();
    posting::add(&mut deltas, &row, Sums::from_row(&row));
    let by = row.created_by.unwrap_or_default();
    record_change(db, &row, by, "added", at).await?;
    posting::apply(db, deltas).await?;
    Ok(row.id)
}

/// Stores a changed adjustment, if it still has the version of the row, and a line of its history.
pub async fn update(
    db: &Transaction<'_, '_>,
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
    let updated = adjustment::Entity::update_many().set(changed).filter(seen).exec(db).await?;
    if updated.rows_affected == 0 {
        return Err(PayrollRefusal::Stale.refuse());
    }
    record_change(db, &row, by, deed, at).await
}

/// Adds a line to the history of an adjustment.
async fn record_change(
    db: &Transaction<'_, '_>,
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

async fn is_closed(db: &Transaction<'_, '_>, month: &str) -> Result<bool, WriteError> {
    let found = period::Entity::find_by_id(month).one(db).await?;
    Ok(found.is_some_and(|period| period.status == posting::CLOSED))
}

async fn open_period(db: &Transaction<'_, '_>, month: PayrollMonth) -> Result<PayrollMonth, WriteError> {
    let open = posting::open_periods(db, &BTreeSet::from([month])).await?;
    Ok(open.get(&month).copied().unwrap_or(month))
}

async fn audit_change(
    db: &Transaction<'_, '_>,
    action: &'static str,
    subject: (&'static str, i64),
    month: &str,
    by: i64,
    at: Millis,
) -> Result<(), WriteError> {
    let detail = json!({ "period": month });
    audit::record(db, audit::Entry { at, actor: Some(by), action, subject, detail }).await
}
