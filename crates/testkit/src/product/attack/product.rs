//! The product as a process with the emulator, people who can sign in, and a large file.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::process::Child;
use tokio::time::timeout;

use crate::product::demo::{Demo, TIMEOUT, program, until};
use crate::server_process::free_port;

/// Any token.
const TOKEN: &str = "123456789:AAtesttesttesttesttesttesttesttestt";
/// The id of the first test user. Test users sign in with any PIN.
pub const FIRST_PERSON: i64 = 20_000;
/// An owner who is no test user: only the right PIN signs in.
pub const VICTIM: i64 = 10_001;
/// The id of the first person who writes to the bot. The product does not know these people.
pub const FIRST_WRITER: i64 = 30_000;
pub const DOCUMENT: &str = "00112233445566778899aabbccddeeff";

pub struct AttackedProduct {
    pub emulator: Demo,
    pub address: SocketAddr,
    process: Child,
    // Dropped last.
    _folder: TempDir,
}

impl AttackedProduct {
    /// Starts a product with so many owners who can sign in, so many people who write, and a file of this size.
    pub async fn start(owners: usize, writers: usize, file_bytes: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for arguments in [&["migrate"][..], &["settings", "set", "enable_test_users", "true"]] {
            let done = command(folder.path()).args(arguments).stdout(Stdio::null()).status().unwrap();
            assert!(done.success(), "{arguments:?}");
        }
        fill(folder.path(), owners, file_bytes).await;
        let mut emulator = Demo::start().await;
        emulator.token = TOKEN.to_owned();
        for id in (FIRST_WRITER..).take(writers) {
            emulator.post("/users", json!({"id": id, "first_name": "Writer", "language_code": "en"})).await;
        }
        let port = free_port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut run = tokio::process::Command::from(command(folder.path()));
        run.arg("run").env("BOT_API_URL", &emulator.base).env("WEB_LISTEN", address.to_string());
        run.env("RUST_LOG", "warn").kill_on_drop(true);
        let process = run.stdout(Stdio::null()).spawn().unwrap();
        let product = Self { emulator, address, process, _folder: folder };
        until("the product runs", async || product.get(Ipv4Addr::LOCALHOST, "/health", "").await).await;
        product
    }

    pub async fn connect(&self, from: Ipv4Addr) -> Option<TcpStream> {
        let socket = TcpSocket::new_v4().ok()?;
        socket.bind((from, 0).into()).ok()?;
        timeout(TIMEOUT, socket.connect(self.address)).await.ok()?.ok()
    }

    /// Loads a page on a connection of its own.
    pub async fn get(&self, from: Ipv4Addr, path: &str, cookie: &str) -> Option<Answer> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncookie: {cookie}\r\n\r\n");
        self.request(from, &request).await
    }

    async fn request(&self, from: Ipv4Addr, request: &str) -> Option<Answer> {
        let mut stream = self.connect(from).await?;
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut bytes = Vec::new();
        timeout(TIMEOUT, stream.read_to_end(&mut bytes)).await.ok()?.ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
    }

    /// A memory figure of the process in kB: `VmRSS` for the present, `VmHWM` for the peak.
    pub fn memory_kb(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id().unwrap())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub async fn sign_in(&self, person: i64, address: Ipv4Addr) -> Member {
        let guest = Guest::arrive(self, address).await.expect("no sign-in page");
        let answer = guest.log_in(person, "000000").await.expect("no answer to a sign-in");
        assert_eq!(answer.status, 303, "{person} cannot sign in");
        Member { cookie: answer.cookie().expect("a session has a cookie"), address }
    }

    pub async fn close(mut self) {
        kill_process(Pid::from_raw(self.process.id().unwrap() as i32).unwrap(), Signal::TERM).unwrap();
        let ended = timeout(TIMEOUT, self.process.wait()).await.expect("it does not stop").unwrap();
        assert!(ended.success());
        self.emulator.stop().await;
    }
}

#[derive(Clone, Debug)]
pub struct Member {
    pub cookie: String,
    pub address: Ipv4Addr,
}

#[derive(Debug)]
pub struct Guest<'a> {
    product: &'a AttackedProduct,
    address: Ipv4Addr,
    cookie: String,
    csrf: String,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    head: String,
    body: String,
}

impl<'a> Guest<'a> {
    /// Opens the sign-in page. None if it does not come.
    pub async fn arrive(product: &'a AttackedProduct, address: Ipv4Addr) -> Option<Self> {
        let page = product.get(address, "/sign-in", "").await?;
        let csrf = page.body.split_once("name=\"csrf\" value=\"")?.1.split('"').next()?.to_owned();
        Some(Self { product, address, cookie: page.cookie()?, csrf })
    }

    pub async fn log_in(&self, person: i64, pin: &str) -> Option<Answer> {
        self.post("/auth/login", &format!("who={person}&pin={pin}")).await
    }

    pub async fn ask_for_pin(&self, person: i64) -> Option<Answer> {
        self.post("/auth/send-pin", &format!("who={person}")).await
    }

    async fn post(&self, path: &str, fields: &str) -> Option<Answer> {
        let form = format!("{fields}&csrf={}", self.csrf);
        let (cookie, length) = (&self.cookie, form.len());
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncookie: {cookie}\r\ncontent-length: {length}\r\n\
             content-type: application/x-www-form-urlencoded\r\n\r\n"
        );
        self.product.request(self.address, &format!("{head}{form}")).await
    }
}

impl Answer {
    fn cookie(&self) -> Option<String> {
        let mut given = self.head.lines().filter_map(|line| line.strip_prefix("set-cookie: "));
        given.find(|line| !line.contains("Max-Age=0"))?.split(';').next().map(str::to_owned)
    }
}

impl std::fmt::Debug for AttackedProduct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.address.fmt(f)
    }
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(program());
    command.env("BOT_TOKEN", TOKEN).env("DATABASE_URL", database(folder)).env("DATA_DIR", folder);
    command.env("LANGUAGE", "en").env("SEND_LIMITS", "off").env("ONLY_INSTANCE", "false").current_dir(folder);
    command
}

fn database(folder: &Path) -> String {
    format!("sqlite:{}/opora.db", folder.display())
}

/// Adds owners who can sign in, and a document of one of them.
async fn fill(folder: &Path, owners: usize, file_bytes: u64) {
    let options = SqliteConnectOptions::new().filename(folder.join("opora.db"));
    let pool = SqlitePool::connect_with(options).await.unwrap();
    let person =
        "INSERT INTO users (telegram_id, full_name, language, status, enrolled_by, is_test, created_at, updated_at)
        VALUES (?, 'Person', 'en', 'verified', 'grant', ?, 1, 1) RETURNING id";
    let people = [(VICTIM, false)].into_iter().chain((FIRST_PERSON..).take(owners).map(|id| (id, true)));
    for (telegram_id, is_test) in people {
        let id: i64 = sqlx::query_scalar(person).bind(telegram_id).bind(is_test).fetch_one(&pool).await.unwrap();
        let role = "INSERT INTO user_roles (user_id, role) VALUES (?, 'owner')";
        sqlx::query(role).bind(id).execute(&pool).await.unwrap();
    }
    let document = "INSERT INTO documents (id, user_id, kind, media_type, size_bytes, sha256, created_at)
        VALUES (?, 1, 'passport', 'image/jpeg', ?, '', 1)";
    sqlx::query(document).bind(DOCUMENT).bind(file_bytes as i64).execute(&pool).await.unwrap();
    pool.close().await;
    fs::create_dir_all(folder.join("files")).unwrap();
    // A sparse file: it takes no space and reads like any other.
    fs::File::create(folder.join("files").join(DOCUMENT)).unwrap().set_len(file_bytes).unwrap();
}
