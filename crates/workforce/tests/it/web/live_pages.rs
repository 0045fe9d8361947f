//! Live pages: changes are pushed only to people who may know of them.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt;
use opora::prelude::*;
use opora::store::WriteError;
use sea_orm::{ConnectionTrait, Statement};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use workforce::application::{self, App};
use workforce::domain::{Transaction, WriteInTurn};
use workforce::person::Role;
use workforce::rooms::{Room, Rooms};
use workforce::shifts::{ShiftEvent, ShiftEventKind, Shifts, ShiftsRoom};
use workforce::sites::{AboutContract, AboutSlot, ContractStatus, Hours, Sites, SitesRoom};
use workforce::web::{Event, Web};

use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS, TIMEOUT};
use crate::kit::firm::{NOON, StorageKind};
use crate::overview::business_pages::make_site;
use crate::shifts::about_contract;
use crate::sites::deleted_sites::worked_and_cancelled;

pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A room whose turns change what owners see.
#[derive(Debug)]
struct Telling;

#[derive(Clone, Debug, Serialize, Deserialize, States)]
#[states(dialogue = "telling")]
enum TellingStates {
    Told,
}

impl Room for Telling {
    fn name(&self) -> &'static str {
        "telling"
    }

    fn dialogues(&self, script: Script) -> Script {
        let telling = Dialogue::new().start(command("tell"), tell);
        script.dialogue(telling.on(TellingStates::TOLD, text(), heard))
    }
}

async fn tell(turn: &mut Turn, _: Command) -> Step<TellingStates> {
    Event::to_roles("tales", &[Role::Owner]).publish_after(turn);
    turn.say("Told.");
    Ok(Next::Go(TellingStates::Told))
}

async fn heard(turn: &mut Turn, _: String) -> Step<TellingStates> {
    let known = turn.context::<App>().speaker(turn).await?.person.is_some();
    turn.say(format!("Known: {known}"));
    Ok(Next::End)
}

/// Serves the pages on a port.
pub async fn serve(cabinet: &Cabinet) -> SocketAddr {
    serve_router(cabinet.router.clone()).await
}

async fn serve_router(router: axum::Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

pub async fn connect(address: SocketAddr, cookies: &str, origin: Option<&str>) -> Result<Socket, Error> {
    connect_to(&format!("ws://{address}/live"), cookies, origin).await
}

async fn connect_to(url: &str, cookies: &str, origin: Option<&str>) -> Result<Socket, Error> {
    let mut request = url.into_client_request().unwrap();
    request.headers_mut().insert("cookie", cookies.parse().unwrap());
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", origin.parse().unwrap());
    }
    tokio_tungstenite::connect_async(request).await.map(|(socket, _)| socket)
}

/// An open page that names these topics.
pub async fn open_with_topics(address: SocketAddr, browser: &Browser, topics: &str) -> Socket {
    let url = format!("ws://{address}/live?topics={topics}");
    connect_to(&url, &browser.cookies(), Some("http://office.example")).await.unwrap()
}

/// An open page. It has received the first ping, so it misses nothing from here on.
pub async fn open(address: SocketAddr, browser: &Browser) -> Socket {
    let mut socket = connect(address, &browser.cookies(), Some("http://office.example")).await.unwrap();
    // An event may come before the ping.
    while !timeout(TIMEOUT, socket.next()).await.unwrap().unwrap().unwrap().is_ping() {}
    socket
}

pub async fn next_message(socket: &mut Socket) -> Message {
    loop {
        let message = timeout(TIMEOUT, socket.next()).await.expect("no message arrived").unwrap().unwrap();
        if !message.is_ping() {
            return message;
        }
    }
}

async fn changed(socket: &mut Socket) -> Value {
    let message = next_message(socket).await;
    serde_json::from_str::<Value>(message.to_text().unwrap()).unwrap()["changed"].clone()
}

/// On a phone the counts of the pages behind "More" are added up there.
#[tokio::test]
async fn the_count_behind_more_is_live() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let more = async || {
        let page = owner.get("/nav").await.body;
        let badge = page.split_once("id=\"badge-more\" data-live=\"").expect("a live count").1.to_owned();
        badge.split_once("</summary>").unwrap().0.to_owned()
    };
    let before = more().await;
    let topics: Vec<&str> = before.split_once('"').unwrap().0.split(' ').collect();
    assert_eq!(topics, ["people", "registrations", "shifts"]);
    assert!(!before.contains("count-badge"), "{before}");
    worked_and_cancelled(&cabinet, make_site(&cabinet, &owner).await).await;
    let after = more().await;
    assert!(after.contains("count-badge\">1<"), "{after}");
    cabinet.close().await;
}

#[tokio::test]
async fn a_change_reaches_only_permitted_pages() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    let address = serve(&cabinet).await;
    let (mut owners, mut boriss) = (open(address, &owner).await, open(address, &boris).await);
    let id = cabinet.person(BORIS).await.id;
    owner
        .post(&format!("/people/{id}/roles/grant"), &[("role", "master")])
        .await
        .redirects_to(&format!("/people/{id}"));
    assert_eq!(changed(&mut owners).await, json!(["people", format!("person:{id}")]));
    // Boris is notified only of himself.
    assert_eq!(changed(&mut boriss).await, json!(["me"]));
    cabinet.app.events.publish(Event::to_roles("registrations", &[Role::Owner]));
    cabinet.app.events.publish(Event::to_roles("shifts", &[Role::Employee]));
    assert_eq!(changed(&mut boriss).await, json!(["shifts"]));
    assert_eq!(changed(&mut owners).await, json!(["registrations"]));
    // A blocked person is disconnected at once.
    owner.post(&format!("/people/{id}/block"), &[]).await.redirects_to(&format!("/people/{id}"));
    let Message::Close(Some(frame)) = next_message(&mut boriss).await else { panic!("Boris is still connected") };
    assert_eq!(u16::from(frame.code), 4401);
    cabinet.close().await;
}

/// A room with a command that opens a shift.
#[derive(Debug)]
struct Opening;

impl Room for Opening {
    fn name(&self) -> &'static str {
        "opening"
    }

    fn dialogues(&self, script: Script) -> Script {
        let opening = Dialogue::new().start(command("open"), opens);
        script.dialogue(opening.on(TellingStates::TOLD, text(), heard))
    }
}

async fn opens(turn: &mut Turn, _: Command) -> Step<TellingStates> {
    let app = turn.context::<App>();
    let person = app.speaker(turn).await?.person.unwrap();
    let user = person.id;
    turn.write(move |db| Box::pin(open_shift(db, user)));
    ShiftEvent::new(ShiftEventKind::ShiftCreated, user).at(1).after(turn);
    Ok(Next::End)
}

async fn open_shift(db: &Transaction<'_, '_>, user: i64) -> Result<(), WriteError> {
    // By the pages' clock, which is set by hand.
    let at = NOON.0;
    let site = "INSERT INTO sites (id, name, address, time_zone, opens_minute, closes_minute, rate_kopecks, created_at,
        updated_at) VALUES (1, 'Cafe', 'x', 'Europe/Moscow', 0, 0, 100, 0, 0)";
    let shift = format!(
        "INSERT INTO shifts (id, user_id, site_id, started_at, rate_kopecks, penalises_lateness,
        late_threshold_minutes, late_minute_kopecks) VALUES (352, {user}, 1, {at}, 100, FALSE, 0, 0)"
    );
    for sql in [site.to_owned(), shift] {
        db.execute_raw(Statement::from_string(db.get_database_backend(), sql)).await?;
    }
    Ok(())
}

/// All updates up to the first one of this type.
async fn updates(socket: &mut Socket, kind: &str) -> Vec<Value> {
    let mut all = Vec::new();
    while !all.iter().any(|update: &Value| update["type"] == kind) {
        let message: Value = serde_json::from_str(next_message(socket).await.to_text().unwrap()).unwrap();
        all.extend(message["updates"].as_array().unwrap().clone());
    }
    all
}

#[tokio::test]
async fn updates_name_the_shift_and_its_person() {
    let rooms = Rooms::new(&[&Web, &SitesRoom, &ShiftsRoom, &Opening]);
    let cabinet = Cabinet::with_rooms(StorageKind::Sqlite, rooms, "http://office.example").await;
    let other = cabinet.hire(1004, "Vera", Role::Employee).await;
    cabinet.emulator.post("/users", json!({"id": 1004, "first_name": "Vera", "language_code": "en"})).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    let vera = cabinet.signed_in(other.telegram_id).await;
    let address = serve(&cabinet).await;
    let (mut owners, mut boriss) = (open(address, &owner).await, open(address, &boris).await);
    let mut veras = open(address, &vera).await;
    let id = cabinet.person(BORIS).await.id;
    // The shift gets its id in the commit, and the event comes after it.
    cabinet.emulator.says(BORIS, "/open").await;
    let created = json!({"type": "shift_created", "shift_id": 352, "user_id": id});
    assert_eq!(updates(&mut owners, "shift_created").await, std::slice::from_ref(&created));
    assert_eq!(updates(&mut boriss, "shift_created").await, [created]);
    let anna = cabinet.person(ANNA).await;
    Shifts::of_app(&cabinet.app).close(&anna, 352).await.unwrap();
    let closed = json!({"type": "shift_closed", "shift_id": 352, "user_id": id});
    assert_eq!(updates(&mut owners, "shift_closed").await, std::slice::from_ref(&closed));
    assert_eq!(updates(&mut boriss, "shift_closed").await, [closed]);
    let day = chrono::NaiveDate::from_ymd_opt(2026, 1, 2).unwrap();
    let slot = AboutSlot::usual(day, Hours::new(540, 1080));
    let slot = Sites::of_app(&cabinet.app).create_slot(&anna, 1, slot).await.unwrap();
    let changed = json!({"type": "schedule_changed", "shift_id": null, "user_id": anna.id});
    assert_eq!(updates(&mut owners, "schedule_changed").await, [changed]);
    // Vera is not notified of other people's shifts: her first update is her own.
    let contract = about_contract(&[1], false);
    Sites::of_app(&cabinet.app).create_contract(&anna, other.id, contract).await.unwrap();
    Shifts::of_app(&cabinet.app).plan(&anna, other.id, slot).await.unwrap();
    let planned = json!({"type": "plan_created", "shift_id": null, "user_id": other.id});
    assert_eq!(updates(&mut veras, "plan_created").await, [planned]);
    cabinet.close().await;
}

#[tokio::test]
async fn employees_are_notified_of_places_without_names() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let vera = cabinet.hire(1004, "Vera", Role::Employee).await;
    let (sites, shifts) = (Sites::of_app(&cabinet.app), Shifts::of_app(&cabinet.app));
    let site = make_site(&cabinet, &cabinet.signed_in(ANNA).await).await;
    for id in [boris.id, vera.id] {
        let (status, sites_of) = (ContractStatus::Active, vec![site]);
        let about = AboutContract {
            status,
            rate_kopecks: None,
            allows_spontaneous: false,
            sites: sites_of,
            valid_from: None,
            valid_until: None,
        };
        sites.create_contract(&anna, id, about).await.unwrap();
    }
    let browser = cabinet.signed_in(BORIS).await;
    browser.get("/schedule").await.is(200, "data-live=\"shifts sites\"");
    let mut page = open(serve(&cabinet).await, &browser).await;
    let news = async |page: &mut Socket| -> Value {
        serde_json::from_str(next_message(page).await.to_text().unwrap()).unwrap()
    };
    let about = AboutSlot::usual("2026-01-05".parse().unwrap(), Hours::new(540, 1080));
    let slot = sites.create_slot(&anna, site, about.clone()).await.unwrap();
    assert_eq!(news(&mut page).await, json!({"changed": ["sites"], "updates": []}));
    sites.edit_slot(&anna, slot, 1, AboutSlot { hours: Hours::new(600, 1080), ..about }).await.unwrap();
    assert_eq!(news(&mut page).await, json!({"changed": ["sites"], "updates": []}));
    let plan = shifts.plan(&vera, vera.id, slot).await.unwrap();
    assert_eq!(news(&mut page).await, json!({"changed": ["shifts"], "updates": []}));
    shifts.cancel(&anna, plan).await.unwrap();
    assert_eq!(news(&mut page).await, json!({"changed": ["shifts"], "updates": []}));
    cabinet.close().await;
}

#[tokio::test]
async fn sockets_need_the_origin_and_a_session() {
    let cabinet = Cabinet::open(StorageKind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let address = serve(&cabinet).await;
    for (cookies, origin, status) in [
        (owner.cookies(), Some("http://evil.example"), 403),
        (owner.cookies(), None, 403),
        (String::new(), Some("http://office.example"), 303),
    ] {
        let refused = connect(address, &cookies, origin).await;
        let Err(Error::Http(answer)) = refused else { panic!("{origin:?}: {refused:?}") };
        assert_eq!(answer.status().as_u16(), status);
    }
    // The address under which the browser reaches the page.
    connect(address, &owner.cookies(), Some(&format!("http://{address}"))).await.unwrap();
    cabinet.close().await;
}

#[tokio::test]
async fn a_turn_notifies_pages_after_its_commit() {
    let cabinet =
        Cabinet::with_rooms(StorageKind::Sqlite, Rooms::new(&[&Web, &Telling]), "http://office.example").await;
    let owner = cabinet.signed_in(ANNA).await;
    let mut page = open(serve(&cabinet).await, &owner).await;
    cabinet.emulator.says(BORIS, "/tell").await;
    assert_eq!(changed(&mut page).await, json!(["tales"]));
    // The dialogue continues, and the effect sends no message.
    cabinet.emulator.says(BORIS, "well?").await;
    cabinet.emulator.receives(BORIS, "Known: true").await;
    assert_eq!(cabinet.emulator.texts(BORIS).await, ["/tell", "Told.", "well?", "Known: true"]);
    cabinet.close().await;
}

#[tokio::test]
async fn a_change_reaches_pages_of_another_process() {
    let cabinet = Cabinet::open(StorageKind::Postgres).await;
    let other = cabinet.second_instance().await;
    let owner = cabinet.signed_in(ANNA).await;
    let (here, there) = (cabinet.app.clone(), other.clone());
    let passing = [
        tokio::spawn(async move { workforce::web::relay_events(&here).await }),
        tokio::spawn(async move { workforce::web::relay_events(&there).await }),
    ];
    let mut page = open(serve_router(application::router(&other)).await, &owner).await;
    // Events are not forwarded until both instances listen. The sign-in may cause an event, too.
    let mut messages = Vec::new();
    while !messages.contains(&json!("shifts")) {
        cabinet.app.events.publish(Event::to_roles("shifts", &[Role::Owner]));
        if let Ok(Value::Array(told)) = timeout(Duration::from_millis(200), changed(&mut page)).await {
            messages.extend(told);
        }
    }
    passing.iter().for_each(tokio::task::JoinHandle::abort);
    other.domain.close().await.unwrap();
    cabinet.close().await;
}
