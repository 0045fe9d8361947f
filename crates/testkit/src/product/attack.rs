//! The attack itself, and those who go on meanwhile.

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

use self::figures::{Figures, Times};
use self::scene::{Answer, DOCUMENT, FIRST_PERSON, FIRST_WRITER, Guest, Member, Scene, VICTIM};
use crate::product::demo;

pub mod figures;
mod scene;

/// Each writes seldom enough to be within the limits of the chat.
const WRITERS: usize = 40;
const BETWEEN_TURNS: Duration = Duration::from_millis(50);
const BETWEEN_PAGES: Duration = Duration::from_millis(700);
const BETWEEN_HEALTH_CHECKS: Duration = Duration::from_millis(500);
const PAGES: [&str; 4] = ["/", "/people", "/me", "/registrations"];
/// What one person may load at once.
const FILES_AT_ONCE: usize = 6;
/// So many are asked for beyond that: more than may wait for their turn.
const BEYOND: usize = 80;
/// How long the bot may take, and a connection to come about.
const PATIENCE: Duration = Duration::from_secs(20);
/// The addresses of an attack: 127.`part`.0.1 and on.
const ADDRESSES: usize = 200;

/// How much of what, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Assault {
    pub idle: usize,
    pub downloads: usize,
    pub sockets: usize,
    pub attempts: usize,
    /// Signed-in people who misuse it; at least a sixth of the downloads and a twentieth of the sockets.
    pub attackers: usize,
    /// Signed-in people who just work.
    pub readers: usize,
    pub lasts: Duration,
    /// How long the bot is measured before.
    pub before: Duration,
    pub file_bytes: u64,
}

/// Everything at once, over a product of its own. The caller has raised its limit of open files.
pub async fn run(assault: Assault) -> Figures {
    assert!(assault.attackers * FILES_AT_ONCE >= assault.downloads && assault.attackers * 20 >= assault.sockets);
    let scene = Scene::open(assault.attackers + assault.readers, WRITERS, assault.file_bytes).await;
    let members = members(&scene, assault.attackers + assault.readers).await;
    let (attackers, readers) = members.split_at(assault.attackers);
    // The first turns fill caches.
    turns(&scene, Instant::now() + Duration::from_millis(500)).await;
    let (bot_usual, _) = turns(&scene, Instant::now() + assault.before).await;
    let memory_before_kb = scene.memory_kb("VmRSS");
    let end = Instant::now() + assault.lasts;
    let (idle_open, downloads, sockets_open, attempts, turned, read, health) = tokio::join!(
        idle(&scene, assault.idle, end),
        downloads(&scene, attackers, assault.downloads, end),
        sockets(&scene, attackers, assault.sockets, end),
        attempts(&scene, assault.attempts, assault.lasts),
        turns(&scene, end),
        pages(&scene, readers, end),
        health(&scene, end),
    );
    let memory_peak_kb = scene.memory_kb("VmHWM");
    drop(members);
    scene.close().await;
    Figures {
        bot_usual,
        bot_attacked: turned.0,
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

async fn members(scene: &Scene, count: usize) -> Vec<Member> {
    let mut members = Vec::new();
    for (person, number) in (FIRST_PERSON..).zip(0..count) {
        members.push(scene.sign_in(person, address(1, number)).await);
    }
    members
}

/// One of many addresses of this machine.
fn address(part: u8, number: usize) -> Ipv4Addr {
    // A number below the count of addresses fits.
    Ipv4Addr::new(127, part, 0, (number % ADDRESSES) as u8 + 1)
}

/// Holds connections on which nothing is said; one that is closed is opened again. Answers how many were open at once.
async fn idle(scene: &Scene, count: usize, end: Instant) -> usize {
    let (open, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let hold = async |number| {
        while Instant::now() < end {
            let Some(mut stream) = scene.connect(address(2, number)).await else { return };
            most.fetch_max(open.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            let _ = timeout_at(end, stream.read_u8()).await;
            open.fetch_sub(1, Ordering::Relaxed);
        }
    };
    join_all((0..count).map(hold)).await;
    most.into_inner()
}

/// Asks for files and reads nothing of them, and asks for more than one person may have. Answers how many began, and how
/// many were refused.
async fn downloads(scene: &Scene, attackers: &[Member], count: usize, end: Instant) -> (usize, usize) {
    let ask = async |member: &Member| {
        let mut stream = scene.connect(member.address).await?;
        let Member { cookie, .. } = member;
        let request = format!("GET /documents/{DOCUMENT}/file HTTP/1.1\r\nhost: x\r\ncookie: {cookie}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        Some(stream)
    };
    let held = join_all((0..count).map(|number| ask(&attackers[number % attackers.len()]))).await;
    let mut begun = 0;
    for stream in held.iter().flatten() {
        let mut head = [0; 12];
        let peeked = timeout(PATIENCE, stream.peek(&mut head)).await;
        begun += usize::from(matches!(peeked, Ok(Ok(12))) && &head == b"HTTP/1.1 200");
    }
    let refused = join_all((0..BEYOND).map(async |_| {
        let mut stream = ask(&attackers[0]).await?;
        let mut head = [0; 12];
        // Most of them wait for their turn, in vain.
        timeout_at(end, stream.read_exact(&mut head)).await.ok()?.ok()?;
        (&head == b"HTTP/1.1 429").then_some(())
    }));
    let refused = refused.await.into_iter().flatten().count();
    sleep_until(end).await;
    drop(held);
    (begun, refused)
}

/// Holds WebSockets; answers how many are open in the end.
async fn sockets(scene: &Scene, attackers: &[Member], count: usize, end: Instant) -> usize {
    let hold = async |number: usize| {
        let Member { cookie, address, .. } = &attackers[number % attackers.len()];
        let mut request = format!("ws://{}/live", scene.address).into_client_request().ok()?;
        request.headers_mut().insert("cookie", cookie.parse().ok()?);
        request.headers_mut().insert("origin", format!("http://{}", scene.address).parse().ok()?);
        let (mut socket, _) = client_async(request, scene.connect(*address).await?).await.ok()?;
        // Whoever reads answers pings as well.
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

/// Tries to sign in, spread over the time: half with guesses for a person, half asking for a PIN in any name.
async fn attempts(scene: &Scene, count: usize, lasts: Duration) -> BTreeMap<u16, usize> {
    let (start, period) = (Instant::now(), lasts / u32::try_from(count.max(1)).unwrap_or(u32::MAX));
    let attempt = async |number: usize| {
        sleep_until(start + period * u32::try_from(number).unwrap_or(u32::MAX)).await;
        let guest = Guest::arrive(scene, address(3, number)).await?;
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

/// People write to the bot, one after another; how long each waits for the answer, and how many waited in vain. On a
/// thread of its own: what keeps the attackers busy must not be measured as time that the bot takes.
async fn turns(scene: &Scene, end: Instant) -> (Times, usize) {
    let people = format!("{}/client/{}", scene.emulator.base, scene.emulator.token);
    let (done, measured) = oneshot::channel();
    thread::spawn(move || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // Nobody listens where the attack has failed, and then nothing is measured.
        let _ = done.send(runtime.block_on(conversations(&people, end)));
    });
    measured.await.unwrap()
}

async fn conversations(people: &str, end: Instant) -> (Times, usize) {
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
        let said = http.post(format!("{chat}/send")).json(&json!({"from": writer, "text": "/me"})).send();
        let said: Value = said.await.unwrap().json().await.unwrap();
        let answers = format!("{chat}/messages?after={}&wait={}", said["message_id"], PATIENCE.as_secs());
        let answers: Value = http.get(answers).send().await.unwrap().json().await.unwrap();
        match answers.as_array().is_some_and(|answers| !answers.is_empty()) {
            true => times.push(began.elapsed()),
            false => unanswered += 1,
        }
    }
    (Times::new(times), unanswered)
}

/// People who are signed in read pages; how long each takes, and how many do not come.
async fn pages(scene: &Scene, readers: &[Member], end: Instant) -> (Times, usize) {
    let read = async |number: usize, member: &Member| {
        let mut pace = interval(BETWEEN_PAGES);
        let (mut times, mut refused) = (Vec::new(), 0);
        for path in PAGES.iter().cycle().skip(number) {
            pace.tick().await;
            if Instant::now() >= end {
                break;
            }
            let began = Instant::now();
            match scene.get(member.address, path, &member.cookie).await {
                Some(Answer { status: 200, .. }) => times.push(began.elapsed()),
                _ => refused += 1,
            }
        }
        (times, refused)
    };
    let all = join_all(readers.iter().enumerate().map(|(number, member)| read(number, member))).await;
    let refused = all.iter().map(|(_, refused)| refused).sum();
    (Times::new(all.into_iter().flat_map(|(times, _)| times).collect()), refused)
}

/// A health check opens a connection each time.
async fn health(scene: &Scene, end: Instant) -> (Times, usize) {
    let mut pace = interval(BETWEEN_HEALTH_CHECKS);
    let (mut times, mut refused) = (Vec::new(), 0);
    while Instant::now() < end {
        pace.tick().await;
        let began = Instant::now();
        match scene.get(Ipv4Addr::LOCALHOST, "/health", "").await {
            Some(Answer { status: 200, .. }) => times.push(began.elapsed()),
            _ => refused += 1,
        }
    }
    (Times::new(times), refused)
}
