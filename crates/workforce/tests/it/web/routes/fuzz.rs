//! Hostile values in every parameter of every route, as an owner: no response is a server error.
//!
//! The usual run takes every third of the values for one field, and all that fill every field at once.

use std::collections::BTreeSet;

use axum::http::Method;

use super::rows::{ROWS, Row};
use super::{Browser, RoutesFixture};

/// In place of a number.
const NUMBERS: &[&str] = &["", "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "1e309"];
/// In place of a day, a month, a time or a position in a list.
const DAYS: &[&str] = &[
    "",
    "\0",
    "-262143-01-01",
    "+262142-12-31",
    "9999-12-31",
    "2026-02-30",
    "9999-12",
    "-262143-01-01T00:00",
    "9999-12-31.9223372036854775807",
];
/// In place of an hour.
const HOURS: &[&str] = &["", "99:99", "-1:-1", "9223372036854775807:0"];
/// In place of a word.
const WORDS: &[&str] = &["", INVISIBLE, "-1", "9223372036854775807-9223372036854775807"];
/// In all fields at once.
const AT_ONCE: [&str; 6] = ["", "\0", "9223372036854775807", "-9223372036854775808", "-262143-01-01", INVISIBLE];
const INVISIBLE: &str = "\u{202e}\u{200b}Ы👩\u{200d}'\";--<script>%s%00\0";
/// In place of an id in a path, percent-encoded.
const IN_PATHS: [&str; 6] = ["-1", "9223372036854775807", "-9223372036854775808", "99999999999999999999", "%00", "%FF"];
/// Malformed queries and forms.
const RAW: [&str; 4] = ["%&=&&==", "page=%FF%FE&day=%FF", "day=2026-01-01&day=2026-01-02&page=1&page=2", "{\"day\":1}"];

/// The hostile values for a field with this good value.
fn hostile_like(good: &str) -> &'static [&'static str] {
    if good.starts_with("2026-") || good.starts_with("1767268800000-") {
        DAYS
    } else if good.parse::<i64>().is_ok() {
        NUMBERS
    } else if good.len() == 5 && good.contains(':') {
        HOURS
    } else {
        WORDS
    }
}

/// Calls routes and collects the server errors.
struct Fuzz {
    fixture: RoutesFixture,
    owner: Browser,
    /// Of the values for a single field only every so many are tried.
    every: usize,
    failed: BTreeSet<String>,
}

impl Fuzz {
    async fn open(every: usize) -> Self {
        let (fixture, owner) = RoutesFixture::open().await;
        Self { fixture, owner, every, failed: BTreeSet::new() }
    }

    async fn call(&mut self, row: &Row, path: &str, fields: &[(&str, &str)]) {
        let status = self.fixture.call(&self.owner, row, path, fields).await.status;
        if status.is_server_error() {
            self.failed.insert(format!("{} {path} {fields:?}: {status}", row.method));
        }
    }

    /// Replaces each field alone, then all fields at once.
    async fn fields(&mut self, row: &Row) {
        let path = self.fixture.path(row);
        for (at, (_, good)) in row.fields.iter().enumerate() {
            for value in hostile_like(good).iter().skip(at % self.every).step_by(self.every) {
                let mut fields = row.fields.to_vec();
                fields[at].1 = value;
                self.call(row, &path, &fields).await;
            }
        }
        let long = "9".repeat(2000);
        for value in AT_ONCE.into_iter().chain([long.as_str()]) {
            let fields: Vec<(&str, &str)> = row.fields.iter().map(|(name, _)| (*name, value)).collect();
            self.call(row, &path, &fields).await;
        }
    }

    async fn raw(&mut self, row: &Row) {
        let path = self.fixture.path(row);
        let token = self.owner.csrf_token();
        for raw in RAW {
            self.fixture.advance_clock_sometimes();
            let answer = if row.method == "POST" {
                self.owner.send(Method::POST, &path, raw, &[("x-csrf-token", &token)]).await
            } else {
                self.owner.get(&format!("{path}?{}", raw.replace(['{', '}', '"'], "%22"))).await
            };
            if answer.status.is_server_error() {
                self.failed.insert(format!("{} {path} {raw}: {}", row.method, answer.status));
            }
        }
    }

    /// Replaces each parameter of the path, one at a time.
    async fn paths(&mut self, row: &Row) {
        let path = self.fixture.path(row);
        for (at, _) in row.path.split('/').enumerate().filter(|(_, part)| part.starts_with('{')) {
            for value in IN_PATHS {
                let mut parts: Vec<&str> = path.split('/').collect();
                parts[at] = value;
                self.call(row, &parts.join("/"), row.fields).await;
            }
        }
    }

    async fn done(self) {
        // The owner is still signed in, so the responses were not those of guests.
        assert_eq!(self.owner.get("/me").await.status.as_u16(), 200);
        assert!(self.failed.is_empty(), "{:#?}", self.failed);
        self.fixture.cabinet.close().await;
    }
}

/// Without a session every page would only redirect to the sign-in.
fn stays_signed_in(row: &&Row) -> bool {
    row.path != "/auth/logout"
}

#[tokio::test]
async fn hostile_links_cause_no_server_error() {
    try_links(3).await;
}

#[tokio::test]
async fn hostile_forms_cause_no_server_error() {
    try_forms(3).await;
}

mod all_values {
    #[tokio::test]
    async fn hostile_links_cause_no_server_error() {
        super::try_links(1).await;
    }

    #[tokio::test]
    async fn hostile_forms_cause_no_server_error() {
        super::try_forms(1).await;
    }
}

async fn try_links(every: usize) {
    let mut fuzz = Fuzz::open(every).await;
    for row in ROWS.iter().filter(|row| row.method == "GET") {
        fuzz.fields(row).await;
        fuzz.raw(row).await;
        fuzz.paths(row).await;
    }
    fuzz.done().await;
}

async fn try_forms(every: usize) {
    let mut fuzz = Fuzz::open(every).await;
    for row in ROWS.iter().filter(|row| row.method == "POST").filter(stays_signed_in) {
        fuzz.raw(row).await;
        fuzz.paths(row).await;
        fuzz.fields(row).await;
    }
    fuzz.done().await;
}

/// Cases that the fuzz tests found.
#[tokio::test]
async fn days_and_pages_out_of_range_are_handled() {
    let (fixture, owner) = RoutesFixture::open().await;
    for day in ["-262143-01-01", "%2B262142-12-31", "1999-12-31", "2101-01-01", "tomorrow"] {
        for path in [format!("/shifts?to={day}"), format!("/shifts?from={day}"), format!("/calendar?day={day}")] {
            owner.get(&path).await.is(400, "choose a day from 2000 to 2100");
        }
    }
    for page in ["9223372036854775807", "18446744073709551615", "99999999999999999999"] {
        for path in ["/people", "/sites", "/payroll"] {
            assert_eq!(owner.get(&format!("{path}?page={page}")).await.status.as_u16(), 200, "{path} {page}");
        }
    }
    let copied =
        owner.post("/calendar/copy-week", &[("site", "1"), ("from", "2026-01-05"), ("to", "+262142-12-31")]).await;
    copied.is(422, "name=\"to\" value=\"+262142-12-31\"").is(422, "Enter a date, for example Dec 31, 2026.");
    for day in ["9999-12-31", "1999-12-31"] {
        let slot = [("site", "1"), ("day", day), ("starts", "09:00"), ("ends", "18:00"), ("capacity", "1")];
        owner.post("/calendar/slots", &slot).await.is(422, "Enter a date, for example Dec 31, 2026.");
    }
    for month in ["9999-12", "1999-12"] {
        owner.get(&format!("/payroll?period={month}")).await.is(404, "Page not found");
    }
    let far = [("period", "2099-01"), ("kind", "bonus"), ("amount", "1"), ("reason", "Later")];
    owner.post("/payroll/people/2/amounts", &far).await.is(409, "up to a year ahead");
    fixture.cabinet.close().await;
}

#[tokio::test]
async fn sign_in_redirects_only_to_valid_paths() {
    let (fixture, _) = RoutesFixture::open().await;
    for next in ["/\u{1}", "/\u{7f}", "/люди", "/a b", "//evil.example"] {
        let browser = fixture.cabinet.browser();
        let pin = fixture.cabinet.request_pin(&browser, super::BORIS).await;
        let id = super::BORIS.to_string();
        let signed = browser.post("/auth/login", &[("who", &id), ("pin", &pin), ("next", next)]).await;
        signed.redirects_to("/");
        let encoded: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        browser.get(&format!("/sign-in?next={encoded}")).await.redirects_to("/");
    }
    fixture.cabinet.close().await;
}

#[tokio::test]
async fn invisible_characters_are_removed() {
    let (fixture, owner) = RoutesFixture::open().await;
    const TYPED: &str = "\u{202e}Cash\0ier \u{200b}\u{2066}👩\u{200d}🍳 Серге\u{438}\u{306}\u{feff}";
    const MEANT: &str = "Cashier 👩\u{200d}🍳 Серге\u{438}\u{306}";
    let site: Vec<_> = ROWS.iter().find(|row| row.path == "/sites" && row.method == "POST").unwrap().fields.to_vec();
    let site: Vec<_> = site
        .into_iter()
        .map(|(name, value)| (name, if matches!(name, "name" | "address") { TYPED } else { value }))
        .collect();
    let made = owner.post("/sites", &site).await;
    let path = made.header("location").to_owned();
    let number = path.rsplit('/').next().unwrap().to_owned();
    let tasks = format!("{path}/tasks");
    owner.post(&tasks, &[("text", TYPED), ("price", "free")]).await.redirects_to(&tasks);
    let slot =
        [("site", number.as_str()), ("title", TYPED), ("day", "2026-01-06"), ("starts", "09:00"), ("ends", "10:00")];
    let slot = [&slot[..], &[("capacity", "1")]].concat();
    assert_eq!(owner.post("/calendar/slots", &slot).await.status.as_u16(), 303);
    let bonus = [("period", "2026-01"), ("kind", "bonus"), ("amount", "1"), ("reason", TYPED)];
    assert_eq!(owner.post("/payroll/people/2/amounts", &bonus).await.status.as_u16(), 303);
    let week = format!("/calendar?site={number}&day=2026-01-06");
    for page in ["/sites", &path, &tasks, &week, "/payroll/people/2?period=2026-01"] {
        let shown = owner.get(page).await;
        assert!(shown.is(200, MEANT).body.contains(MEANT), "{page}");
        let unseen = shown.body.chars().find(|c| matches!(c, '\0' | '\u{202e}' | '\u{200b}' | '\u{2066}' | '\u{feff}'));
        assert_eq!(unseen, None, "{page}");
    }
    let named = fixture.cabinet.hire(1300, TYPED, workforce::person::Role::Employee).await;
    assert_eq!(named.full_name, MEANT);
    fixture.cabinet.close().await;
}
