//! `opora doctor`: before the first start, beside a running product, and with broken settings.

use opora::clock::Clock;
use opora_testkit::redis_server::RedisServer;

use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::Demo;
use crate::kit::firm::{StorageKind, TestStorage, on_every_database};
use crate::operator::{CommandOutput, run};

on_every_database! {
    before_the_first_start_it_notes_what_is_missing,
    beside_a_running_product_it_shows_the_leader,
}

/// Runs `opora doctor`. Variables in `more` override the defaults.
pub async fn run_doctor(storage: &TestStorage, emulator: &Demo, more: &[(&str, &str)]) -> CommandOutput {
    let (database, folder) = (storage.database.url(), storage.folder.path().to_str().unwrap());
    let mut variables = vec![
        ("BOT_TOKEN", emulator.token.as_str()),
        ("BOT_API_URL", emulator.base.as_str()),
        ("STATE_URL", storage.state.as_str()),
        ("DATABASE_URL", database.as_str()),
        ("DATA_DIR", folder),
        ("WEB_LISTEN", "127.0.0.1:0"),
    ];
    variables.extend(more);
    run(&variables, &["doctor"]).await
}

/// Whether a line begins with these two words and contains the others.
pub fn has_line(told: &str, begins: [&str; 2], words: &[&str]) -> bool {
    told.lines().any(|line| {
        let first: Vec<_> = line.split_whitespace().take(2).collect();
        first == begins && words.iter().all(|word| line.contains(word))
    })
}

async fn before_the_first_start_it_notes_what_is_missing(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    let report = run_doctor(&storage, &emulator, &[]).await.success().stdout;
    for (begins, words) in [
        (["ok", "version"], &["opora 0."][..]),
        (["ok", "bot"], &["@", emulator.base.as_str()]),
        (["ok", "updates"], &["by polling"]),
        (["ok", "clock"], &["agrees"]),
        (["note", "database"], &[]),
        (["note", "conversations"], &[]),
        (["note", "files"], &["does not exist yet"]),
        (["ok", "pages"], &["is free"]),
    ] {
        assert!(has_line(&report, begins, words), "{begins:?} {words:?}: {report}");
    }
    // The doctor has created nothing.
    let again = run_doctor(&storage, &emulator, &[]).await.success().stdout;
    assert!(has_line(&again, ["note", "conversations"], &[]), "{again}");
}

async fn beside_a_running_product_it_shows_the_leader(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::new(kind).await, start_emulator().await);
    let product = AppProcess::start(&storage, &emulator, &[]);
    let web = product.web_address().await;
    let web = web.trim_start_matches("http://");
    let told = crate::kit::demo::until("a lease", async || {
        let report = run_doctor(&storage, &emulator, &[("WEB_LISTEN", web)]).await.success().stdout;
        has_line(&report, ["ok", "lease"], &["runs this bot"]).then_some(report)
    })
    .await;
    assert!(
        has_line(&told, ["ok", "database"], &[]) && has_line(&told, ["ok", "conversations"], &["0 open"]),
        "{told}"
    );
    assert!(has_line(&told, ["note", "pages"], &["is in use"]), "{told}");
    product.stop().await;
}

#[tokio::test]
async fn all_problems_are_reported_with_advice_and_no_secrets() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    let file = storage.folder.path().join("a file");
    std::fs::write(&file, "in the way").unwrap();
    let files = format!("file:{}/files", file.display());
    let wrong = [
        ("BOT_API_URL", "http://opora:hunter2@127.0.0.1:1/hunter2"),
        ("STATE_URL", "redis://:hunter2@127.0.0.1:1/0"),
        ("DATABASE_URL", "postgres://opora:hunter2@127.0.0.1:1/opora"),
        ("FILES_URL", files.as_str()),
    ];
    let done = run_doctor(&storage, &emulator, &wrong).await;
    let report = &done.stdout;
    for what in ["bot", "database", "conversations", "redis", "files", "privacy"] {
        assert!(has_line(report, ["TROUBLE", what], &[]), "{what}: {report}");
    }
    assert!(has_line(report, ["TROUBLE", "bot"], &["http://127.0.0.1:1 does not work"]), "{report}");
    assert!(has_line(report, ["note", "clock"], &[]), "{report}");
    assert!(report.contains("BOT_API_URL") && report.contains("whether the server runs"), "{report}");
    let all = format!("{report}{}", done.stderr);
    assert!(!all.contains("hunter2") && !all.contains(&emulator.token), "{all}");
    done.fails_with(&["6 problems have to be fixed"]);
}

#[tokio::test]
async fn the_bot_api_address_is_shown_without_credentials() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    let secret = emulator.base.replace("http://", "http://opora:hunter2@");
    let done = run_doctor(&storage, &emulator, &[("BOT_API_URL", &secret)]).await.success();
    assert!(has_line(&done.stdout, ["ok", "bot"], &[&emulator.base]), "{}", done.stdout);
    assert!(!format!("{}{}", done.stdout, done.stderr).contains("hunter2"), "{}", done.stdout);
}

#[tokio::test]
async fn each_configuration_mistake_is_a_finding() {
    let wrong = [("BOT_TOKEN", "no token"), ("WEB_LISTEN", "everywhere")];
    let done = run(&wrong, &["doctor", "--json"]).await;
    let findings: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let findings = findings.as_array().unwrap();
    assert!(findings.len() >= 2, "{findings:?}");
    for finding in findings {
        assert_eq!((finding["what"].as_str(), finding["health"].as_str()), (Some("configuration"), Some("trouble")));
    }
    done.fails_with(&["problems have to be fixed"]);
}

#[tokio::test]
async fn a_refused_token_is_reported_with_advice() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    let fault = serde_json::json!({"method": "getMe", "status": 401, "description": "Unauthorized"});
    emulator.post("/faults", fault).await;
    let done = run_doctor(&storage, &emulator, &[]).await;
    assert!(has_line(&done.stdout, ["TROUBLE", "bot"], &["does not know this token"]), "{}", done.stdout);
    assert!(done.stdout.contains("@BotFather") && !done.stdout.contains(&emulator.token), "{}", done.stdout);
    done.fails_with(&["one problem has to be fixed"]);
    // The fault is gone, so the doctor is satisfied again.
    run_doctor(&storage, &emulator, &[]).await.success();
}

#[tokio::test]
async fn a_wrong_clock_is_reported_in_seconds() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    for (hours, way) in [(-1, "ahead"), (1, "behind")] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let then = Clock::machine().now().0 + hours * 3_600_000;
        let date = chrono::DateTime::from_timestamp_millis(then).unwrap().to_rfc2822();
        let pages = axum::Router::new().fallback(async move || [(axum::http::header::DATE, date)]);
        let server = tokio::spawn(axum::serve(listener, pages).into_future());
        let done = run_doctor(&storage, &emulator, &[("BOT_API_URL", &base)]).await;
        let words = ["s", way, "of the Bot API"];
        assert!(has_line(&done.stdout, ["TROUBLE", "clock"], &words), "{way}: {}", done.stdout);
        assert!(done.stdout.contains("set-ntp true"), "{}", done.stdout);
        server.abort();
    }
}

#[tokio::test]
async fn a_wrong_configuration_file_is_reported_as_json_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.toml");
    std::fs::write(&file, "colour = \"red\"\nsend_limits = \"none\"\nbot_token = \"hunter2\"\n").unwrap();
    for (file, words) in [
        (file.to_str().unwrap(), &["unknown settings: colour", "`none` is not telegram", "BOT_TOKEN in"][..]),
        ("/nowhere.toml", &["there is no configuration file", "BOT_TOKEN is missing"]),
    ] {
        let done = run(&[], &["doctor", "--json", "--config", file]).await;
        let findings: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        let found: Vec<_> = findings.as_array().unwrap().iter().map(|one| one["found"].as_str().unwrap()).collect();
        for words in words {
            assert!(found.iter().any(|found| found.contains(words)), "{words}: {found:?}");
        }
        assert!(!done.stdout.contains("hunter2"), "{}", done.stdout);
    }
}

#[tokio::test]
async fn redis_settings_are_checked() {
    let (storage, emulator) = (TestStorage::new(StorageKind::Sqlite).await, start_emulator().await);
    let state = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "everysec"]);
    let cache = RedisServer::start(&["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"]);
    let (state_url, cache_url) = (state.url(), cache.url());
    let places = [("STATE_URL", state_url.as_str()), ("CACHE_URL", &cache_url)];
    let report = run_doctor(&storage, &emulator, &places).await.success().stdout;
    assert!(has_line(&report, ["note", "redis"], &["evicts nothing", "may lose the last second"]), "{report}");
    assert!(has_line(&report, ["ok", "cache"], &["Redis "]), "{report}");
    assert!(
        has_line(&report, ["ok", "disk"], &["free on the disk of"])
            || has_line(&report, ["note", "disk"], &["free on the disk of"]),
        "{report}"
    );
    assert_eq!(cache.command(&["DBSIZE"]), redis::Value::Int(0), "it changes nothing");
    state.command(&["CONFIG", "SET", "appendfsync", "always"]);
    let report = run_doctor(&storage, &emulator, &places).await.success().stdout;
    assert!(has_line(&report, ["ok", "redis"], &["a restart loses nothing"]), "{report}");
    state.command(&["CONFIG", "SET", "maxmemory", "64mb"]);
    state.command(&["CONFIG", "SET", "maxmemory-policy", "volatile-lru"]);
    let nowhere = [("STATE_URL", state_url.as_str()), ("CACHE_URL", "redis://:hunter2@127.0.0.1:1/0")];
    let done = run_doctor(&storage, &emulator, &nowhere).await;
    assert!(has_line(&done.stdout, ["TROUBLE", "redis"], &["volatile-lru"]), "{}", done.stdout);
    assert!(done.stdout.contains("set maxmemory-policy noeviction"), "{}", done.stdout);
    assert!(has_line(&done.stdout, ["note", "cache"], &["127.0.0.1:1"]) && !done.stdout.contains("hunter2"));
    done.fails_with(&["one problem has to be fixed"]);
}
