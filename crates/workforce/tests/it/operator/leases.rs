//! `state lease`.

use opora::store::{Commit, Holder, LeaseAnswer, StoreError, Version};
use serde_json::json;

use super::{BOT, Kind, Office, key};

on_every_store! {
    it_names_the_process_that_holds_the_lease,
    it_tells_a_process_that_is_gone_from_one_that_it_cannot_see,
    a_cleared_lease_fences_its_holder,
    with_leases_of_several_bots_the_one_to_clear_must_be_named,
}

async fn it_names_the_process_that_holds_the_lease(kind: Kind) {
    let office = Office::at_work(kind).await;
    let leases = office.json(&["state", "lease"]).await;
    assert_eq!(leases.as_array().unwrap().len(), 1, "{leases}");
    assert_eq!((&leases[0]["bot"], &leases[0]["pid"]), (&json!(BOT), &json!(std::process::id())));
    assert_eq!((&leases[0]["epoch"], &leases[0]["process"]), (&json!(office.bot.epoch.0), &json!("running")));
    assert!(leases[0]["since_ms"].as_i64().unwrap() >= office.now.0 - 60_000);
    let table = office.opora(&["state", "lease"]).await.well().stdout;
    assert!(table.contains(&std::process::id().to_string()) && table.contains(" UTC ("), "{table}");
}

async fn it_tells_a_process_that_is_gone_from_one_that_it_cannot_see(kind: Kind) {
    let office = Office::at_work(kind).await;
    let mine = office.store.lease(BOT).await.unwrap().unwrap().holder;
    let gone = Holder { process_start: mine.process_start + 1, ..mine.clone() };
    let elsewhere = Holder { boot_id: "another machine's".into(), ..mine };
    for (holder, process, words) in [(gone, "gone", "gone"), (elsewhere, "out_of_sight", "cannot be seen from here")] {
        office.store.operator().clear_lease(BOT).await.unwrap();
        assert!(matches!(office.store.claim(BOT, &holder, None).await.unwrap(), LeaseAnswer::Granted(_)));
        assert_eq!(office.json(&["state", "lease", "--bot", "1"]).await[0]["process"], process);
        let table = office.opora(&["state", "lease"]).await.well().stdout;
        assert!(table.trim_end().ends_with(words), "{table}");
    }
}

async fn a_cleared_lease_fences_its_holder(kind: Kind) {
    let office = Office::at_work(kind).await;
    office.opora(&["state", "lease", "clear"]).await.complains(&["Clear the lease of bot 1", "(running)", "--yes"]);
    assert!(office.store.lease(BOT).await.unwrap().is_some());
    let done = office.opora(&["state", "lease", "clear", "--yes"]).await.well();
    assert_eq!(done.stdout.trim(), "The lease of bot 1 is cleared.");
    let late = office.store.commit(office.bot.epoch, Commit::new(key("1:5:5"), Version(1), office.now)).await;
    assert!(matches!(late, Err(StoreError::Fenced { .. })), "{late:?}");
    assert_eq!(office.opora(&["state", "lease"]).await.well().stdout.trim(), "Nobody holds a lease.");
    office.opora(&["state", "lease", "clear", "--yes"]).await.complains(&["nobody holds a lease"]);
}

async fn with_leases_of_several_bots_the_one_to_clear_must_be_named(kind: Kind) {
    let office = Office::at_work(kind).await;
    let mine = office.store.lease(BOT).await.unwrap().unwrap().holder;
    office.store.claim(2, &mine, None).await.unwrap();
    office.opora(&["state", "lease", "clear", "--yes"]).await.complains(&["several bots", "--bot"]);
    office.opora(&["state", "lease", "clear", "--bot", "2", "--yes"]).await.well();
    assert!(office.store.lease(2).await.unwrap().is_none() && office.store.lease(BOT).await.unwrap().is_some());
}
