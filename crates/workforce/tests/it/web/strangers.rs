//! Strangers at the sign-in: what they learn, whom they can block, and how much they can guess.

use sea_orm::ConnectionTrait;
use serde_json::json;

use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::cabinet::{Browser, Cabinet, sent_pins};
use crate::kit::demo::{ANNA, BORIS, Demo};
use crate::kit::firm::{StorageKind, TestStorage, on_databases, on_every_database};
use crate::kit::sql::run_sql;
use crate::operator;

on_every_database! {
    strangers_do_not_affect_the_owners_pin,
    guessing_from_many_addresses_is_limited,
}

on_databases! {
    [on_postgres Postgres, on_redis_and_postgres RedisAndPostgres]
    a_pin_requested_on_a_standby_is_sent_by_the_leader,
}

const UNKNOWN_ID: i64 = 999_999;
/// Never a valid PIN.
const WRONG: &str = "abcdef";

async fn strangers_do_not_affect_the_owners_pin(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.browser_at("192.0.2.9:50000");
    let pin = cabinet.request_pin(&owner, ANNA).await;
    // From the owner's own address, and from another one.
    for address in ["192.0.2.9:50001", "198.51.100.1:50000"] {
        let strangers = [(); 3].map(|()| cabinet.browser_at(address));
        for stranger in &strangers {
            request_pin(stranger, "1001").await.is(200, "has just sent");
        }
        let [stranger, ..] = &strangers;
        for _ in 0..5 {
            stranger.log_in(ANNA, WRONG).await.is(401, "Wrong PIN");
        }
        stranger.log_in(ANNA, WRONG).await.is(429, "You can get a new one in 15 minutes");
        request_pin(stranger, "1001").await.is(429, "in 15 minutes");
    }
    let persistent = cabinet.browser_at("198.51.100.1:50000");
    request_pin(&persistent, "1001").await.is(200, "has just sent");
    request_pin(&persistent, "1001").await.is(429, "Too many requests");
    // The owner's first PIN is still valid, and so is a new one.
    owner.log_in(ANNA, &pin).await.redirects_to("/");
    let again = cabinet.browser_at("192.0.2.10:50000");
    let pin = cabinet.request_pin(&again, ANNA).await;
    again.log_in(ANNA, &pin).await.redirects_to("/");
    cabinet.close().await;
}

async fn guessing_from_many_addresses_is_limited(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    for who in [ANNA, UNKNOWN_ID] {
        let name = who.to_string();
        let (mut judged, mut asked) = (0, 0);
        for number in 1..=12 {
            let browser = cabinet.browser_at(&format!("198.51.{}.{number}:7000", who % 250));
            request_pin(&browser, &name).await.is(200, "has just sent");
            asked += 1;
            for _ in 0..5 {
                let answer = browser.log_in(who, WRONG).await;
                if answer.status.as_u16() == 401 {
                    judged += 1;
                } else {
                    answer.is(429, "Too many requests");
                }
            }
        }
        assert_eq!(judged, 40, "per hour, from all addresses");
        for number in 13..=40 {
            let browser = cabinet.browser_at(&format!("198.51.{}.{number}:7000", who % 250));
            let answer = request_pin(&browser, &name).await;
            if answer.status.as_u16() == 200 {
                asked += 1;
            } else {
                answer.is(429, "Too many requests");
            }
        }
        assert_eq!(asked, 30, "per hour, from all addresses");
    }
    cabinet.close().await;
}

#[tokio::test]
async fn a_phone_with_and_without_plus_shares_limits() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let sql = "UPDATE users SET phone = '+79001234567' WHERE telegram_id = 1001";
    run_sql(&cabinet.app.domain, sql).await;
    // A known and an unknown phone, a known and an unknown id.
    let names =
        [("+7 900 123-45-67", "79001234567"), ("+7 900 765-43-21", "79007654321"), ("+1001", "1001"), ("+999", "999")];
    let mut answers = Vec::new();
    for (at, (plus, plain)) in names.into_iter().enumerate() {
        let browser = cabinet.browser_at(&format!("198.51.100.{at}:7000"));
        let mut told = Vec::new();
        for who in [plus, plain, plus, plain, plus, plain, plus] {
            let answer = request_pin(&browser, who).await;
            told.push((answer.status.as_u16(), answer.header("retry-after").to_owned()));
        }
        answers.push(told);
    }
    assert!(answers.iter().all(|told| *told == answers[0]), "{answers:?}");
    assert_eq!(answers[0][4..6], [(200, String::new()), (429, "180".to_owned())]);
    cabinet.close().await;
}

/// Two processes. The second is a standby and only serves pages.
async fn a_pin_requested_on_a_standby_is_sent_by_the_leader(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::with_tables(kind).await, start_emulator().await);
    let database = storage.database.url();
    let grant = ["people", "grant", "1001", "owner", "--name", "Anna", "--language", "en"];
    operator::run(&[("DATABASE_URL", &database)], &grant).await.success();
    let leader = AppProcess::start(&storage, &emulator, &[]);
    emulator.says(ANNA, "/me").await;
    emulator.receives(ANNA, "Anna").await;
    let follower = AppProcess::start(&storage, &emulator, &[]);
    follower.wait_for_log("standing by").await;
    let guest = Guest::at(&emulator, follower.web_address().await).await;
    assert_eq!(guest.post("/auth/send-pin", "who=1001").await, 200);
    let pin = emulator.until("the PIN comes", async |emulator| sent_pins(emulator, ANNA).await.pop()).await;
    assert_eq!(guest.post("/auth/login", &format!("who=1001&pin={pin}")).await, 303);
    assert_eq!(guest.post("/auth/login", &format!("who=1001&pin={pin}")).await, 401, "a PIN works once");
    let domain = storage.domain().await;
    let rows = "SELECT once FROM pins_to_send";
    emulator
        .until("nothing is left to be sent", async |_| {
            let rows = sea_orm::Statement::from_string(sea_orm::DbBackend::Postgres, rows);
            domain.read().query_all_raw(rows).await.unwrap().is_empty().then_some(())
        })
        .await;
    domain.close().await.unwrap();
    assert_eq!(sent_pins(&emulator, ANNA).await.len(), 1, "it is sent once");
    for log in [follower.stop().await, leader.stop().await] {
        assert!(!log.iter().any(|line| line.contains(&pin)), "a PIN is in no log: {log:#?}");
    }
    emulator.stop().await;
}

#[tokio::test]
async fn people_sign_in_by_their_current_username() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let emulator = &cabinet.emulator;
    let is_called = async |who: i64, name: &str, username: Option<&str>| {
        let user = json!({"id": who, "first_name": name, "username": username, "language_code": "en"});
        emulator.post("/users", user).await;
        emulator.says(who, "/me").await;
        let known = async |_: &Demo| (cabinet.person(who).await.username.as_deref() == username).then_some(());
        emulator.until("the username is known", known).await;
    };
    is_called(ANNA, "Anna", Some("Anna_First")).await;
    let version = cabinet.person(ANNA).await.version;
    for answers in 2..5 {
        emulator.says(ANNA, "/me").await;
        let told = async |emulator: &Demo| {
            let texts = emulator.texts(ANNA).await;
            (texts.iter().filter(|text| text.contains("Your Telegram ID")).count() == answers).then_some(())
        };
        emulator.until("she is answered", told).await;
    }
    assert_eq!(cabinet.person(ANNA).await.version, version, "a known username is not written again");
    let browser = cabinet.browser();
    request_pin(&browser, "@anna_first").await.is(200, "has just sent");
    let pin = emulator.until("the PIN comes", async |_| cabinet.pins(ANNA).await.pop()).await;
    browser.post("/auth/login", &[("who", "@anna_first"), ("pin", &pin)]).await.redirects_to("/");
    // She gives up the username, and Boris takes it before she writes again.
    is_called(BORIS, "Boris", Some("Anna_First")).await;
    assert_eq!(cabinet.person(ANNA).await.username, None);
    is_called(BORIS, "Boris", None).await;
    cabinet.close().await;
}

/// Requests a PIN in a browser.
async fn request_pin(browser: &Browser, who: &str) -> crate::kit::cabinet::PageResponse {
    browser.get("/sign-in").await;
    browser.post("/auth/send-pin", &[("who", who)]).await
}

/// A browser at the pages of a process, without a session.
pub struct Guest<'a> {
    emulator: &'a Demo,
    base: String,
    cookie: String,
    csrf: String,
}

impl<'a> Guest<'a> {
    pub async fn at(emulator: &'a Demo, base: String) -> Self {
        let page = emulator.http.get(format!("{base}/sign-in")).send().await.unwrap();
        let cookie = page.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let body = page.text().await.unwrap();
        let csrf = body.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        Self { emulator, base, cookie, csrf }
    }

    /// Sends a form. Returns the status.
    pub async fn post(&self, path: &str, fields: &str) -> u16 {
        self.post_in_language(path, fields, "en").await.0
    }

    /// Sends a form with this language. Returns the status and the page.
    pub async fn post_in_language(&self, path: &str, fields: &str, language: &str) -> (u16, String) {
        let form = self.emulator.http.post(format!("{}{path}", self.base)).header("cookie", &self.cookie);
        let form = form.header("content-type", "application/x-www-form-urlencoded").header("accept-language", language);
        let answer = form.body(format!("csrf={}&{fields}", self.csrf)).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }
}
