//! The frame of every page, and the pages of people: who sees what, who may change what.

use std::time::Duration;

use axum::http::Method;
use chrono_tz::Europe::Moscow;
use futures_util::future::BoxFuture;
use maud::html;
use opora::key::ConversationKey;
use opora::store::{ParkedId, ParkedTurn};
use workforce::application::App;
use workforce::audit;
use workforce::people::{self, PeopleRoom};
use workforce::person::{Permission, Person, Role, Status};
use workforce::rooms::{Room, Rooms};
use workforce::sites::{AboutContract, AboutSite, Sites};
use workforce::web::{Card, PageError, Routes, Section, Web};

use crate::kit::cabinet::{Browser, Cabinet, PageResponse};
use crate::kit::demo::{ANNA, BORIS};
use crate::kit::firm::{NOON, StorageKind, on_every_database};
use crate::kit::sql::run_sql;
use crate::overview::business_pages::{MAY, make_site};
use crate::sites::permissions::hire_may;

on_every_database! {
    role_changes_and_blocks_are_audited,
    people_are_searched_and_paged,
}

const HOSTILE: &str = "<script>alert(1)</script>\"'&";

/// A room that adds to the pages. One of its pages panics.
#[derive(Debug)]
struct Adding;

impl Room for Adding {
    fn name(&self) -> &'static str {
        "adding"
    }

    fn routes(&self) -> Routes {
        Routes::new().get("/panics", panics).get("/number/{number}", async |_: axum::extract::Path<i64>| "ok")
    }

    fn home_cards<'a>(&'a self, _: &'a App, _: &'a Person) -> BoxFuture<'a, Result<Vec<Card>, PageError>> {
        let card = Card { label: "things to see to".into(), number: 41, path: "/things".into() };
        Box::pin(async { Ok(vec![card]) })
    }

    fn person_sections<'a>(
        &'a self,
        _: &'a App,
        _: &'a Person,
        person: &'a Person,
    ) -> BoxFuture<'a, Result<Vec<Section>, PageError>> {
        let body = html! { p { "about " (person.full_name) } };
        Box::pin(async { Ok(vec![Section { title: "Documents".into(), body }]) })
    }
}

async fn panics() -> &'static str {
    panic!("as it should")
}

async fn role_changes_and_blocks_are_audited(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    let (anna_id, id) = (cabinet.person(ANNA).await.id, cabinet.person(BORIS).await.id);
    let page = format!("/people/{id}");
    owner.get(&page).await.is(200, "Role given: employee");
    owner.post(&format!("{page}/roles/grant"), &[("role", "manager")]).await.redirects_to(&page);
    assert!(cabinet.person(BORIS).await.roles.has(Role::Manager));
    owner.post(&format!("{page}/roles/revoke"), &[("role", "employee")]).await.redirects_to(&page);
    // A second click changes nothing.
    owner.post(&format!("{page}/roles/revoke"), &[("role", "employee")]).await.redirects_to(&page);
    owner.get(&page).await.is(200, "Role removed: employee");
    boris.get("/me").await.is(200, "Boris");
    owner.post(&format!("{page}/block"), &[]).await.redirects_to(&page);
    boris.get("/me").await.redirects_to("/sign-in?next=%2Fme");
    owner.get(&page).await.is(200, "Status: blocked");
    owner.post(&format!("{page}/unblock"), &[]).await.redirects_to(&page);
    assert_eq!(cabinet.person(BORIS).await.status, Status::Verified);
    boris.get("/me").await.redirects_to("/sign-in?next=%2Fme");
    let lines = audit::about(&cabinet.app.domain, ("user", id)).await.unwrap();
    let deeds: Vec<_> = lines.iter().map(|line| (line.action.as_str(), line.actor)).collect();
    let by = Some(anna_id);
    let expected = [("role granted", None), ("role granted", by), ("role revoked", by)];
    assert_eq!(deeds[..3], expected);
    assert_eq!(deeds[3..], [("status changed", by), ("status changed", by)]);
    cabinet.close().await;
}

async fn people_are_searched_and_paged(kind: StorageKind) {
    let cabinet = Cabinet::open(kind).await;
    for number in 0..55 {
        cabinet.hire(5000 + number, &format!("Сотрудник {number:02}"), Role::Employee).await;
    }
    cabinet.hire(6000, "100% Жанна_Я", Role::Master).await;
    let owner = cabinet.signed_in(ANNA).await;
    owner.get("/people").await.is(200, "58 people").is(200, "1 of 2").is(200, "Boris");
    let second = owner.get("/people?page=2").await;
    second.is(200, "Сотрудник 54").is(200, "2 of 2");
    assert!(!second.body.contains("Boris"));
    owner.get("/people?q=%D0%96%D0%90%D0%9D%D0%9D%D0%90").await.is(200, "1 person").is(200, "100% Жанна_Я");
    for (wanted, count) in [("5007", "1 person"), ("%25", "1 person"), ("_", "1 person"), ("bor", "1 person")] {
        owner.get(&format!("/people?q={wanted}")).await.is(200, count);
    }
    owner.get("/people?q=%3Cb%3E").await.is(200, "No one found").is(200, "value=\"&lt;b&gt;\"");
    owner.get("/people?page=99").await.is(200, "No one found");
    owner.get("/people?page=x").await.is(400, "didn't understand");
    cabinet.close().await;
}

#[tokio::test]
async fn people_are_filtered_by_status_role_and_site() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let may = hire_may(&cabinet).await;
    let zoe = cabinet.hire(5001, "Zoe", Role::Employee).await;
    cabinet.hire(5002, "Yan the applicant", Role::Employee).await;
    run_sql(&cabinet.app.domain, "UPDATE users SET status = 'pending' WHERE telegram_id = 5002").await;
    let (room, anna) = (Sites::of_app(&cabinet.app), cabinet.person(ANNA).await);
    let shop = make_site(&cabinet, &owner).await;
    let other = AboutSite { name: "Other".into(), address: "Other street, 1".into(), ..AboutSite::usual(Moscow) };
    let other = room.create(&anna, other).await.unwrap();
    room.create_contract(&anna, zoe.id, AboutContract::active(vec![shop])).await.unwrap();
    let names = |page: &PageResponse| -> Vec<String> {
        let rows = page.body.split("data-testid=\"person-").skip(1);
        rows.map(|row| row.split_once('>').unwrap().1.split('<').next().unwrap().to_owned()).collect()
    };
    let list = async |query: &str| names(owner.get(&format!("/people{query}")).await.is(200, ""));
    // Applicants come first, with a button.
    let all = owner.get("/people").await;
    all.is(200, "5 people").is(200, "data-testid=\"review\"").is(200, "Applicants<span class=\"count-badge\">1</span>");
    assert_eq!(names(&all), ["Yan the applicant", "Anna", "Boris", "May", "Zoe"]);
    assert_eq!(list("?status=pending").await, ["Yan the applicant"]);
    assert_eq!(list("?role=manager").await, ["May"]);
    assert_eq!(list(&format!("?site={shop}")).await, ["Zoe"]);
    assert_eq!(list(&format!("?site={shop}&role=manager")).await, Vec::<String>::new());
    assert_eq!(list("?role=employee&q=z").await, ["Zoe"]);
    owner.get(&format!("/people?site={other}")).await.is(200, "No one found").is(200, "data-testid=\"show-all\"");
    // Unknown values filter nothing, and the other filters stay in the links.
    assert_eq!(list("?role=boss&status=x&site=999").await.len(), 5);
    owner.get("/people?role=employee").await.is(200, "href=\"/people?role=employee&amp;status=pending\"");
    // The button of the filter works without a script.
    owner.get("/people").await.is(200, "data-testid=\"filter\"").is(200, "data-instant");

    // A manager filters only among the people of their own sites.
    let permissions = vec![Permission::View, Permission::Employees];
    room.set_permissions(&anna, may.id, other, permissions).await.unwrap();
    let manager = cabinet.signed_in(MAY).await;
    assert_eq!(names(manager.get(&format!("/people?site={shop}")).await.is(200, "")), Vec::<String>::new());
    cabinet.close().await;
}

#[tokio::test]
async fn direct_links_are_refused_by_role() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    cabinet.hire(1003, "Vera", Role::Superadmin).await;
    let (boris, owner) = (cabinet.signed_in(BORIS).await, cabinet.signed_in(ANNA).await);
    let anna = cabinet.person(ANNA).await.id;
    for page in ["/people".to_owned(), format!("/people/{anna}"), "/admin".to_owned()] {
        boris.get(&page).await.is(403, "You don't have access to this page");
    }
    for action in ["block", "unblock", "roles/grant", "roles/revoke"] {
        boris
            .post(&format!("/people/{anna}/{action}"), &[("role", "owner")])
            .await
            .is(403, "You don't have access to this page");
    }
    let home = boris.get("/").await;
    assert!(home.is(200, "Hello, Boris!").body.matches("/people").count() == 0, "{}", home.body);
    // An owner is no superadmin, cannot appoint or block one, and cannot lock themselves out.
    owner.get("/admin").await.is(403, "You don't have access to this page");
    let vera = cabinet.person(1003).await.id;
    owner.post(&format!("/people/{vera}/block"), &[]).await.is(403, "You don't have access to this page");
    let boris_id = cabinet.person(BORIS).await.id;
    owner
        .post(&format!("/people/{boris_id}/roles/grant"), &[("role", "superadmin")])
        .await
        .is(403, "You don't have access");
    owner.post(&format!("/people/{anna}/block"), &[]).await.is(409, "isn't possible");
    owner.post(&format!("/people/{anna}/roles/revoke"), &[("role", "owner")]).await.is(409, "isn't possible");
    owner.post(&format!("/people/{boris_id}/roles/grant"), &[("role", "boss")]).await.is(422, "didn't understand");
    owner.get("/people/424242").await.is(404, "Page not found");
    assert!(cabinet.person(ANNA).await.may(&[Role::Owner]));
    cabinet.close().await;
}

#[tokio::test]
async fn a_form_without_its_token_changes_nothing() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let id = cabinet.person(BORIS).await.id;
    let block = format!("/people/{id}/block");
    for path in [block.as_str(), "/me/language", "/auth/logout", "/auth/send-pin", "/auth/login", "/nowhere"] {
        owner.post_with(path, &[("who", "1"), ("language", "ru")], &[]).await.is(403, "This form is out of date");
        owner.post_with(path, &[("csrf", "guess")], &[]).await.is(403, "This form is out of date");
        owner.post_with(path, &[], &[("x-csrf-token", "guess")]).await.is(403, "This form is out of date");
    }
    // With the token, but from another origin.
    let token = owner.csrf_token();
    let foreign = [("origin", "http://evil.example"), ("host", "office.example")];
    owner.post_with(&block, &[("csrf", &token)], &foreign).await.is(403, "This form is out of date");
    owner.post_with(&block, &[("csrf", &token)], &[("origin", "null")]).await.is(403, "This form is out of date");
    // The token of another browser.
    let other = cabinet.browser();
    other.get("/sign-in").await;
    owner.post_with(&block, &[("csrf", &other.csrf_token())], &[]).await.is(403, "This form is out of date");
    assert_eq!(cabinet.person(BORIS).await.status, Status::Verified);
    let own = [("origin", "http://office.example"), ("x-csrf-token", token.as_str())];
    owner.post_with(&block, &[], &own).await.redirects_to(&format!("/people/{id}"));
    assert_eq!(cabinet.person(BORIS).await.status, Status::Blocked);
    cabinet.close().await;
}

#[tokio::test]
async fn names_are_escaped() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let hostile = cabinet.hire(1003, HOSTILE, Role::Owner).await;
    cabinet.emulator.post("/users", serde_json::json!({"id": 1003, "first_name": "X", "language_code": "en"})).await;
    let browser = cabinet.signed_in(1003).await;
    for page in ["/", "/people", "/me", &format!("/people/{}", hostile.id), "/people?q=%3Cscript%3E"] {
        let shown = browser.get(page).await;
        shown.is(200, "&lt;script&gt;");
        assert!(!shown.body.contains("<script>") && !shown.body.contains("\"'&"), "{}", shown.body);
    }
    let guest = cabinet.browser();
    guest.get("/sign-in?next=%22%3E%3Cscript%3E").await.is(200, "&quot;&gt;&lt;script&gt;");
    guest.get("/%3Cscript%3E").await.is(404, "Page not found");
    cabinet.close().await;
}

#[tokio::test]
async fn every_response_has_security_headers() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let guest = cabinet.browser();
    for path in ["/sign-in", "/nowhere", "/"] {
        let answer = guest.get(path).await;
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!((answer.header("x-content-type-options"), answer.header("x-frame-options")), ("nosniff", "DENY"));
        assert_eq!((answer.header("cache-control"), answer.header("referrer-policy")), ("no-store", "same-origin"));
        assert!(!answer.header("x-request-id").is_empty());
        assert!(!answer.body.contains("style=") && !answer.body.contains("onclick"), "{}", answer.body);
    }
    let lost = guest.get("/nowhere").await;
    lost.is(404, lost.header("x-request-id"));
    guest
        .send(Method::DELETE, "/sign-in", "", &[("x-csrf-token", &guest.csrf_token())])
        .await
        .is(405, "Page not found");
    let page = guest.get("/sign-in").await.body;
    let style = page.split('"').find(|word| word.starts_with("/assets/style.")).unwrap().to_owned();
    let small = guest.send(Method::GET, &style, "", &[("accept-encoding", "br, gzip")]).await;
    assert_eq!((small.status.as_u16(), small.header("content-encoding")), (200, "gzip"));
    assert!(small.header("cache-control").contains("immutable"));
    let plain = guest.get(&style).await;
    assert_eq!((plain.header("content-encoding"), plain.header("content-type")), ("", "text/css; charset=utf-8"));
    assert!(plain.body.contains("light-dark(") && plain.body.len() > 2 * small.body.len() / 3);
    guest.get("/assets/style.css").await.is(404, "Page not found");
    cabinet.close().await;
}

#[tokio::test]
async fn with_https_cookies_are_secure() {
    let cabinet = Cabinet::with_rooms(StorageKind::Sqlite, Rooms::all(), "https://office.example").await;
    let browser = cabinet.signed_in(ANNA).await;
    assert!(browser.cookies().contains("__Host-opora_session="), "{}", browser.cookies());
    let fresh = cabinet.browser().get("/sign-in").await;
    assert!(fresh.header("set-cookie").ends_with("; Secure"), "{}", fresh.header("set-cookie"));
    assert_eq!(fresh.header("strict-transport-security"), "max-age=31536000");
    cabinet.close().await;
}

#[tokio::test]
async fn rooms_add_to_pages_and_a_panic_is_an_error_page() {
    let cabinet =
        Cabinet::with_rooms(StorageKind::Sqlite, Rooms::new(&[&Web, &PeopleRoom, &Adding]), "http://office.example")
            .await;
    let owner = cabinet.signed_in(ANNA).await;
    owner.get("/").await.is(200, "things to see to").is(200, ">41<");
    let id = cabinet.person(BORIS).await.id;
    owner.get(&format!("/people/{id}")).await.is(200, "Documents").is(200, "about Boris");
    let failed = owner.get("/panics").await;
    failed.is(500, "Something went wrong on our side").is(500, failed.header("x-request-id"));
    owner.get("/number/7").await.is(200, "ok");
    owner.get("/number/seven").await.is(400, "didn't understand");
    owner.get("/health").await.is(200, "ok\n");
    cabinet.close().await;
}

#[tokio::test]
async fn sessions_expire_unused_and_can_be_ended() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (one, other) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(ANNA).await);
    let id = cabinet.person(ANNA).await.id;
    one.get("/me").await.is(200, "this browser");
    let listed = workforce::web::sessions::of_person(&cabinet.app, id).await.unwrap();
    assert_eq!(listed.len(), 2);
    let oldest = listed.iter().map(|session| session.id).min().unwrap().to_string();
    // A person cannot end another person's session.
    let boris = cabinet.signed_in(BORIS).await;
    boris.post("/me/sessions/end", &[("session", &oldest)]).await.redirects_to("/me");
    one.get("/me").await.is(200, "this browser");
    other.post("/me/sessions/end", &[("session", &oldest)]).await.redirects_to("/me");
    one.get("/me").await.redirects_to("/sign-in?next=%2Fme");
    let third = cabinet.signed_in(ANNA).await;
    third.post("/me/sessions/end-others", &[]).await.redirects_to("/me");
    other.get("/me").await.redirects_to("/sign-in?next=%2Fme");
    // Used every ten days, the session continues. Unused, it expires.
    for _ in 0..3 {
        cabinet.clock.advance(Duration::from_secs(10 * 24 * 3600));
        let page = third.get("/me").await;
        assert!(page.is(200, "Anna").header("set-cookie").contains("opora_session="), "the browser's copy lasts too");
        let now = cabinet.clock.now();
        cabinet
            .emulator
            .until("the session's use is stored", async |_| {
                let sessions = workforce::web::sessions::of_person(&cabinet.app, id).await.unwrap();
                sessions.iter().any(|session| session.seen_at == now).then_some(())
            })
            .await;
    }
    cabinet.clock.advance(Duration::from_secs(14 * 24 * 3600));
    third.get("/me").await.redirects_to("/sign-in?next=%2Fme");
    cabinet.close().await;
}

#[tokio::test]
async fn a_person_chooses_their_language() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let boris = cabinet.signed_in(BORIS).await;
    boris.post("/me/language", &[("language", "ru")]).await.redirects_to("/me");
    boris.get("/").await.is(200, "Здравствуйте, Boris!").is(200, "<html lang=\"ru\">");
    boris.get("/people").await.is(403, "Нет доступа к этой странице");
    cabinet.close().await;
}

#[tokio::test]
async fn live_loads_have_their_own_rate_limit() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (guest, boris, owner) = (cabinet.browser(), cabinet.signed_in(BORIS).await, cabinet.signed_in(ANNA).await);
    let by_itself = [("x-opora-live", "1")];
    let loads = async |browser: &Browser| browser.send(Method::GET, "/", "", &by_itself).await.status.as_u16();
    for (browser, most) in [(&boris, 100), (&owner, 200)] {
        cabinet.clock.advance(Duration::from_secs(60));
        for _ in 0..most {
            assert_eq!(loads(browser).await, 200);
        }
        assert_eq!(loads(browser).await, 429, "live loads have a limit of the same size");
        // Clicks have their own limit, and forms always count as clicks.
        for at in 0..most {
            let clicked = if at % 2 == 0 {
                browser.get("/nowhere").await
            } else {
                browser.send(Method::POST, "/nowhere", "", &by_itself).await
            };
            assert_ne!(clicked.status.as_u16(), 429, "{at}");
        }
        assert_eq!(browser.send(Method::POST, "/nowhere", "", &by_itself).await.status.as_u16(), 429);
    }
    // Without a session there are no live pages.
    cabinet.clock.advance(Duration::from_secs(60));
    for _ in 0..100 {
        assert_ne!(loads(&guest).await, 429);
    }
    assert_eq!(loads(&guest).await, 429);
    guest.get("/nowhere").await.is(429, "Too many requests");
    cabinet.close().await;
}

#[tokio::test]
async fn too_many_requests_are_refused() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (guest, boris, owner) = (cabinet.browser(), cabinet.signed_in(BORIS).await, cabinet.signed_in(ANNA).await);
    cabinet.clock.advance(Duration::from_secs(60));
    for (browser, most) in [(&guest, 100), (&boris, 100), (&owner, 200)] {
        for _ in 0..most {
            assert_ne!(browser.get("/nowhere").await.status.as_u16(), 429);
        }
        let refused = browser.get("/nowhere").await;
        refused.is(429, "Too many requests");
        assert_eq!(refused.header("retry-after"), "1");
        browser.get("/assets/style.css").await.is(404, "Page not found");
    }
    cabinet.close().await;
}

#[tokio::test]
async fn the_admin_page_shows_the_bots_health() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    cabinet.hire(ANNA, "Anna", Role::Superadmin).await;
    let operator = cabinet.signed_in(ANNA).await;
    let page = operator.get("/admin").await;
    page.is(200, "The state of the service:").is(200, env!("CARGO_PKG_VERSION")).is(200, "process ");
    page.is(200, "None: everything has been processed.").is(200, "SQLite 3.");
    cabinet.close().await;
}

#[tokio::test]
async fn the_admin_page_shows_states_and_parked_turns() {
    let cabinet = Cabinet::open(StorageKind::Postgres).await;
    cabinet.hire(ANNA, "Anna", Role::Superadmin).await;
    for id in [1003, 1004] {
        let newcomer = serde_json::json!({"id": id, "first_name": "New", "language_code": "en"});
        cabinet.emulator.post("/users", newcomer).await;
        cabinet.emulator.says(id, "/start").await;
        cabinet.emulator.receives(id, "Let's get to know each other.").await;
    }
    let (store, bot) = (cabinet.app.domain.store(), cabinet.app.bot_id);
    let epoch = store.lease(bot).await.unwrap().unwrap().epoch;
    let parked = ParkedTurn {
        id: ParkedId(0),
        key: ConversationKey::private(bot, BORIS),
        kind: "timer".into(),
        body: "{\"text\": \"Secret\"}".into(),
        reason: "the handler panicked".into(),
        attempts: 5,
        at: NOON,
        retry: false,
    };
    store.park(epoch, Vec::new(), parked, Vec::new()).await.unwrap();
    let number = store.parked(None, 1).await.unwrap()[0].id.0;
    let page = cabinet.signed_in(ANNA).await.get("/admin").await;
    page.is(200, "<code>registration:language</code></dt><dd>2</dd>").is(200, "PostgreSQL ");
    page.is(200, &format!("<strong>#{number}</strong>")).is(200, "1002").is(200, "Jan 1, 2026, 12:00 UTC");
    page.is(200, "<dt>Parked turns</dt><dd>1</dd>");
    assert!(!page.body.contains("Secret"), "texts of people are on the page: {}", page.body);
    cabinet.close().await;
}

#[tokio::test]
async fn a_blocked_person_is_signed_out() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let boris = cabinet.signed_in(BORIS).await;
    let id = cabinet.person(BORIS).await.id;
    for status in [Status::Blocked, Status::Verified] {
        cabinet.app.domain.write(move |db| Box::pin(people::set_status(db, id, status, None, NOON))).await.unwrap();
        boris.get("/me").await.redirects_to("/sign-in?next=%2Fme");
    }
    cabinet.close().await;
}
