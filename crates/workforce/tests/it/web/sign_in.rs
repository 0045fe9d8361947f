//! Signing in by PIN: what opens a session, what does not, and what an attacker cannot learn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opora::clock::Millis;
use opora::key::ConversationKey;
use opora::store::{self, Epoch, OutboxId, Outgoing, Store, StoreError, StoreLayer};
use sea_orm::ConnectionTrait;
use serde_json::json;
use workforce::people;
use workforce::rooms::Rooms;
use workforce::settings;

use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS, until};
use crate::kit::firm::{NOON, StorageKind, on_every_database};
use crate::kit::sql::run_sql;
use crate::kit::stored_data;

on_every_database! {
    a_person_signs_in_by_pin_and_out_again,
    the_sixth_wrong_pin_locks_known_and_unknown_names,
    wrong_used_and_expired_pins_are_refused,
    two_processes_share_the_limits,
    sent_and_refused_pins_are_not_stored,
}

const UNKNOWN_ID: i64 = 999_999;

async fn a_person_signs_in_by_pin_and_out_again(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let browser = cabinet.browser();
    browser.get("/people?q=a").await.redirects_to("/sign-in?next=%2Fpeople%3Fq%3Da");
    browser.get("/sign-in?next=%2Fpeople").await.is(200, "value=\"/people\"");
    let pin = cabinet.request_pin(&browser, ANNA).await;
    let signed = browser.post("/auth/login", &[("who", "1001"), ("pin", &pin), ("next", "/people")]).await;
    signed.redirects_to("/people");
    let cookies: Vec<_> = signed.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap()).collect();
    assert!(cookies[0].contains("HttpOnly; SameSite=Lax") && !cookies[0].contains("Secure"), "{cookies:?}");
    browser.get("/people").await.is(200, "Boris");
    let stolen = cabinet.browser();
    stolen.send(axum::http::Method::GET, "/people", "", &[("cookie", &browser.cookies())]).await.is(200, "Boris");
    browser.post("/auth/logout", &[]).await.redirects_to("/sign-in");
    browser.get("/people").await.redirects_to("/sign-in?next=%2Fpeople");
    let old = [("cookie", signed.header("set-cookie"))];
    stolen.send(axum::http::Method::GET, "/people", "", &old).await.redirects_to("/sign-in?next=%2Fpeople");
    cabinet.close().await;
}

async fn sent_and_refused_pins_are_not_stored(kind: StorageKind) {
    /// The text before the PIN in its message.
    const BEFORE_A_PIN: &str = "sign-in PIN: ";
    let cabinet = Cabinet::open(kind).await;
    let (store, bot) = (cabinet.app.domain.store(), cabinet.app.bot_id);
    cabinet.request_pin(&cabinet.browser(), ANNA).await;
    // Boris has blocked the bot.
    cabinet.emulator.says(BORIS, "/start").await;
    cabinet.emulator.post(&format!("/chats/{BORIS}/block"), json!({ "from": BORIS })).await;
    let browser = cabinet.browser();
    browser.get("/sign-in").await;
    browser.post("/auth/send-pin", &[("who", &BORIS.to_string())]).await.is(200, "has just sent");
    let failed = until("the PIN is refused, and nothing waits", async || {
        let failed = store.operator().failed(bot, None, 10).await.unwrap();
        let is_refused = failed.iter().any(|row| row.outgoing.extras.secret);
        let waits = store.statistics(Some(bot)).await.unwrap().outbox;
        (is_refused && waits == 0).then_some(failed)
    })
    .await;
    let refused = failed.iter().find(|row| row.outgoing.extras.secret).unwrap();
    assert_eq!((refused.outgoing.chat, &*refused.outgoing.method), (Some(BORIS), "sendMessage"));
    assert_eq!(&*refused.outgoing.body, Outgoing::NO_BODY);
    assert!(refused.reason.contains("blocked"), "{}", refused.reason);
    let all = stored_data::dump(&cabinet.storage).await;
    assert!(all.contains("Boris"), "the dump is incomplete");
    assert!(!all.contains(BEFORE_A_PIN));
    if kind == StorageKind::Sqlite {
        let copy = cabinet.storage.folder.path().join("copy.db");
        store.operator().backup(&copy).await.unwrap();
        assert!(!stored_data::sqlite_bytes(&copy).await.contains(BEFORE_A_PIN));
    }
    cabinet.close().await;
}

async fn wrong_used_and_expired_pins_are_refused(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let browser = cabinet.browser();
    let pin = cabinet.request_pin(&browser, ANNA).await;
    browser.log_in(ANNA, &wrong_pin(&pin)).await.is(401, "Wrong PIN");
    browser.log_in(BORIS, &pin).await.is(401, "Wrong PIN");
    // A PIN that another browser requested is not valid here.
    let other = cabinet.browser();
    other.get("/sign-in").await;
    other.log_in(ANNA, &pin).await.is(401, "Wrong PIN");
    browser.log_in(ANNA, &pin).await.redirects_to("/");
    let again = cabinet.browser();
    again.get("/sign-in").await;
    again.log_in(ANNA, &pin).await.is(401, "Wrong PIN");
    let pin = cabinet.request_pin(&again, ANNA).await;
    cabinet.clock.advance(Duration::from_secs(300));
    again.log_in(ANNA, &pin).await.is(401, "This PIN has expired");
    again.get("/").await.redirects_to("/sign-in");
    cabinet.close().await;
}

async fn the_sixth_wrong_pin_locks_known_and_unknown_names(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    for who in [ANNA, UNKNOWN_ID] {
        let browser = cabinet.browser();
        let pin = if who == ANNA { cabinet.request_pin(&browser, who).await } else { "123456".to_owned() };
        if who == UNKNOWN_ID {
            browser.get("/sign-in").await;
            browser.post("/auth/send-pin", &[("who", &who.to_string())]).await.is(200, "has just sent");
        }
        for _ in 0..5 {
            browser.log_in(who, &wrong_pin(&pin)).await.is(401, "Wrong PIN");
        }
        let sixth = browser.log_in(who, &wrong_pin(&pin)).await;
        sixth.is(429, "You can get a new one in 15 minutes");
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

async fn two_processes_share_the_limits(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let other = cabinet.second_instance().await;
    let here = cabinet.browser();
    let there = cabinet.browser().with_router(workforce::application::router(&other));
    // Four wrong tries lock no name, so ten names use up the address' forty tries.
    for name in 0..5 {
        for (browser, who) in [(&here, UNKNOWN_ID - name), (&there, UNKNOWN_ID - 100 - name)] {
            ask_for_pin(browser, who).await;
            for _ in 0..4 {
                browser.log_in(who, "123456").await.is(401, "Wrong PIN");
            }
        }
    }
    for (browser, who) in [(&here, UNKNOWN_ID), (&there, UNKNOWN_ID - 100)] {
        let refused = browser.log_in(who, "123456").await;
        refused.is(429, "Too many requests");
        assert_eq!(refused.header("retry-after"), "23");
    }
    let elsewhere = cabinet.browser_at("192.0.2.2:50000");
    ask_for_pin(&elsewhere, UNKNOWN_ID).await;
    elsewhere.log_in(UNKNOWN_ID, "123456").await.is(401, "Wrong PIN");
    other.domain.close().await.unwrap();
    cabinet.close().await;
}

#[tokio::test]
async fn a_login_without_a_requested_pin_writes_nothing() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let browser = cabinet.browser();
    browser.get("/sign-in").await;
    for who in [ANNA, UNKNOWN_ID] {
        browser.log_in(who, "123456").await.is(401, "Wrong PIN");
    }
    let counters = async || {
        let rows = sea_orm::Statement::from_string(sea_orm::DbBackend::Sqlite, "SELECT asker FROM sign_in_limits");
        cabinet.app.domain.read().query_all_raw(rows).await.unwrap().len()
    };
    assert_eq!(counters().await, 0, "a flood of guesses would compete with the bot for the disk");
    ask_for_pin(&browser, UNKNOWN_ID).await;
    let asked = counters().await;
    browser.log_in(UNKNOWN_ID, "123456").await.is(401, "Wrong PIN");
    assert!(counters().await > asked, "tries with a requested PIN are counted");
    cabinet.close().await;
}

#[tokio::test]
async fn only_trusted_proxies_set_the_client_address() {
    let settings = [("PUBLIC_URL", "http://office.example"), ("TRUSTED_PROXIES", "10.0.0.0/8, 127.0.0.1")];
    let cabinet = Cabinet::with_settings(StorageKind::Sqlite, Rooms::all(), &settings).await;
    // Whether the rate limit of the forwarded address is used up.
    let is_held_back = async |peer: &str, forwarded: &str| {
        let browser = cabinet.browser_at(peer);
        let headers = [("x-forwarded-for", forwarded)];
        browser.send(axum::http::Method::GET, "/nowhere", "", &headers).await.status.as_u16() == 429
    };
    for _ in 0..100 {
        assert!(!is_held_back("10.1.2.3:7000", "198.51.100.1").await);
    }
    assert!(is_held_back("10.1.2.3:7000", "198.51.100.1").await, "the client behind the proxy");
    assert!(is_held_back("127.0.0.1:7000", "198.51.100.1").await, "through another proxy");
    assert!(
        is_held_back("10.1.2.3:7000", "203.0.113.5, 198.51.100.1, 10.9.9.9").await,
        "with forged entries before it"
    );
    assert!(!is_held_back("10.1.2.3:7000", "198.51.100.2").await, "another one");
    assert!(!is_held_back("198.51.100.7:7000", "198.51.100.1").await, "only trusted proxies are believed");
    assert!(!is_held_back("10.1.2.3:7000", "unknown").await, "the proxy's own address counts");
    cabinet.close().await;
}

#[tokio::test]
async fn without_trusted_proxies_headers_are_ignored() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let browser = cabinet.browser_at("127.0.0.1:7000");
    for number in 0..101 {
        let made_up = format!("198.51.100.{number}");
        let answer = browser.send(axum::http::Method::GET, "/nowhere", "", &[("x-forwarded-for", &made_up)]).await;
        assert_eq!(answer.status.as_u16() == 429, number == 100, "{number}");
    }
    cabinet.close().await;
}

#[tokio::test]
async fn a_new_pin_gives_no_more_tries() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let browser = cabinet.browser();
    for _ in 0..2 {
        let pin = cabinet.request_pin(&browser, ANNA).await;
        for _ in 0..2 {
            browser.log_in(ANNA, &wrong_pin(&pin)).await.is(401, "Wrong PIN");
        }
    }
    let pin = cabinet.request_pin(&browser, ANNA).await;
    browser.log_in(ANNA, &wrong_pin(&pin)).await.is(401, "Wrong PIN");
    browser.log_in(ANNA, &wrong_pin(&pin)).await.is(429, "Too many wrong PINs");
    cabinet.close().await;
}

#[tokio::test]
async fn responses_do_not_reveal_accounts() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let mut answers = Vec::new();
    for who in ["1001", "9991001", "@stranger", "+7 900 000-00-00"] {
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
    browser.post("/auth/send-pin", &[("who", "Anna Peters")]).await.is(400, "isn't an ID");
    cabinet.close().await;
}

#[tokio::test]
async fn people_sign_in_by_username_and_phone_too() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let sql = "UPDATE users SET username = 'Anna_P', phone = '+79001234567' WHERE telegram_id = 1001";
    run_sql(&cabinet.app.domain, sql).await;
    for who in ["@anna_p", "8 (900) 123-45-67", "+79001234567"] {
        let browser = cabinet.browser();
        let before = cabinet.pins(ANNA).await.len();
        browser.get("/sign-in").await;
        browser.post("/auth/send-pin", &[("who", who)]).await.is(200, "has just sent");
        let pin =
            cabinet.emulator.until("the PIN comes", async |_| cabinet.pins(ANNA).await.get(before).cloned()).await;
        browser.post("/auth/login", &[("who", who), ("pin", &pin)]).await.redirects_to("/");
    }
    cabinet.close().await;
}

#[tokio::test]
async fn too_many_pin_requests_are_refused() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let browser = cabinet.browser();
    browser.get("/sign-in").await;
    for _ in 0..5 {
        browser.post("/auth/send-pin", &[("who", "1001")]).await.is(200, "has just sent");
    }
    let refused = browser.post("/auth/send-pin", &[("who", "1001")]).await;
    refused.is(429, "Too many requests");
    assert_eq!(refused.header("retry-after"), "180");
    // The limit per address counts all names. Another address has its own limit.
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
async fn test_users_need_both_flags() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let browser = cabinet.browser();
    browser.get("/sign-in").await;
    cabinet.app.domain.write(|db| Box::pin(people::mark_as_test(db, ANNA, NOON))).await.unwrap();
    browser.log_in(ANNA, "000000").await.is(401, "Wrong PIN");
    cabinet
        .app
        .domain
        .write(|db| Box::pin(settings::set(db, settings::ENABLE_TEST_USERS.name, "true", None, NOON)))
        .await
        .unwrap();
    browser.log_in(ANNA, "00000").await.is(401, "Wrong PIN");
    browser.log_in(BORIS, "000000").await.is(401, "Wrong PIN");
    browser.post("/auth/send-pin", &[("who", "1001")]).await.is(200, "has just sent");
    browser.log_in(ANNA, "000000").await.redirects_to("/");
    assert!(cabinet.pins(ANNA).await.is_empty(), "test users get none");
    cabinet.close().await;
}

#[tokio::test]
async fn without_a_running_bot_no_pin_is_promised() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let firm = crate::kit::firm::Firm::open(StorageKind::Sqlite).await;
    let idle = workforce::application::router(&firm.app);
    let browser = cabinet.browser().with_router(idle);
    browser.get("/sign-in").await;
    browser.post("/auth/send-pin", &[("who", "1001")]).await.is(503, "The bot is starting");
    cabinet.close().await;
}

/// A store that refuses PINs while the switch is on, although it reports that posts are possible. That happens when
/// Redis goes away between the check and the post.
#[derive(Debug)]
struct RefusesPins {
    inner: Arc<dyn Store>,
    refuses: Arc<AtomicBool>,
}

impl StoreLayer for RefusesPins {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn post<'a>(
        &'a self,
        epoch: Epoch,
        once: &'a str,
        outgoing: Vec<(ConversationKey, Outgoing)>,
        at: Millis,
    ) -> store::Answer<'a, Vec<OutboxId>> {
        if once.starts_with("pin:") && self.refuses.load(Ordering::Relaxed) {
            return Box::pin(async { Err(StoreError::Unavailable("away".into())) });
        }
        self.inner.post(epoch, once, outgoing, at)
    }
}

#[tokio::test]
async fn a_pin_is_sent_when_the_store_is_back() {
    let refuses = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&refuses);
    let cabinet = Cabinet::with_store_layer(move |inner| Arc::new(RefusesPins { inner, refuses: switch })).await;
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
    let sending = tokio::spawn(async move { workforce::web::send_waiting_pins(&app).await });
    let pin = until("the PIN comes", async || cabinet.pins(ANNA).await.pop()).await;
    browser.log_in(ANNA, &pin).await.redirects_to("/");
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

fn wrong_pin(pin: &str) -> String {
    let number: u32 = pin.parse().unwrap();
    format!("{:06}", (number + 1) % 1_000_000)
}
