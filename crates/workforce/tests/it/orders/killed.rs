//! The program is killed between any two steps of creating and closing an order: nothing is lost, and nothing happens
//! twice.

use opora::clock::Clock;
use workforce::domain::Domain;
use workforce::people::{self, Grant};
use workforce::person::Role;
use workforce::texts::Language;

use crate::kit::app_process::{AppProcess, start_emulator};
use crate::kit::demo::{ANNA, until};
use crate::kit::firm::{StorageKind, TestStorage, embedded_and_on_servers};
use crate::kit::sql::run_sql;
use crate::shifts::person_chat::{Action, PersonChat, Step};
use crate::shifts::prepared_tables::first_column;

embedded_and_on_servers! {
    a_kill_between_any_two_steps_loses_no_order,
}

/// Anna's answers up to the summary.
const CREATES: &[Step] = &[
    (Action::Says("/start"), "what would you like"),
    (Action::Presses("➕ New order"), "What needs repair?"),
    (Action::Says("Oven"), "What's wrong with it?"),
    (Action::Says("It does not get warm"), "What's the client's name?"),
    (Action::Says("Anna Petrova"), "What's the address?"),
    (Action::Says("Lenin street 5, flat 12"), "What's the client's phone number?"),
    (Action::Says("89991234567"), "Any notes for the master?"),
    (Action::Presses("Skip"), "When should the master come?"),
    (Action::Presses("Skip"), "Please check the order:"),
];

/// She gives the order to herself and closes it.
const CLOSES: &[Step] = &[
    (Action::Presses("✅ Create the order"), "Order no. 1 has been created"),
    (Action::Presses("📄 Open the order"), "[👷 Assign]"),
    (Action::Presses("👷 Assign"), "Who takes this order?"),
    (Action::Chooses("· orders: 0"), "The master has been asked"),
    (Action::Presses("📄 Open the order"), "[✅ Accept]"),
    (Action::Presses("✅ Accept"), "It's yours."),
    (Action::Presses("📄 Open the order"), "[📍 I'm here]"),
    (Action::Presses("📍 I'm here"), "You've arrived."),
    (Action::Presses("📄 Open the order"), "[✅ Complete]"),
    (Action::Presses("✅ Complete"), "What does the client pay"),
    (Action::Says("10000"), "How much of it is for materials?"),
    (Action::Says("2000"), "Did the client leave a review?"),
    (Action::Presses("Yes"), "Was it out of town?"),
    (Action::Presses("No"), "Your share: 4,800"),
    (Action::Presses("✅ Close the order"), "It's closed."),
];

/// Anna is a dispatcher and a master.
async fn prepare(storage: &TestStorage) {
    let (domain, at) = (Domain::open_for_command(&storage.database).await.unwrap(), Clock::machine().now());
    for role in [Role::Dispatcher, Role::Master] {
        let full_name = "Anna Peters".to_owned();
        let grant = Grant { telegram_id: ANNA, full_name, role, language: Language::En, by: None };
        domain.write(move |db| Box::pin(people::grant(db, grant, at))).await.unwrap();
    }
    domain.close().await.unwrap();
}

async fn numbers(storage: &TestStorage, sql: &str) -> Vec<i64> {
    let domain = Domain::open_for_command(&storage.database).await.unwrap();
    let numbers = first_column(&domain, sql).await;
    domain.close().await.unwrap();
    numbers
}

async fn a_kill_between_any_two_steps_loses_no_order(kind: StorageKind) {
    let (storage, emulator) = (TestStorage::with_tables(kind).await, start_emulator().await);
    prepare(&storage).await;
    let anna = PersonChat::of(ANNA, &emulator);
    for step in CREATES.iter().chain(CLOSES) {
        let process = AppProcess::start(&storage, &emulator, &[]);
        anna.take_step(step).await;
        process.kill().await;
    }
    assert_eq!(numbers(&storage, "SELECT COUNT(*) FROM orders WHERE status = 'closed'").await, [1]);
    let paid = numbers(&storage, "SELECT amount_kopecks FROM adjustments WHERE kind = 'order_share'").await;
    assert_eq!(paid, [480_000]);
    emulator.stop().await;
}

/// The commit fails every time: there is no order, and the draft is offered again.
#[tokio::test]
async fn a_failure_while_saving_keeps_the_draft() {
    let (storage, emulator) = (TestStorage::with_tables(StorageKind::Sqlite).await, start_emulator().await);
    prepare(&storage).await;
    let anna = PersonChat::of(ANNA, &emulator);
    let process = AppProcess::start(&storage, &emulator, &[]);
    anna.take_steps(CREATES).await;
    let domain = Domain::open_for_command(&storage.database).await.unwrap();
    let fails = "CREATE TRIGGER no_orders BEFORE INSERT ON orders BEGIN SELECT RAISE(ABORT, 'the disk is full'); END";
    run_sql(&domain, fails).await;
    anna.take_step(&(Action::Presses("✅ Create the order"), "[Try again]")).await;
    assert_eq!(first_column::<i64>(&domain, "SELECT COUNT(*) FROM orders").await, [0]);
    run_sql(&domain, "DROP TRIGGER no_orders").await;
    anna.take_step(&(Action::Presses("Try again"), "Please check the order:")).await;
    anna.take_step(&CLOSES[0]).await;
    let created = async || (first_column::<i64>(&domain, "SELECT COUNT(*) FROM orders").await == [1]).then_some(());
    until("the order is there", created).await;
    domain.close().await.unwrap();
    process.stop().await;
    emulator.stop().await;
}
