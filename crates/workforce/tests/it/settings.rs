//! Settings: typed, with defaults, and with a history of who changed what.

use workforce::domain::NotWritten;
use workforce::settings::{self, Change, ENABLE_TEST_USERS, Kopecks, MANDATORY_TASK_PENALTY, Setting};

use crate::firm::{Firm, Kind, NOON, on_every_database};

on_every_database! {
    a_setting_has_its_default_until_it_is_set_and_a_history_from_then_on,
    what_cannot_be_read_any_more_is_the_default,
}

async fn a_setting_has_its_default_until_it_is_set_and_a_history_from_then_on(kind: Kind) {
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

async fn what_cannot_be_read_any_more_is_the_default(kind: Kind) {
    let firm = Firm::open(kind).await;
    set(&firm, ENABLE_TEST_USERS.name, "true", None).await.unwrap();
    let as_number = Setting { name: ENABLE_TEST_USERS.name, default: 7_u32 };
    assert_eq!(firm.app.settings.get(&as_number).await.unwrap(), 7);
}

async fn set(firm: &Firm, name: &'static str, text: &'static str, by: Option<i64>) -> Result<(), NotWritten> {
    firm.app.domain.write(move |db| Box::pin(settings::set(db, name, text, by, NOON))).await
}
