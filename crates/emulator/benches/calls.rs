//! How many calls a second the emulator answers, as a ratio to a bare axum route that reads and writes the same bytes
//! in the same run; and how much memory 100,000 chats of 20 messages take.
//!
//! Server and load are two processes on one machine. The rounds alternate between the two servers, so that whatever
//! else the machine does falls on both. Run it by `cargo xtask bench emulator`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot go on should stop")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use opora_emulator::{Emulator, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const CONNECTIONS: usize = 64;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(3);
const PEOPLE: usize = 1000;
const CHATS: i64 = 100_000;
const MESSAGES: usize = 20;
const TOKEN: &str = "123456789:AAbenchbenchbenchbenchbenchbenchben";
/// What the emulator answers, for the bare route to answer too: the same bytes in and out, and nothing in between.
const ANSWER: &str = r#"{"ok":true,"result":{"message_id":1234,"from":{"id":123456789,"is_bot":true,"first_name":"Bot 123456789","username":"emulated_123456789_bot"},"chat":{"id":100,"first_name":"Person 100","type":"private"},"date":1794776265,"text":"Choose your language","reply_markup":{"inline_keyboard":[[{"text":"English","callback_data":"lang:en"},{"text":"Русский","callback_data":"lang:ru"}]]}}}"#;
const WANTED_CALLS: f64 = 20_000.0;
const AIMED_RATIO: f64 = 0.5;
const WANTED_MIB: f64 = 1024.0;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => serve(),
        Some("fill") => println!("{}", fill()),
        _ => measure(),
    }
}

/// The child: both servers in one process, on one port and with the same threads each.
fn serve() {
    let threads = opora_emulator::worker_threads();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap();
    runtime.block_on(async {
        let emulator = Emulator::new(Settings::default()).unwrap();
        let bare = Router::new().fallback(post(|_: Bytes| async { ANSWER }));
        let (first, second) = (listener().await, listener().await);
        println!("{} {}", first.local_addr().unwrap(), second.local_addr().unwrap());
        let (first, second) =
            tokio::join!(axum::serve(first, emulator.router()).into_future(), axum::serve(second, bare).into_future());
        first.and(second).unwrap();
    });
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

fn measure() {
    let mut child = spawn("serve");
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (emulator, bare) = line.trim().split_once(' ').unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(add_people(emulator));
    println!("{CONNECTIONS} connections, {ROUNDS} rounds of {} s each, sendMessage with a keyboard", ROUND.as_secs());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        ours.push(runtime.block_on(load(emulator)));
        theirs.push(runtime.block_on(load(bare)));
        println!(
            "  round {round}: emulator {:>8.0} calls/s   bare axum {:>8.0} calls/s",
            ours[round - 1],
            theirs[round - 1]
        );
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The rounds are paired: what disturbed one server mostly disturbed the other.
    let ratios: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    let (calls, ratio) = (median(&ours), median(&ratios));
    println!("emulator: {calls:.0} calls/s (median), {ratio:.2} of a bare axum route");
    let mut filler = spawn("fill");
    let mut line = String::new();
    BufReader::new(filler.stdout.take().unwrap()).read_line(&mut line).unwrap();
    filler.wait().unwrap();
    let mib: f64 = line.trim().parse().unwrap();
    println!("memory: {mib:.0} MiB for {CHATS} chats of {MESSAGES} messages");
    if ratio < AIMED_RATIO {
        println!("the ratio is below the {AIMED_RATIO} that is aimed at");
    }
    assert!(calls >= WANTED_CALLS, "fewer than {WANTED_CALLS} calls/s");
    assert!(mib <= WANTED_MIB, "more than {WANTED_MIB} MiB");
}

fn spawn(role: &str) -> Child {
    Command::new(std::env::current_exe().unwrap()).arg(role).stdout(Stdio::piped()).spawn().unwrap()
}

async fn add_people(address: &str) {
    let mut connection = Connection::open(address).await;
    for id in 1..=PEOPLE {
        let body = format!(r#"{{"first_name":"Person {id}","id":{id}}}"#);
        connection.exchange(&request(address, &format!("/client/{TOKEN}/users"), &body)).await;
    }
}

/// Calls for one round over all connections; calls a second.
async fn load(address: &str) -> f64 {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut tasks = Vec::new();
    for first in 0..CONNECTIONS {
        let (stop, count, address) = (stop.clone(), count.clone(), address.to_owned());
        tasks.push(tokio::spawn(async move {
            let mut connection = Connection::open(&address).await;
            let requests: Vec<String> = (0..16).map(|turn| send_message(&address, first * 16 + turn)).collect();
            for request in requests.iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                connection.exchange(request).await;
                count.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    let started = Instant::now();
    tokio::time::sleep(ROUND).await;
    let calls = count.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    calls
}

fn send_message(address: &str, number: usize) -> String {
    let chat = number % PEOPLE + 1;
    let body = format!(
        r#"{{"chat_id":{chat},"text":"Choose your language","reply_markup":{{"inline_keyboard":[[{{"text":"English","callback_data":"lang:en"}},{{"text":"Русский","callback_data":"lang:ru"}}]]}}}}"#
    );
    request(address, &format!("/bot{TOKEN}/sendMessage"), &body)
}

fn request(address: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// The least HTTP client there is: one request at a time, answers with a length.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: vec![0; 64 << 10] }
    }

    async fn exchange(&mut self, request: &str) {
        self.stream.write_all(request.as_bytes()).await.unwrap();
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[filled..]).await.unwrap();
            assert!(read > 0, "the server closed the connection");
            filled += read;
            if complete(&self.buffer[..filled]) {
                return;
            }
        }
    }
}

fn complete(answer: &[u8]) -> bool {
    let Some(head) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return false;
    };
    let text = std::str::from_utf8(&answer[..head]).unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    answer.len() >= head + 4 + length.parse::<usize>().unwrap()
}

/// Fills a world through the functions that every call uses; resident memory in MiB afterwards.
fn fill() -> f64 {
    use opora_emulator::token::Token;
    use opora_emulator::world::content::{Content, TextWithEntities};
    use opora_emulator::world::limit::Limits;
    use opora_emulator::world::update::UpdateKind;
    use opora_emulator::world::user::User;
    use opora_emulator::world::{NewMessage, World};
    let mut world = World::new(Token::parse(TOKEN).unwrap(), Limits::Off);
    let me = world.me.id;
    for id in 1..=CHATS {
        let first_name = format!("Person {id}").into();
        let user = User { id, is_bot: false, first_name, last_name: None, username: None, language_code: None };
        world.put_user(user);
        for message in 0..MESSAGES {
            let text = format!("Message {message} of chat {id}: the shift is planned for tomorrow, 9:00").into();
            let content = Content::Text(TextWithEntities { text, entities: Box::default() });
            let from = if message % 2 == 0 { id } else { me };
            let said = world.post(id, NewMessage { from, content, markup: None, extra: None }).unwrap();
            if from == id {
                world.queue_message(UpdateKind::Message, id, said);
            }
        }
    }
    resident_mib()
}

fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    kib.trim().trim_end_matches(" kB").trim().parse::<f64>().unwrap() / 1024.0
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
