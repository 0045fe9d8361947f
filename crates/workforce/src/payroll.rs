//! Payroll: what people earned and why, by month, and what they were paid.
//!
//! Rooms post [rows](Row) in the commit of what earned them ([`Payroll::post`]). Sums by person and month are kept beside
//! the rows and always agree with them. A closed month stays as it is, which the database itself sees to: whatever comes
//! later goes into the next one that is open.
//!
//! It does not move money: a payment is a mark that somebody was paid.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use chrono_tz::Tz;
use futures_util::future::BoxFuture;
use opora::clock::{Clock, Millis};
use opora::dialogue::Script;
use opora::store::WriteError;
use sea_orm::DbErr;
use serde_json::Value;

pub use self::changes::NO_ENTRY;
pub use self::ledger::{
    Changed, DayOfMonth, Earnings, Entry, Line, LineMark, Month, PAGE, Payment, Reported, Seen, Sheet,
};
pub use self::pages::months;
use self::rebuilding::LookedAfter;
pub use self::rebuilding::rebuild;
pub use self::rules::{
    Basis, LatenessFacts, MaterialsExceedTotal, OrderFacts, Row, Shares, ShiftFacts, Source, TaskFacts, adjustments_of,
    minutes_late, order_share, rate_of, task_row,
};
pub use self::unsettled::Unsettled;
pub use self::why::{NotDone, Why};
use crate::application::App;
use crate::domain::{Domain, Once, Writing, days, typed};
use crate::key;
use crate::money::{Hours, Kind, Money, Period};
use crate::notices::PayNews;
use crate::people::{self, People};
use crate::person::{EARNERS, KEEPERS, OWNERS, Permission, Person};
use crate::rooms::{Job, MenuItem, Room};
use crate::settings::{Settings, TIME_ZONE};
use crate::web::{NavItem, Oops, Routes, Section};

mod by_site;
mod changes;
mod earnings;
mod explain;
pub mod export;
mod ledger;
mod news;
mod pages;
mod posting;
mod rebuilding;
mod report;
mod rules;
mod tables;
mod unsettled;
mod why;

const HOURLY: Duration = Duration::from_secs(60 * 60);
/// How long a reason may be, in characters.
pub const REASON_MOST: usize = 300;

/// The room.
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
            NavItem {
                caption: key!("payroll-nav"),
                path: pages::PAYROLL,
                roles: KEEPERS,
                needs: Some(Permission::Finances),
            },
            NavItem { caption: key!("payroll-nav-own"), path: pages::OWN, roles: EARNERS, needs: None },
        ]
    }

    fn front_page<'a>(&'a self, app: &'a App, viewer: &'a Person) -> BoxFuture<'a, Result<Vec<Section>, Oops>> {
        Box::pin(pages::own_month(app, viewer))
    }

    fn about_person<'a>(
        &'a self,
        app: &'a App,
        viewer: &'a Person,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<Section>, Oops>> {
        Box::pin(pages::month_of(app, viewer, person))
    }

    fn export<'a>(&'a self, domain: &'a Domain, person: &'a Person) -> BoxFuture<'a, anyhow::Result<Value>> {
        Box::pin(ledger::export(domain, person.id))
    }

    fn jobs(&self) -> Vec<Job> {
        vec![Job { name: "payroll", every: HOURLY, run: |app| Box::pin(rebuilding::nightly(app)) }]
    }
}

/// The front door.
#[derive(Clone, Debug)]
pub struct Payroll {
    domain: Domain,
    people: People,
    settings: Settings,
    clock: Clock,
    looked_after: LookedAfter,
}

impl Payroll {
    pub fn new(domain: Domain, clock: Clock) -> Self {
        let (people, settings) = (People::new(domain.clone()), Settings::new(domain.clone()));
        Self { people, settings, domain, clock, looked_after: LookedAfter::default() }
    }

    /// Writes rows down within a commit; those that are there already stay as they are.
    pub async fn post(db: &Writing<'_, '_>, rows: Vec<Row>, at: Millis) -> Result<(), WriteError> {
        posting::post(db, None, rows, at).await
    }

    /// The same for what was earned at a site: whoever may see its finances sees these rows.
    pub async fn post_at(db: &Writing<'_, '_>, site_id: i64, rows: Vec<Row>, at: Millis) -> Result<(), WriteError> {
        posting::post(db, Some(site_id), rows, at).await
    }

    /// The time by the clock of the business.
    pub async fn now_here(&self) -> Result<DateTime<Tz>, DbErr> {
        let zone = self.settings.get(&TIME_ZONE).await?;
        let now = DateTime::<Utc>::from_timestamp_millis(self.clock.now().0).unwrap_or_default();
        Ok(now.with_timezone(&zone))
    }

    /// Today, by the clock of the business.
    pub async fn today(&self) -> Result<NaiveDate, DbErr> {
        Ok(self.now_here().await?.date_naive())
    }

    /// Adds a bonus, or with a minus a deduction. It goes into the month of its day, or the first after it that is open. It
    /// is at most a year ahead.
    pub async fn add_manual(
        &self,
        by: i64,
        user_id: i64,
        day: NaiveDate,
        amount: Money,
        reason: &str,
    ) -> Result<(), NotDone> {
        self.add_manual_once(by, user_id, day, amount, reason, Once::default()).await
    }

    /// The same for a form that counts once.
    pub async fn add_manual_once(
        &self,
        by: i64,
        user_id: i64,
        day: NaiveDate,
        amount: Money,
        reason: &str,
        once: Once,
    ) -> Result<(), NotDone> {
        let (reason, at) = (reason_of(reason)?, self.clock.now());
        if amount == Money::ZERO {
            return Err(Why::BadAmount.into());
        }
        if !days::is_kept(day) {
            return Err(Why::BadDay.into());
        }
        if Period::of(day) > Period::of(self.today().await?).year_ahead() {
            return Err(Why::OverAYearAhead.into());
        }
        if self.people.by_id(user_id).await?.is_none() {
            return Err(Why::Gone.into());
        }
        let manual = changes::Manual { user_id, day, amount, reason, by };
        let add = self.write(by, move |db| {
            Box::pin(async move {
                once.keep(db, at).await?;
                changes::add(db, manual, at).await
            })
        });
        add.await
    }

    /// Changes what was written by hand; `version` is what was seen. In a closed month it becomes a correction.
    pub async fn change(&self, by: i64, id: i64, version: i64, amount: Money, reason: &str) -> Result<(), NotDone> {
        if amount == Money::ZERO {
            return Err(Why::BadAmount.into());
        }
        let reason = reason_of(reason)?;
        self.edit(changes::Edit { id, version, amount: Some(amount), reason, by }).await
    }

    /// Removes what was written by hand; in a closed month by a correction, for which the reason is.
    pub async fn remove(&self, by: i64, id: i64, version: i64, reason: &str) -> Result<(), NotDone> {
        let reason = reason_of(reason)?;
        self.edit(changes::Edit { id, version, amount: None, reason, by }).await
    }

    /// Brings back what was removed.
    pub async fn restore(&self, by: i64, id: i64) -> Result<(), NotDone> {
        let at = self.clock.now();
        self.write(by, move |db| Box::pin(changes::restore(db, id, by, at))).await
    }

    /// Marks that somebody was paid; `version` is that of the entry that was seen, or [`NO_ENTRY`], so two clicks pay once.
    /// More than is due is refused unless it is an advance; then what is beyond counts as paid in the months after. An
    /// advance may be paid in an open month in which nothing was earned yet, up to the one after this.
    pub async fn mark_paid(
        &self,
        by: i64,
        period: Period,
        user_id: i64,
        amount: Money,
        version: i64,
        is_advance: bool,
    ) -> Result<(), NotDone> {
        if !amount.is_positive() {
            return Err(Why::BadAmount.into());
        }
        if period > Period::of(self.today().await?).last_payable() {
            return Err(Why::TooFarAhead.into());
        }
        if self.people.by_id(user_id).await?.is_none() {
            return Err(Why::Gone.into());
        }
        let (paid, at) = (changes::Paid { period, user_id, amount, version, is_advance, by }, self.clock.now());
        self.write(by, move |db| Box::pin(changes::pay(db, paid, at))).await
    }

    /// Takes back a payment that was marked by mistake.
    pub async fn take_back(&self, by: i64, payment: i64) -> Result<(), NotDone> {
        let at = self.clock.now();
        self.write(by, move |db| Box::pin(changes::take_back(db, payment, by, at))).await
    }

    /// Closes a month that is over, for good, as it stands.
    pub async fn close_period(&self, by: i64, period: Period) -> Result<(), NotDone> {
        let seen = self.of_period(period, 0).await?.seen();
        self.close_period_as_seen(by, period, seen).await
    }

    /// The same if nothing in it has changed since it was seen.
    pub async fn close_period_as_seen(&self, by: i64, period: Period, seen: Seen) -> Result<(), NotDone> {
        if self.today().await? <= period.last_day() {
            return Err(Why::NotOver.into());
        }
        let at = self.clock.now();
        self.write(by, move |db| Box::pin(changes::close(db, period, seen, by, at))).await
    }

    /// How each amount of a shift came about: what it is for, how much, and in words.
    pub async fn explain(
        &self,
        shift_id: i64,
        language: crate::texts::Language,
    ) -> Result<Vec<(String, Money, String)>, DbErr> {
        let lines = self.of_shift(shift_id).await?;
        Ok(lines.iter().map(|line| (line.caption(language), line.amount, line.words(language))).collect())
    }

    async fn edit(&self, edit: changes::Edit) -> Result<(), NotDone> {
        let at = self.clock.now();
        self.write(edit.by, move |db| Box::pin(changes::edit(db, edit, at))).await
    }

    /// A change by an owner. The commit checks that the actor is one still.
    async fn write<F>(&self, by: i64, run: F) -> Result<(), NotDone>
    where
        F: for<'w> FnOnce(&'w Writing<'_, '_>) -> BoxFuture<'w, Result<(), WriteError>> + Send + 'static,
    {
        let write = self.domain.write(move |db| {
            Box::pin(async move {
                people::still_may(db, by, OWNERS).await?;
                run(db).await
            })
        });
        Ok(write.await?)
    }
}

fn reason_of(text: &str) -> Result<String, Why> {
    let reason = typed::line(text);
    if reason.is_empty() || reason.chars().count() > REASON_MOST { Err(Why::BadReason) } else { Ok(reason) }
}
