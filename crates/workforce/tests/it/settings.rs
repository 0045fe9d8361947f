//! Settings: typed, with defaults and a history.

use futures_util::future::join_all;
use workforce::domain::{Domain, NotWritten};
use workforce::money::Kopecks;
use workforce::settings::{
    self, CANCEL_NOTICE_HOURS, Change, ENABLE_TEST_USERS, MANDATORY_TASK_PENALTY, RequestedChange, Setting,
};

use crate::kit::firm::{Firm, NOON, StorageKind, on_databases, on_every_database};
use crate::kit::sql::run_sql;

mod page;

on_every_database! {
    a_setting_has_a_default_and_a_history,
    an_unreadable_value_means_the_default,
    an_unreadable_value_can_be_changed,
}

on_databases! {
    [on_sqlite Sqlite, on_postgres Postgres]
    of_concurrent_first_changes_one_succeeds,
}

async fn a_setting_has_a_default_and_a_history(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let kept = &firm.app.settings;
    assert!(!kept.get(&ENABLE_TEST_USERS).await.unwrap());
    assert_eq!(kept.get(&MANDATORY_TASK_PENALTY).await.unwrap(), Kopecks(5000));
    for (text, by) in [("true", None), (" true ", Some(3)), ("false", Some(3))] {
        set(&firm, ENABLE_TEST_USERS.name, text, by).await.unwrap();
    }
    assert!(!kept.get(&ENABLE_TEST_USERS).await.unwrap());
    let change = |old: Option<&str>, new: &str, by| Change {
        name: ENABLE_TEST_USERS.name.into(),
        old: old.map(Into::into),
        new: new.into(),
        at: NOON,
        by,
    };
    let history = kept.history().await.unwrap();
    assert_eq!(history, [change(None, "true", None), change(Some("true"), "false", Some(3))]);
    let refused = set(&firm, ENABLE_TEST_USERS.name, "yes", None).await;
    assert!(matches!(refused, Err(NotWritten::Refused(_))), "{refused:?}");
    assert_eq!(kept.history().await.unwrap().len(), 2);
}

async fn an_unreadable_value_means_the_default(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    set(&firm, ENABLE_TEST_USERS.name, "true", None).await.unwrap();
    let as_number = Setting { name: ENABLE_TEST_USERS.name, default: 7_u32 };
    assert_eq!(firm.app.settings.get(&as_number).await.unwrap(), 7);
}

async fn an_unreadable_value_can_be_changed(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    let sql = "INSERT INTO settings (name, value, changed_at) VALUES ('cancel_notice_hours', 'soon', 0)";
    run_sql(&firm.app.domain, sql).await;
    // An unreadable value is shown as the default, so the default is what the person saw.
    change_hours(&firm.app.domain, "24", 12).await.unwrap();
    assert_eq!(firm.app.settings.get(&CANCEL_NOTICE_HOURS).await.unwrap(), 12);
}

async fn of_concurrent_first_changes_one_succeeds(kind: StorageKind) {
    let firm = Firm::open(kind).await;
    // Two instances, each with its own connection.
    let other = Domain::open_for_command(&firm.storage.database).await.unwrap();
    let saved = (30..50).map(|hours| change_hours(if hours % 2 == 0 { &firm.app.domain } else { &other }, "24", hours));
    let saved = join_all(saved).await;
    let is_stale =
        |one: &Result<(), NotWritten>| matches!(one, Err(NotWritten::Refused(why)) if why.contains("meanwhile"));
    assert_eq!(saved.iter().filter(|one| one.is_ok()).count(), 1, "{saved:?}");
    assert_eq!(saved.iter().filter(|one| is_stale(one)).count(), 19, "{saved:?}");
    assert_eq!(firm.app.settings.history().await.unwrap().len(), 1);
    other.close().await.unwrap();
}

/// Changes the hours, if they are still as the person saw them.
async fn change_hours(domain: &Domain, seen: &'static str, hours: u16) -> Result<(), NotWritten> {
    let wish = RequestedChange { name: CANCEL_NOTICE_HOURS.name, seen: seen.to_owned(), wanted: hours.to_string() };
    domain.write(move |db| Box::pin(settings::set_if_unchanged(db, vec![wish], 1, NOON))).await
}

async fn set(firm: &Firm, name: &'static str, text: &'static str, by: Option<i64>) -> Result<(), NotWritten> {
    firm.app.domain.write(move |db| Box::pin(settings::set(db, name, text, by, NOON))).await
}
