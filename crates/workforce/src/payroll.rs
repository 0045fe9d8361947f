//! Payroll: what people earned by month, why, and what they were paid.
//!
//! Rooms post [adjustments](NewAdjustment) in the commit that earns them ([`Payroll::post`]). Sums by person and month
//! are stored beside the adjustments and always agree with them. The database keeps a closed month unchanged: later
//! adjustments go into the next open month. An owner can open a month again.
//!
//! No money is moved: a payment is a mark that a person was paid.

use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;
use futures_util::future::BoxFuture;
use opora::clock::{Clock, Millis};
use opora::dialogue::Script;
use opora::store::WriteError;
use sea_orm::DbErr;
use serde_json::Value;

pub use self::changes::{NO_ENTRY, OrderCorrection};
pub use self::ledger::{
    Adjustment, AdjustmentChange, AdjustmentCursor, DayPay, Earnings, Entry, MonthStatus, PAGE_SIZE, Payment,
    PayrollSheet, PersonTotals, SeenMonth, base_of_shift,
};
pub use self::pages::months;
pub use self::plan_fines::PlanFine;
pub use self::rebuilding::rebuild;
pub use self::refusal::{ActionError, PayrollRefusal};
pub use self::rules::{
    Basis, LatenessFacts, MaterialsExceedTotal, NewAdjustment, OrderFacts, PaidTime, RoundedTime, Shares, ShiftFacts,
    Source, TaskFacts, UnpaidStart, adjustments_of, minutes_late, order_share, rate_of, task_row,
};
pub use self::unsettled::Unsettled;
use crate::application::App;
use crate::domain::{Domain, FormKey, Transaction, days, user_text};
use crate::jobs::Jobs;
use crate::key;
use crate::money::{Kind, Money, PaidHours, PayrollMonth, Rounding};
use crate::notices::PayChange;
use crate::people::{self, People};
use crate::person::{EARNERS, OWNERS, Permission, Person, SITE_STAFF};
use crate::rooms::{MenuItem, Room};
use crate::settings::{Settings, TIME_ZONE};
use crate::web::ui::Icon;
use crate::web::{NavItem, PageError, Routes, Section};

mod by_site;
mod changes;
mod earnings;
mod explain;
pub mod export;
mod ledger;
mod pages;
mod pay_notice;
mod plan_fines;
mod posting;
mod rebuilding;
mod refusal;
mod report;
mod rules;
mod tables;
mod timesheet;
mod unsettled;

pub const MAX_REASON_LENGTH: usize = 300;

#[derive(Debug)]
pub struct PayrollRoom;

impl Room for PayrollRoom {
    fn name(&self) -> &'static str {
        "payroll"
    }

    fn dialogues(&self, script: Script) -> Script {
        script.dialogue(report::dialogue())
    }

    fn menu(&self) -> Vec<MenuItem> {
        vec![
            MenuItem { caption: key!("payroll-earnings-button"), data: earnings::SHOW, roles: EARNERS },
            MenuItem { caption: key!("payroll-report-button"), data: report::ASK, roles: OWNERS },
        ]
    }

    fn routes(&self) -> Routes {
        pages::routes()
    }

    fn nav(&self) -> Vec<NavItem> {
        vec![
            NavItem::new(key!("payroll-nav"), pages::PAYROLL, Icon::Money, SITE_STAFF).needs(Permission::Finances),
            NavItem::new(key!("payroll-nav-own"), pages::OWN, Icon::Money, EARNERS),
        ]
    }

    fn home_sections<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        Box::pin(pages::own_month(app, viewer))
    }

    fn person_sections<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        Box::pin(pages::month_of(app, viewer, person))
    }

    fn export<'a>(&'a self, domain: &'a Domain, person: &'a Person) -> BoxFuture<'a, anyhow::Result<Value>> {
        Box::pin(ledger::export(domain, person.id))
    }

    fn jobs(&self, jobs: Jobs) -> Jobs {
        jobs.scheduled(rebuilding::Rebuild {}, "0 4 * * *", rebuilding::nightly)
    }
}

/// The public functions of this room.
#[derive(Clone, Debug)]
pub struct Payroll {
    domain: Domain,
    people: People,
    settings: Settings,
    clock: Clock,
}

impl Payroll {
    pub fn new(domain: Domain, clock: Clock) -> Self {
        let (people, settings) = (People::new(domain.clone()), Settings::new(domain.clone()));
        Self { people, settings, domain, clock }
    }

    /// Posts adjustments within a commit; existing ones stay.
    pub async fn post(db: &Transaction<'_, '_>, rows: Vec<NewAdjustment>, at: Millis) -> Result<(), WriteError> {
        posting::post(db, None, rows, at).await
    }

    /// Posts adjustments that were earned at a site, within a commit. Managers with the permission for its finances see
    /// them.
    pub async fn post_at(
        db: &Transaction<'_, '_>,
        site_id: i64,
        rows: Vec<NewAdjustment>,
        at: Millis,
    ) -> Result<(), WriteError> {
        posting::post(db, Some(site_id), rows, at).await
    }

    /// Corrects the share of a closed order within a commit: reverses what was posted and posts the new share, in the
    /// open month of the day.
    pub async fn correct_order(
        db: &Transaction<'_, '_>,
        correction: OrderCorrection,
        at: Millis,
    ) -> Result<(), WriteError> {
        changes::correct_order(db, correction, at).await
    }

    /// The current time in the time zone of the business.
    pub async fn local_now(&self) -> Result<DateTime<Tz>, DbErr> {
        let zone = self.settings.get(&TIME_ZONE).await?;
        let now = DateTime::<Utc>::from_timestamp_millis(self.clock.now().0).unwrap_or_default();
        Ok(now.with_timezone(&zone))
    }

    /// The current day in the time zone of the business.
    pub async fn today(&self) -> Result<NaiveDate, DbErr> {
        Ok(self.local_now().await?.date_naive())
    }

    /// Adds a bonus, or a deduction if the amount is negative. It goes into the month of its day, or into the next open
    /// month. It lies at most a year ahead. Returns the id of the adjustment.
    pub async fn add_manual(
        &self,
        by: i64,
        user_id: i64,
        day: NaiveDate,
        amount: Money,
        reason: &str,
    ) -> Result<i64, ActionError> {
        self.add_manual_once(by, user_id, day, amount, reason, FormKey::default()).await
    }

    /// Like [`Payroll::add_manual`], for a form that counts once.
    pub async fn add_manual_once(
        &self,
        by: i64,
        user_id: i64,
        day: NaiveDate,
        amount: Money,
        reason: &str,
        once: FormKey,
    ) -> Result<i64, ActionError> {
        let (reason, at) = (reason_of(reason)?, self.clock.now());
        if amount == Money::ZERO {
            return Err(PayrollRefusal::BadAmount.into());
        }
        if !days::is_kept(day) {
            return Err(PayrollRefusal::BadDay.into());
        }
        if PayrollMonth::containing(day) > PayrollMonth::containing(self.today().await?).year_ahead() {
            return Err(PayrollRefusal::OverAYearAhead.into());
        }
        if self.people.by_id(user_id).await?.is_none() {
            return Err(PayrollRefusal::Gone.into());
        }
        let manual = changes::Manual { user_id, day, amount, reason, by };
        let add = self.write(by, move |db| {
            Box::pin(async move {
                once.store(db, at).await?;
                changes::add(db, manual, at).await
            })
        });
        add.await
    }

    /// Changes a manual adjustment; `version` is what the owner saw. In a closed month it becomes a correction.
    pub async fn change(&self, by: i64, id: i64, version: i64, amount: Money, reason: &str) -> Result<(), ActionError> {
        if amount == Money::ZERO {
            return Err(PayrollRefusal::BadAmount.into());
        }
        let reason = reason_of(reason)?;
        self.edit(changes::Edit { id, version, amount: Some(amount), reason, by }).await
    }

    /// Removes a manual adjustment. In a closed month a correction with this reason does it.
    pub async fn remove(&self, by: i64, id: i64, version: i64, reason: &str) -> Result<(), ActionError> {
        let reason = reason_of(reason)?;
        self.edit(changes::Edit { id, version, amount: None, reason, by }).await
    }

    /// Restores a removed adjustment.
    pub async fn restore(&self, by: i64, id: i64) -> Result<(), ActionError> {
        let at = self.clock.now();
        self.write(by, move |db| Box::pin(changes::restore(db, id, by, at))).await
    }

    /// Marks a payment. `version` is that of the entry that the owner saw, or [`NO_ENTRY`], so a second click does not
    /// pay again. More than is due is refused unless it is an advance; the excess then counts as paid in later months.
    /// An advance can be paid in an open month without earnings, up to the next month. Returns the id of the payment.
    pub async fn mark_paid(
        &self,
        by: i64,
        period: PayrollMonth,
        user_id: i64,
        amount: Money,
        version: i64,
        is_advance: bool,
    ) -> Result<i64, ActionError> {
        if !amount.is_positive() {
            return Err(PayrollRefusal::BadAmount.into());
        }
        if period > PayrollMonth::containing(self.today().await?).last_payable() {
            return Err(PayrollRefusal::TooFarAhead.into());
        }
        if self.people.by_id(user_id).await?.is_none() {
            return Err(PayrollRefusal::Gone.into());
        }
        let (paid, at) = (changes::PaymentMark { period, user_id, amount, version, is_advance, by }, self.clock.now());
        self.write(by, move |db| Box::pin(changes::pay(db, paid, at))).await
    }

    /// Takes back a payment that was marked by mistake.
    pub async fn take_back(&self, by: i64, payment: i64) -> Result<(), ActionError> {
        let at = self.clock.now();
        self.write(by, move |db| Box::pin(changes::take_back(db, payment, by, at))).await
    }

    /// Closes a past month, as it is now.
    pub async fn close_period(&self, by: i64, period: PayrollMonth) -> Result<(), ActionError> {
        let seen = self.of_period(period, 0).await?.seen();
        self.close_period_as_seen(by, period, seen).await
    }

    /// Like [`Payroll::close_period`], but refused if the month has changed since the owner saw it.
    pub async fn close_period_as_seen(
        &self,
        by: i64,
        period: PayrollMonth,
        seen: SeenMonth,
    ) -> Result<(), ActionError> {
        if self.today().await? <= period.last_day() {
            return Err(PayrollRefusal::NotOver.into());
        }
        let at = self.clock.now();
        self.write(by, move |db| Box::pin(changes::close(db, period, seen, by, at))).await
    }

    /// Opens a closed month again; the reason is kept in the audit.
    pub async fn reopen_period(&self, by: i64, period: PayrollMonth, reason: &str) -> Result<(), ActionError> {
        let (reason, at) = (reason_of(reason)?, self.clock.now());
        self.write(by, move |db| Box::pin(changes::reopen(db, period, reason, by, at))).await
    }

    /// The adjustments of a shift as text: caption, amount, explanation.
    pub async fn explain(
        &self,
        shift_id: i64,
        language: crate::texts::Language,
    ) -> Result<Vec<(String, Money, String)>, DbErr> {
        let lines = self.of_shift(shift_id).await?;
        Ok(lines.iter().map(|line| (line.caption(language), line.amount, line.text(language))).collect())
    }

    async fn edit(&self, edit: changes::Edit) -> Result<(), ActionError> {
        let at = self.clock.now();
        self.write(edit.by, move |db| Box::pin(changes::edit(db, edit, at))).await
    }

    /// Runs a change. Its commit checks that the actor is still an owner.
    async fn write<T, F>(&self, by: i64, run: F) -> Result<T, ActionError>
    where
        T: Send + 'static,
        F: for<'w> FnOnce(&'w Transaction<'_, '_>) -> BoxFuture<'w, Result<T, WriteError>> + Send + 'static,
    {
        let write = self.domain.write_and_get(move |db| {
            Box::pin(async move {
                people::require_role(db, by, OWNERS).await?;
                run(db).await
            })
        });
        Ok(write.await?)
    }
}

fn reason_of(text: &str) -> Result<String, PayrollRefusal> {
    let reason = user_text::line(text);
    if reason.is_empty() || reason.chars().count() > MAX_REASON_LENGTH {
        Err(PayrollRefusal::BadReason)
    } else {
        Ok(reason)
    }
}
