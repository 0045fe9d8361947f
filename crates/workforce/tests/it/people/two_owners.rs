//! Owners who remove each other at the same moment: one of them is always left, and the other gets a clear page.

use axum::Router;
use workforce::application;
use workforce::domain::NOT_ALLOWED;
use workforce::money::Money;
use workforce::people::{self, Deed};
use workforce::person::{Person, Role, Status};
use workforce::shifts::Shifts;
use workforce::sites::{AboutSlot, Hours, NotDone, Sites};
use workforce::web::sessions;

use crate::kit::cabinet::{Answer, Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{Ground, Kind, NOON, on_databases};
use crate::operator::run;
use crate::shifts::about_site;

on_databases! { [sqlite Sqlite, postgres Postgres]
    of_two_owners_who_remove_each_other_one_is_left,
    an_owner_who_was_removed_changes_nothing_any_more,
    the_last_owner_is_not_removed_by_the_command_line,
}

const VERA: i64 = 1003;
const ROUNDS: usize = 20;
/// What the two do to each other, in turn.
const DEEDS: [(&str, &[(&str, &str)]); 4] =
    [("block", &[]), ("roles/revoke", &[("role", "owner")]), ("forget", &[("sure", "yes")]), ("block", &[])];

async fn of_two_owners_who_remove_each_other_one_is_left(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    // Vera's pages are those of another process, so that the database decides, and not the order of one writer.
    let beside = cabinet.beside().await;
    let (here, there) = (cabinet.router.clone(), application::router(&beside));
    for round in 0..ROUNDS {
        let anna = cabinet.hire(ANNA, "Anna", Role::Owner).await;
        let vera = cabinet.hire(VERA, "Vera", Role::Owner).await;
        let (first, second) = (DEEDS[round % DEEDS.len()], DEEDS[(round / 2) % DEEDS.len()]);
        let by_anna = signed_in(&cabinet, &anna, &here, 2 * round).await;
        let by_vera = signed_in(&cabinet, &vera, &there, 2 * round + 1).await;
        let (of_anna, of_vera) = tokio::join!(does(&by_anna, first, &vera), does(&by_vera, second, &anna));
        let owners = cabinet.app.people.with_any(&[Role::Owner, Role::Superadmin]).await.unwrap();
        let left: Vec<i64> = owners.iter().map(|owner| owner.id).collect();
        assert_eq!(left.len(), 1, "round {round}, {} and {}: {of_anna:?} {of_vera:?}", first.0, second.0);
        let (winner, loser, target) =
            if left == [anna.id] { (of_anna, of_vera, vera.id) } else { (of_vera, of_anna, anna.id) };
        winner.leads_to(&format!("/people/{target}"));
        // Refused within the commit, or asked for after the session had ended.
        let is_clear = match loser.status.as_u16() {
            303 => loser.header("location").starts_with("/sign-in"),
            403 => ["This page is for others", "This form is out of date"].iter().any(|page| loser.body.contains(page)),
            _ => false,
        };
        assert!(is_clear, "round {round}: {loser:?}");
    }
    beside.domain.close().await.unwrap();
    cabinet.close().await;
}

/// A page that has found its visitor before the visitor was removed: what it wants is refused by the commit.
async fn an_owner_who_was_removed_changes_nothing_any_more(kind: Kind) {
    let cabinet = Cabinet::open(kind).await;
    let (app, anna, boris) = (cabinet.app.clone(), cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let vera = cabinet.hire(VERA, "Vera", Role::Owner).await;
    let site = Sites::of_app(&app).create(&vera, about_site("Shop")).await.unwrap();
    let id = vera.id;
    app.domain.write(move |db| Box::pin(people::take_role(db, id, Role::Owner, None, NOON))).await.unwrap();
    for deed in [Deed::Block, Deed::Export, Deed::Forget, Deed::Grant(Role::Owner), Deed::Revoke(Role::Owner)] {
        let hold =
            app.domain.write(move |db| Box::pin(async move { people::hold(db, deed, id, anna.id).await.map(drop) }));
        assert_eq!(hold.await.unwrap_err().to_string(), NOT_ALLOWED, "{deed:?}");
    }
    let forgets = people::forget(&app.domain, &app.rooms, &app.files, &boris, Some(vera.id), NOON).await;
    assert_eq!(forgets.unwrap_err().to_string(), NOT_ALLOWED);
    let exports = people::export(&app.domain, &app.rooms, &boris, Some(vera.id), NOON).await;
    assert_eq!(exports.unwrap_err().to_string(), NOT_ALLOWED);
    let day = "2026-01-05".parse().unwrap();
    let slot = Sites::of_app(&app).create_slot(&vera, site, AboutSlot::usual(day, Hours::new(540, 600))).await;
    assert!(matches!(slot, Err(NotDone::NotAllowed)), "{slot:?}");
    let opens = Shifts::of_app(&app).open_site(&vera, site).await;
    assert!(matches!(opens, Err(NotDone::NotAllowed)), "{opens:?}");
    let bonus = app.payroll.add_manual(vera.id, boris.id, day, Money::from_kopecks(100), "A gift").await;
    assert!(matches!(bonus, Err(workforce::payroll::NotDone::NotAllowed)), "{bonus:?}");
    assert_eq!(cabinet.person(BORIS).await.status, Status::Verified);
    cabinet.close().await;
}

async fn the_last_owner_is_not_removed_by_the_command_line(kind: Kind) {
    let ground = Ground::new(kind).await;
    let database = ground.database.url();
    let (folder, last) = (ground.folder.path().display().to_string(), "this is the last owner");
    let variables = [("DATABASE_URL", database.as_str()), ("DATA_DIR", folder.as_str())];
    run(&variables, &["people", "grant", "1001", "owner"]).await.well();
    run(&variables, &["people", "revoke", "1001", "owner"]).await.complains(&[last]);
    run(&variables, &["people", "forget", "1001", "--yes"]).await.complains(&[last]);
    run(&variables, &["people", "grant", "1002", "superadmin"]).await.well();
    run(&variables, &["people", "revoke", "1001", "owner"]).await.well();
    run(&variables, &["people", "revoke", "1002", "superadmin"]).await.complains(&[last]);
}

/// A browser in which this person is signed in already.
async fn signed_in(cabinet: &Cabinet, person: &Person, router: &Router, number: usize) -> Browser {
    let (cookie, id) = (format!("{number:a>43}"), person.id);
    let kept = cookie.clone();
    let begin = cabinet
        .app
        .domain
        .write(move |db| Box::pin(async move { sessions::begin(db, id, &kept, "a test", NOON).await }));
    begin.await.unwrap();
    let browser = cabinet.browser().with_cookie("opora_session", &cookie).on(router.clone());
    browser.get("/me").await.is(200, &person.full_name);
    browser
}

async fn does(browser: &Browser, (deed, fields): (&str, &[(&str, &str)]), person: &Person) -> Answer {
    browser.post(&format!("/people/{}/{deed}", person.id), fields).await
}
