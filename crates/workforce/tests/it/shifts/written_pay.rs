//! The pay of a shift is calculated once, in the commit that closes it: what people are told is what was written.

use std::time::Duration;

use opora::testing::chat::Stage;
use opora::turn::Context;
use sea_orm::ConnectionTrait;
use workforce::application;
use workforce::money::Money;
use workforce::notices::{self, Notice};
use workforce::shifts::Shifts;

use super::{Yard, chooses, is_here, is_told, opens, person};
use crate::kit::firm::{Kind, on_databases};
use crate::kit::overtaken::Overtaken;

on_databases! { [sqlite Sqlite, redis_and_postgres RedisAndPostgres]
    a_rate_that_changes_before_the_commit_is_told_as_it_is_paid,
    a_task_that_is_marked_before_staff_close_is_told_as_it_is_paid,
}

async fn a_rate_that_changes_before_the_commit_is_told_as_it_is_paid(kind: Kind) {
    let mut yard = Yard::open(kind).await;
    let app = yard.firm.app.clone();
    let store = Overtaken::over(app.domain.store());
    let context = Context::new().with(app.clone());
    yard.firm.stage = Stage::on(application::script(&app.rooms), context, store.clone(), app.clock.clone());
    // The owner's number is taken on the stage before.
    let _ = yard.firm.stage.person("Olga");
    let site = yard.site("Shop", 10_000).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    yard.firm.stage.passes(Duration::from_secs(3600)).await;
    chooses(&anna, "⏹ Close my shift").await;
    anna.presses("Go on to closing").await;
    store
        .by(&yard.firm._ground, |db| {
            Box::pin(async move {
                db.execute_unprepared("UPDATE shifts SET rate_kopecks = 20000").await?;
                Ok(())
            })
        })
        .await;
    is_here(&anna).await;
    assert!(store.has_happened());
    assert_eq!(yard.amounts().await, [("shift_base".to_owned(), 20_000)]);
    is_told(&yard, &anna, "Hours worked: +200.00\u{a0}₽\nTotal: 200.00\u{a0}₽").await;
}

async fn a_task_that_is_marked_before_staff_close_is_told_as_it_is_paid(kind: Kind) {
    let yard = Yard::open(kind).await;
    let site = yard.site("Shop", 10_000).await;
    yard.task(site, None, "Sweep", 5_000).await;
    let anna = yard.worker("Anna", &[site], |contract| contract.allows_spontaneous = true).await;
    opens(&anna, "Shop").await;
    yard.firm.stage.passes(Duration::from_secs(3600)).await;
    let doors = Shifts::of_app(&yard.firm.app);
    let shift = doors.active_of(person(&yard.firm, &anna).await.id).await.unwrap().unwrap();
    chooses(&anna, "✅ My tasks").await;
    anna.presses("⬜ Sweep").await;
    doors.close(&yard.owner, shift.id).await.unwrap();
    let paid: i64 = yard.amounts().await.iter().map(|(_, kopecks)| kopecks).sum();
    let (.., told) = notices::untold(&yard.firm.app.domain).await.unwrap().pop().unwrap();
    let Notice::ClosedByStaff { total, .. } = told else { panic!("{told:?}") };
    assert_eq!((total, paid), (Money::from_roubles(150), 15_000));
}
