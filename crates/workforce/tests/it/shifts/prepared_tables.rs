//! The tables that an owner has filled before the program runs: people, sites, slots, tasks and contracts. Written and
//! queried beside the program.

use chrono::Timelike;
use chrono_tz::Europe::Moscow;
use opora::clock::{Clock, Millis};
use sea_orm::{ConnectionTrait, Statement, TryGetable};
use workforce::domain::Domain;
use workforce::people::{self, Grant, People};
use workforce::person::Role;
use workforce::sites::{self, AboutContract, AboutSite, AboutSlot, AboutTask, ChangedBy, ContractStatus, Hours, local};
use workforce::texts::Language;

use crate::kit::firm::TestStorage;
use crate::kit::sql::run_sql;

const MINUTE_MS: i64 = 60_000;

pub struct PreparedTables {
    domain: Domain,
    by: ChangedBy,
}

impl PreparedTables {
    pub async fn new(storage: &TestStorage) -> Self {
        let domain = Domain::open_for_command(&storage.database).await.unwrap();
        Self { domain, by: ChangedBy { person: None, at: Clock::machine().now() } }
    }

    pub async fn site(&self, about: AboutSite) -> i64 {
        let by = self.by;
        self.domain.write_and_get(move |db| Box::pin(sites::create_site(db, about, by))).await.unwrap()
    }

    /// A slot of eight hours that began ten minutes ago.
    pub async fn running_slot(&self, site: i64, more: impl FnOnce(&mut AboutSlot)) -> i64 {
        let at = |minutes: i64| local(Millis(self.by.at.0 + minutes * MINUTE_MS), Moscow);
        let minute = |minutes: i64| i64::from(at(minutes).num_seconds_from_midnight()) / 60;
        let (by, mut about) = (self.by, AboutSlot::usual(at(-10).date(), Hours::new(minute(-10), minute(470))));
        more(&mut about);
        self.domain.write_and_get(move |db| Box::pin(sites::create_slot(db, site, about, by))).await.unwrap()
    }

    pub async fn task(&self, site: i64, slot: Option<i64>, about: AboutTask) {
        let by = self.by;
        self.domain.write_and_get(move |db| Box::pin(sites::create_task(db, site, slot, about, by))).await.unwrap();
    }

    /// An employee at a site. Shifts without a plan are allowed unless `more` changes that.
    pub async fn worker(&self, telegram_id: i64, name: &str, site: i64, more: impl FnOnce(&mut AboutContract)) {
        let (by, full_name) = (self.by, name.to_owned());
        let grant = Grant { telegram_id, full_name, role: Role::Employee, language: Language::En, by: None };
        self.domain.write(move |db| Box::pin(people::grant(db, grant, by.at))).await.unwrap();
        let user = People::new(self.domain.clone()).by_telegram(telegram_id).await.unwrap().unwrap().id;
        let (status, sites) = (ContractStatus::Active, vec![site]);
        let mut about = AboutContract {
            status,
            rate_kopecks: None,
            allows_spontaneous: true,
            sites,
            valid_from: None,
            valid_until: None,
        };
        more(&mut about);
        self.domain.write_and_get(move |db| Box::pin(sites::create_contract(db, user, about, by))).await.unwrap();
    }

    /// The first column of a query, as texts.
    pub async fn texts(&self, sql: &str) -> Vec<String> {
        first_column(&self.domain, sql).await
    }

    /// The first column of a query, as numbers.
    pub async fn numbers(&self, sql: &str) -> Vec<i64> {
        first_column(&self.domain, sql).await
    }

    pub async fn run(&self, sql: String) {
        run_sql(&self.domain, sql).await;
    }

    pub async fn close(self) {
        self.domain.close().await.unwrap();
    }
}

/// The first column of a query.
pub async fn first_column<T: TryGetable>(domain: &Domain, sql: &str) -> Vec<T> {
    let db = domain.read();
    let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
    rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
}
