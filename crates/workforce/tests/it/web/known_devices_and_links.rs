//! A person can always sign in: by a link from the bot, or on a known device. Strangers cannot prevent it.

use std::time::Duration;

use axum::http::Method;
use workforce::people;
use workforce::person::Status;

use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS, until};
use crate::kit::firm::{NOON, StorageKind, on_every_database};

on_every_database! {
    a_stranger_cannot_lock_a_person_out,
    a_link_signs_in_once,
}

/// Sends `/cabinet` and returns the path of the link that the bot answers with.
async fn request_link(cabinet: &Cabinet, telegram_id: i64) -> String {
    let links = async || {
        let texts = cabinet.emulator.texts(telegram_id).await;
        let start = "Your link to the dashboard: http://office.example";
        texts.iter().filter_map(|text| text.strip_prefix(start)?.lines().next().map(str::to_owned)).collect::<Vec<_>>()
    };
    let before = links().await.len();
    cabinet.emulator.says(telegram_id, "/cabinet").await;
    until("the link is in the chat", async || {
        let links = links().await;
        (links.len() > before).then(|| links.last().cloned()).flatten()
    })
    .await
}

fn token(link: &str) -> &str {
    link.strip_prefix("/sign-in/").unwrap()
}

async fn use_link(browser: &Browser, link: &str) -> u16 {
    browser.get(link).await;
    browser.post("/auth/link", &[("token", token(link))]).await.status.as_u16()
}

/// Requests PINs for a name until the limit is reached.
async fn use_up_pins(cabinet: &Cabinet, address: &str, telegram_id: i64) {
    let stranger = cabinet.browser_at(address);
    stranger.get("/sign-in").await;
    for _ in 0..30 {
        let asked = stranger.post("/auth/send-pin", &[("who", &telegram_id.to_string())]).await;
        if asked.status == 429 {
            return;
        }
    }
    panic!("the limit was never reached");
}

async fn a_stranger_cannot_lock_a_person_out(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let device = cabinet.signed_in(ANNA).await;
    device.post("/auth/logout", &[]).await.redirects_to("/sign-in");
    // Seven addresses with five PINs each: the limit per name is 30 an hour.
    for number in 0..7 {
        use_up_pins(&cabinet, &format!("198.51.100.{number}:50000"), ANNA).await;
    }
    let elsewhere = cabinet.browser_at("203.0.113.9:50000");
    elsewhere.get("/sign-in").await;
    let refused = elsewhere.post("/auth/send-pin", &[("who", "1001")]).await;
    refused.is(429, "Too many requests").is(429, "/cabinet");
    assert!(!refused.header("retry-after").is_empty());

    // All PINs that strangers requested have arrived, so the next one is Anna's own.
    cabinet.app.bot.post("the last of the strangers", ANNA, "No more PINs.").await.unwrap();
    cabinet.emulator.receives(ANNA, "No more PINs.").await;
    let pin = cabinet.request_pin(&device, ANNA).await;
    device.log_in(ANNA, &pin).await.redirects_to("/");
    assert_eq!(use_link(&elsewhere, &request_link(&cabinet, ANNA).await).await, 303);
    elsewhere.get("/people").await.is(200, "Boris");
    cabinet.close().await;
}

async fn a_link_signs_in_once(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let (one, other) = (cabinet.browser(), cabinet.browser());
    let first = request_link(&cabinet, ANNA).await;
    let second = request_link(&cabinet, ANNA).await;
    one.get(&first).await.is(410, "Send /cabinet to the bot for a new one");
    one.get(&second).await.is(200, "This link opens the account of Anna.");
    other.get(&second).await.is(200, "Anna");
    one.get("/people").await.redirects_to("/sign-in?next=%2Fpeople");
    let fields = [("token", token(&second))];
    let (left, right) = tokio::join!(one.post("/auth/link", &fields), other.post("/auth/link", &fields));
    let mut codes = [left.status.as_u16(), right.status.as_u16()];
    codes.sort_unstable();
    assert_eq!(codes, [303, 410]);
    cabinet.close().await;
}

#[tokio::test]
async fn old_links_and_links_of_blocked_people_are_refused() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let old = request_link(&cabinet, ANNA).await;
    cabinet.clock.advance(Duration::from_secs(300));
    assert_eq!(use_link(&cabinet.browser(), &old).await, 410);

    let blocked = request_link(&cabinet, BORIS).await;
    let boris = cabinet.person(BORIS).await.id;
    let block = cabinet
        .app
        .domain
        .write(move |db| Box::pin(async move { people::set_status(db, boris, Status::Blocked, None, NOON).await }));
    block.await.unwrap();
    assert_eq!(use_link(&cabinet.browser(), &blocked).await, 410);
    cabinet.close().await;
}

#[tokio::test]
async fn a_link_needs_the_form_of_its_own_page() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let way = request_link(&cabinet, ANNA).await;
    let browser = cabinet.browser();
    browser.get(&way).await;
    browser.post_with("/auth/link", &[("token", token(&way))], &[]).await.is(403, "out of date");
    assert_eq!(use_link(&browser, &way).await, 303);
    cabinet.close().await;
}

#[tokio::test]
async fn a_known_device_has_limits_too() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let device = cabinet.signed_in(ANNA).await;
    device.post("/auth/logout", &[]).await;
    use_up_pins(&cabinet, "192.0.2.77:50000", ANNA).await;
    device.get("/sign-in").await;
    let ask = async || device.post("/auth/send-pin", &[("who", "1001")]).await.status.as_u16();
    for _ in 0..10 {
        assert_eq!(ask().await, 200);
    }
    assert_eq!(ask().await, 429);
    // The device is known for Anna only.
    for _ in 0..5 {
        assert_eq!(device.post("/auth/send-pin", &[("who", "1002")]).await.status, 200);
    }
    assert_eq!(device.post("/auth/send-pin", &[("who", "1002")]).await.status, 429);
    cabinet.close().await;
}

#[tokio::test]
async fn ending_other_sessions_forgets_other_devices() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (kept, lost) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(ANNA).await);
    kept.get("/me").await;
    kept.post("/me/sessions/end-others", &[]).await.redirects_to("/me");
    kept.post("/auth/logout", &[]).await.redirects_to("/sign-in");
    use_up_pins(&cabinet, "192.0.2.1:50000", ANNA).await;
    for (browser, status) in [(&kept, 200), (&lost, 429)] {
        browser.get("/sign-in").await;
        assert_eq!(browser.post("/auth/send-pin", &[("who", "1001")]).await.status, status);
    }
    cabinet.close().await;
}

#[tokio::test]
async fn an_ipv6_network_counts_as_one_address() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let mut codes = Vec::new();
    for number in 1..=101 {
        let browser = cabinet.browser_at(&format!("[2001:db8:1:2::{number:x}]:50000"));
        codes.push(browser.get("/nowhere").await.status.as_u16());
    }
    assert_eq!((codes[99], codes[100]), (404, 429));
    assert_eq!(cabinet.browser_at("[2001:db8:1:3::1]:50000").get("/nowhere").await.status, 404);
    cabinet.close().await;
}

#[tokio::test]
async fn a_forwarded_address_may_have_a_port() {
    let settings = [("PUBLIC_URL", "http://office.example"), ("TRUSTED_PROXIES", "127.0.0.1")];
    let cabinet = Cabinet::with_settings(StorageKind::Sqlite, workforce::rooms::Rooms::all(), &settings).await;
    let ask = async |forwarded: &str| {
        let browser = cabinet.browser_at("127.0.0.1:7000");
        browser.send(Method::GET, "/nowhere", "", &[("x-forwarded-for", forwarded)]).await.status.as_u16()
    };
    for number in 0..100 {
        assert_eq!(ask(&format!("198.51.100.1:{}", 4000 + number)).await, 404);
    }
    assert_eq!(ask("198.51.100.1").await, 429);
    assert_eq!(ask("198.51.100.2:4000").await, 404);
    assert_eq!(ask("[2001:db8::1]:4000").await, 404);
    cabinet.close().await;
}
