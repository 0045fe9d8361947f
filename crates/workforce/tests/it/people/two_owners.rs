//! Owners who remove each other at the same moment: one of them always remains, and the other gets a clear page.

use axum::Router;
use workforce::application;
use workforce::domain::NOT_ALLOWED;
use workforce::money::Money;
use workforce::people::{self, OwnerAction};
use workforce::person::{Person, Role, Status};
use workforce::shifts::Shifts;
use workforce::sites::{AboutSlot, ActionError, Hours, Sites};
use workforce::web::sessions;

use crate::kit::cabinet::{Browser, Cabinet, PageResponse};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind, TestStorage, on_databases};
use crate::operator::run;
use crate::shifts::about_site;

on_databases! { [sqlite Sqlite, postgres Postgres]
    of_two_owners_who_remove_each_other_one_remains,
    a_removed_owner_changes_nothing,
    the_command_line_keeps_the_last_owner,
}

const VERA: i64 = 1003;
const ROUNDS: usize = 20;
/// The actions, in turn.
const ACTIONS: [(&str, &[(&str, &str)]); 4] =
    [("block", &[]), ("roles/revoke", &[("role", "owner")]), ("forget", &[("sure", "yes")]), ("block", &[])];

async fn of_two_owners_who_remove_each_other_one_remains(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    // Vera's pages are those of a second instance, so that the database decides and not the order of one writer.
    let other_instance = cabinet.second_instance().await;
    let (here, there) = (cabinet.router.clone(), application::router(&other_instance));
    for round in 0..ROUNDS {
        let anna = cabinet.hire(ANNA, "Anna", Role::Owner).await;
        let vera = cabinet.hire(VERA, "Vera", Role::Owner).await;
        let (first, second) = (ACTIONS[round % ACTIONS.len()], ACTIONS[(round / 2) % ACTIONS.len()]);
        let by_anna = signed_in(&cabinet, &anna, &here, 2 * round).await;
        let by_vera = signed_in(&cabinet, &vera, &there, 2 * round + 1).await;
        let (of_anna, of_vera) = tokio::join!(act(&by_anna, first, &vera), act(&by_vera, second, &anna));
        let owners = cabinet.app.people.with_any(&[Role::Owner, Role::Superadmin]).await.unwrap();
        let left: Vec<i64> = owners.iter().map(|owner| owner.id).collect();
        assert_eq!(left.len(), 1, "round {round}, {} and {}: {of_anna:?} {of_vera:?}", first.0, second.0);
        let (winner, loser, target) =
            if left == [anna.id] { (of_anna, of_vera, vera.id) } else { (of_vera, of_anna, anna.id) };
        winner.redirects_to(&format!("/people/{target}"));
        // Refused within the commit, or after the session had ended.
        let is_clear = match loser.status.as_u16() {
            303 => loser.header("location").starts_with("/sign-in"),
            403 => ["You don't have access to this page", "This form is out of date"]
                .iter()
                .any(|page| loser.body.contains(page)),
            _ => false,
        };
        assert!(is_clear, "round {round}: {loser:?}");
    }
    other_instance.domain.close().await.unwrap();
    cabinet.close().await;
}

/// The page has loaded its visitor before the visitor lost the role. The commit refuses the action.
async fn a_removed_owner_changes_nothing(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let (app, anna, boris) = (cabinet.app.clone(), cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let vera = cabinet.hire(VERA, "Vera", Role::Owner).await;
    let site = Sites::of_app(&app).create(&vera, about_site("Shop")).await.unwrap();
    let id = vera.id;
    app.domain.write(move |db| Box::pin(people::take_role(db, id, Role::Owner, None, NOON))).await.unwrap();
    for action in [
        OwnerAction::Block,
        OwnerAction::Export,
        OwnerAction::Forget,
        OwnerAction::Grant(Role::Owner),
        OwnerAction::Revoke(Role::Owner),
    ] {
        let hold = app
            .domain
            .write(move |db| Box::pin(async move { people::lock_and_check(db, action, id, anna.id).await.map(drop) }));
        assert_eq!(hold.await.unwrap_err().to_string(), NOT_ALLOWED, "{action:?}");
    }
    let forgets = people::forget(&app.domain, &app.rooms, &app.files, &boris, Some(vera.id), NOON).await;
    assert_eq!(forgets.unwrap_err().to_string(), NOT_ALLOWED);
    let exports = people::export(&app.domain, &app.rooms, &boris, Some(vera.id), NOON).await;
    assert_eq!(exports.unwrap_err().to_string(), NOT_ALLOWED);
    let day = "2026-01-05".parse().unwrap();
    let slot = Sites::of_app(&app).create_slot(&vera, site, AboutSlot::usual(day, Hours::new(540, 600))).await;
    assert!(matches!(slot, Err(ActionError::NotAllowed)), "{slot:?}");
    let opens = Shifts::of_app(&app).open_site(&vera, site).await;
    assert!(matches!(opens, Err(ActionError::NotAllowed)), "{opens:?}");
    let bonus = app.payroll.add_manual(vera.id, boris.id, day, Money::from_kopecks(100), "A gift").await;
    assert!(matches!(bonus, Err(workforce::payroll::ActionError::NotAllowed)), "{bonus:?}");
    assert_eq!(cabinet.person(BORIS).await.status, Status::Verified);
    cabinet.close().await;
}

async fn the_command_line_keeps_the_last_owner(kind: StorageKind) {
    let storage = TestStorage::with_tables(kind).await;
    let database = storage.database.url();
    let (folder, last) = (storage.folder.path().display().to_string(), "this is the last owner");
    let variables = [("DATABASE_URL", database.as_str()), ("DATA_DIR", folder.as_str())];
    run(&variables, &["people", "grant", "1001", "owner"]).await.success();
    run(&variables, &["people", "revoke", "1001", "owner"]).await.fails_with(&[last]);
    run(&variables, &["people", "forget", "1001", "--yes"]).await.fails_with(&[last]);
    run(&variables, &["people", "grant", "1002", "superadmin"]).await.success();
    run(&variables, &["people", "revoke", "1001", "owner"]).await.success();
    run(&variables, &["people", "revoke", "1002", "superadmin"]).await.fails_with(&[last]);
}

/// A browser with a session of this person.
async fn signed_in(cabinet: &Cabinet, person: &Person, router: &Router, number: usize) -> Browser {
    let (cookie, id) = (format!("{number:a>43}"), person.id);
    let kept = cookie.clone();
    let begin = cabinet
        .app
        .domain
        .write(move |db| Box::pin(async move { sessions::begin(db, id, &kept, "a test", NOON).await }));
    begin.await.unwrap();
    let browser = cabinet.browser().with_cookie("opora_session", &cookie).with_router(router.clone());
    browser.get("/me").await.is(200, &person.full_name);
    browser
}

async fn act(browser: &Browser, (action, fields): (&str, &[(&str, &str)]), person: &Person) -> PageResponse {
    browser.post(&format!("/people/{}/{action}", person.id), fields).await
}
