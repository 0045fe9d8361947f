//! A firm with many sites, people and years of shifts, written as sets of rows: for tests and for `cargo xtask bench pages`.
//!
//! Everything follows from the numbers of a day and of a slot in it, so nothing has to be asked for to find a page.

use sqlx::{AssertSqlSafe, PgPool};

const FIRM: &str = include_str!("large_firm/firm.sql");
const DAYS: &str = include_str!("large_firm/days.sql");
const DAY_MS: i64 = 24 * 3600 * 1000;
/// Everything happens in Moscow.
const ZONE_MS: i64 = 3 * 3600 * 1000;
/// Of the first person; the Telegram account has another number.
const FIRST: i64 = 10_000;
const FIRST_ACCOUNT: i64 = 7_000_000;

/// How large it is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub sites: i64,
    /// Owners come first, then managers, then those who work shifts.
    pub people: i64,
    pub owners: i64,
    pub managers: i64,
    /// Shifts of a day; not less than sites, and less than 500.
    pub per_day: i64,
}

/// Who looks at pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reader {
    Owner,
    Manager,
    Employee,
}

/// A page of somebody's.
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
    /// By Moscow's clock, since 1970.
    today: i64,
}

impl LargeFirm {
    /// Its people and sites, in tables that are empty.
    pub async fn found(pool: &PgPool, size: Size, now_ms: i64) -> Self {
        let firm = Self { pool: pool.clone(), size, now_ms, today: (now_ms + ZONE_MS) / DAY_MS };
        firm.run(FIRM, (0, 0)).await;
        firm
    }

    /// The work of some days, counted from today; the last one is left out.
    pub async fn work(&self, from: i64, to: i64) {
        self.run(DAYS, (self.today + from, self.today + to)).await;
    }

    /// What the database does by itself in time: it learns what its tables hold. Those of other tests are left alone.
    pub async fn settle(&self) {
        let tables =
            "SELECT string_agg(quote_ident(tablename), ', ') FROM pg_tables WHERE schemaname = current_schema()";
        let tables: String = sqlx::query_scalar(tables).fetch_one(&self.pool).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("VACUUM ANALYZE {tables}"))).execute(&self.pool).await.unwrap();
    }

    /// The Telegram account of one of the readers of a kind.
    pub fn account(&self, reader: Reader, number: i64) -> i64 {
        FIRST_ACCOUNT + self.first_of(reader) + number
    }

    /// Every page that somebody opens in the course of a day.
    pub fn pages(&self, reader: Reader, number: i64) -> Vec<Page> {
        match reader {
            Reader::Owner => [self.of_runners(1 + number % self.size.sites), self.of_owners(number)].concat(),
            Reader::Manager => {
                let site = 1 + (number * 5) % self.size.sites;
                [self.of_runners(site), self.of_managers(site)].concat()
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

    /// What owners and managers look at, of a site that they may see.
    fn of_runners(&self, site: i64) -> Vec<Page> {
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
            page("/shifts <far back>", format!("/shifts?from={year}&before={}", self.mark(-25))),
            page("/shifts <site>", format!("/shifts?site={site}&from={month}")),
            page("/shifts/<id>", format!("/shifts/{shift}")),
            page("/cancellations", "/cancellations"),
        ]
    }

    /// What only managers look at: pay of their sites, and their own work.
    fn of_managers(&self, site: i64) -> Vec<Page> {
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

    fn of_owners(&self, number: i64) -> Vec<Page> {
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

    /// Where the list of shifts goes on that began before a day.
    fn mark(&self, ahead: i64) -> String {
        let day = self.today + ahead;
        format!("{}-{}", day * DAY_MS, id(day, 0))
    }

    /// A shift of somebody's that is over.
    fn shift_of(&self, person: i64) -> i64 {
        let workers = self.size.people - self.first_of(Reader::Employee);
        let number = person - self.first_of(Reader::Employee);
        let slot = |day: i64| (number - day * self.size.per_day).rem_euclid(workers);
        let found = (1..).map(|ago| self.today - ago).find(|day| slot(*day) < self.size.per_day);
        found.map(|day| id(day, slot(day))).unwrap()
    }

    /// The first of those who work shifts whose contract counts at a site.
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

    /// A day as forms name it.
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
        let mut whole = self.pool.begin().await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *whole).await.unwrap();
        whole.commit().await.unwrap();
    }
}

/// The number of a slot, and of its plan and shift.
fn id(day: i64, slot: i64) -> i64 {
    (day - 15_000) * 1000 + slot
}

fn page(name: &'static str, path: impl Into<String>) -> Page {
    Page { name, path: path.into() }
}
