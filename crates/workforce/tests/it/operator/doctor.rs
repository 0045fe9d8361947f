//! `opora doctor`: the real program before the first start, beside a running product, and where things are wrong.

use opora::clock::Clock;
use opora_testkit::redis_server::RedisServer;

use crate::kit::demo::Demo;
use crate::kit::firm::{Ground, Kind, on_every_database};
use crate::kit::product::{Run, silent_emulator};
use crate::operator::{Done, run};

on_every_database! {
    before_the_first_start_it_says_what_is_not_there_yet,
    beside_a_running_product_it_finds_who_works_and_disturbs_nobody,
}

/// Asks the doctor; what is said last counts.
pub async fn asked(ground: &Ground, emulator: &Demo, more: &[(&str, &str)]) -> Done {
    let (database, folder) = (ground.database.url(), ground.folder.path().to_str().unwrap());
    let mut variables = vec![
        ("BOT_TOKEN", emulator.token.as_str()),
        ("BOT_API_URL", emulator.base.as_str()),
        ("STATE_URL", ground.state.as_str()),
        ("DATABASE_URL", database.as_str()),
        ("DATA_DIR", folder),
        ("WEB_LISTEN", "127.0.0.1:0"),
    ];
    variables.extend(more);
    run(&variables, &["doctor"]).await
}

/// Whether a line begins with these words and has the others in it.
pub fn tells(told: &str, begins: [&str; 2], words: &[&str]) -> bool {
    told.lines().any(|line| {
        let first: Vec<_> = line.split_whitespace().take(2).collect();
        first == begins && words.iter().all(|word| line.contains(word))
    })
}

async fn before_the_first_start_it_says_what_is_not_there_yet(kind: Kind) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    let told = asked(&ground, &emulator, &[]).await.well().stdout;
    for (begins, words) in [
        (["ok", "version"], &["opora 0."][..]),
        (["ok", "bot"], &["@", emulator.base.as_str()]),
        (["ok", "updates"], &["by polling"]),
        (["ok", "clock"], &["agrees"]),
        (["note", "database"], &[]),
        (["note", "conversations"], &[]),
        (["note", "files"], &["not there yet"]),
        (["ok", "pages"], &["is free"]),
    ] {
        assert!(tells(&told, begins, words), "{begins:?} {words:?}: {told}");
    }
    // It has made nothing.
    let again = asked(&ground, &emulator, &[]).await.well().stdout;
    assert!(tells(&again, ["note", "conversations"], &[]), "{again}");
}

async fn beside_a_running_product_it_finds_who_works_and_disturbs_nobody(kind: Kind) {
    let (ground, emulator) = (Ground::new(kind).await, silent_emulator().await);
    let product = Run::start(&ground, &emulator, &[]);
    let web = product.web().await;
    let web = web.trim_start_matches("http://");
    let told = crate::kit::demo::until("a lease", async || {
        let told = asked(&ground, &emulator, &[("WEB_LISTEN", web)]).await.well().stdout;
        tells(&told, ["ok", "lease"], &["works for this bot"]).then_some(told)
    })
    .await;
    assert!(tells(&told, ["ok", "database"], &[]) && tells(&told, ["ok", "conversations"], &["0 open"]), "{told}");
    assert!(tells(&told, ["note", "pages"], &["is taken"]), "{told}");
    product.stops().await;
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_at_once_with_what_to_do_and_without_secrets() {
    let (ground, emulator) = (Ground::new(Kind::Sqlite).await, silent_emulator().await);
    let file = ground.folder.path().join("a file");
    std::fs::write(&file, "in the way").unwrap();
    let files = format!("file:{}/files", file.display());
    let wrong = [
        ("BOT_API_URL", "http://opora:hunter2@127.0.0.1:1/hunter2"),
        ("STATE_URL", "redis://:hunter2@127.0.0.1:1/0"),
        ("DATABASE_URL", "postgres://opora:hunter2@127.0.0.1:1/opora"),
        ("FILES_URL", files.as_str()),
    ];
    let done = asked(&ground, &emulator, &wrong).await;
    let told = &done.stdout;
    for what in ["bot", "database", "conversations", "redis", "files", "privacy"] {
        assert!(tells(told, ["TROUBLE", what], &[]), "{what}: {told}");
    }
    assert!(tells(told, ["TROUBLE", "bot"], &["http://127.0.0.1:1 does not serve"]), "{told}");
    assert!(tells(told, ["note", "clock"], &[]), "{told}");
    assert!(told.contains("BOT_API_URL") && told.contains("whether the server runs"), "{told}");
    let all = format!("{told}{}", done.stderr);
    assert!(!all.contains("hunter2") && !all.contains(&emulator.token), "{all}");
    done.complains(&["6 things have to be mended"]);
}

#[tokio::test]
async fn of_the_bot_apis_address_only_scheme_and_host_are_told() {
    let (ground, emulator) = (Ground::new(Kind::Sqlite).await, silent_emulator().await);
    let secret = emulator.base.replace("http://", "http://opora:hunter2@");
    let done = asked(&ground, &emulator, &[("BOT_API_URL", &secret)]).await.well();
    assert!(tells(&done.stdout, ["ok", "bot"], &[&emulator.base]), "{}", done.stdout);
    assert!(!format!("{}{}", done.stdout, done.stderr).contains("hunter2"), "{}", done.stdout);
}

#[tokio::test]
async fn a_configuration_that_is_not_right_is_a_finding_for_each_mistake() {
    let wrong = [("BOT_TOKEN", "no token"), ("WEB_LISTEN", "everywhere")];
    let done = run(&wrong, &["doctor", "--json"]).await;
    let findings: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let findings = findings.as_array().unwrap();
    assert!(findings.len() >= 2, "{findings:?}");
    for finding in findings {
        assert_eq!((finding["what"].as_str(), finding["health"].as_str()), (Some("configuration"), Some("trouble")));
    }
    done.complains(&["things have to be mended"]);
}

#[tokio::test]
async fn a_token_that_is_refused_is_told_with_where_to_get_another() {
    let (ground, emulator) = (Ground::new(Kind::Sqlite).await, silent_emulator().await);
    let fault = serde_json::json!({"method": "getMe", "status": 401, "description": "Unauthorized"});
    emulator.post("/faults", fault).await;
    let done = asked(&ground, &emulator, &[]).await;
    assert!(tells(&done.stdout, ["TROUBLE", "bot"], &["does not know this token"]), "{}", done.stdout);
    assert!(done.stdout.contains("@BotFather") && !done.stdout.contains(&emulator.token), "{}", done.stdout);
    done.complains(&["one thing has to be mended"]);
    // Once it is known again all is well.
    asked(&ground, &emulator, &[]).await.well();
}

#[tokio::test]
async fn a_clock_that_differs_is_told_with_the_seconds() {
    let (ground, emulator) = (Ground::new(Kind::Sqlite).await, silent_emulator().await);
    for (hours, way) in [(-1, "ahead"), (1, "behind")] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let then = Clock::machine().now().0 + hours * 3_600_000;
        let date = chrono::DateTime::from_timestamp_millis(then).unwrap().to_rfc2822();
        let pages = axum::Router::new().fallback(async move || [(axum::http::header::DATE, date)]);
        let server = tokio::spawn(axum::serve(listener, pages).into_future());
        let done = asked(&ground, &emulator, &[("BOT_API_URL", &base)]).await;
        let words = ["s", way, "of the Bot API"];
        assert!(tells(&done.stdout, ["TROUBLE", "clock"], &words), "{way}: {}", done.stdout);
        assert!(done.stdout.contains("set-ntp true"), "{}", done.stdout);
        server.abort();
    }
}

#[tokio::test]
async fn a_configuration_file_that_is_not_right_is_told_as_json_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.toml");
    std::fs::write(&file, "colour = \"red\"\nsend_limits = \"none\"\nbot_token = \"hunter2\"\n").unwrap();
    for (file, words) in [
        (file.to_str().unwrap(), &["nobody knows: colour", "`none` is not telegram", "BOT_TOKEN in"][..]),
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
async fn a_redis_is_looked_at_and_its_mistakes_are_told() {
    let (ground, emulator) = (Ground::new(Kind::Sqlite).await, silent_emulator().await);
    let state = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "everysec"]);
    let cache = RedisServer::start(&["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"]);
    let (state_url, cache_url) = (state.url(), cache.url());
    let places = [("STATE_URL", state_url.as_str()), ("CACHE_URL", &cache_url)];
    let told = asked(&ground, &emulator, &places).await.well().stdout;
    assert!(tells(&told, ["note", "redis"], &["throws nothing away", "may lose the last second"]), "{told}");
    assert!(tells(&told, ["ok", "cache"], &["Redis "]), "{told}");
    assert!(tells(&told, ["ok", "disk"], &["is free where"]) || tells(&told, ["note", "disk"], &["is free"]), "{told}");
    assert_eq!(cache.say(&["DBSIZE"]), redis::Value::Int(0), "it changes nothing");
    state.say(&["CONFIG", "SET", "appendfsync", "always"]);
    let told = asked(&ground, &emulator, &places).await.well().stdout;
    assert!(tells(&told, ["ok", "redis"], &["a restart loses nothing"]), "{told}");
    state.say(&["CONFIG", "SET", "maxmemory", "64mb"]);
    state.say(&["CONFIG", "SET", "maxmemory-policy", "volatile-lru"]);
    let nowhere = [("STATE_URL", state_url.as_str()), ("CACHE_URL", "redis://:hunter2@127.0.0.1:1/0")];
    let done = asked(&ground, &emulator, &nowhere).await;
    assert!(tells(&done.stdout, ["TROUBLE", "redis"], &["volatile-lru"]), "{}", done.stdout);
    assert!(done.stdout.contains("set maxmemory-policy noeviction"), "{}", done.stdout);
    assert!(tells(&done.stdout, ["note", "cache"], &["127.0.0.1:1"]) && !done.stdout.contains("hunter2"));
    done.complains(&["one thing has to be mended"]);
}
