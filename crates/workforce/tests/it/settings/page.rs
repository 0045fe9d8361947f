//! The settings page: typed values, defaults, a history, and no lost updates.

use workforce::people;
use workforce::person::Role;
use workforce::settings::{CANCEL_NOTICE_HOURS, ENABLE_TEST_USERS, MANDATORY_TASK_PENALTY, QUESTIONS_GO_TO, TIME_ZONE};

use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind};

const PATH: &str = "/settings";
const PENALTY: &str = "mandatory_task_penalty";
const QUESTIONS: &str = "questions_go_to";

#[tokio::test]
async fn an_owner_changes_settings_and_sees_who_changed_what() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let page = owner.get(PATH).await;
    page.is(200, "Default: 50\u{a0}₽.").is(200, "Default: Europe/Moscow.").is(200, "All defaults.");
    assert!(!page.body.contains("enable_test_users"), "owners do not see it: {}", page.body);
    set(&owner, &[(PENALTY, "50.00", "75,5"), ("cancel_notice_hours", "24", "24")]).await.redirects_to(PATH);
    let settings = &cabinet.app.settings;
    assert_eq!(settings.get(&MANDATORY_TASK_PENALTY).await.unwrap().to_string(), "75.50");
    assert_eq!(settings.history().await.unwrap().len(), 1, "unchanged settings have no history");
    owner
        .get(PATH)
        .await
        .is(200, "value=\"75.50\"")
        .is(200, "50\u{a0}₽ → <strong>75.50\u{a0}₽</strong>")
        .is(200, "Anna");

    let wrong = set(&owner, &[(PENALTY, "75.50", "a lot"), ("time_zone", "Europe/Moscow", "Asia/Tomsk")]).await;
    wrong
        .is(422, "value=\"a lot\"")
        .is(422, "Enter an amount, for example 250 or 250.50.")
        .is(422, "value=\"Asia/Tomsk\"");
    assert_eq!(settings.get(&TIME_ZONE).await.unwrap(), TIME_ZONE.default, "settings are saved together");
    let stale = set(&owner, &[(PENALTY, "50.00", "60"), ("cancel_notice_hours", "24", "12")]).await;
    stale.is(409, "Someone changed this first").is(409, "value=\"60\"").is(409, "Now: 75.50");
    stale.is(409, "value=\"12\"").is(409, "Save my version");
    assert_eq!(settings.get(&CANCEL_NOTICE_HOURS).await.unwrap(), 24, "settings are saved together");
    set(&owner, &[(PENALTY, "75.50", "60"), ("cancel_notice_hours", "24", "12")]).await.redirects_to(PATH);
    assert_eq!(settings.get(&CANCEL_NOTICE_HOURS).await.unwrap(), 12);
    cabinet.close().await;
}

#[tokio::test]
async fn owners_change_settings_but_not_test_users() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let employee = cabinet.signed_in(BORIS).await;
    employee.get(PATH).await.is(403, "You don't have access to this page");
    set(&employee, &[(PENALTY, "50.00", "0")]).await.is(403, "You don't have access to this page");
    let owner = cabinet.signed_in(ANNA).await;
    set(&owner, &[("enable_test_users", "false", "true")]).await.redirects_to(PATH);
    assert!(!cabinet.app.settings.get(&ENABLE_TEST_USERS).await.unwrap(), "owners cannot enable test users");
    cabinet.hire(ANNA, "Anna", Role::Superadmin).await;
    owner.get(PATH).await.is(200, "enable_test_users");
    set(&owner, &[("enable_test_users", "false", "true")]).await.redirects_to(PATH);
    assert!(cabinet.app.settings.get(&ENABLE_TEST_USERS).await.unwrap());
    cabinet.close().await;
}

#[tokio::test]
async fn the_answerer_is_chosen_among_staff() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let vera = cabinet.hire(1003, "Vera", Role::Manager).await;
    let page = owner.get(PATH).await;
    for (value, name) in [("managers", "Managers"), ("owners", "Owners"), ("1001", "Anna"), ("1003", "Vera")] {
        let is_offered = page.body.contains(&format!("<option value=\"{value}\">{name}</option>"));
        let is_chosen = page.body.contains(&format!("<option value=\"{value}\" selected>{name}</option>"));
        assert!(is_offered || is_chosen, "{value}: {}", page.body);
    }
    assert!(!page.body.contains("value=\"1002\""), "an employee does not answer: {}", page.body);
    page.is(200, "Default: Managers.").is(200, "list=\"time-zones\"").is(200, "<option value=\"Asia/Kamchatka\">");
    set(&owner, &[(QUESTIONS, "managers", "1003")]).await.redirects_to(PATH);
    owner.get(PATH).await.is(200, "Managers → <strong>Vera</strong>");
    for number in ["1002", "424242"] {
        set(&owner, &[(QUESTIONS, "1003", number)]).await.is(422, "This person can't answer questions.");
    }
    // A person who lost the role stays chosen until another is. Saving other settings does not change it.
    let id = vera.id;
    let left = cabinet.app.domain.write(move |db| Box::pin(people::take_role(db, id, Role::Manager, None, NOON)));
    left.await.unwrap();
    owner.get(PATH).await.is(200, "<option value=\"1003\" selected>1003 (can no longer answer)</option>");
    set(&owner, &[(QUESTIONS, "1003", "1003"), (PENALTY, "50.00", "60")]).await.redirects_to(PATH);
    assert_eq!(cabinet.app.settings.get(&QUESTIONS_GO_TO).await.unwrap().to_string(), "1003");
    cabinet.close().await;
}

/// Sends settings: name, value seen, new value.
async fn set(browser: &Browser, wishes: &[(&str, &str, &str)]) -> crate::kit::cabinet::PageResponse {
    let seen: Vec<String> = wishes.iter().map(|(name, ..)| format!("seen-{name}")).collect();
    let fields =
        wishes.iter().zip(&seen).flat_map(|((name, was, wanted), seen)| [(*name, *wanted), (seen.as_str(), *was)]);
    browser.post(PATH, &fields.collect::<Vec<_>>()).await
}

#[tokio::test]
async fn another_currency_is_in_labels_and_amounts_at_once() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    set(&owner, &[("currency", "RUB", "XXX")]).await.is(422, "Choose an option from the list.");
    set(&owner, &[("currency", "RUB", "KZT")]).await.redirects_to(PATH);
    let page = owner.get(PATH).await;
    page.is(200, "Default: 50\u{a0}₸.").is(200, "not done, ₸").is(200, "RUB, ₽ → <strong>KZT, ₸</strong>");
    cabinet.close().await;
}
