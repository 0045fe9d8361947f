//! `state lease`.

use opora::store::{Commit, Holder, LeaseAnswer, StoreError, Version};
use serde_json::json;

use super::{BOT, StoreFixture, StoreKind, key};

on_every_store! {
    it_names_the_process_that_holds_the_lease,
    it_shows_whether_the_leaders_process_is_gone,
    a_cleared_lease_fences_the_leader,
    with_several_bots_the_lease_to_clear_must_be_named,
}

async fn it_names_the_process_that_holds_the_lease(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    let leases = fixture.json(&["state", "lease"]).await;
    assert_eq!(leases.as_array().unwrap().len(), 1, "{leases}");
    assert_eq!((&leases[0]["bot"], &leases[0]["pid"]), (&json!(BOT), &json!(std::process::id())));
    assert_eq!((&leases[0]["epoch"], &leases[0]["process"]), (&json!(fixture.bot.epoch.0), &json!("running")));
    assert!(leases[0]["since_ms"].as_i64().unwrap() >= fixture.now.0 - 60_000);
    let table = fixture.run(&["state", "lease"]).await.success().stdout;
    assert!(table.contains(&std::process::id().to_string()) && table.contains(" UTC ("), "{table}");
}

async fn it_shows_whether_the_leaders_process_is_gone(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    let mine = fixture.store.lease(BOT).await.unwrap().unwrap().holder;
    let gone = Holder { process_start: mine.process_start + 1, ..mine.clone() };
    let elsewhere = Holder { boot_id: "another machine's".into(), ..mine };
    for (holder, process, words) in [(gone, "gone", "gone"), (elsewhere, "out_of_sight", "cannot be seen from here")] {
        fixture.store.operator().clear_lease(BOT).await.unwrap();
        assert!(matches!(fixture.store.claim(BOT, &holder, None).await.unwrap(), LeaseAnswer::Granted(_)));
        assert_eq!(fixture.json(&["state", "lease", "--bot", "1"]).await[0]["process"], process);
        let table = fixture.run(&["state", "lease"]).await.success().stdout;
        assert!(table.trim_end().ends_with(words), "{table}");
    }
}

async fn a_cleared_lease_fences_the_leader(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    fixture.run(&["state", "lease", "clear"]).await.fails_with(&["Clear the lease of bot 1", "(running)", "--yes"]);
    assert!(fixture.store.lease(BOT).await.unwrap().is_some());
    let done = fixture.run(&["state", "lease", "clear", "--yes"]).await.success();
    assert_eq!(done.stdout.trim(), "The lease of bot 1 is cleared.");
    let late = fixture.store.commit(fixture.bot.epoch, Commit::new(key("1:5:5"), Version(1), fixture.now)).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    assert_eq!(fixture.run(&["state", "lease"]).await.success().stdout.trim(), "No leases are held.");
    fixture.run(&["state", "lease", "clear", "--yes"]).await.fails_with(&["no lease is held"]);
}

async fn with_several_bots_the_lease_to_clear_must_be_named(kind: StoreKind) {
    let fixture = StoreFixture::with_conversations(kind).await;
    let mine = fixture.store.lease(BOT).await.unwrap().unwrap().holder;
    fixture.store.claim(2, &mine, None).await.unwrap();
    fixture.run(&["state", "lease", "clear", "--yes"]).await.fails_with(&["several bots", "--bot"]);
    fixture.run(&["state", "lease", "clear", "--bot", "2", "--yes"]).await.success();
    assert!(fixture.store.lease(2).await.unwrap().is_none() && fixture.store.lease(BOT).await.unwrap().is_some());
}
