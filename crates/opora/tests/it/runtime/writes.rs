//! The application's own rows: committed with the turn, or not at all.

use std::sync::Arc;

use opora::prelude::*;
use opora::store::{DomainWrites, Store};
use opora::testing::faulty::{Fault, FaultyStore};

use super::form::{NAME, form};
use crate::stage::{BOT, Running, Stage, memory, until_some};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, States)]
#[states(dialogue = "booking")]
enum Booking {
    Seat,
}

async fn book(turn: &mut Turn, _: Command) -> Step<Booking> {
    turn.say("Which seat?");
    Ok(Next::Go(Booking::Seat))
}

async fn seat(turn: &mut Turn, seat: String) -> Step<Booking> {
    if let Some(refusal) = turn.refusal() {
        let text = format!("No: {refusal}.");
        return turn.refuse(text);
    }
    let person = turn.key().user;
    turn.say(format!("Seat {seat} is yours."));
    turn.transact(move |database| {
        Box::pin(async move {
            if seat == "nowhere" {
                sqlx::query("INSERT INTO nowhere VALUES (1)").execute(database.sqlite()).await?;
            }
            sqlx::query("INSERT INTO log (line) VALUES (?)").bind(&seat).execute(database.sqlite()).await?;
            let taken: i64 = sqlx::query_scalar("SELECT count(*) FROM seats WHERE seat = ?")
                .bind(&seat)
                .fetch_one(database.sqlite())
                .await?;
            if taken > 0 {
                return Err(Refusal::because(format!("seat {seat} is taken")));
            }
            let insert = sqlx::query("INSERT INTO seats (seat, person) VALUES (?, ?)").bind(seat).bind(person);
            insert.execute(database.sqlite()).await?;
            Ok(())
        })
    });
    Ok(Next::End)
}

fn booking() -> Dialogue<Booking> {
    Dialogue::new().start(command("book"), book).on(Booking::SEAT, text(), seat)
}

/// The application's tables, in the bot's own file.
async fn with_tables(store: &Arc<dyn Store>) {
    let make = DomainWrites::new(|database| {
        Box::pin(async move {
            // Only the count above prevents that a seat is taken twice.
            for table in ["CREATE TABLE seats (seat TEXT, person INTEGER)", "CREATE TABLE log (line TEXT)"] {
                sqlx::query(table).execute(database.sqlite()).await?;
            }
            Ok(())
        })
    });
    store.write(make).await.unwrap();
}

/// Seats with their people, and the rows of the log table.
async fn rows(store: &Arc<dyn Store>) -> (Vec<(String, i64)>, Vec<String>) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let read = DomainWrites::new(|database| {
        Box::pin(async move {
            let seats = sqlx::query_as("SELECT seat, person FROM seats ORDER BY rowid");
            let seats = seats.fetch_all(database.sqlite()).await?;
            let log = sqlx::query_scalar("SELECT line FROM log ORDER BY rowid").fetch_all(database.sqlite()).await?;
            let _ = sender.send((seats, log));
            Ok(())
        })
    });
    store.write(read).await.unwrap();
    receiver.await.unwrap()
}

#[tokio::test]
async fn rows_commit_with_their_turn_and_a_refusal_undoes_both() {
    let stage = Stage::new().await;
    let store = stage.sqlite().await;
    with_tables(&store).await;
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    let bot = Running::start(stage.bot(&store).dialogue(booking()));
    anna.says("/book").await;
    anna.says("7").await;
    anna.receives_exactly(&["Which seat?", "Seat 7 is yours."]).await;
    boris.says("/book").await;
    boris.says("7").await;
    boris.receives_exactly(&["Which seat?", "No: seat 7 is taken."]).await;
    // Nothing of the refused turn is stored: neither its row in the log table, nor its transition.
    assert_eq!(rows(&store).await, (vec![("7".to_owned(), anna.id)], vec!["7".to_owned()]));
    assert_eq!(store.statistics(None).await.unwrap().active, 1);
    boris.says("8").await;
    boris.receives_exactly(&["Which seat?", "No: seat 7 is taken.", "Seat 8 is yours."]).await;
    let (seats, _) = rows(&store).await;
    assert_eq!(seats, [("7".to_owned(), anna.id), ("8".to_owned(), boris.id)]);
    assert_eq!(store.statistics(None).await.unwrap().active, 0);
    bot.stops().await;
}

#[tokio::test]
async fn a_failed_commit_leaves_its_rows_once() {
    for fault in [Fault::Before, Fault::After] {
        let stage = Stage::new().await;
        let faulty = Arc::new(FaultyStore::new(stage.sqlite().await));
        let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
        with_tables(&store).await;
        let anna = stage.person("Anna").await;
        let bot = Running::start(stage.bot(&store).dialogue(booking()));
        anna.says("/book").await;
        anna.receives_exactly(&["Which seat?"]).await;
        faulty.fail_next("commit", 2, fault);
        anna.says("7").await;
        anna.receives_exactly(&["Which seat?", "Seat 7 is yours."]).await;
        assert_eq!(rows(&store).await, (vec![("7".to_owned(), anna.id)], vec!["7".to_owned()]), "{fault:?}");
        bot.stops().await;
    }
}

#[tokio::test]
async fn writes_that_always_fail_are_parked() {
    let stage = Stage::new().await;
    let store = stage.sqlite().await;
    with_tables(&store).await;
    let (anna, boris) = (stage.person("Anna").await, stage.person("Boris").await);
    let bot = Running::start(stage.bot(&store).dialogue(booking()).dialogue(form()));
    anna.says("/book").await;
    anna.says("nowhere").await;
    anna.receives("Something went wrong on our side.").await;
    let parked = store.parked(Some(BOT), 10).await.unwrap();
    assert!(parked.len() == 1 && parked[0].reason.contains("no such table"), "{parked:?}");
    boris.says("/start").await;
    boris.receives_exactly(&[NAME]).await;
    bot.stops().await;
}

#[tokio::test]
async fn writes_without_a_database_are_reported_to_the_operator() {
    let (stage, store) = (Stage::new().await, memory());
    let anna = stage.person("Anna").await;
    let bot = Running::start(stage.bot(&store).dialogue(booking()));
    anna.says("/book").await;
    anna.says("7").await;
    anna.receives("Something went wrong on our side.").await;
    let parked = until_some("the parked turn", async || store.parked(Some(BOT), 10).await.unwrap().pop()).await;
    assert!(parked.reason.contains("memory"), "{parked:?}");
    bot.stops().await;
}
