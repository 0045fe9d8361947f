//! The front: the menu by role, the commands for all people, and the entry for newcomers.

use std::time::Duration;

use futures_util::future::BoxFuture;
use opora::dialogue::Child;
use opora::prelude::*;
use workforce::front;
use workforce::people;
use workforce::person::{Person, Role, Status};
use workforce::rooms::{MenuItem, Room, Rooms, Welcome};

use crate::kit::firm::{Firm, NOON, StorageKind, on_every_database};

mod forged_buttons;
mod groups;
mod ways_out;

on_every_database! {
    a_chosen_language_is_kept,
    newcomers_enter_the_welcome_dialogue,
    the_menu_depends_on_the_role,
}

/// A room with a menu entry for managers and a welcome dialogue.
#[derive(Debug)]
struct Sample;

#[derive(Clone, Debug, Serialize, Deserialize, States)]
#[states(dialogue = "sample")]
enum SampleStates {
    Name,
}

impl Room for Sample {
    fn name(&self) -> &'static str {
        "sample"
    }

    fn dialogues(&self, script: Script) -> Script {
        let sample = Dialogue::new().start(button("sample:count"), count);
        script.dialogue(sample.ask(SampleStates::NAME, ask_name).on(SampleStates::NAME, text(), name))
    }

    fn menu(&self) -> Vec<MenuItem> {
        vec![MenuItem { caption: "main-menu-button", data: "sample:count", roles: &[Role::Manager, Role::Owner] }]
    }

    fn welcome(&self) -> Option<Welcome> {
        Some(welcome)
    }
}

fn welcome(_: &mut Turn, person: Option<Person>) -> BoxFuture<'_, Result<Option<Child>, BoxError>> {
    Box::pin(async move { Ok(person.is_none().then(|| Child::at(&SampleStates::Name))) })
}

async fn count(turn: &mut Turn, _: Press) -> Step<SampleStates> {
    let Some(person) = front::allowed_person(turn, &[Role::Manager, Role::Owner]).await? else { return Ok(Next::Stay) };
    turn.say(format!("counted by {}", person.full_name));
    Ok(Next::Stay)
}

async fn ask_name(turn: &mut Turn) -> Result<(), BoxError> {
    turn.say("Your name?");
    Ok(())
}

async fn name(turn: &mut Turn, name: String) -> Step<SampleStates> {
    turn.say(format!("Welcome, {name}."));
    Ok(Next::End)
}

async fn firm(kind: StorageKind) -> Firm {
    Firm::with_rooms(kind, Rooms::new(&[&Sample])).await
}

async fn newcomers_enter_the_welcome_dialogue(kind: StorageKind) {
    let firm = firm(kind).await;
    let anna = firm.stage.person("Anna");
    anna.sends("/start").await;
    anna.sees("Your name?");
    // A second /start in the middle does not stack another dialogue.
    anna.sends("/start").await;
    anna.sees("Your name?");
    assert_eq!(anna.state().await.as_deref(), Some("sample:name"));
    anna.sends("/help").await;
    anna.sees("/language");
    anna.sends("Anna").await;
    anna.sees("Welcome, Anna.");
    assert_eq!(anna.state().await, None);
}

async fn the_menu_depends_on_the_role(kind: StorageKind) {
    let firm = firm(kind).await;
    let (boris, vera) = (firm.member("Boris", &[Role::Manager]).await, firm.member("Vera", &[Role::Employee]).await);
    boris.sends("/start").await;
    boris.sees("Boris, what would you like to do?");
    boris.presses("🏠 Main menu").await;
    boris.sees("counted by Boris");
    vera.sends("/start").await;
    vera.sees("There's nothing for your role here yet");
    vera.presses_data("sample:count").await;
    vera.sees_toast("You don't have permission");
    vera.sees_nothing();
}

async fn a_chosen_language_is_kept(kind: StorageKind) {
    let firm = firm(kind).await;
    let boris = firm.member("Boris", &[Role::Manager]).await;
    boris.sends("/language").await;
    boris.sees("Which language");
    boris.sees_button("🏠 Main menu");
    boris.presses("Русский").await;
    boris.sees("Теперь говорим по-русски.");
    boris.presses("🏠 Главное меню").await;
    boris.sees("что будем делать?");
    let person = firm.app.people.by_telegram(boris.key().user).await.unwrap().unwrap();
    assert_eq!((person.language.code(), person.version), ("ru", 2));
}

#[tokio::test]
async fn the_me_command_shows_number_and_roles() {
    let firm = firm(StorageKind::Sqlite).await;
    let stranger = firm.stage.person("Zoe").speaking("ru");
    stranger.sends("/me").await;
    stranger.sees(&format!("Ваш ID в Telegram: {}", stranger.key().user));
    let anna = firm.member("Anna", &[Role::Owner, Role::Employee]).await;
    anna.sends("/me").await;
    anna.sees("Roles: employee, owner");
    anna.sees(&anna.key().user.to_string());
}

#[tokio::test]
async fn blocked_pending_and_rejected_people_are_told_so() {
    let firm = firm(StorageKind::Sqlite).await;
    let boris = firm.member("Boris", &[Role::Manager]).await;
    let id = firm.app.people.by_telegram(boris.key().user).await.unwrap().unwrap().id;
    for (status, words) in [
        (Status::Blocked, "Your access is blocked."),
        (Status::Rejected, "was rejected"),
        (Status::Pending, "is awaiting approval"),
    ] {
        firm.app.domain.write(move |db| Box::pin(people::set_status(db, id, status, None, NOON))).await.unwrap();
        for deed in ["/start", "hello?"] {
            boris.sends(deed).await;
            boris.sees(words);
        }
        boris.presses_data("sample:count").await;
        boris.sees_toast("You don't have permission");
    }
}

#[tokio::test]
async fn unhandled_input_is_answered_with_the_menu_button() {
    let firm = firm(StorageKind::Sqlite).await;
    let anna = firm.member("Anna", &[Role::Owner]).await;
    anna.sends("what is the weather?").await;
    anna.sees("I didn't get that.");
    anna.presses("🏠 Main menu").await;
    anna.sees("what would you like to do?");
    anna.sends("/cancel").await;
    anna.sees("There is nothing to stop.");
    anna.presses("🏠 Main menu").await;
    anna.sees("what would you like to do?");
}

#[tokio::test]
async fn without_a_welcome_newcomers_are_told_their_number() {
    let firm = Firm::with_rooms(StorageKind::Sqlite, Rooms::new(&[])).await;
    let anna = firm.stage.person("Anna").speaking("ru");
    anna.sends("/start").await;
    anna.sees(&format!("ваш ID в Telegram — {}", anna.key().user));
    assert_eq!(anna.state().await, None);
}

#[tokio::test]
async fn the_rate_limit_is_told_once_and_ends() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let (olga, daria) = (firm.member("Olga", &[Role::Owner]).await, firm.member("Daria", &[Role::Employee]).await);
    for (one, most) in [(&daria, 100), (&olga, 200)] {
        for _ in 0..most {
            one.sends("/me").await;
            one.sees("Your Telegram ID");
        }
        one.sends("/me").await;
        one.sees("Too many requests. Please wait and try again in 1 s.");
        for _ in 0..5 {
            one.sends("/me").await;
            one.sees_nothing();
        }
        one.presses_data("menu").await;
        one.sees_toast("Too many requests");
    }
    // Other people are not limited by that.
    let zoe = firm.stage.person("Zoe");
    zoe.sends("/me").await;
    zoe.sees("Your Telegram ID");
    firm.stage.advance(Duration::from_secs(1)).await;
    daria.sends("/me").await;
    daria.sees("Your Telegram ID");
    daria.sends("/me").await;
    daria.sees_nothing();
}

#[tokio::test]
async fn library_texts_use_the_chosen_language() {
    let firm = Firm::open(StorageKind::Sqlite).await;
    let daria = firm.member("Daria", &[Role::Employee]).await.speaking("ru");
    daria.sends("/cancel").await;
    daria.sees("There is nothing to stop.");
    daria.presses_data("language:ru").await;
    daria.sends("/cancel").await;
    daria.sees("Прерывать нечего.");
    // For an unknown person it is the language of Telegram.
    let zoe = firm.stage.person("Zoe").speaking("ru");
    zoe.sends("/cancel").await;
    zoe.sees("Прерывать нечего.");
}
