//! Signing in by PIN: what opens a session, what does not, and what nobody learns by trying.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opora::clock::Millis;
use opora::key::DialogueKey;
use opora::store::{self, Epoch, OutboxId, Outgoing, Store, StoreError, StoreLayer};
use sea_orm::ConnectionTrait;
use serde_json::json;
use workforce::people;
use workforce::rooms::Rooms;
use workforce::settings;

use crate::cabinet::{Browser, Cabinet};
use crate::demo::{ANNA, BORIS, until};
use crate::firm::{Kind, NOON, on_every_database};
use crate::remains;

on_every_database! {
    somebody_signs_in_by_pin_and_out_again,
    the_sixth_wrong_try_locks_whether_or_not_there_is_such_a_person,
    a_wrong_a_used_and_an_expired_pin_open_nothing,
    two_processes_count_together,
    a_pin_that_was_sent_or_refused_is_kept_nowhere,
}

const NOBODY: i64 = 999_999;

async fn somebody_signs_in_by_pin_and_out_again(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let browser = cabinet.browser();
    browser.get("/people?q=a").await.leads_to("/sign-in?next=%2Fpeople%3Fq%3Da");
    browser.get("/sign-in?next=%2Fpeople").await.is(200, "value=\"/people\"");
    let pin = cabinet.pin(&browser, ANNA).await;
    let signed = browser.post("/auth/login", &[("who", "1001"), ("pin", &pin), ("next", "/people")]).await;
    signed.leads_to("/people");
    let cookies: Vec<_> = signed.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap()).collect();
    assert!(cookies[0].contains("HttpOnly; SameSite=Lax") && !cookies[0].contains("Secure"), "{cookies:?}");
    browser.get("/people").await.is(200, "Boris");
    let stolen = cabinet.browser();
    stolen.send(axum::http::Method::GET, "/people", "", &[("cookie", &browser.cookies())]).await.is(200, "Boris");
    browser.post("/auth/logout", &[]).await.leads_to("/sign-in");
    browser.get("/people").await.leads_to("/sign-in?next=%2Fpeople");
    let old = [("cookie", signed.header("set-cookie"))];
    stolen.send(axum::http::Method::GET, "/people", "", &old).await.leads_to("/sign-in?next=%2Fpeople");
    cabinet.close().await;
}

async fn a_pin_that_was_sent_or_refused_is_kept_nowhere(kind: Kind) {
    /// How the message of a PIN goes on just before it.
    const BEFORE_A_PIN: &str = "PIN to sign in: ";
    let cabinet = Cabinet::open(kind).await;
    let (store, bot) = (cabinet.app.domain.store(), cabinet.app.bot_id);
    cabinet.pin(&cabinet.browser(), ANNA).await;
    // Boris has blocked the bot.
    cabinet.emulator.says(BORIS, "/start").await;
    cabinet.emulator.post(&format!("/chats/{BORIS}/block"), json!({ "from": BORIS })).await;
    let browser = cabinet.browser();
    browser.get("/sign-in").await;
    browser.post("/auth/send-pin", &[("who", &BORIS.to_string())]).await.is(200, "has just sent");
    let failed = until("the PIN is refused, and nothing waits", async || {
        let failed = store.operator().failed(bot, None, 10).await.unwrap();
        let is_refused = failed.iter().any(|row| row.outgoing.secret);
        let waits = store.statistics(Some(bot)).await.unwrap().outbox;
        (is_refused && waits == 0).then_some(failed)
    })
    .await;
    let refused = failed.iter().find(|row| row.outgoing.secret).unwrap();
    assert_eq!((refused.outgoing.chat, &*refused.outgoing.method), (Some(BORIS), "sendMessage"));
    assert_eq!(&*refused.outgoing.body, Outgoing::NO_BODY);
    assert!(refused.reason.contains("blocked"), "{}", refused.reason);
    let all = remains::everything(&cabinet.ground).await;
    assert!(all.contains("Boris"), "everything was looked at");
    assert!(!all.contains(BEFORE_A_PIN));
    if kind == Kind::Sqlite {
        let copy = cabinet.ground.folder.path().join("copy.db");
        store.operator().backup(&copy).await.unwrap();
        assert!(!remains::file(&copy).await.contains(BEFORE_A_PIN));
    }
    cabinet.close().await;
}

async fn a_wrong_a_used_and_an_expired_pin_open_nothing(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let browser = cabinet.browser();
    let pin = cabinet.pin(&browser, ANNA).await;
    browser.log_in(ANNA, &other_than(&pin)).await.is(401, "This PIN is not right");
    browser.log_in(BORIS, &pin).await.is(401, "This PIN is not right");
    // Asked for by another browser, it is nothing here.
    let other = cabinet.browser();
    other.get("/sign-in").await;
    other.log_in(ANNA, &pin).await.is(401, "This PIN is not right");
    browser.log_in(ANNA, &pin).await.leads_to("/");
    let again = cabinet.browser();
    again.get("/sign-in").await;
    again.log_in(ANNA, &pin).await.is(401, "This PIN is not right");
    let pin = cabinet.pin(&again, ANNA).await;
    cabinet.clock.advance(Duration::from_secs(300));
    again.log_in(ANNA, &pin).await.is(401, "This PIN is too old");
    again.get("/").await.leads_to("/sign-in");
    cabinet.close().await;
}

async fn the_sixth_wrong_try_locks_whether_or_not_there_is_such_a_person(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    for who in [ANNA, NOBODY] {
        let browser = cabinet.browser();
        let pin = if who == ANNA { cabinet.pin(&browser, who).await } else { "123456".to_owned() };
        if who == NOBODY {
            browser.get("/sign-in").await;
            browser.post("/auth/send-pin", &[("who", &who.to_string())]).await.is(200, "has just sent");
        }
        for _ in 0..5 {
            browser.log_in(who, &other_than(&pin)).await.is(401, "This PIN is not right");
        }
        let sixth = browser.log_in(who, &other_than(&pin)).await;
        sixth.is(429, "You can ask for a new one in 15 minutes");
        assert_eq!(sixth.header("retry-after"), "900");
        browser.log_in(who, &pin).await.is(429, "Too many wrong PINs");
        cabinet.clock.advance(Duration::from_secs(600));
        let asked = browser.post("/auth/send-pin", &[("who", &who.to_string())]).await;
        asked.is(429, "in 5 minutes");
        cabinet.clock.advance(Duration::from_secs(301));
        browser.post("/auth/send-pin", &[("who", &who.to_string())]).await.is(200, "has just sent");
    }
    cabinet.close().await;
}

async fn two_processes_count_together(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let other = cabinet.beside().await;
    let here = cabinet.browser();
    let there = cabinet.browser().on(workforce::application::router(&other));
    // Four wrong tries lock no name, so ten names use up the forty tries of the address.
    for name in 0..5 {
        for (browser, who) in [(&here, NOBODY - name), (&there, NOBODY - 100 - name)] {
            ask_for_pin(browser, who).await;
            for _ in 0..4 {
                browser.log_in(who, "123456").await.is(401, "This PIN is not right");
            }
        }
    }
    for (browser, who) in [(&here, NOBODY), (&there, NOBODY - 100)] {
        let refused = browser.log_in(who, "123456").await;
        refused.is(429, "Too many requests");
        assert_eq!(refused.header("retry-after"), "23");
    }
    let elsewhere = cabinet.browser_at("192.0.2.2:50000");
    ask_for_pin(&elsewhere, NOBODY).await;
    elsewhere.log_in(NOBODY, "123456").await.is(401, "This PIN is not right");
    other.domain.close().await.unwrap();
    cabinet.close().await;
}

#[tokio::test]
async fn a_try_without_a_pin_writes_nothing() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let browser = cabinet.browser();
    browser.get("/sign-in").await;
    for who in [ANNA, NOBODY] {
        browser.log_in(who, "123456").await.is(401, "This PIN is not right");
    }
    let counters = async || {
        let rows = sea_orm::Statement::from_string(sea_orm::DbBackend::Sqlite, "SELECT asker FROM sign_in_limits");
        cabinet.app.domain.read().query_all_raw(rows).await.unwrap().len()
    };
    assert_eq!(counters().await, 0, "a flood of guesses would compete with the bot for the disk");
    ask_for_pin(&browser, NOBODY).await;
    let asked = counters().await;
    browser.log_in(NOBODY, "123456").await.is(401, "This PIN is not right");
    assert!(counters().await > asked, "where there is a PIN, tries are counted");
    cabinet.close().await;
}

#[tokio::test]
async fn only_trusted_proxies_say_for_whom_they_ask() {
    let settings = [("PUBLIC_URL", "http://office.example"), ("TRUSTED_PROXIES", "10.0.0.0/8, 127.0.0.1")];
    let cabinet = Cabinet::set_up(Kind::Sqlite, Rooms::all(), &settings).await;
    // Whether the limit of the address that asks is used up, with what the proxy says.
    let is_held_back = async |peer: &str, forwarded: &str| {
        let browser = cabinet.browser_at(peer);
        let headers = [("x-forwarded-for", forwarded)];
        browser.send(axum::http::Method::GET, "/nowhere", "", &headers).await.status.as_u16() == 429
    };
    for _ in 0..100 {
        assert!(!is_held_back("10.1.2.3:7000", "198.51.100.1").await);
    }
    assert!(is_held_back("10.1.2.3:7000", "198.51.100.1").await, "the one behind the proxy");
    assert!(is_held_back("127.0.0.1:7000", "198.51.100.1").await, "by another way");
    assert!(is_held_back("10.1.2.3:7000", "203.0.113.5, 198.51.100.1, 10.9.9.9").await, "what it made up itself");
    assert!(!is_held_back("10.1.2.3:7000", "198.51.100.2").await, "another one");
    assert!(!is_held_back("198.51.100.7:7000", "198.51.100.1").await, "nobody else is believed");
    assert!(!is_held_back("10.1.2.3:7000", "unknown").await, "then it is the proxy");
    cabinet.close().await;
}

#[tokio::test]
async fn without_trusted_proxies_nobody_is_believed() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let browser = cabinet.browser_at("127.0.0.1:7000");
    for number in 0..101 {
        let made_up = format!("198.51.100.{number}");
        let answer = browser.send(axum::http::Method::GET, "/nowhere", "", &[("x-forwarded-for", &made_up)]).await;
        assert_eq!(answer.status.as_u16() == 429, number == 100, "{number}");
    }
    cabinet.close().await;
}

#[tokio::test]
async fn asking_anew_gives_no_more_tries() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let browser = cabinet.browser();
    for _ in 0..2 {
        let pin = cabinet.pin(&browser, ANNA).await;
        for _ in 0..2 {
            browser.log_in(ANNA, &other_than(&pin)).await.is(401, "not right");
        }
    }
    let pin = cabinet.pin(&browser, ANNA).await;
    browser.log_in(ANNA, &other_than(&pin)).await.is(401, "not right");
    browser.log_in(ANNA, &other_than(&pin)).await.is(429, "Too many wrong PINs");
    cabinet.close().await;
}

#[tokio::test]
async fn the_answer_does_not_tell_who_is_known() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let mut answers = Vec::new();
    for who in ["1001", "9991001", "@nobody", "+7 900 000-00-00"] {
        let browser = cabinet.browser();
        browser.get("/sign-in").await;
        let asked = browser.post("/auth/send-pin", &[("who", who)]).await;
        let tried = browser.post("/auth/login", &[("who", who), ("pin", "abc")]).await;
        let plain = |body: &str| {
            let csrf = body.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
            body.replace(csrf, "").replace(who, "")
        };
        answers.push((asked.status, plain(&asked.body), tried.status, plain(&tried.body)));
    }
    assert!(answers.windows(2).all(|two| two[0] == two[1]), "{answers:#?}");
    let browser = cabinet.browser();
    browser.get("/sign-in").await;
    browser.post("/auth/send-pin", &[("who", "Anna Peters")]).await.is(400, "neither a number");
    cabinet.close().await;
}

#[tokio::test]
async fn people_sign_in_by_username_and_phone_too() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let sql = "UPDATE users SET username = 'Anna_P', phone = '+79001234567' WHERE telegram_id = 1001";
    cabinet
        .app
        .domain
        .write(move |db| {
            Box::pin(async move {
                use sea_orm::ConnectionTrait;
                db.execute_unprepared(sql).await?;
                Ok(())
            })
        })
        .await
        .unwrap();
    for who in ["@anna_p", "8 (900) 123-45-67", "+79001234567"] {
        let browser = cabinet.browser();
        let before = cabinet.pins(ANNA).await.len();
        browser.get("/sign-in").await;
        browser.post("/auth/send-pin", &[("who", who)]).await.is(200, "has just sent");
        let pin =
            cabinet.emulator.until("the PIN comes", async |_| cabinet.pins(ANNA).await.get(before).cloned()).await;
        browser.post("/auth/login", &[("who", who), ("pin", &pin)]).await.leads_to("/");
    }
    cabinet.close().await;
}

#[tokio::test]
async fn whoever_asks_for_too_many_pins_has_to_wait() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let browser = cabinet.browser();
    browser.get("/sign-in").await;
    for _ in 0..5 {
        browser.post("/auth/send-pin", &[("who", "1001")]).await.is(200, "has just sent");
    }
    let refused = browser.post("/auth/send-pin", &[("who", "1001")]).await;
    refused.is(429, "Too many requests");
    assert_eq!(refused.header("retry-after"), "180");
    // From one address in the names of many, too; another address is not held back by that.
    for who in 0..14 {
        browser.post("/auth/send-pin", &[("who", &who.to_string())]).await.is(200, "has just sent");
    }
    browser.post("/auth/send-pin", &[("who", "77")]).await.is(429, "Too many requests");
    let other = cabinet.browser_at("192.0.2.2:50000");
    other.get("/sign-in").await;
    other.post("/auth/send-pin", &[("who", "77")]).await.is(200, "has just sent");
    cabinet.close().await;
}

#[tokio::test]
async fn test_users_have_any_pin_only_if_both_flags_are_set() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let browser = cabinet.browser();
    browser.get("/sign-in").await;
    cabinet.app.domain.write(|db| Box::pin(people::mark_as_test(db, ANNA, NOON))).await.unwrap();
    browser.log_in(ANNA, "000000").await.is(401, "not right");
    cabinet
        .app
        .domain
        .write(|db| Box::pin(settings::set(db, settings::ENABLE_TEST_USERS.name, "true", None, NOON)))
        .await
        .unwrap();
    browser.log_in(ANNA, "00000").await.is(401, "not right");
    browser.log_in(BORIS, "000000").await.is(401, "not right");
    browser.post("/auth/send-pin", &[("who", "1001")]).await.is(200, "has just sent");
    browser.log_in(ANNA, "000000").await.leads_to("/");
    assert!(cabinet.pins(ANNA).await.is_empty(), "test users get none");
    cabinet.close().await;
}

#[tokio::test]
async fn where_the_bot_does_not_run_nobody_waits_for_a_pin() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let firm = crate::firm::Firm::open(Kind::Sqlite).await;
    let idle = workforce::application::router(&firm.app);
    let browser = cabinet.browser().on(idle);
    browser.get("/sign-in").await;
    browser.post("/auth/send-pin", &[("who", "1001")]).await.is(503, "The bot is just being started");
    cabinet.close().await;
}

/// Takes no PINs while it is told so; whoever asks whether posts are taken hears yes. So it is when Redis goes away
/// between the two.
#[derive(Debug)]
struct TakesNoPins {
    inner: Arc<dyn Store>,
    refuses: Arc<AtomicBool>,
}

impl StoreLayer for TakesNoPins {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(DialogueKey, Outgoing)>,
        at: Millis,
    ) -> store::Answer<'a, Vec<OutboxId>> {
        if once.starts_with("pin:") && self.refuses.load(Ordering::Relaxed) {
            return Box::pin(async { Err(StoreError::Unavailable("away".into())) });
        }
        self.inner.post(epoch, once, outgoing, at)
    }
}

#[tokio::test]
async fn a_pin_that_the_store_did_not_take_is_sent_when_it_does() {
    let refuses = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&refuses);
    let cabinet = Cabinet::over(move |inner| Arc::new(TakesNoPins { inner, refuses: switch })).await;
    let browser = cabinet.browser();
    browser.get("/sign-in").await;
    browser.post("/auth/send-pin", &[("who", "1001")]).await.is(200, "has just sent");
    let rows = async || {
        let rows = sea_orm::Statement::from_string(sea_orm::DbBackend::Sqlite, "SELECT once FROM pins_to_send");
        cabinet.app.domain.read().query_all_raw(rows).await.unwrap().len()
    };
    until("it is left for later", async || (rows().await == 1).then_some(())).await;
    refuses.store(false, Ordering::Relaxed);
    let app = cabinet.app.clone();
    let sending = tokio::spawn(async move { workforce::web::send_left_pins(&app).await });
    let pin = until("the PIN comes", async || cabinet.pins(ANNA).await.pop()).await;
    browser.log_in(ANNA, &pin).await.leads_to("/");
    until("nothing is left", async || (rows().await == 0).then_some(())).await;
    sending.abort();
    let _ = sending.await;
    assert_eq!(cabinet.pins(ANNA).await.len(), 1, "it is sent once");
    cabinet.close().await;
}

async fn ask_for_pin(browser: &Browser, who: i64) {
    browser.get("/sign-in").await;
    browser.post("/auth/send-pin", &[("who", &who.to_string())]).await.is(200, "has just sent");
}

fn other_than(pin: &str) -> String {
    let number: u32 = pin.parse().unwrap();
    format!("{:06}", (number + 1) % 1_000_000)
}
