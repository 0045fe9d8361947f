//! Many people at once in the chat: a real bot, an emulator, and simultaneous presses.

use chrono::TimeDelta;
use chrono_tz::Europe::Moscow;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use opora::clock::Clock;
use sea_orm::{ConnectionTrait, Statement};
use serde_json::json;
use workforce::sites::{AboutSlot, Hours, Sites, local};

use super::HERE;
use super::concurrency::hire_two_hundred;
use super::photo_pages::create_shop;
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, TIMEOUT};
use crate::kit::firm::{StorageKind, on_databases};
use crate::registration::newcomer::{Action, Newcomer};

on_databases! { [sqlite Sqlite, postgres Postgres]
    double_taps_while_closing_post_amounts_once,
}

// With conversations in Redis the decision record makes it happen once.
on_databases! { [redis_and_postgres RedisAndPostgres, redis_and_sqlite RedisAndSqlite]
    double_taps_while_closing_post_amounts_once,
}

// Where transactions really run side by side. SQLite has one writer.
#[tokio::test]
async fn of_sixty_presses_ten_get_a_place_on_servers() {
    ten_get_a_place(StorageKind::RedisAndPostgres, 60).await;
}

mod all_larger_crowds {
    use super::{StorageKind, ten_get_a_place};
    use crate::kit::firm::on_databases;

    on_databases! { [sqlite Sqlite, postgres Postgres]
        of_two_hundred_presses_ten_get_a_place,
    }

    #[tokio::test]
    async fn of_two_hundred_presses_ten_get_a_place_on_servers() {
        of_two_hundred_presses_ten_get_a_place(StorageKind::RedisAndPostgres).await;
    }

    async fn of_two_hundred_presses_ten_get_a_place(kind: StorageKind) {
        ten_get_a_place(kind, 200).await;
    }
}

/// The answer to a person without a place.
const FULL: &str = "No spots left.";

async fn ten_get_a_place(kind: StorageKind, people: i64) {
    let cabinet = Cabinet::open(kind).await;
    let (owner, sites) = (cabinet.person(ANNA).await, Sites::of_app(&cabinet.app));
    let site = create_shop(&cabinet.app, &[]).await;
    let day = local(Clock::machine().now(), Moscow).date() + TimeDelta::days(2);
    let slot = AboutSlot { capacity: 10, ..AboutSlot::usual(day, Hours::new(9 * 60, 18 * 60)) };
    sites.create_slot(&owner, site, slot).await.unwrap();
    cabinet.app.domain.write(move |db| Box::pin(hire_two_hundred(db, site))).await.unwrap();
    let ids = 50_000..50_000 + people;
    let known = stream::iter(ids.clone()).map(|id| {
        let emulator = &cabinet.emulator;
        async move { emulator.post("/users", json!({"id": id, "first_name": "N", "language_code": "en"})).await }
    });
    known.buffer_unordered(16).map(drop).collect::<()>().await;

    // Everyone opens the slot, then everyone confirms.
    let mut crowd: Vec<_> = ids.map(|id| Newcomer::new(&cabinet.emulator, id, 4 * TIMEOUT)).collect();
    join_all(crowd.iter_mut().map(sees_the_slot)).await;
    let answers = join_all(crowd.iter_mut().map(says_yes)).await;
    let with = |start: &str| answers.iter().filter(|answer| answer.starts_with(start)).count();
    assert_eq!((with("You're signed up: Shop"), with(FULL)), (10, answers.len() - 10), "{answers:?}");
    assert_eq!(count(&cabinet, "SELECT COUNT(*) FROM shift_plans").await, 10);
    assert_eq!(count(&cabinet, "SELECT taken FROM time_slots").await, 10);
    drop(crowd);
    cabinet.close().await;
}

async fn sees_the_slot(person: &mut Newcomer<'_>) {
    person.does(Action::Says("/start")).await;
    person.receives("N, what would you like").await;
    person.presses("🗓 Pick up a shift").await;
    person.receives("Which site?").await;
    person.presses("⚡ Next open shifts").await;
    person.receives("Which shift would you like?").await;
    person.presses_first().await;
    person.receives("Shop\n").await;
}

async fn says_yes(person: &mut Newcomer<'_>) -> String {
    person.presses("Yes, I'll be there").await;
    person.receives("").await;
    person.message_text()
}

async fn double_taps_while_closing_post_amounts_once(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    create_shop(&cabinet.app, &[&cabinet.person(BORIS).await]).await;
    let mut boris = Newcomer::new(&cabinet.emulator, BORIS, TIMEOUT);
    let here = Action::IsAt(HERE.latitude, HERE.longitude);
    for (deed, heard) in [
        (Action::Says("/start"), "Boris, what would you like"),
        (Action::Presses("▶️ Clock in"), "Which shift are you starting?"),
        (Action::Presses("Shop, unscheduled"), "Please share your location to show"),
        (here, "You clocked in at Shop"),
    ] {
        boris.does(deed).await;
        boris.receives(heard).await;
    }
    // The dialogue may be entered twice. The last question counts.
    let begin = Action::Presses("⏹ Clock out");
    tokio::join!(boris.does(begin), boris.does(begin));
    for _ in 0..2 {
        boris.receives("Your tasks:").await;
    }
    for (deed, heard) in [
        (Action::Presses("Continue to clock out"), "Please share your location to clock out"),
        (here, "Your shift at Shop is over"),
    ] {
        tokio::join!(boris.does(deed), boris.does(deed));
        boris.receives(heard).await;
    }
    // When this is answered, both inputs have been processed.
    boris.does(Action::Says("/start")).await;
    boris.receives("Boris, what would you like").await;
    assert_eq!(count(&cabinet, "SELECT COUNT(*) FROM adjustments WHERE kind = 'shift_base'").await, 1);
    assert_eq!(count(&cabinet, "SELECT COUNT(*) FROM adjustments").await, 1);
    let texts = cabinet.emulator.texts(BORIS).await;
    assert_eq!(texts.iter().filter(|text| text.contains("Your shift at Shop is over")).count(), 1, "{texts:?}");
    drop(boris);
    cabinet.close().await;
}

async fn count(cabinet: &Cabinet, sql: &str) -> i64 {
    let db = cabinet.app.domain.read();
    let row = db.query_one_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
    row.unwrap().try_get_by_index(0).unwrap()
}
