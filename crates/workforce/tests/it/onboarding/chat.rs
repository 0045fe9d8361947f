//! Questions to staff, and answers back.

use opora::prelude::*;
use sea_orm::{ConnectionTrait, Statement};
use workforce::application::App;
use workforce::onboarding::{Onboarding, OnboardingRoom};
use workforce::people;
use workforce::person::{Role, Status};
use workforce::rooms::{Room, Rooms};
use workforce::settings;

use super::{days, firm, id_of};
use crate::kit::firm::{Firm, NOON, StorageKind, on_every_database};

on_every_database! {
    questions_reach_staff_and_answers_come_back,
    the_least_busy_manager_is_asked_and_stays,
}

/// Author and text of all messages, in order.
async fn messages(firm: &Firm) -> Vec<(i64, String)> {
    let db = firm.app.domain.read();
    let query = "SELECT author_id, text FROM chat_messages ORDER BY id";
    let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), query)).await.unwrap();
    rows.iter().map(|row| (row.try_get_by_index(0).unwrap(), row.try_get_by_index(1).unwrap())).collect()
}

async fn questions_reach_staff_and_answers_come_back(kind: StorageKind) {
    let firm = firm(kind).await;
    let daria = firm.member("Daria", &[Role::Employee]).await;
    let boris = firm.member("Boris", &[Role::Manager, Role::Employee]).await;
    daria.sends("/start").await;
    daria.presses("💬 Ask a question").await;
    daria.sees("Write your question");
    assert_eq!(daria.state().await.as_deref(), Some("ChatStates:active"));
    // The person in charge is in another dialogue.
    boris.sends("/start").await;
    boris.presses("📝 Questionnaire").await;
    daria.sends("Where are the keys?").await;
    daria.sees("Passed on to Boris.");
    boris.sees("Daria writes:\n\nWhere are the keys?");
    let stage = firm.stage.restart().await;
    let (daria, boris) = (daria.on(&stage), boris.on(&stage));
    boris.presses("Reply").await;
    boris.sees("Write your answer to Daria.");
    boris.presses("Reply").await;
    boris.sees_toast("Just write your answer.");
    boris.sees_nothing();
    boris.sends("In the office").await;
    boris.sees("Passed on to Daria.");
    boris.sees("Do you agree?");
    daria.sees("Boris answers:\n\nIn the office");
    daria.sends("Thank you").await;
    boris.sees("Daria writes:\n\nThank you");
    let (asker, answerer) = (id_of(&firm, &daria).await, id_of(&firm, &boris).await);
    let said = [(asker, "Where are the keys?"), (answerer, "In the office"), (asker, "Thank you")];
    assert_eq!(messages(&firm).await, said.map(|(author, text)| (author, text.to_owned())));
    daria.presses("End the conversation").await;
    daria.sees("The conversation has ended.");
    boris.sees("Daria ended the conversation.");
    assert_eq!(daria.state().await, None);
    boris.presses("Reply").await;
    boris.sees_toast("already ended");
    daria.presses("End the conversation").await;
    daria.sees_toast("already ended");
}

async fn the_least_busy_manager_is_asked_and_stays(kind: StorageKind) {
    let firm = firm(kind).await;
    let anna = firm.member("Anna", &[Role::Owner]).await;
    let (boris, vera) = (firm.member("Boris", &[Role::Manager]).await, firm.member("Vera", &[Role::Manager]).await);
    let (daria, egor) = (firm.member("Daria", &[Role::Employee]).await, firm.member("Egor", &[Role::Employee]).await);
    for someone in [&daria, &egor] {
        someone.presses_data("chat:open").await;
    }
    daria.sends("one").await;
    daria.sees("Passed on to Boris.");
    egor.sends("two").await;
    egor.sees("Passed on to Vera.");
    daria.sends("three").await;
    daria.sees("Passed on to Boris.");
    vera.presses("End the conversation").await;
    vera.sees("The conversation has ended.");
    egor.sees("Vera ended the conversation.");
    vera.presses("End the conversation").await;
    vera.sees_toast("already ended");
    let gone = id_of(&firm, &boris).await;
    firm.app.domain.write(move |db| Box::pin(people::set_status(db, gone, Status::Blocked, None, NOON))).await.unwrap();
    daria.sends("four").await;
    daria.sees("Passed on to Vera.");
    boris.presses("Reply").await;
    boris.sees_toast("You don't have permission");
    // An owner may answer a question that a manager was asked.
    anna.presses_data(&format!("chat:reply:{}", id_of(&firm, &daria).await)).await;
    anna.sends("five").await;
    daria.sees("Anna answers:\n\nfive");
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn the_owner_chooses_who_answers() {
    let firm = firm(StorageKind::Sqlite).await;
    let _anna = firm.member("Anna", &[Role::Owner]).await;
    let _boris = firm.member("Boris", &[Role::Manager]).await;
    let vera = firm.member("Vera", &[Role::Manager]).await.key().user;
    let daria = firm.member("Daria", &[Role::Employee]).await;
    let set = async |value: String| {
        let set = firm.app.domain.write(move |db| {
            let set = async move { settings::set(db, settings::QUESTIONS_GO_TO.name, &value, None, NOON).await };
            Box::pin(set)
        });
        set.await
    };
    let is_asked = async |name: &str| {
        daria.presses_data("chat:open").await;
        daria.sends("Where are the keys?").await;
        daria.sees(&format!("Passed on to {name}."));
        daria.presses("End the conversation").await;
    };
    for (value, name) in [("managers", "Boris"), ("owners", "Anna"), (&vera.to_string(), "Vera")] {
        set(value.to_owned()).await.unwrap();
        is_asked(name).await;
    }
    // An unknown person, and an employee who may not answer.
    for number in [424_242, daria.key().user] {
        let refused = set(number.to_string()).await.unwrap_err();
        assert!(refused.to_string().contains("no person with this id may answer"), "{refused}");
    }
    // When the chosen person loses the role, others are asked.
    let revoke = firm.app.domain.write(move |db| Box::pin(people::revoke(db, vera, Role::Manager, NOON)));
    revoke.await.unwrap();
    is_asked("Boris").await;
}

#[tokio::test]
async fn without_staff_no_question_is_stored() {
    let firm = firm(StorageKind::Sqlite).await;
    let daria = firm.member("Daria", &[Role::Employee, Role::Manager]).await;
    daria.presses_data("chat:open").await;
    daria.presses_data("chat:open").await;
    daria.sees_toast("Just write your question.");
    daria.sees_nothing();
    daria.sends("Anybody?").await;
    daria.sees("No one is available to answer");
    daria.sends(&"x".repeat(3501)).await;
    daria.sees("keep it to 3500 characters");
    assert_eq!(messages(&firm).await, []);
    let anna = firm.member("Anna", &[Role::Owner]).await;
    daria.sends("Anybody now?").await;
    anna.sees("Daria writes:\n\nAnybody now?");
}

#[tokio::test]
async fn answers_arrive_days_later_unless_the_chat_is_closed() {
    let firm = firm(StorageKind::Sqlite).await;
    let (daria, boris) = (firm.member("Daria", &[Role::Employee]).await, firm.member("Boris", &[Role::Manager]).await);
    daria.presses_data("chat:open").await;
    daria.sends("Where are the keys?").await;
    firm.stage.advance(days(3)).await;
    daria.sees("I've put our conversation aside.");
    boris.presses("Reply").await;
    firm.stage.advance(days(2)).await;
    boris.sees("You haven't answered yet.");
    boris.presses("Reply").await;
    boris.sends("In the office").await;
    daria.sees("Boris answers:\n\nIn the office");
    boris.presses("Reply").await;
    daria.presses("End the conversation").await;
    boris.sends("Hello?").await;
    boris.sees("This conversation has already ended.");
    assert_eq!((boris.state().await, messages(&firm).await.len()), (None, 2));
}

#[tokio::test]
async fn leaving_a_question_or_a_reply_keeps_the_chat_open() {
    let firm = firm(StorageKind::Sqlite).await;
    let (daria, boris) = (firm.member("Daria", &[Role::Employee]).await, firm.member("Boris", &[Role::Manager]).await);
    daria.presses_data("chat:open").await;
    daria.sends("/cancel").await;
    daria.sees("no question was sent");
    daria.presses_data("chat:open").await;
    daria.sends("Where are the keys?").await;
    daria.sends("/cancel").await;
    daria.sees("Our conversation stays open");
    for leave in ["/cancel", "← Back"] {
        boris.presses("Reply").await;
        boris.sees_button("🏠 Main menu");
        if leave.starts_with('/') {
            boris.sends(leave).await
        } else {
            boris.presses(leave).await
        }
        boris.sees("The question is still open.");
        assert_eq!(boris.state().await, None);
    }
    boris.presses("Reply").await;
    boris.sends("In the office").await;
    daria.sees("Boris answers:\n\nIn the office");
}

/// A room that approves people, as the registration room does.
#[derive(Debug)]
struct Approving;

#[derive(Clone, Debug, Serialize, Deserialize, States)]
#[states(dialogue = "approving")]
enum ApprovingStates {
    Idle,
}

impl Room for Approving {
    fn name(&self) -> &'static str {
        "approving"
    }

    fn dialogues(&self, script: Script) -> Script {
        let approving = Dialogue::new().start(command("approve"), approve);
        script.dialogue(approving.on(ApprovingStates::IDLE, any(), idle))
    }
}

async fn idle(_: &mut Turn, _: Input) -> Step<ApprovingStates> {
    Ok(Next::End)
}

async fn approve(turn: &mut Turn, command: Command) -> Step<ApprovingStates> {
    let person = turn.context::<App>().people.by_telegram(command.argument.parse()?).await?.ok_or("unknown")?;
    Onboarding::offer(turn, &person);
    Ok(Next::Stay)
}

#[tokio::test]
async fn approved_people_are_offered_the_questionnaire() {
    let firm = Firm::with_rooms(StorageKind::Sqlite, Rooms::new(&[&OnboardingRoom, &Approving])).await;
    let (anna, daria) = (firm.member("Anna", &[Role::Owner]).await, firm.member("Daria", &[Role::Employee]).await);
    anna.sends(&format!("/approve {}", daria.key().user)).await;
    daria.sees("Please fill in a short questionnaire");
    daria.presses("📝 Questionnaire").await;
    daria.sees("Do you agree?");
    // Owners are not offered it.
    anna.sends(&format!("/approve {}", anna.key().user)).await;
    anna.sees_nothing();
}
