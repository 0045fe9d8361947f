//! A firm with many sites, people and years of shifts, inserted with few SQL statements. For tests and for
//! `cargo xtask bench pages`.
//!
//! All ids follow from the day and the slot's number in it, so no query is needed to find a page.

use sqlx::{AssertSqlSafe, PgPool};

const FIRM: &str = include_str!("large_firm/firm.sql");
const DAYS: &str = include_str!("large_firm/days.sql");
const DAY_MS: i64 = 24 * 3600 * 1000;
/// All sites use Moscow time.
const ZONE_MS: i64 = 3 * 3600 * 1000;
/// The id of the first person. Telegram accounts have other ids.
const FIRST: i64 = 10_000;
const FIRST_ACCOUNT: i64 = 7_000_000;

#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub sites: i64,
    /// Owners come first, then managers, then employees.
    pub people: i64,
    pub owners: i64,
    pub managers: i64,
    /// Shifts per day: at least the number of sites, and less than 500.
    pub per_day: i64,
}

/// The role of a person who reads pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reader {
    Owner,
    Manager,
    Employee,
}

#[derive(Clone, Debug)]
pub struct Page {
    pub name: &'static str,
    pub path: String,
}

#[derive(Clone, Debug)]
pub struct LargeFirm {
    pool: PgPool,
    size: Size,
    now_ms: i64,
    /// Days since 1970, by Moscow time.
    today: i64,
}

impl LargeFirm {
    /// Inserts people and sites into empty tables.
    pub async fn create(pool: &PgPool, size: Size, now_ms: i64) -> Self {
        let firm = Self { pool: pool.clone(), size, now_ms, today: (now_ms + ZONE_MS) / DAY_MS };
        firm.run(FIRM, (0, 0)).await;
        firm
    }

    /// Inserts the work of the days `from..to`, counted from today.
    pub async fn add_days(&self, from: i64, to: i64) {
        self.run(DAYS, (self.today + from, self.today + to)).await;
    }

    /// Runs VACUUM ANALYZE on the tables of this schema, as the database would in time.
    pub async fn analyze(&self) {
        let tables =
            "SELECT string_agg(quote_ident(tablename), ', ') FROM pg_tables WHERE schemaname = current_schema()";
        let tables: String = sqlx::query_scalar(tables).fetch_one(&self.pool).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("VACUUM ANALYZE {tables}"))).execute(&self.pool).await.unwrap();
    }

    pub fn account(&self, reader: Reader, number: i64) -> i64 {
        FIRST_ACCOUNT + self.first_of(reader) + number
    }

    /// The pages that a reader opens in the course of a day.
    pub fn pages(&self, reader: Reader, number: i64) -> Vec<Page> {
        match reader {
            Reader::Owner => [self.staff_pages(1 + number % self.size.sites), self.owner_pages(number)].concat(),
            Reader::Manager => {
                let site = 1 + (number * 5) % self.size.sites;
                [self.staff_pages(site), self.manager_pages(site)].concat()
            }
            Reader::Employee => {
                let own = self.shift_of(self.first_of(reader) + number);
                vec![
                    page("/", "/"),
                    page("/shifts", "/shifts"),
                    page("/shifts/<own>", format!("/shifts/{own}")),
                    page("/schedule", "/schedule"),
                    page("/earnings", "/earnings"),
                    page("/earnings <last month>", format!("/earnings?period={}", self.last_month())),
                    page("/me", "/me"),
                ]
            }
        }
    }

    /// Pages of owners and managers, for one site.
    fn staff_pages(&self, site: i64) -> Vec<Page> {
        let shift = id(self.today - 3, site - 1);
        let (year, month) = (self.day(-365), self.day(-30));
        vec![
            page("/", "/"),
            page("/calendar", "/calendar"),
            page("/calendar <month>", "/calendar?view=month"),
            page("/calendar <site>", format!("/calendar?site={site}")),
            page("/calendar <site, month>", format!("/calendar?site={site}&view=month")),
            page("/calendar/slots/<id>", format!("/calendar/slots/{shift}")),
            page("/sites", "/sites"),
            page("/sites/<id>", format!("/sites/{site}")),
            page("/shifts", "/shifts"),
            page("/shifts <a year>", format!("/shifts?from={year}")),
            page("/shifts <far back>", format!("/shifts?from={year}&before={}", self.cursor(-25))),
            page("/shifts <site>", format!("/shifts?site={site}&from={month}")),
            page("/shifts/<id>", format!("/shifts/{shift}")),
            page("/cancellations", "/cancellations"),
        ]
    }

    /// Pages of managers only: pay at their sites, and their own work.
    fn manager_pages(&self, site: i64) -> Vec<Page> {
        let (person, month) = (self.worker_at(site), self.last_month());
        vec![
            page("/people", "/people"),
            page("/people/<id>/contracts", format!("/people/{person}/contracts")),
            page("/payroll", "/payroll"),
            page("/payroll <last month>", format!("/payroll?period={month}")),
            page("/payroll/people/<id>", format!("/payroll/people/{person}?period={month}")),
            page("/schedule", "/schedule"),
            page("/earnings", "/earnings"),
        ]
    }

    fn owner_pages(&self, number: i64) -> Vec<Page> {
        let manager = FIRST + self.first_of(Reader::Manager);
        let (person, month) = (FIRST + self.first_of(Reader::Employee) + number, self.last_month());
        vec![
            page("/people", "/people"),
            page("/people <last>", format!("/people?page={}", self.size.people / 50)),
            page("/people <search>", "/people?q=%D0%B2%D0%B5%D1%80"),
            page("/people/<id>", format!("/people/{person}")),
            page("/people/<id>/contracts", format!("/people/{person}/contracts")),
            page("/registrations", "/registrations"),
            page("/payroll", "/payroll"),
            page("/payroll <last month>", format!("/payroll?period={month}&page=2")),
            page("/payroll/people/<id>", format!("/payroll/people/{person}?period={month}")),
            page("/payroll/export.csv", format!("/payroll/export.csv?period={month}")),
            page("/payroll/export.xlsx", format!("/payroll/export.xlsx?period={month}")),
            page("/managers", "/managers"),
            page("/managers/<id>", format!("/managers/{manager}")),
            page("/settings", "/settings"),
            page("/charts", "/charts"),
            page("/charts <last month>", format!("/charts?period={month}")),
        ]
    }

    /// The cursor of the list of shifts that began before a day.
    fn cursor(&self, ahead: i64) -> String {
        let day = self.today + ahead;
        format!("{}-{}", day * DAY_MS, id(day, 0))
    }

    fn shift_of(&self, person: i64) -> i64 {
        let workers = self.size.people - self.first_of(Reader::Employee);
        let number = person - self.first_of(Reader::Employee);
        let slot = |day: i64| (number - day * self.size.per_day).rem_euclid(workers);
        let found = (1..).map(|ago| self.today - ago).find(|day| slot(*day) < self.size.per_day);
        found.map(|day| id(day, slot(day))).unwrap()
    }

    /// The first employee with a contract at a site.
    fn worker_at(&self, site: i64) -> i64 {
        let first = self.first_of(Reader::Employee);
        FIRST + first + (site - 1 - first).rem_euclid(self.size.sites)
    }

    fn first_of(&self, reader: Reader) -> i64 {
        match reader {
            Reader::Owner => 0,
            Reader::Manager => self.size.owners,
            Reader::Employee => self.size.owners + self.size.managers,
        }
    }

    /// A day in the format of forms.
    fn day(&self, ahead: i64) -> chrono::NaiveDate {
        let day = chrono::DateTime::from_timestamp_millis((self.today + ahead) * DAY_MS);
        day.unwrap().date_naive()
    }

    fn last_month(&self) -> String {
        use chrono::Datelike;
        let first = self.day(0).with_day(1).unwrap();
        first.pred_opt().unwrap().format("%Y-%m").to_string()
    }

    async fn run(&self, sql: &str, (from, to): (i64, i64)) {
        let Size { sites, people, owners, managers, per_day } = self.size;
        assert!((sites..500).contains(&per_day), "{per_day} shifts a day");
        let numbers = [
            ("{sites}", sites),
            ("{people}", people),
            ("{owners}", owners),
            ("{managers}", managers),
            ("{per_day}", per_day),
            ("{from}", from),
            ("{to}", to),
            ("{today}", self.today),
            ("{now}", self.now_ms),
        ];
        let sql = numbers.iter().fold(sql.to_owned(), |sql, (name, number)| sql.replace(name, &number.to_string()));
        let mut transaction = self.pool.begin().await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await.unwrap();
        transaction.commit().await.unwrap();
    }
}

/// The id of a slot, and of its plan and shift.
fn id(day: i64, slot: i64) -> i64 {
    (day - 15_000) * 1000 + slot
}

fn page(name: &'static str, path: impl Into<String>) -> Page {
    Page { name, path: path.into() }
}
