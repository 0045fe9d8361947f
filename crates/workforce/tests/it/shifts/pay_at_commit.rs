//! The pay of a shift is calculated once, in the commit that closes it. The notice shows what was written.

use std::time::Duration;

use opora::testing::chat::Stage;
use opora::turn::Context;
use workforce::application;
use workforce::money::Money;
use workforce::notices::{self, Notice};
use workforce::shifts::Shifts;

use super::{Workplace, chooses_from_menu, is_notified, opens, person, shares_position};
use crate::kit::firm::{StorageKind, on_databases};
use crate::kit::interleaving_store::InterleavingStore;
use crate::kit::sql::execute;

on_databases! { [sqlite Sqlite, redis_and_postgres RedisAndPostgres]
    a_rate_changed_before_the_commit_is_told_as_paid,
    a_mark_before_the_closing_is_told_as_paid,
}

async fn a_rate_changed_before_the_commit_is_told_as_paid(kind: StorageKind) {
    let mut workplace = Workplace::open(kind).await;
    let app = workplace.firm.app.clone();
    let store = InterleavingStore::new(app.domain.store());
    let context = Context::new().with(app.clone());
    workplace.firm.stage = Stage::on(application::script(&app.rooms), context, store.clone(), app.clock.clone());
    // Takes the person number that the owner has on the old stage.
    let _ = workplace.firm.stage.person("Olga");
    let site = workplace.site("Shop", 10_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    workplace.firm.stage.advance(Duration::from_secs(3600)).await;
    chooses_from_menu(&anna, "⏹ Clock out").await;
    anna.presses("Continue to clock out").await;
    store
        .commit_before_next(&workplace.firm.storage, |db| {
            Box::pin(execute(db, "UPDATE shifts SET rate_kopecks = 20000".into()))
        })
        .await;
    shares_position(&anna).await;
    assert!(store.has_committed());
    assert_eq!(workplace.adjustments().await, [("shift_base".to_owned(), 20_000)]);
    is_notified(&workplace, &anna, "Hours worked: +200\u{a0}₽\nTotal: 200\u{a0}₽").await;
}

async fn a_mark_before_the_closing_is_told_as_paid(kind: StorageKind) {
    let workplace = Workplace::open(kind).await;
    let site = workplace.site("Shop", 10_000).await;
    workplace.task(site, None, "Sweep", 5_000).await;
    let anna = workplace.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    workplace.firm.stage.advance(Duration::from_secs(3600)).await;
    let room = Shifts::of_app(&workplace.firm.app);
    let shift = room.active_of(person(&workplace.firm, &anna).await.id).await.unwrap().unwrap();
    chooses_from_menu(&anna, "✅ My tasks").await;
    anna.presses("⬜ Sweep").await;
    room.close(&workplace.owner, shift.id).await.unwrap();
    let paid: i64 = workplace.adjustments().await.iter().map(|(_, kopecks)| kopecks).sum();
    let (.., told) = notices::unsent(&workplace.firm.app.domain).await.unwrap().pop().unwrap();
    let Notice::ClosedByStaff { total, .. } = told else { panic!("{told:?}") };
    assert_eq!((total, paid), (Money::from_roubles(150), 15_000));
}
