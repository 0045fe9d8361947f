//! PostgreSQL for tests: a schema in a shared server, or a server of the test's own.
//!
//! PostgreSQL refuses to run as root. If the test runs as root, the server runs as `postgres`, or else as `nobody`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Connection, PgConnection};

use crate::postgres_copies::SCHEMA;
use crate::server_process::random_number;
use crate::{environment, postgres_copies, server_process};

const NAME: &str = "postgres";
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// Stands for the schema's name in a dump.
const DUMPED_SCHEMA: &str = "dumped_schema";

/// A PostgreSQL server for one test. It ends when this value is dropped.
#[derive(Debug)]
pub struct PostgresServer {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
    settings: Vec<String>,
}

/// A schema for one test, in a server that other tests may share. Dropping it drops the schema, or its database.
#[derive(Debug)]
pub struct PostgresSchema {
    /// The address, with the schema.
    pub url: String,
    /// The address without the schema.
    base_url: String,
    schema: String,
    server: Option<PostgresServer>,
    /// The address of the shared server, if the schema has a database of its own there.
    own_database_at: Option<String>,
}

impl PostgresServer {
    /// Starts a server. `settings` are lines of the configuration file, `name=value`.
    pub fn start(settings: &[&str]) -> Self {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let folder = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o711)).tempdir().unwrap();
        make_files(&folder.path().join("data"));
        let (port, child) = server_process::start(NAME, |port| run(port, folder.path(), &settings));
        Self { child, port, folder, settings }
    }

    /// The port, also after a kill.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of the database `postgres`.
    pub fn url(&self) -> String {
        address(self.port)
    }

    /// Replaces `pg_hba.conf` with these rules.
    pub async fn set_access_rules(&self, rules: &[&str]) {
        fs::write(self.folder.path().join("data/pg_hba.conf"), rules.join("\n")).unwrap();
        query(&self.url(), "SELECT pg_reload_conf()").await;
    }

    /// Stops the server at once, like a crash. The next start has to recover the files.
    pub fn kill(&mut self) {
        self.end(Signal::QUIT);
    }

    /// Kills every process of the server with SIGKILL.
    pub fn kill_all(&mut self) {
        let server = self.child.id();
        let started = fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let started: Vec<i32> = started.split_whitespace().map(|process| process.parse().unwrap()).collect();
        for process in started.iter().filter_map(|process| Pid::from_raw(*process)) {
            // The process may have ended by itself.
            let _ = kill_process(process, Signal::KILL);
        }
        // A process that still runs would keep the next server from using the files.
        let began = Instant::now();
        while started.iter().any(|process| lives(*process)) {
            assert!(began.elapsed() < STARTS_WITHIN, "{started:?} live on");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Pauses every process. Connections stay open and get no answer.
    pub fn pause(&self) {
        self.signal_all(Signal::STOP);
    }

    /// Resumes the processes after [`Self::pause`].
    pub fn resume(&self) {
        self.signal_all(Signal::CONT);
    }

    fn signal_all(&self, signal: Signal) {
        let server = self.child.id();
        let started = fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
        let all = started.split_whitespace().map(|process| process.parse().unwrap()).chain([server as i32]);
        for process in all.filter_map(Pid::from_raw) {
            // A session may have ended in the meantime.
            let _ = kill_process(process, signal);
        }
    }

    /// Starts the server again on the same files and port.
    pub fn start_again(&mut self) {
        // Processes of the killed server may still hold its shared memory for a moment.
        let start = || run(self.port, self.folder.path(), &self.settings);
        self.child = server_process::start_again(NAME, STARTS_WITHIN, start);
    }

    fn end(&mut self, farewell: Signal) {
        if let Some(process) = Pid::from_raw(self.child.id() as i32)
            && self.child.try_wait().unwrap().is_none()
        {
            kill_process(process, farewell).unwrap();
        }
        self.child.wait().unwrap();
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.end(Signal::QUIT);
    }
}

impl PostgresSchema {
    /// Creates a schema in the shared PostgreSQL, or in a new server if there is none.
    pub async fn new() -> Self {
        match environment::database_url() {
            Some(url) => Self::at(url, None).await,
            None => {
                let server = PostgresServer::start(&[]);
                Self::at(server.url(), Some(server)).await
            }
        }
    }

    /// Creates a schema with tables, in a database of its own if there is a shared PostgreSQL. `create_tables` makes
    /// them at an address, once for all tests of a program; the others copy them. In a new server the schema is empty.
    pub async fn with_tables(create_tables: impl AsyncFnOnce(String)) -> Self {
        let Some(server_url) = environment::database_url() else { return Self::new().await };
        let base_url = postgres_copies::create(&server_url, create_tables).await;
        let (url, schema) = (postgres_copies::with_schema(&base_url, SCHEMA), SCHEMA.to_owned());
        Self { url, base_url, schema, server: None, own_database_at: Some(server_url) }
    }

    async fn at(base_url: String, server: Option<PostgresServer>) -> Self {
        let schema = format!("opora_test_{}_{:016x}", std::process::id(), random_number());
        query(&base_url, &format!("CREATE SCHEMA {schema}")).await;
        let url = postgres_copies::with_schema(&base_url, &schema);
        Self { url, base_url, schema, server, own_database_at: None }
    }

    /// Everything in the schema as SQL, with the schema named `DUMPED_SCHEMA`. Leaves out comments and lines that only
    /// the newest servers and clients understand.
    pub fn dump(&self) -> String {
        let mut pg_dump = Command::new(programs().join("pg_dump"));
        pg_dump.args(["--no-owner", "--no-privileges", "--inserts", "--schema", &self.schema, &self.base_url]);
        let done = pg_dump.output().unwrap();
        assert!(done.status.success(), "pg_dump says {}", String::from_utf8_lossy(&done.stderr));
        let sql = String::from_utf8(done.stdout).unwrap().replace(&self.schema, DUMPED_SCHEMA);
        let left_out = ["--", "\\restrict ", "\\unrestrict ", "SET transaction_timeout "];
        let lines =
            sql.lines().filter(|line| !line.is_empty() && !left_out.iter().any(|start| line.starts_with(start)));
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    pub async fn restore(&self, dump: &str) {
        query(&self.base_url, &format!("DROP SCHEMA {} CASCADE", self.schema)).await;
        query(&self.base_url, &dump.replace(DUMPED_SCHEMA, &self.schema)).await;
    }

    pub async fn empty(&self) {
        let schema = &self.schema;
        query(&self.base_url, &format!("DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema}")).await;
    }

    /// The number of tables in the schema, including the application's.
    pub async fn table_count(&self) -> i64 {
        let mut connection = PgConnection::connect(&self.base_url).await.unwrap();
        let count = sqlx::query_scalar("SELECT count(*) FROM pg_tables WHERE schemaname = $1").bind(&self.schema);
        count.fetch_one(&mut connection).await.unwrap()
    }
}

impl Drop for PostgresSchema {
    fn drop(&mut self) {
        // The server ends with its tables.
        if self.server.is_some() {
            return;
        }
        let (base_url, drop) = (self.base_url.clone(), format!("DROP SCHEMA {} CASCADE", self.schema));
        let shared_server = self.own_database_at.take();
        let sweeping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                match shared_server {
                    Some(server) => postgres_copies::remove(&server, &base_url).await,
                    None => query(&base_url, &drop).await,
                }
            });
        });
        // A schema that is left behind does no harm.
        let _ = sweeping.join();
    }
}

/// Runs a statement on its own connection.
pub async fn query(url: &str, statement: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    // A statement that drops tables under a running bot may be the victim of a deadlock. It is repeated.
    let is_deadlock =
        |error: &sqlx::Error| error.as_database_error().is_some_and(|error| error.code() == Some("40P01".into()));
    loop {
        match sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(&mut connection).await {
            Err(error) if is_deadlock(&error) => {}
            done => break done.map(|_| ()).unwrap(),
        }
    }
    connection.close().await.unwrap();
}

fn address(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres")
}

/// Creates the files of an empty server. `initdb` runs once; each test gets a copy.
fn make_files(data: &Path) {
    let copied_files = target_tmp().join("postgres-files");
    if !copied_files.is_dir() {
        let folder = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o711)).tempdir().unwrap();
        let fresh = folder.path().join("data");
        fs::create_dir(&fresh).unwrap();
        hand_over(&fresh);
        let mut initdb = program("initdb");
        initdb.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--pgdata"]);
        let done = initdb.arg(&fresh).current_dir(folder.path()).stdout(Stdio::null()).status().unwrap();
        assert!(done.success(), "initdb says {done}");
        let copy = copied_files.with_file_name(format!("postgres-files-{:016x}", random_number()));
        copy_all(&fresh, &copy);
        // Another test may have been faster.
        if fs::rename(&copy, &copied_files).is_err() {
            fs::remove_dir_all(&copy).unwrap();
        }
    }
    copy_all(&copied_files, data);
    hand_over(data);
}

/// The folder `target/tmp`, seen from the test's program in `target/<profile>/deps`.
fn target_tmp() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let folder = program.ancestors().nth(3).expect("a test's program lies in a target folder").join("tmp");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn copy_all(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap();
    assert!(done.success(), "cp says {done}");
}

/// Gives a folder to the user that the server runs as.
pub fn hand_over(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    let Some((uid, gid)) = user() else { return };
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        chown(&folder, Some(uid), Some(gid)).unwrap();
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => chown(entry.path(), Some(uid), Some(gid)).unwrap(),
            }
        }
    }
}

/// Starts the server. None if it ended by itself.
fn run(port: u16, folder: &Path, settings: &[String]) -> Option<Child> {
    let mut command = program("postgres");
    command.arg("-D").arg(folder.join("data")).args(["-p", &port.to_string()]);
    for setting in ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=50"] {
        command.args(["-c", setting]);
    }
    for setting in settings {
        command.args(["-c", setting]);
    }
    let log = fs::File::create(folder.join("log")).unwrap();
    let child = command.current_dir(folder).stdout(Stdio::null()).stderr(log).spawn().expect("postgres starts");
    let is_ready = || fs::read_to_string(folder.join("log")).unwrap().contains("ready to accept connections");
    server_process::ready(NAME, child, STARTS_WITHIN, is_ready)
}

/// Whether a process still runs. A zombie does not.
fn lives(process: i32) -> bool {
    let state = fs::read_to_string(format!("/proc/{process}/stat"));
    state.is_ok_and(|state| state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z')))
}

/// A program of PostgreSQL, run as a user that may run it. It ends with this process.
fn program(name: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "QUIT"]);
    if let Some((uid, gid)) = user() {
        command.arg(format!("--reuid={uid}")).arg(format!("--regid={gid}")).arg("--clear-groups");
    }
    command.arg(programs().join(name));
    command
}

/// The folder with the programs of the newest installed version.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is installed");
    let newest = versions.map(|version| version.unwrap().path()).max().expect("PostgreSQL is installed");
    newest.join("bin")
}

/// The user and group ids that the server runs as, if not our own.
fn user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let id = |flag: &str, name: &str| {
        let output = Command::new("id").args([flag, name]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse::<u32>().ok()
    };
    ["postgres", "nobody"].iter().find_map(|name| Some((id("-u", name)?, id("-g", name)?)))
}
