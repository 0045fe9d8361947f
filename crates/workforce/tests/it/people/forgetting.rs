//! A kill after a person was forgotten in the database: the next start also removes what the store keeps.

use opora::store::Filter;
use workforce::domain::Domain;
use workforce::people::forget_queue;

use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::{ANNA, until};
use crate::kit::firm::{StorageKind, TestStorage, embedded_and_on_servers};
use crate::kit::stored_data;
use crate::onboarding::process::{hire, presses};
use crate::operator;

embedded_and_on_servers! {
    a_kill_before_the_store_forgets_is_recovered,
    a_kill_after_the_store_forgot_is_recovered,
}

async fn a_kill_before_the_store_forgets_is_recovered(kind: StorageKind) {
    kill_at(kind, "forgetting.before_store", true).await;
}

async fn a_kill_after_the_store_forgot_is_recovered(kind: StorageKind) {
    kill_at(kind, "forgetting.after_store", false).await;
}

/// Anna is in the middle of the questionnaire when she is forgotten.
async fn kill_at(kind: StorageKind, place: &str, is_still_kept: bool) {
    let (storage, emulator) = (TestStorage::with_tables(kind).await, start_emulator().await);
    hire(&storage).await;
    let process = AppProcess::start(&storage, &emulator, &[("OPORA_FAILPOINTS", &format!("{place}=pause"))]);
    emulator.says(ANNA, "/start").await;
    presses(&emulator, ANNA, "📝 Questionnaire").await;
    presses(&emulator, ANNA, "I agree").await;
    emulator.receives(ANNA, "1/8").await;
    emulator.says(ANNA, "Annie the painter").await;
    emulator.receives(ANNA, "2/8").await;
    let (database, folder) = (storage.database.url(), storage.folder.path().to_str().unwrap());
    let forget = ["people", "forget", "1001", "--yes"];
    operator::run(&[("DATABASE_URL", &database), ("DATA_DIR", folder)], &forget).await.success();
    process.wait_for_log(&format!("failpoint {place}")).await;
    process.kill().await;
    let domain = Domain::open_for_command(&storage.database).await.unwrap();
    assert_eq!(forget_queue::pending(&domain).await.unwrap(), [ANNA], "the note is there");
    assert_eq!(has_conversation(&storage).await, is_still_kept);

    let process = AppProcess::start(&storage, &emulator, &[]);
    let is_done = async || forget_queue::pending(&domain).await.unwrap().is_empty().then_some(());
    until("the note is gone", is_done).await;
    process.stop().await;
    domain.close().await.unwrap();
    assert!(!has_conversation(&storage).await);
    assert!(!stored_data::dump(&storage).await.contains("Annie the painter"));
    emulator.stop().await;
}

/// Whether the store has a conversation of Anna's.
async fn has_conversation(storage: &TestStorage) -> bool {
    let store = opora::store::open_existing(&storage.state).await.unwrap();
    let rows = store.list(&Filter { user: Some(ANNA), ..Filter::default() }, None, 10).await.unwrap();
    store.close().await.unwrap();
    !rows.is_empty()
}
