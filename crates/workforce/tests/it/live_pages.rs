//! Live pages: what changed is told to those who may know, and to nobody else.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt;
use opora::prelude::*;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use workforce::application::{self, App};
use workforce::people::Role;
use workforce::rooms::{Room, Rooms};
use workforce::web::{Event, Web};

use crate::cabinet::{Browser, Cabinet};
use crate::demo::{ANNA, BORIS, PATIENCE};
use crate::firm::Kind;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

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
async fn listening(cabinet: &Cabinet) -> SocketAddr {
    serving(cabinet.router.clone()).await
}

async fn serving(router: axum::Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

async fn connect(address: SocketAddr, cookies: &str, origin: Option<&str>) -> Result<Socket, Error> {
    let mut request = format!("ws://{address}/live").into_client_request().unwrap();
    request.headers_mut().insert("cookie", cookies.parse().unwrap());
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", origin.parse().unwrap());
    }
    tokio_tungstenite::connect_async(request).await.map(|(socket, _)| socket)
}

/// An open page of somebody's; it has been greeted, so nothing is missed from here on.
async fn open(address: SocketAddr, browser: &Browser) -> Socket {
    let mut socket = connect(address, &browser.cookies(), Some("http://office.example")).await.unwrap();
    let greeting = timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap();
    assert!(greeting.is_ping(), "{greeting:?}");
    socket
}

async fn told(socket: &mut Socket) -> Message {
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
