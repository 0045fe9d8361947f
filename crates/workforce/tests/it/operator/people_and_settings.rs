//! `opora people`, `opora settings` and `opora migrate` on the application's database.

use crate::kit::firm::{StorageKind, TestStorage, on_every_database};
use crate::operator::run;

on_every_database! {
    the_first_owner_is_granted_on_the_command_line,
    settings_are_listed_changed_and_refused,
    migrations_can_be_run_by_hand,
}

async fn the_first_owner_is_granted_on_the_command_line(kind: StorageKind) {
    let storage = TestStorage::new(kind).await;
    let database = storage.database.url();
    let opora = |arguments: &[&str]| {
        let arguments: Vec<String> = ["people"].iter().chain(arguments).map(|&word| word.to_owned()).collect();
        let database = database.clone();
        async move {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            run(&[("DATABASE_URL", database.as_str())], &arguments).await
        }
    };
    let granted = opora(&["grant", "1001", "owner", "--name", "Анна Петрова"]).await.success();
    assert_eq!(granted.stdout, "1001 is owner now\n");
    opora(&["grant", "1001", "superadmin"]).await.success();
    let domain = storage.domain().await;
    let people = workforce::people::People::new(domain.clone());
    let is_test = async |number: i64| people.by_telegram(number).await.unwrap().unwrap().is_test;
    assert!(!is_test(1001).await, "a person is no test user by default");
    let granted = opora(&["grant", "1003", "employee", "--test"]).await.success();
    assert!(granted.stdout.contains("any PIN signs in while enable_test_users is true"), "{}", granted.stdout);
    assert!(is_test(1003).await);
    opora(&["grant", "1003", "employee", "--test", "false"]).await.success();
    assert!(!is_test(1003).await);
    domain.close().await.unwrap();
    opora(&["grant", "1002", "employee", "--language", "en"]).await.success();
    let listed = opora(&["list"]).await.success().stdout;
    let line = |words: [&str; 4]| listed.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(line(["1001", "verified", "Анна Петрова", "owner, superadmin"]), "{listed}");
    assert!(line(["1002", "verified", "1002", "employee"]) && listed.ends_with("3 people\n"), "{listed}");
    opora(&["revoke", "1001", "superadmin"]).await.success();
    opora(&["revoke", "1001", "superadmin"]).await.fails_with(&["1001 is not superadmin"]);
    opora(&["revoke", "7", "owner"]).await.fails_with(&["no person has the Telegram id 7"]);
    let boss = opora(&["grant", "1001", "boss"]).await;
    assert!(boss.code == Some(2) && boss.stderr.contains("dispatcher"), "{}", boss.stderr);
}

async fn settings_are_listed_changed_and_refused(kind: StorageKind) {
    let storage = TestStorage::new(kind).await;
    let database = storage.database.url();
    let variables = [("DATABASE_URL", database.as_str())];
    let listed = run(&variables, &["settings", "list"]).await.success().stdout;
    let shown = |name: &str, value: &str| {
        listed.lines().any(|line| line.split_whitespace().collect::<Vec<_>>() == [name, value])
    };
    assert!(shown("enable_test_users", "false") && shown("mandatory_task_penalty", "50.00"), "{listed}");
    let set = run(&variables, &["settings", "set", "mandatory_task_penalty", "75,5"]).await.success();
    assert_eq!(set.stdout, "mandatory_task_penalty is 75.50 now\n");
    let got = run(&variables, &["settings", "get", "mandatory_task_penalty"]).await.success();
    assert_eq!(got.stdout, "75.50\n");
    let odd = run(&variables, &["settings", "set", "enable_test_users", "perhaps"]).await;
    odd.fails_with(&["`perhaps` is not a valid enable_test_users"]);
    run(&variables, &["settings", "set", "colour", "red"]).await.fails_with(&["there is no setting `colour`"]);
    run(&variables, &["settings", "get", "colour"]).await.fails_with(&["there is no setting `colour`"]);
}

async fn migrations_can_be_run_by_hand(kind: StorageKind) {
    let storage = TestStorage::new(kind).await;
    let database = storage.database.url();
    let first = run(&[], &["migrate", "--database", &database]).await.success().stdout;
    assert!(first.contains("is up to date now: people, settings"), "{first}");
    let second = run(&[], &["migrate", "--database", &database]).await.success().stdout;
    assert!(second.ends_with("is up to date\n"), "{second}");
}

#[tokio::test]
async fn every_command_takes_the_same_configuration_file() {
    let storage = TestStorage::new(StorageKind::Sqlite).await;
    let file = storage.folder.path().join("elsewhere.toml");
    let (database, folder) = (storage.database.url(), storage.folder.path().display());
    std::fs::write(&file, format!("database_url = \"{database}\"\ndata_dir = \"{folder}\"\nbot_token = \"7:x\"\n"))
        .unwrap();
    let config = ["--config", file.to_str().unwrap()];
    run(&[], &[&["people", "grant", "1001", "owner", "--name", "Anna"], &config[..]].concat()).await.success();
    for (command, told) in [
        (&["people", "list"][..], "Anna"),
        (&["settings", "list"], "questions_go_to"),
        (&["state", "list"], ""),
        (&["state", "stats"], ""),
        (&["state", "parked", "list"], "Nothing is parked."),
        (&["state", "lease"], "No leases are held."),
        (&["cleanup", "--dry-run"], ""),
        (&["repair", "registrations"], ""),
        (&["migrate"], "is up to date"),
    ] {
        let done = run(&[], &[command, &config].concat()).await.success();
        assert!(done.stdout.contains(told), "{command:?}: {}", done.stdout);
    }
    // The doctor reads the same file.
    let doctor = run(&[("BOT_API_URL", "http://127.0.0.1:1")], &["doctor", config[0], config[1]]).await;
    assert!(doctor.stdout.contains(&*storage.folder.path().to_string_lossy()), "{}", doctor.stdout);
}

#[tokio::test]
async fn an_unreachable_database_is_named_without_password() {
    let address = "postgres://opora:hunter2@127.0.0.1:1/opora";
    let refused = run(&[("DATABASE_URL", address)], &["people", "list"]).await;
    refused.fails_with(&["the PostgreSQL at 127.0.0.1:1/opora"]);
    assert!(!refused.stderr.contains("hunter2"), "{}", refused.stderr);
    run(&[("DATABASE_URL", "mysql://x")], &["people", "list"])
        .await
        .fails_with(&["neither sqlite:<path> nor postgres"]);
}
