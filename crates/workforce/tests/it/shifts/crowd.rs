//! Many at once through the chat: a real bot, an emulator, and everybody presses at the same moment.

use chrono::TimeDelta;
use chrono_tz::Europe::Moscow;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use opora::clock::Clock;
use sea_orm::{ConnectionTrait, Statement};
use serde_json::json;
use workforce::sites::{AboutSlot, Hours, Sites, local};

use super::HERE;
use super::racing::hire_two_hundred;
use super::shown::shop;
use crate::kit::cabinet::Cabinet;
use crate::kit::demo::{ANNA, BORIS, PATIENCE};
use crate::kit::firm::{Kind, on_databases};
use crate::registration::newcomer::{Deed, Newcomer};

on_databases! { [sqlite Sqlite, postgres Postgres]
    of_two_hundred_who_press_the_same_slots_button_ten_get_a_place_and_the_others_a_polite_answer,
    two_taps_at_every_step_of_closing_make_one_set_of_amounts,
}

// With conversations in Redis it is the record of a decision that makes it once.
on_databases! { [redis_and_postgres RedisAndPostgres, redis_and_sqlite RedisAndSqlite]
    two_taps_at_every_step_of_closing_make_one_set_of_amounts,
}

#[tokio::test]
async fn of_two_hundred_whose_conversations_are_in_redis_ten_get_a_place_as_well() {
    of_two_hundred_who_press_the_same_slots_button_ten_get_a_place_and_the_others_a_polite_answer(
        Kind::RedisAndPostgres,
    )
    .await;
}

/// How a person without a place is told.
const FULL: &str = "No place is left here.";

async fn of_two_hundred_who_press_the_same_slots_button_ten_get_a_place_and_the_others_a_polite_answer(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let (owner, sites) = (cabinet.person(ANNA).await, Sites::of_app(&cabinet.app));
    let site = shop(&cabinet.app, &[]).await;
    let day = local(Clock::machine().now(), Moscow).date() + TimeDelta::days(2);
    let slot = AboutSlot { capacity: 10, ..AboutSlot::usual(day, Hours::new(9 * 60, 18 * 60)) };
    sites.create_slot(&owner, site, slot).await.unwrap();
    cabinet.app.domain.write(move |db| Box::pin(hire_two_hundred(db, site))).await.unwrap();
    let ids = 50_000..50_200_i64;
    let known = stream::iter(ids.clone()).map(|id| {
        let emulator = &cabinet.emulator;
        async move { emulator.post("/users", json!({"id": id, "first_name": "N", "language_code": "en"})).await }
    });
    known.buffer_unordered(16).map(drop).collect::<()>().await;

    // Everybody has the slot before them; then all of them say yes.
    let mut crowd: Vec<_> = ids.map(|id| Newcomer::new(&cabinet.emulator, id, 4 * PATIENCE)).collect();
    join_all(crowd.iter_mut().map(sees_the_slot)).await;
    let answers = join_all(crowd.iter_mut().map(says_yes)).await;
    let with = |start: &str| answers.iter().filter(|answer| answer.starts_with(start)).count();
    assert_eq!((with("Planned: Shop"), with(FULL)), (10, 190), "{answers:?}");
    assert_eq!(count(&cabinet, "SELECT COUNT(*) FROM shift_plans").await, 10);
    assert_eq!(count(&cabinet, "SELECT taken FROM time_slots").await, 10);
    drop(crowd);
    cabinet.close().await;
}

async fn sees_the_slot(person: &mut Newcomer<'_>) {
    person.does(Deed::Says("/start")).await;
    person.hears("N, what would you like").await;
    person.presses("🗓 Plan a shift").await;
    person.hears("At which site?").await;
    person.presses("⚡ Next free places").await;
    person.hears("Which place would you like?").await;
    person.presses_first().await;
    person.hears("Shop\n").await;
}

async fn says_yes(person: &mut Newcomer<'_>) -> String {
    person.presses("Yes, I will come").await;
    person.hears("").await;
    person.heard_text()
}

async fn two_taps_at_every_step_of_closing_make_one_set_of_amounts(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    shop(&cabinet.app, &[&cabinet.person(BORIS).await]).await;
    let mut boris = Newcomer::new(&cabinet.emulator, BORIS, PATIENCE);
    let here = Deed::IsAt(HERE.latitude, HERE.longitude);
    for (deed, heard) in [
        (Deed::Says("/start"), "Boris, what would you like"),
        (Deed::Presses("▶️ Open a shift"), "Which shift do you open?"),
        (Deed::Presses("Shop, without a plan"), "Please share your position, so"),
        (here, "Your shift at Shop is open"),
    ] {
        boris.does(deed).await;
        boris.hears(heard).await;
    }
    // The way in may be taken twice; the question that was asked last counts.
    let begin = Deed::Presses("⏹ Close my shift");
    tokio::join!(boris.does(begin), boris.does(begin));
    for _ in 0..2 {
        boris.hears("Your tasks:").await;
    }
    for (deed, heard) in [
        (Deed::Presses("Go on to closing"), "Please share your position to close"),
        (here, "Your shift at Shop is closed"),
    ] {
        tokio::join!(boris.does(deed), boris.does(deed));
        boris.hears(heard).await;
    }
    // What was said twice has been heard twice when this is answered.
    boris.does(Deed::Says("/start")).await;
    boris.hears("Boris, what would you like").await;
    assert_eq!(count(&cabinet, "SELECT COUNT(*) FROM adjustments WHERE kind = 'shift_base'").await, 1);
    assert_eq!(count(&cabinet, "SELECT COUNT(*) FROM adjustments").await, 1);
    let texts = cabinet.emulator.texts(BORIS).await;
    assert_eq!(texts.iter().filter(|text| text.contains("Your shift at Shop is closed")).count(), 1, "{texts:?}");
    drop(boris);
    cabinet.close().await;
}

async fn count(cabinet: &Cabinet, sql: &str) -> i64 {
    let db = cabinet.app.domain.read();
    let row = db.query_one_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
    row.unwrap().try_get_by_index(0).unwrap()
}
