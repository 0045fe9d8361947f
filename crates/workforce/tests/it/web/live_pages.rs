//! Live pages: what changed is told to those who may know, and to nobody else.

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
use workforce::domain::{InTurn, Writing};
use workforce::person::Role;
use workforce::rooms::{Room, Rooms};
use workforce::shifts::{Happened, Shifts, ShiftsRoom, Update};
use workforce::sites::{AboutContract, AboutSlot, ContractStatus, Hours, Sites, SitesRoom};
use workforce::web::{Event, Web};

use crate::kit::cabinet::{Browser, Cabinet};
use crate::kit::demo::{ANNA, BORIS, PATIENCE};
use crate::kit::firm::{Kind, NOON};
use crate::overview::running_a_business::make_site;

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
    Event::to_roles("tales", &[Role::Owner]).after(turn);
    turn.say("Told.");
    Ok(Next::Go(TellingStates::Told))
}

async fn heard(turn: &mut Turn, _: String) -> Step<TellingStates> {
    let known = turn.context::<App>().speaker(turn).await?.person.is_some();
    turn.say(format!("Known: {known}"));
    Ok(Next::End)
}

/// The pages on a port of their own.
pub async fn listening(cabinet: &Cabinet) -> SocketAddr {
    serving(cabinet.router.clone()).await
}

async fn serving(router: axum::Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

pub async fn connect(address: SocketAddr, cookies: &str, origin: Option<&str>) -> Result<Socket, Error> {
    let mut request = format!("ws://{address}/live").into_client_request().unwrap();
    request.headers_mut().insert("cookie", cookies.parse().unwrap());
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", origin.parse().unwrap());
    }
    tokio_tungstenite::connect_async(request).await.map(|(socket, _)| socket)
}

/// An open page of somebody's; it has been greeted, so nothing is missed from here on.
pub async fn open(address: SocketAddr, browser: &Browser) -> Socket {
    let mut socket = connect(address, &browser.cookies(), Some("http://office.example")).await.unwrap();
    // News may be faster than the greeting.
    while !timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap().is_ping() {}
    socket
}

pub async fn told(socket: &mut Socket) -> Message {
    loop {
        let message = timeout(PATIENCE, socket.next()).await.expect("nothing was told").unwrap().unwrap();
        if !message.is_ping() {
            return message;
        }
    }
}

async fn changed(socket: &mut Socket) -> Value {
    let told = told(socket).await;
    serde_json::from_str::<Value>(told.to_text().unwrap()).unwrap()["changed"].clone()
}

#[tokio::test]
async fn a_change_reaches_the_pages_of_those_who_may_know() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    let address = listening(&cabinet).await;
    let (mut owners, mut boriss) = (open(address, &owner).await, open(address, &boris).await);
    let id = cabinet.person(BORIS).await.id;
    owner.post(&format!("/people/{id}/roles/grant"), &[("role", "master")]).await.leads_to(&format!("/people/{id}"));
    assert_eq!(changed(&mut owners).await, json!(["people", format!("person:{id}")]));
    // Boris hears of himself only; what is for owners never comes.
    assert_eq!(changed(&mut boriss).await, json!(["me"]));
    cabinet.app.events.publish(Event::to_roles("registrations", &[Role::Owner]));
    cabinet.app.events.publish(Event::to_roles("shifts", &[Role::Employee]));
    assert_eq!(changed(&mut boriss).await, json!(["shifts"]));
    assert_eq!(changed(&mut owners).await, json!(["registrations"]));
    // Who is blocked is cut off at once.
    owner.post(&format!("/people/{id}/block"), &[]).await.leads_to(&format!("/people/{id}"));
    let Message::Close(Some(frame)) = told(&mut boriss).await else { panic!("Boris still hears") };
    assert_eq!(u16::from(frame.code), 4401);
    cabinet.close().await;
}

/// A room in which somebody opens a shift by a word.
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
    Update::new(Happened::ShiftCreated, user).at(1).after(turn);
    Ok(Next::End)
}

async fn open_shift(db: &Writing<'_, '_>, user: i64) -> Result<(), WriteError> {
    // By the clock of the pages, which is set by hand.
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

/// All updates until there is one of this type.
async fn updates(socket: &mut Socket, kind: &str) -> Vec<Value> {
    let mut all = Vec::new();
    while !all.iter().any(|update: &Value| update["type"] == kind) {
        let told: Value = serde_json::from_str(told(socket).await.to_text().unwrap()).unwrap();
        all.extend(told["updates"].as_array().unwrap().clone());
    }
    all
}

#[tokio::test]
async fn pages_are_told_what_has_happened_to_which_shift_and_whose_it_is() {
    let rooms = Rooms::of(&[&Web, &SitesRoom, &ShiftsRoom, &Opening]);
    let cabinet = Cabinet::with(Kind::Sqlite, rooms, "http://office.example").await;
    let other = cabinet.hire(1004, "Vera", Role::Employee).await;
    cabinet.emulator.post("/users", json!({"id": 1004, "first_name": "Vera", "language_code": "en"})).await;
    let (owner, boris) = (cabinet.signed_in(ANNA).await, cabinet.signed_in(BORIS).await);
    let vera = cabinet.signed_in(other.telegram_id).await;
    let address = listening(&cabinet).await;
    let (mut owners, mut boriss) = (open(address, &owner).await, open(address, &boris).await);
    let mut veras = open(address, &vera).await;
    let id = cabinet.person(BORIS).await.id;
    // The shift has its number only with the commit, after which it is told.
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
    // Nobody hears of others' shifts: the first that Vera hears of is her own.
    let contract =
        AboutContract { status: ContractStatus::Active, rate_kopecks: None, allows_spontaneous: false, sites: vec![1] };
    Sites::of_app(&cabinet.app).create_contract(&anna, other.id, contract).await.unwrap();
    Shifts::of_app(&cabinet.app).plan(&anna, other.id, slot).await.unwrap();
    let planned = json!({"type": "plan_created", "shift_id": null, "user_id": other.id});
    assert_eq!(updates(&mut veras, "plan_created").await, [planned]);
    cabinet.close().await;
}

#[tokio::test]
async fn an_employees_open_page_hears_of_new_moved_and_taken_places_and_not_whose_they_are() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let (anna, boris) = (cabinet.person(ANNA).await, cabinet.person(BORIS).await);
    let vera = cabinet.hire(1004, "Vera", Role::Employee).await;
    let (sites, shifts) = (Sites::of_app(&cabinet.app), Shifts::of_app(&cabinet.app));
    let site = make_site(&cabinet, &cabinet.signed_in(ANNA).await).await;
    for id in [boris.id, vera.id] {
        let (status, sites_of) = (ContractStatus::Active, vec![site]);
        let about = AboutContract { status, rate_kopecks: None, allows_spontaneous: false, sites: sites_of };
        sites.create_contract(&anna, id, about).await.unwrap();
    }
    let browser = cabinet.signed_in(BORIS).await;
    browser.get("/schedule").await.is(200, "data-live=\"shifts sites\"");
    let mut page = open(listening(&cabinet).await, &browser).await;
    let news =
        async |page: &mut Socket| -> Value { serde_json::from_str(told(page).await.to_text().unwrap()).unwrap() };
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
async fn nobody_listens_from_another_site_or_without_a_session() {
    let cabinet = Cabinet::open(Kind::Sqlite).await;
    let owner = cabinet.signed_in(ANNA).await;
    let address = listening(&cabinet).await;
    for (cookies, origin, status) in [
        (owner.cookies(), Some("http://evil.example"), 403),
        (owner.cookies(), None, 403),
        (String::new(), Some("http://office.example"), 303),
    ] {
        let refused = connect(address, &cookies, origin).await;
        let Err(Error::Http(answer)) = refused else { panic!("{origin:?}: {refused:?}") };
        assert_eq!(answer.status().as_u16(), status);
    }
    // By the address under which the browser itself reaches the page.
    connect(address, &owner.cookies(), Some(&format!("http://{address}"))).await.unwrap();
    cabinet.close().await;
}

#[tokio::test]
async fn a_turn_tells_the_pages_once_it_has_committed() {
    let cabinet = Cabinet::with(Kind::Sqlite, Rooms::of(&[&Web, &Telling]), "http://office.example").await;
    let owner = cabinet.signed_in(ANNA).await;
    let mut page = open(listening(&cabinet).await, &owner).await;
    cabinet.emulator.says(BORIS, "/tell").await;
    assert_eq!(changed(&mut page).await, json!(["tales"]));
    // The dialogue goes on, and nothing of it is said to the person.
    cabinet.emulator.says(BORIS, "well?").await;
    cabinet.emulator.hears(BORIS, "Known: true").await;
    assert_eq!(cabinet.emulator.texts(BORIS).await, ["/tell", "Told.", "well?", "Known: true"]);
    cabinet.close().await;
}

#[tokio::test]
async fn a_change_reaches_the_pages_of_another_process_too() {
    let cabinet = Cabinet::open(Kind::Postgres).await;
    let other = cabinet.beside().await;
    let owner = cabinet.signed_in(ANNA).await;
    let (here, there) = (cabinet.app.clone(), other.clone());
    let passing = [
        tokio::spawn(async move { workforce::web::across(&here).await }),
        tokio::spawn(async move { workforce::web::across(&there).await }),
    ];
    let mut page = open(serving(application::router(&other)).await, &owner).await;
    // Until both listen, nothing is passed on; and the sign-in may be news as well.
    let mut heard = Vec::new();
    while !heard.contains(&json!("shifts")) {
        cabinet.app.events.publish(Event::to_roles("shifts", &[Role::Owner]));
        if let Ok(Value::Array(told)) = timeout(Duration::from_millis(200), changed(&mut page)).await {
            heard.extend(told);
        }
    }
    passing.iter().for_each(tokio::task::JoinHandle::abort);
    other.domain.close().await.unwrap();
    cabinet.close().await;
}
