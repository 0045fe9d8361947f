//! An attack on the product, and the measurements of its normal use meanwhile.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::{Instant, interval, sleep_until, timeout, timeout_at};
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use self::product::{Answer, AttackedProduct, DOCUMENT, FIRST_PERSON, FIRST_WRITER, Guest, Member, VICTIM};
use self::report::{AttackReport, Latencies};
use crate::product::demo;

mod product;
pub mod report;

/// Enough writers for each to stay within the limits of a chat.
const WRITERS: usize = 40;
const BETWEEN_TURNS: Duration = Duration::from_millis(50);
const BETWEEN_PAGES: Duration = Duration::from_millis(700);
const BETWEEN_HEALTH_CHECKS: Duration = Duration::from_millis(500);
const PAGES: [&str; 4] = ["/", "/people", "/me", "/registrations"];
const FILES_AT_ONCE: usize = 6;
/// How many downloads are requested beyond that: more than may wait in the queue.
const EXTRA_DOWNLOADS: usize = 80;
/// Time limit for an answer of the bot, and for a connection.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How many addresses an attack uses: 127.`part`.0.1 and on.
const ADDRESSES: usize = 200;

#[derive(Clone, Copy, Debug)]
pub struct AttackPlan {
    pub idle: usize,
    pub downloads: usize,
    pub sockets: usize,
    pub attempts: usize,
    /// Signed-in attackers: at least a sixth of the downloads and a twentieth of the sockets.
    pub attackers: usize,
    /// Signed-in people who use the pages normally.
    pub readers: usize,
    pub duration: Duration,
    pub before: Duration,
    pub file_bytes: u64,
}

/// Runs all attacks at once on a new product. The caller must have raised its limit of open files.
pub async fn run(plan: AttackPlan) -> AttackReport {
    assert!(plan.attackers * FILES_AT_ONCE >= plan.downloads && plan.attackers * 20 >= plan.sockets);
    let product = AttackedProduct::start(plan.attackers + plan.readers, WRITERS, plan.file_bytes).await;
    let members = members(&product, plan.attackers + plan.readers).await;
    let (attackers, readers) = members.split_at(plan.attackers);
    // The first turns only fill caches.
    turns(&product, Instant::now() + Duration::from_millis(500)).await;
    let (bot_before, _) = turns(&product, Instant::now() + plan.before).await;
    let memory_before_kb = product.memory_kb("VmRSS");
    let end = Instant::now() + plan.duration;
    let (idle_open, downloads, sockets_open, attempts, turned, read, health) = tokio::join!(
        idle(&product, plan.idle, end),
        downloads(&product, attackers, plan.downloads, end),
        sockets(&product, attackers, plan.sockets, end),
        attempts(&product, plan.attempts, plan.duration),
        turns(&product, end),
        pages(&product, readers, end),
        health(&product, end),
    );
    let memory_peak_kb = product.memory_kb("VmHWM");
    drop(members);
    product.close().await;
    AttackReport {
        bot_before,
        bot_during: turned.0,
        turns_unanswered: turned.1,
        pages: read.0,
        pages_refused: read.1,
        health: health.0,
        health_refused: health.1,
        memory_before_kb,
        memory_peak_kb,
        idle_open,
        downloads_begun: downloads.0,
        downloads_refused: downloads.1,
        sockets_open,
        attempts,
    }
}

async fn members(product: &AttackedProduct, count: usize) -> Vec<Member> {
    let mut members = Vec::new();
    for (person, number) in (FIRST_PERSON..).zip(0..count) {
        members.push(product.sign_in(person, address(1, number)).await);
    }
    members
}

/// One of many addresses of this machine.
fn address(part: u8, number: usize) -> Ipv4Addr {
    // A number below the count of addresses fits.
    Ipv4Addr::new(127, part, 0, (number % ADDRESSES) as u8 + 1)
}

/// Holds silent connections, and reopens closed ones. Returns the most that were open at once.
async fn idle(product: &AttackedProduct, count: usize, end: Instant) -> usize {
    let (open, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let hold = async |number| {
        while Instant::now() < end {
            let Some(mut stream) = product.connect(address(2, number)).await else { return };
            most.fetch_max(open.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            let _ = timeout_at(end, stream.read_u8()).await;
            open.fetch_sub(1, Ordering::Relaxed);
        }
    };
    join_all((0..count).map(hold)).await;
    most.into_inner()
}

/// Requests files without reading them, and more than one person may have. Returns how many began, and how many were
/// refused.
async fn downloads(product: &AttackedProduct, attackers: &[Member], count: usize, end: Instant) -> (usize, usize) {
    let ask = async |member: &Member| {
        let mut stream = product.connect(member.address).await?;
        let Member { cookie, .. } = member;
        let request = format!("GET /documents/{DOCUMENT}/file HTTP/1.1\r\nhost: x\r\ncookie: {cookie}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        Some(stream)
    };
    let held = join_all((0..count).map(|number| ask(&attackers[number % attackers.len()]))).await;
    let mut begun = 0;
    for stream in held.iter().flatten() {
        let mut head = [0; 12];
        let peeked = timeout(TIMEOUT, stream.peek(&mut head)).await;
        begun += usize::from(matches!(peeked, Ok(Ok(12))) && &head == b"HTTP/1.1 200");
    }
    let refused = join_all((0..EXTRA_DOWNLOADS).map(async |_| {
        let mut stream = ask(&attackers[0]).await?;
        let mut head = [0; 12];
        // Most of them wait in the queue until the end.
        timeout_at(end, stream.read_exact(&mut head)).await.ok()?.ok()?;
        (&head == b"HTTP/1.1 429").then_some(())
    }));
    let refused = refused.await.into_iter().flatten().count();
    sleep_until(end).await;
    drop(held);
    (begun, refused)
}

/// Holds WebSockets. Returns how many are open at the end.
async fn sockets(product: &AttackedProduct, attackers: &[Member], count: usize, end: Instant) -> usize {
    let hold = async |number: usize| {
        let Member { cookie, address, .. } = &attackers[number % attackers.len()];
        let mut request = format!("ws://{}/live", product.address).into_client_request().ok()?;
        request.headers_mut().insert("cookie", cookie.parse().ok()?);
        request.headers_mut().insert("origin", format!("http://{}", product.address).parse().ok()?);
        let (mut socket, _) = client_async(request, product.connect(*address).await?).await.ok()?;
        // Reading also answers pings.
        loop {
            match timeout_at(end, socket.next()).await {
                Err(_) => break,
                Ok(Some(Ok(_))) => {}
                Ok(_) => return None,
            }
        }
        socket.send(Message::Close(None)).await.ok()
    };
    join_all((0..count).map(hold)).await.into_iter().flatten().count()
}

/// Tries to sign in, spread over the time: half guess the PIN of one person, half request PINs for many.
async fn attempts(product: &AttackedProduct, count: usize, duration: Duration) -> BTreeMap<u16, usize> {
    let (start, period) = (Instant::now(), duration / u32::try_from(count.max(1)).unwrap_or(u32::MAX));
    let attempt = async |number: usize| {
        sleep_until(start + period * u32::try_from(number).unwrap_or(u32::MAX)).await;
        let guest = Guest::arrive(product, address(3, number)).await?;
        let answer = match number % 2 {
            0 => guest.log_in(VICTIM, &format!("{:06}", number % 1_000_000)).await?,
            _ => guest.ask_for_pin(50_000 + (number % 500) as i64).await?,
        };
        Some(answer.status)
    };
    let answered = join_all((0..count).map(attempt)).await;
    let mut by_status = BTreeMap::new();
    for status in answered {
        *by_status.entry(status.unwrap_or_default()).or_default() += 1;
    }
    by_status
}

/// People write to the bot, one after another. Returns the latencies and the number of missing answers. Runs on its own
/// thread, so that the attack does not slow the measurement down.
async fn turns(product: &AttackedProduct, end: Instant) -> (Latencies, usize) {
    let people = format!("{}/client/{}", product.emulator.base, product.emulator.token);
    let (done, measured) = oneshot::channel();
    thread::spawn(move || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // The receiver is gone if the attack has failed.
        let _ = done.send(runtime.block_on(conversations(&people, end)));
    });
    measured.await.unwrap()
}

async fn conversations(people: &str, end: Instant) -> (Latencies, usize) {
    let http = demo::http();
    let mut pace = interval(BETWEEN_TURNS);
    let mut times = Vec::new();
    let mut unanswered = 0;
    for number in (0..WRITERS).cycle() {
        pace.tick().await;
        if Instant::now() >= end {
            break;
        }
        let began = Instant::now();
        let writer = FIRST_WRITER + number as i64;
        let chat = format!("{people}/chats/{writer}");
        let response = http.post(format!("{chat}/send")).json(&json!({"from": writer, "text": "/me"})).send();
        let response: Value = response.await.unwrap().json().await.unwrap();
        let answers = format!("{chat}/messages?after={}&wait={}", response["message_id"], TIMEOUT.as_secs());
        let answers: Value = http.get(answers).send().await.unwrap().json().await.unwrap();
        match answers.as_array().is_some_and(|answers| !answers.is_empty()) {
            true => times.push(began.elapsed()),
            false => unanswered += 1,
        }
    }
    (Latencies::new(times), unanswered)
}

/// Signed-in people load pages. Returns the latencies and the number of failures.
async fn pages(product: &AttackedProduct, readers: &[Member], end: Instant) -> (Latencies, usize) {
    let read = async |number: usize, member: &Member| {
        let mut pace = interval(BETWEEN_PAGES);
        let (mut times, mut refused) = (Vec::new(), 0);
        for path in PAGES.iter().cycle().skip(number) {
            pace.tick().await;
            if Instant::now() >= end {
                break;
            }
            let began = Instant::now();
            match product.get(member.address, path, &member.cookie).await {
                Some(Answer { status: 200, .. }) => times.push(began.elapsed()),
                _ => refused += 1,
            }
        }
        (times, refused)
    };
    let all = join_all(readers.iter().enumerate().map(|(number, member)| read(number, member))).await;
    let refused = all.iter().map(|(_, refused)| refused).sum();
    (Latencies::new(all.into_iter().flat_map(|(times, _)| times).collect()), refused)
}

/// Checks the health on a new connection each time.
async fn health(product: &AttackedProduct, end: Instant) -> (Latencies, usize) {
    let mut pace = interval(BETWEEN_HEALTH_CHECKS);
    let (mut times, mut refused) = (Vec::new(), 0);
    while Instant::now() < end {
        pace.tick().await;
        let began = Instant::now();
        match product.get(Ipv4Addr::LOCALHOST, "/health", "").await {
            Some(Answer { status: 200, .. }) => times.push(began.elapsed()),
            _ => refused += 1,
        }
    }
    (Latencies::new(times), refused)
}
