//! Strangers at the sign-in: what they learn, what they can keep others from, and how much they can guess.

use sea_orm::ConnectionTrait;
use serde_json::json;

use crate::kit::cabinet::{Browser, Cabinet, pins_in};
use crate::kit::demo::{ANNA, BORIS, Demo};
use crate::kit::firm::{Ground, Kind, on_databases, on_every_database};
use crate::kit::product::{Run, silent_emulator};
use crate::operator;

on_every_database! {
    what_a_stranger_asks_for_and_tries_ends_nothing_of_the_owners,
    guessing_from_many_browsers_and_addresses_is_bounded,
}

on_databases! {
    [on_postgres Postgres, on_redis_and_postgres RedisAndPostgres]
    a_pin_that_is_asked_of_an_instance_that_stands_by_is_sent_by_the_one_that_leads,
}

const NOBODY: i64 = 999_999;
/// Fits no PIN.
const WRONG: &str = "abcdef";

async fn what_a_stranger_asks_for_and_tries_ends_nothing_of_the_owners(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let owner = cabinet.browser_at("192.0.2.9:50000");
    let pin = cabinet.pin(&owner, ANNA).await;
    // From the owner's own address, and from another one.
    for address in ["192.0.2.9:50001", "198.51.100.1:50000"] {
        let strangers = [(); 3].map(|()| cabinet.browser_at(address));
        for stranger in &strangers {
            asks(stranger, "1001").await.is(200, "has just sent");
        }
        let [stranger, ..] = &strangers;
        for _ in 0..5 {
            stranger.log_in(ANNA, WRONG).await.is(401, "This PIN is not right");
        }
        stranger.log_in(ANNA, WRONG).await.is(429, "You can ask for a new one in 15 minutes");
        asks(stranger, "1001").await.is(429, "in 15 minutes");
    }
    let persistent = cabinet.browser_at("198.51.100.1:50000");
    asks(&persistent, "1001").await.is(200, "has just sent");
    asks(&persistent, "1001").await.is(429, "Too many requests");
    // The first PIN is still the owner's, and so is another.
    owner.log_in(ANNA, &pin).await.leads_to("/");
    let again = cabinet.browser_at("192.0.2.10:50000");
    let pin = cabinet.pin(&again, ANNA).await;
    again.log_in(ANNA, &pin).await.leads_to("/");
    cabinet.close().await;
}

async fn guessing_from_many_browsers_and_addresses_is_bounded(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    for who in [ANNA, NOBODY] {
        let name = who.to_string();
        let (mut judged, mut asked) = (0, 0);
        for number in 1..=12 {
            let browser = cabinet.browser_at(&format!("198.51.{}.{number}:7000", who % 250));
            asks(&browser, &name).await.is(200, "has just sent");
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
        assert_eq!(judged, 40, "in an hour, and from wherever");
        for number in 13..=40 {
            let browser = cabinet.browser_at(&format!("198.51.{}.{number}:7000", who % 250));
            let answer = asks(&browser, &name).await;
            if answer.status.as_u16() == 200 {
                asked += 1;
            } else {
                answer.is(429, "Too many requests");
            }
        }
        assert_eq!(asked, 30, "in an hour, and from wherever");
    }
    cabinet.close().await;
}

#[tokio::test]
async fn a_phone_is_one_name_with_its_plus_and_without_whether_or_not_anybody_has_it() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let sql = "UPDATE users SET phone = '+79001234567' WHERE telegram_id = 1001";
    let write = cabinet.app.domain.write(move |db| {
        Box::pin(async move {
            db.execute_unprepared(sql).await?;
            Ok(())
        })
    });
    write.await.unwrap();
    // Somebody's phone, nobody's; somebody's number, nobody's.
    let names =
        [("+7 900 123-45-67", "79001234567"), ("+7 900 765-43-21", "79007654321"), ("+1001", "1001"), ("+999", "999")];
    let mut answers = Vec::new();
    for (at, (plus, plain)) in names.into_iter().enumerate() {
        let browser = cabinet.browser_at(&format!("198.51.100.{at}:7000"));
        let mut told = Vec::new();
        for who in [plus, plain, plus, plain, plus, plain, plus] {
            let answer = asks(&browser, who).await;
            told.push((answer.status.as_u16(), answer.header("retry-after").to_owned()));
        }
        answers.push(told);
    }
    assert!(answers.iter().all(|told| *told == answers[0]), "{answers:?}");
    assert_eq!(answers[0][4..6], [(200, String::new()), (429, "180".to_owned())]);
    cabinet.close().await;
}

/// Two processes, of which the second only has pages.
async fn a_pin_that_is_asked_of_an_instance_that_stands_by_is_sent_by_the_one_that_leads(kind: Kind) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    let database = ground.database.url();
    let grant = ["people", "grant", "1001", "owner", "--name", "Anna", "--language", "en"];
    operator::run(&[("DATABASE_URL", &database)], &grant).await.well();
    let leader = Run::start(&ground, &emulator, &[]);
    emulator.says(ANNA, "/me").await;
    emulator.hears(ANNA, "Anna").await;
    let follower = Run::start(&ground, &emulator, &[]);
    follower.logs("stands by").await;
    let guest = Guest::at(&emulator, follower.web().await).await;
    assert_eq!(guest.sends("/auth/send-pin", "who=1001").await, 200);
    let pin = emulator.until("the PIN comes", async |emulator| pins_in(emulator, ANNA).await.pop()).await;
    assert_eq!(guest.sends("/auth/login", &format!("who=1001&pin={pin}")).await, 303);
    assert_eq!(guest.sends("/auth/login", &format!("who=1001&pin={pin}")).await, 401, "it is used up");
    let domain = ground.domain().await;
    let rows = "SELECT once FROM pins_to_send";
    emulator
        .until("nothing is left to be sent", async |_| {
            let rows = sea_orm::Statement::from_string(sea_orm::DbBackend::Postgres, rows);
            domain.read().query_all_raw(rows).await.unwrap().is_empty().then_some(())
        })
        .await;
    domain.close().await.unwrap();
    assert_eq!(pins_in(&emulator, ANNA).await.len(), 1, "it is sent once");
    for log in [follower.stops().await, leader.stops().await] {
        assert!(!log.iter().any(|line| line.contains(&pin)), "a PIN is in no log: {log:#?}");
    }
    emulator.stop().await;
}

#[tokio::test]
async fn people_who_were_granted_a_role_sign_in_by_the_username_that_they_have_by_now() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
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
            (texts.iter().filter(|text| text.contains("Your Telegram number")).count() == answers).then_some(())
        };
        emulator.until("she is answered", told).await;
    }
    assert_eq!(cabinet.person(ANNA).await.version, version, "what is known is not written again");
    let browser = cabinet.browser();
    asks(&browser, "@anna_first").await.is(200, "has just sent");
    let pin = emulator.until("the PIN comes", async |_| cabinet.pins(ANNA).await.pop()).await;
    browser.post("/auth/login", &[("who", "@anna_first"), ("pin", &pin)]).await.leads_to("/");
    // She gives the name up, and somebody else takes it before she speaks again.
    is_called(BORIS, "Boris", Some("Anna_First")).await;
    assert_eq!(cabinet.person(ANNA).await.username, None);
    is_called(BORIS, "Boris", None).await;
    cabinet.close().await;
}

/// Asks for a PIN in a browser.
async fn asks(browser: &Browser, who: &str) -> crate::kit::cabinet::Answer {
    browser.get("/sign-in").await;
    browser.post("/auth/send-pin", &[("who", who)]).await
}

/// Somebody with a browser at the pages of a process.
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

    /// Sends a form; answers the status.
    pub async fn sends(&self, path: &str, fields: &str) -> u16 {
        self.reads(path, fields, "en").await.0
    }

    /// The same by somebody who reads this language; answers the page, too.
    pub async fn reads(&self, path: &str, fields: &str, language: &str) -> (u16, String) {
        let form = self.emulator.http.post(format!("{}{path}", self.base)).header("cookie", &self.cookie);
        let form = form.header("content-type", "application/x-www-form-urlencoded").header("accept-language", language);
        let answer = form.body(format!("csrf={}&{fields}", self.csrf)).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }
}
