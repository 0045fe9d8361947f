//! Documents that expire soon: the person and staff are told once per threshold.

use std::collections::BTreeSet;
use std::time::Duration;

use workforce::notices::{self, Notice};
use workforce::person::Role;

use crate::kit::firm::{StorageKind, on_databases};
use crate::kit::sql::run_sql;
use crate::shifts::{Workplace, person};

on_databases! { [sqlite Sqlite, postgres Postgres]
    people_and_staff_are_told_once_per_threshold,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Who has been told, and about whom; empties the list.
async fn told(workplace: &Workplace) -> BTreeSet<(i64, Option<String>)> {
    let unsent = notices::unsent(&workplace.firm.app.domain).await.unwrap();
    run_sql(&workplace.firm.app.domain, "DELETE FROM notices").await;
    let about = |notice| match notice {
        Notice::DocumentExpires { .. } => None,
        Notice::DocumentOfMemberExpires { name, .. } => Some(name),
        other => panic!("{other:?}"),
    };
    let all: Vec<_> = unsent.into_iter().map(|(_, user, notice)| (user, about(notice))).collect();
    let set: BTreeSet<_> = all.iter().cloned().collect();
    assert_eq!(set.len(), all.len(), "a person was told twice");
    set
}

async fn people_and_staff_are_told_once_per_threshold(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let firm = &workplace.firm;
    let [anna, boris] = [firm.member("Anna", &[Role::Employee]).await, firm.member("Boris", &[Role::Employee]).await];
    let [anna, boris] = [person(firm, &anna).await.id, person(firm, &boris).await.id];
    run_sql(&firm.app.domain, "DELETE FROM notices").await;
    // The firm's clock is at 1 January 2026.
    for (id, user, until) in [("a", anna, "2026-02-05"), ("b", boris, "2026-04-01"), ("c", boris, "2025-12-31")] {
        let sql = format!(
            "INSERT INTO documents (id, user_id, kind, media_type, size_bytes, sha256, status, valid_until, created_at)
             VALUES ('{id}', {user}, 'passport', 'image/png', 1, '', 'approved', '{until}', 0)"
        );
        run_sql(&firm.app.domain, sql).await;
    }
    let owner = workplace.owner.id;
    let both = BTreeSet::from([(anna, None), (owner, Some("Anna".to_owned()))]);
    let mut days_with_notices = Vec::new();
    for day in 1..=40 {
        firm.run_job("document-expiry").await;
        firm.run_job("document-expiry").await;
        let told = told(&workplace).await;
        if !told.is_empty() {
            assert_eq!(told, both);
            days_with_notices.push(day);
        }
        firm.stage.clock().advance(DAY);
    }
    // 6 and 29 January: 30 and 7 days before the last day.
    assert_eq!(days_with_notices, [6, 29]);
}
